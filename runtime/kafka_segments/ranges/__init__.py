"""A split to its records: hints are verified, files found again by offset, and what is lost is told."""
