"""One partition: where its segments lie, their order, copies, ends and records."""
