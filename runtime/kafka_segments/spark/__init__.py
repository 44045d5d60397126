"""Spark on top: the data source `kafka-segments` and the ingest job. The only package that knows pyspark.

Users need no import: `spark.read.format("kafka-segments").load(directory)` finds the format by itself,
through the module `pyspark_kafka_segments`.
"""

from kafka_segments.errors import MissingExtraError

try:
    import pyspark as _pyspark  # noqa: F401
except ImportError as error:
    message = f"this needs pyspark ({error}): pip install 'kafka-segments[spark]'"
    raise MissingExtraError(message, extra="spark") from error
