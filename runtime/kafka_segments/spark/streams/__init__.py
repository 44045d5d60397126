"""Streams: `spark.readStream.format("kafka-segments")`."""
