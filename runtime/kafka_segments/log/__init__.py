"""One partition: where its segments lie, their order, copies and ends, and its records."""
