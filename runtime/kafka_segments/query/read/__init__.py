"""From a split to arrow batches, in a task on any machine: hints verified, files found again, losses told.

`split_reader` is the entry point.
"""
