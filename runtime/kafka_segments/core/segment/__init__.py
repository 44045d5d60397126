"""One segment: its entries, records, indexes and transactions, read and verified."""
