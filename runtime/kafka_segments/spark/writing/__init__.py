"""Writing: `df.write.format("kafka-segments")`."""
