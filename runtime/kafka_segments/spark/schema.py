"""Rows of the source: columns as in Spark's `kafka` source (KafkaRecordToRowConverter), all nullable.

More columns follow those, if they are selected by name; the other views have columns of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from kafka_segments.errors import OptionError
from kafka_segments.query.options import nearest
from kafka_segments.spark.read_options import PERMISSIVE, ReadOptions

__all__ = [
    "HEADERS",
    "KAFKA_SCHEMA",
    "VIEW_SCHEMAS",
    "arrow_schema",
    "check_schema",
    "schema_of",
]

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


def _headers(key: DataType) -> StructField:
    pairs = StructType([StructField("key", key), StructField("value", BinaryType())])
    return StructField("headers", ArrayType(pairs))


HEADERS = _headers(StringType())
_BINARY_HEADERS = _headers(BinaryType())

_NEVER_NULL = ("topic", "partition", "offset", "timestamp", "timestampType", "timestampMs", "sourceFile")
_TYPES: dict[str, DataType] = {
    "bigint": LongType(),
    "int": IntegerType(),
    "string": StringType(),
    "binary": BinaryType(),
    "boolean": BooleanType(),
    "timestamp": TimestampType(),
}


def _struct(columns: str) -> StructType:
    """Columns by name and type, as in DDL; pyspark's own parser would need a session."""
    pairs = (column.split() for column in columns.split(","))
    return StructType([StructField(name, _TYPES[kind]) for name, kind in pairs])


_MORE = _struct(
    "timestampMs bigint, leaderEpoch int, producerId bigint, producerEpoch int, sequence int, "
    "sourceFile string, damage string"
)
VIEW_SCHEMAS: Mapping[str, StructType] = {
    "records": StructType([*KAFKA_SCHEMA, HEADERS, *_MORE]),
    "batches": _struct(
        "topic string, partition int, baseOffset bigint, lastOffset bigint, numRecords int, "
        "baseTimestampMs bigint, maxTimestampMs bigint, timestampType int, magic int, compression string, "
        "leaderEpoch int, producerId bigint, producerEpoch int, baseSequence int, isTransactional boolean, "
        "isControl boolean, deleteHorizonMs bigint, crc bigint, position bigint, size bigint, "
        "sourceFile string, damage string"
    ),
    "segments": _struct(
        "topic string, partition int, baseOffset bigint, startOffset bigint, endOffset bigint, size bigint, "
        "modified timestamp, isNewest boolean, beside string, form string, sourceFile string"
    ),
    "control": _struct(
        "topic string, partition int, offset bigint, timestampMs bigint, type string, typeId int, "
        "version int, value string, leaderEpoch int, producerId bigint, producerEpoch int, sourceFile string"
    ),
    "aborted": _struct(
        "topic string, partition int, producerId bigint, firstOffset bigint, lastOffset bigint, state string"
    ),
    "damage": _struct(
        "topic string, partition int, kind string, firstOffset bigint, lastOffset bigint, position bigint, "
        "endPosition bigint, error string, message string, sourceFile string"
    ),
}
"""All columns of each view, in order."""

_ON_REQUEST = frozenset(field.name for field in [HEADERS, *_MORE])


def schema_of(options: ReadOptions) -> StructType:
    """Return the schema for some options.

    Raises:
        OptionError: an unknown column.
    """
    known = VIEW_SCHEMAS[options.view]
    if options.columns is None:
        hidden = _ON_REQUEST - ({"headers"} if options.include_headers else set())
        is_usual = options.view != "records"
        fields = [field for field in known if is_usual or field.name not in hidden]
        fields = [field for field in fields if options.view == "records" or field.name != "damage"]
    else:
        by_name = {field.name.lower(): field for field in known}
        fields = []
        for name in options.columns:
            if name.lower() not in by_name:
                raise _unknown(name, options.view)
            fields.append(by_name[name.lower()])
    is_binary = options.header_keys == "binary"
    return StructType([_BINARY_HEADERS if is_binary and field is HEADERS else field for field in fields])


def check_schema(schema: StructType, options: ReadOptions) -> None:
    """Check a schema given by the user: any of the view's columns in any order, each with its own type.

    Names are compared as Spark compares them, without regard to case. The keys of headers may be text or
    binary, unless the option says which.

    Raises:
        OptionError: an unknown column, another type, `NOT NULL` for what may be null, or columns that
            contradict the option `columns`.
    """
    known = {field.name.lower(): field for field in VIEW_SCHEMAS[options.view]}
    if not schema.names:
        raise OptionError("the schema has no column; name one, such as offset, or give no schema")
    for field in schema:
        if field.name.lower() not in known:
            raise _unknown(field.name, options.view)
        ours = known[field.name.lower()]
        _check_type(field, ours, options)
        may_be_null = ours.name not in _NEVER_NULL or _is_made_null(ours.name, schema, options)
        if not field.nullable and may_be_null:
            raise OptionError(f"column {field.name} can be null; leave out NOT NULL")
    if options.columns is not None and [name.lower() for name in schema.names] != [
        name.lower() for name in options.columns
    ]:
        raise OptionError("give a schema or the option columns, not both: they name different columns")


def arrow_schema(schema: StructType) -> Any:
    """The pyarrow schema that Spark 4.2 and up demand of every batch (SPARK-55583); older ones take it."""
    try:
        return to_arrow_schema(schema, timezone="UTC")
    except TypeError:  # Spark 4.0 and 4.1 have no such argument, and use UTC
        return to_arrow_schema(schema)


def _check_type(field: StructField, ours: StructField, options: ReadOptions) -> None:
    allowed = [ours.dataType]
    if ours is HEADERS:
        either = {"text": HEADERS.dataType, "binary": _BINARY_HEADERS.dataType}
        allowed = list(either.values()) if options.header_keys is None else [either[options.header_keys]]
    if field.dataType not in allowed:
        expected = " or ".join(kind.simpleString() for kind in allowed)
        given = field.dataType.simpleString()
        if given in [kind.simpleString() for kind in allowed]:
            raise OptionError(f"column {field.name} can have nulls inside; leave out NOT NULL in {given}")
        raise OptionError(f"column {field.name} is {expected}, not {given}; read it as it is and cast it")


def _is_made_null(name: str, schema: StructType, options: ReadOptions) -> bool:
    """Whether the options allow rows in which a column of records is null that otherwise never is."""
    if name == "timestamp" and options.timestamp_overflow == "null":
        return True
    has_damage = any(column.lower() == "damage" for column in schema.names)
    return has_damage and options.mode == PERMISSIVE and name not in ("topic", "partition")


def _unknown(name: str, view: str) -> OptionError:
    columns = [field.name for field in VIEW_SCHEMAS[view]]
    return OptionError(f"the view {view} has no column {name}{nearest(name, columns)}")
