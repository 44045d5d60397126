"""Columns of records.

The only definition for `read_table`, `read_batches`, `scan`, the Parquet files of `ingest`, and
docs/columns.md, which is generated from it. In files -1 stands for none (RecordBatch.NO_PRODUCER_ID and the
like). Header keys are bytes: they need not be UTF-8. A timestamp may be any int64, and Python's datetime ends
with the year 9999: where it may be beyond (`to_pylist`, pandas, polars), read `timestamp_ms`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import pyarrow as pa

from kafka_segments.errors import OptionError

__all__ = [
    "FURTHER",
    "HEADER_FIELDS",
    "NONE",
    "OF_PARTITION",
    "SCHEMA",
    "STORED",
    "TIMESTAMP",
    "Binary",
    "copied_schema",
    "decoded_schema",
    "has_views",
    "schema_of",
    "stored_names",
    "viewed_schema",
]

TIMESTAMP = pa.timestamp("ms", tz="UTC")
HEADER_FIELDS = [pa.field("key", pa.binary(), nullable=False), pa.field("value", pa.binary())]

OF_PARTITION = pa.schema(
    [pa.field("topic", pa.string(), nullable=False), pa.field("partition", pa.int32(), nullable=False)]
)
"""Where a record is from: columns of `scan`, directories of `ingest`."""

SCHEMA = pa.schema(
    [
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("timestamp", TIMESTAMP),
        pa.field("timestamp_type", pa.int8(), nullable=False),
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("headers", pa.list_(pa.struct(HEADER_FIELDS)), nullable=False),
    ]
)
"""The columns if none are asked for."""

FURTHER = pa.schema(
    [
        pa.field("leader_epoch", pa.int32()),
        pa.field("producer_id", pa.int64()),
        pa.field("producer_epoch", pa.int32()),
        pa.field("sequence", pa.int32()),
    ]
)
"""Columns on request, null where there is none: in batches without it, and in the old formats."""

STORED = {"timestamp_ms": "timestamp"}
"""Columns that have the numbers of another one as they are stored, where that has nulls."""

NONE = -1

_AS_STORED = pa.field("timestamp_ms", pa.int64(), nullable=False)
_ALL = pa.schema([*SCHEMA, _AS_STORED, *FURTHER])


Binary: TypeAlias = Literal["copy", "view"]
"""How columns have bytes: copied one after the other (`pa.binary()`), or as views (`pa.binary_view()`)."""


def schema_of(columns: Sequence[str] | None, binary: Binary = "copy") -> pa.Schema:
    """Return the schema of some columns, in order; `SCHEMA` if None.

    Raises:
        OptionError: an unknown column, one twice, or none at all; or another `binary`.
    """
    if binary not in ("copy", "view"):
        raise OptionError(f'binary must be "copy" or "view", not {binary!r}')
    schema = _chosen(columns)
    return viewed_schema(schema) if binary == "view" else schema


def _chosen(columns: Sequence[str] | None) -> pa.Schema:
    if columns is None:
        return SCHEMA
    unknown = [name for name in columns if name not in _ALL.names]
    if isinstance(columns, str) or unknown or not columns or len(set(columns)) < len(columns):
        raise OptionError(f"columns must be some of {', '.join(_ALL.names)}, each once; not {columns!r}")
    return pa.schema([_ALL.field(name) for name in columns])


def stored_names(schema: pa.Schema) -> list[str]:
    """Return, for each column of a schema, the decoder's or encoder's column with its values."""
    names = [str(name) for name in schema.names]
    return [STORED.get(name, name) for name in names]


def decoded_schema(schema: pa.Schema, is_ranged: bool) -> pa.Schema:
    """Return the schema to decode for some columns; the same object if it is just these.

    If one of the further columns is selected, all are decoded: each combination of columns needs a decoder of
    its own, to be compiled, and they cost little.
    """
    names = [*schema.names, *(["offset"] if is_ranged else [])]
    if any(name in FURTHER.names for name in names):
        names += FURTHER.names
    unique = list(dict.fromkeys(names))
    return schema if unique == schema.names else pa.schema([*schema, *_missing(schema, unique)])


def _missing(schema: pa.Schema, names: Sequence[str]) -> list[pa.Field]:
    return [_ALL.field(name) for name in names if name not in schema.names]


def viewed_schema(schema: pa.Schema) -> pa.Schema:
    """Return a schema with views for its columns of bytes."""
    return _with_bytes(schema, pa.binary_view())


def copied_schema(schema: pa.Schema) -> pa.Schema:
    """Return a schema without views."""
    return _with_bytes(schema, pa.binary())


def has_views(schema: pa.Schema) -> bool:
    """Return whether columns have views."""
    return not schema.equals(copied_schema(schema))


def _with_bytes(schema: pa.Schema, kind: pa.DataType) -> pa.Schema:
    return pa.schema([field.with_type(_of_bytes(field.type, kind)) for field in schema])


def _of_bytes(kind: pa.DataType, to: pa.DataType) -> pa.DataType:
    if kind in (pa.binary(), pa.binary_view()):
        return to
    if not pa.types.is_list(kind):
        return kind
    return pa.list_(pa.struct([field.with_type(_of_bytes(field.type, to)) for field in kind.value_type]))
