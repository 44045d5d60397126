"""The Arrow columns of records.

| column | type | meaning |
|---|---|---|
| `offset` | int64 | log offset |
| `timestamp` | timestamp[ms, UTC] | what a consumer is given, any int64; -1 is Kafka's "none" |
| `timestamp_type` | int8 | Kafka's ids: -1 none (magic 0), 0 CreateTime, 1 LogAppendTime |
| `key`, `value` | binary | null and empty differ |
| `headers` | list<struct<key: binary, value: binary>> | in order, with duplicates; only values may be null |

Header keys are bytes: they need not be UTF-8. A timestamp of -1 stays what it is, a millisecond before 1970.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from kafka_segments.errors import OptionError

__all__ = ["HEADER_FIELDS", "SCHEMA", "TIMESTAMP", "schema_of"]

TIMESTAMP = pa.timestamp("ms", tz="UTC")
HEADER_FIELDS = [pa.field("key", pa.binary(), nullable=False), pa.field("value", pa.binary())]

SCHEMA = pa.schema(
    [
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("timestamp", TIMESTAMP, nullable=False),
        pa.field("timestamp_type", pa.int8(), nullable=False),
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("headers", pa.list_(pa.struct(HEADER_FIELDS)), nullable=False),
    ]
)
"""Names and types of all columns."""


def schema_of(columns: Sequence[str] | None) -> pa.Schema:
    """The schema of some columns, in the order asked for; all of them if None.

    Raises:
        OptionError: an unknown column, one twice, or none at all.
    """
    if columns is None:
        return SCHEMA
    unknown = [name for name in columns if name not in SCHEMA.names]
    if isinstance(columns, str) or unknown or not columns or len(set(columns)) < len(columns):
        raise OptionError(f"columns must be some of {', '.join(SCHEMA.names)}, each once; not {columns!r}")
    return pa.schema([SCHEMA.field(name) for name in columns])
