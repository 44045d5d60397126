"""Transactions of a partition: their state, the batches they exclude, and doubt due to damage."""
