"""From a split to arrow batches, in a task on any machine: hints verified, files found again, losses told.

`reading` is the way in.
"""
