"""Reader of splits in a task: verified positions, moved segments, lost offsets; begins at `split_reader`."""
