"""Salvage: clean partitions from damaged copies, and parts of partitions, batch for batch."""
