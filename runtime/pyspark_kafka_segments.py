"""Lets Spark find the format: it imports every top-level module `pyspark_*` and takes its `DefaultSource`.

This module must not raise: an exception here would hide every other Python data source too. If ours cannot be
imported, a source of the same name stands in for it and says why when it is used.
"""

try:
    from kafka_segments.spark.source import (
        KafkaSegmentsDataSource as DefaultSource,  # pyright: ignore[reportAssignmentType]
    )
except Exception as _error:
    _reason = f"{type(_error).__name__}: {_error}"
    try:
        from pyspark.sql.datasource import DataSource as _DataSource

        class DefaultSource(_DataSource):  # type: ignore[no-redef]
            """Stands in for the format that could not be imported."""

            @classmethod
            def name(cls) -> str:
                """The name for `spark.read.format`."""
                return "kafka-segments"

            def __init__(self, options: object) -> None:  # noqa: ARG002
                raise ImportError(f"kafka-segments cannot be used here: {_reason}")

    except Exception:  # no pyspark: nobody asks for the source
        pass
