"""What the schemas describe: segments with their entries and contents, table columns, record columns."""
