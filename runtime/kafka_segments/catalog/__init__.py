"""From paths to what is to be read: partitions, their copies, offset ranges, splits; without Spark."""
