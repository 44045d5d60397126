"""The rows: names, types and order of Spark's `kafka` source (KafkaRecordToRowConverter), all nullable."""

from __future__ import annotations

from typing import Any

from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from kafka_segments.errors import OptionError

__all__ = ["HEADERS", "INGEST_SCHEMA", "KAFKA_SCHEMA", "arrow_schema", "check_schema", "kafka_schema"]

KAFKA_SCHEMA = StructType(
    [
        StructField("key", BinaryType()),
        StructField("value", BinaryType()),
        StructField("topic", StringType()),
        StructField("partition", IntegerType()),
        StructField("offset", LongType()),
        StructField("timestamp", TimestampType()),
        StructField("timestampType", IntegerType()),
    ]
)
HEADERS = StructField(
    "headers",
    ArrayType(StructType([StructField("key", StringType()), StructField("value", BinaryType())])),
)
_IN_DIRECTORIES = ("topic", "partition")
INGEST_SCHEMA = StructType([*(field for field in KAFKA_SCHEMA if field.name not in _IN_DIRECTORIES), HEADERS])
"""What a Parquet file of `ingest` holds: topic and partition are in the names of its directories."""

_NEVER_NULL = ("topic", "partition", "offset", "timestamp", "timestampType")


def kafka_schema(include_headers: bool) -> StructType:
    """The schema of the `kafka` source, with `headers` if its option `includeHeaders` is true."""
    return StructType([*KAFKA_SCHEMA, HEADERS]) if include_headers else KAFKA_SCHEMA


def check_schema(schema: StructType) -> None:
    """Check a schema given by the user: any of the columns in any order, each with its own type.

    Names are compared as Spark compares them, without regard to case.

    Raises:
        OptionError: an unknown column, another type, or `NOT NULL` for what may be null.
    """
    known = {field.name.lower(): field for field in [*KAFKA_SCHEMA, HEADERS]}
    for field in schema:
        ours = known.get(field.name.lower())
        if ours is None:
            names = ", ".join(known_field.name for known_field in known.values())
            raise OptionError(f"there is no column {field.name}; the columns are {names}")
        if field.dataType != ours.dataType:
            raise OptionError(
                f"column {field.name} is {ours.dataType.simpleString()}, not "
                f"{field.dataType.simpleString()}; read it as it is and cast it"
            )
        if not field.nullable and ours.name not in _NEVER_NULL:
            raise OptionError(f"column {field.name} can be null; leave NOT NULL away")


def arrow_schema(schema: StructType) -> Any:
    """The pyarrow schema that Spark 4.2 and up demand of every batch (SPARK-55583); older ones take it."""
    try:
        return to_arrow_schema(schema, timezone="UTC")
    except TypeError:  # Spark 4.0 and 4.1 have no such argument, and use UTC
        return to_arrow_schema(schema)
