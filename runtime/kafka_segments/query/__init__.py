"""A query to splits and their records: offsets, times, conditions, `scan`."""
