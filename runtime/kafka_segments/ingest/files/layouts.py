"""Column layouts of other systems' tables: `--layout`.

Names, types, nullability, nesting and order are those that each system publishes for the tables that it
writes itself; where a record lacks a value, its columns have what that system puts there. Each is the layout
for topics whose keys and values are bytes to the system: what a schema registry says is not known here.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from kafka_segments.errors import OptionError

__all__ = ["LAYOUTS", "LayoutColumn", "check_layout"]

_MICROS = pa.timestamp("us", "UTC")


@dataclass(frozen=True, slots=True)
class LayoutColumn:
    """A column of data files.

    Attributes:
        field: its name and type.
        source: name of what its values are made of (`FileColumns`).
        parts: fields of a struct, instead of a source.
    """

    field: pa.Field
    source: str = ""
    parts: tuple[LayoutColumn, ...] = ()


def _column(name: str, kind: pa.DataType, source: str = "", *, nullable: bool = True) -> LayoutColumn:
    return LayoutColumn(pa.field(name, kind, nullable), source or name)


def _required(name: str, kind: pa.DataType, source: str = "") -> LayoutColumn:
    return _column(name, kind, source, nullable=False)


def _struct(name: str, *parts: LayoutColumn, nullable: bool = True) -> LayoutColumn:
    kind = pa.struct([one.field for one in parts])
    return LayoutColumn(pa.field(name, kind, nullable), parts=parts)


_OPTIONAL_HEADERS = pa.list_(pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())]))

# apache/spark, connector/kafka-0-10-sql: KafkaRecordToRowConverter.scala at 14b307e5434f; headers with its
# option includeHeaders.
_CONNECTOR = (
    _column("key", pa.binary()),
    _column("value", pa.binary()),
    _column("topic", pa.string()),
    _column("partition", pa.int32()),
    _column("offset", pa.int64()),
    _column("timestamp", _MICROS, "stored_timestamp"),
    _column("timestampType", pa.int32(), "timestamp_type"),
)

# redpanda-data/redpanda, src/v/datalake: table_definition.h and schema_descriptor.h at 3a5ea3a06f50,
# table_definition.cc and key_value_translator in record_translator.cc at 2b814f55b958: mode `key_value`.
_REDPANDA = (
    _struct(
        "redpanda",
        _column("partition", pa.int32()),
        _column("offset", pa.int64()),
        _column("timestamp", _MICROS, "stored_timestamp"),
        _column("headers", _OPTIONAL_HEADERS, "headers_or_null"),
        _column("key", pa.binary()),
        _column("timestamp_type", pa.int32(), "timestamp_type_or_null"),
    ),
    _column("value", pa.binary()),
)

# AutoMQ/automq, core/src/main/java/kafka/automq/table/process at f1ce98ec8981: RecordAssembler,
# DefaultRecordProcessor; convert/RawConverter for values, StringConverter for keys, as LogConfig has it.
_AUTOMQ = (
    _column("_kafka_value", pa.binary(), "value_or_empty"),
    _column(
        "_kafka_header", pa.map_(pa.string(), pa.field("value", pa.binary(), nullable=False)), "header_map"
    ),
    _column("_kafka_key", pa.string(), "key_text"),
    _struct(
        "_kafka_metadata",
        _required("partition", pa.int32()),
        _required("offset", pa.int64()),
        _required("timestamp", pa.int64(), "timestamp_ms"),
    ),
)

_RAW_HEADER = pa.struct([pa.field("key", pa.string(), False), pa.field("value", pa.binary(), False)])

# Aiven-Open/tiered-storage-for-apache-kafka at 8fb15816df2d, core/src/main/java/io/aiven/kafka/tieredstorage:
# iceberg/data/RowSchema.java, and getSchema in IcebergRemoteStorageManager.java for a topic without a schema:
# then key and value are null, and key_raw and value_raw have the bytes.
_AIVEN = (
    _struct(
        "kafka",
        _required("partition", pa.int32()),
        _required("offset", pa.int64()),
        _required("timestamp", pa.int64(), "timestamp_ms"),
        _required("batch_byte_offset", pa.int32(), "batch_position"),
        _required("batch_base_offset", pa.int64()),
        _required("batch_partition_leader_epoch", pa.int32(), "batch_leader_epoch"),
        _required("batch_magic", pa.int32()),
        _required("batch_timestamp_type", pa.int32()),
        _required("batch_compression_type", pa.int32(), "batch_codec"),
        _required("batch_max_timestamp", pa.int64()),
        _required("batch_producer_id", pa.int64()),
        _required("batch_producer_epoch", pa.int32()),
        _required("batch_base_sequence", pa.int32()),
        nullable=False,
    ),
    _required("headers", pa.list_(pa.field("element", _RAW_HEADER, nullable=False)), "raw_headers"),
    _column("key", pa.binary(), "nothing"),
    _column("key_raw", pa.binary(), "key"),
    _column("value", pa.binary(), "nothing"),
    _column("value_raw", pa.binary(), "value"),
)

LAYOUTS: dict[str, tuple[LayoutColumn, ...]] = {
    "connector": _CONNECTOR,
    "connector-headers": (*_CONNECTOR, _column("headers", _OPTIONAL_HEADERS, "headers_or_null")),
    "redpanda": _REDPANDA,
    "aiven": _AIVEN,
    "automq": _AUTOMQ,
}
"""Columns of each layout."""

_REFUSED = {
    "tableflow": "Tableflow takes its columns from the topic's schema in a registry, and ingest decodes no "
    "values",
}
"""Layouts that cannot be written, and why."""


def check_layout(name: str) -> None:
    """Check that a layout can be written.

    Raises:
        OptionError: it cannot.
    """
    if name in _REFUSED:
        raise OptionError(f"--layout {name}: {_REFUSED[name]}; give {', '.join(LAYOUTS)}, or leave it out")
    if name not in LAYOUTS:
        raise OptionError(f"there is no layout {name}; give {', '.join(LAYOUTS)}")
