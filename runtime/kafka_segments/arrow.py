"""Records as Arrow: the only module below `spark` that knows pyarrow.

| column | type | meaning |
|---|---|---|
| `offset` | int64 | log offset |
| `timestamp` | timestamp[ms, UTC] | what a consumer is given, any int64; -1 is Kafka's "none" |
| `timestamp_type` | int8 | Kafka's ids: -1 none (magic 0), 0 CreateTime, 1 LogAppendTime |
| `key`, `value` | binary | null and empty differ |
| `headers` | list<struct<key: binary, value: binary>> | in order, with duplicates; only values may be null |

Header keys are bytes: they need not be UTF-8. A timestamp of -1 stays what it is, a millisecond before 1970.

An arrow batch stays far below the 2 GiB that 32-bit offsets can address: it is cut before it would pass
`max_bytes`, and one record alone cannot hold as much (its length is an int32).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from os import PathLike, fspath
from typing import Any

from kafka_segments.entries import Batch, Damage, Record
from kafka_segments.errors import (
    EncodeError,
    KafkaFormatError,
    MissingCodecError,
    MissingExtraError,
    OptionError,
    UnsupportedMagicError,
)
from kafka_segments.records import is_undecoded
from kafka_segments.segment import OnDamage, Segment, open_segment

try:
    import pyarrow as pa
except ImportError as error:
    message = f"reading into Arrow needs pyarrow ({error}): pip install 'kafka-segments[arrow]'"
    raise MissingExtraError(message, extra="arrow") from error

__all__ = ["SCHEMA", "read_table", "record_batches"]

_TIMESTAMP = pa.timestamp("ms", tz="UTC")
_HEADER_FIELDS = [pa.field("key", pa.binary(), nullable=False), pa.field("value", pa.binary())]

SCHEMA = pa.schema(
    [
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("timestamp", _TIMESTAMP, nullable=False),
        pa.field("timestamp_type", pa.int8(), nullable=False),
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("headers", pa.list_(pa.struct(_HEADER_FIELDS)), nullable=False),
    ]
)
"""Names and types of all columns."""

# org.apache.kafka.common.record.TimestampType
_TIMESTAMP_TYPE_IDS = {"NoTimestampType": -1, "CreateTime": 0, "LogAppendTime": 1}

_LARGEST_COLUMN = 2**31 - 1  # bytes that a binary column's int32 offsets can address
_HEADER_WEIGHT = 8  # counted for a header beside its bytes, so that empty ones end a batch too


def record_batches(
    records: Iterable[Record],
    *,
    max_rows: int = 10_000,
    max_bytes: int = 4 << 20,
    columns: Sequence[str] | None = None,
) -> Iterator[pa.RecordBatch]:
    """Records as arrow batches, in order; control records are left out.

    Args:
        records: what `Segment.iter_records` yields.
        max_rows: rows a batch may have.
        max_bytes: bytes of keys, values and headers a batch may have; a larger record makes one by itself.
        columns: names of the columns wanted, in the order wanted; all of `SCHEMA` if None.

    Returns:
        Batches with at least one row; none if there are no data records.

    Raises:
        OptionError: at once, for a limit out of range or an unknown column.
        EncodeError: while iterating, for a record of 2 GiB and more (Kafka cannot store one).
    """
    schema = _schema_of(columns)
    if not 1 <= max_rows <= _LARGEST_COLUMN or not 1 <= max_bytes <= _LARGEST_COLUMN:
        raise OptionError(f"max_rows ({max_rows}) and max_bytes ({max_bytes}) must be 1 to {_LARGEST_COLUMN}")
    return _iter_batches(records, max_rows, max_bytes, schema)


def read_table(
    path: str | PathLike[str],
    columns: Sequence[str] | None = None,
    offsets: tuple[int | None, int | None] | None = None,
    check_crc: bool = True,
    on_damage: OnDamage = "raise",
) -> pa.Table:
    """The data records of one segment file; control records are left out.

    Args:
        path: a `.log` or `.checkpoint` file.
        columns: names of the columns wanted, in the order wanted; all of `SCHEMA` if None.
        offsets: `(start, end)`: only records with start <= offset < end; None on either side is open.
            Damage that cannot have touched these offsets is passed over.
        check_crc: whether the batches' checksums are verified.
        on_damage: "raise" raises the error of the first damage; "skip" leaves damage out; a callable is
            given each `Damage` and the reading goes on. Messages of magic 0 and 1, which are not decoded
            yet, count as damage here.

    Raises:
        KafkaFormatError: `ReadError` for a file that cannot be opened, `UnknownFormatError` for one that is
            not Kafka's, and whatever is damaged if `on_damage` is "raise".
        MissingCodecError: a codec's package is not installed, whatever `on_damage` says.
        OptionError: an unknown column, offsets that are no such pair, or another `on_damage`.
    """
    schema = _schema_of(columns)
    start, end = _check_offsets(offsets)
    if on_damage not in ("raise", "skip") and not callable(on_damage):
        raise OptionError(f"on_damage must be 'raise', 'skip' or a callable, not {on_damage!r}")
    with open_segment(fspath(path), check_crc=check_crc) as segment:
        records = _iter_data_records(segment, start, end, on_damage)
        return pa.Table.from_batches(record_batches(records, columns=columns), schema)


def _iter_data_records(
    segment: Segment, start: int | None, end: int | None, on_damage: OnDamage
) -> Iterator[Record]:
    """The records of the range; `record_batches` leaves the control records out."""

    def is_wanted(batch: Batch) -> bool:
        after_start = start is None or batch.highest_offset >= start
        return after_start and (end is None or batch.base_offset is None or batch.base_offset < end)

    for event in segment.iter_events(on_damage="skip", wanted=is_wanted):
        if isinstance(event, Record):
            if (start is None or event.offset >= start) and (end is None or event.offset < end):
                yield event
        elif isinstance(event, Damage):
            if event.touches(start, end):
                _handle(event, event.error, on_damage)
        elif isinstance(event, Batch) and is_undecoded(event):
            error = UnsupportedMagicError(
                f"magic {event.magic} entry at offset {event.last_offset}: not yet decoded into records",
                magic=event.magic,
                position=event.position,
                path=event.path,
            )
            damage = segment.damage_of(event, error, None)
            if damage.touches(start, end):
                _handle(damage, error, on_damage)


def _handle(damage: Damage, error: KafkaFormatError, on_damage: OnDamage) -> None:
    # A package that is not installed is no damage: skipping would lose sound data.
    if on_damage == "raise" or isinstance(error, MissingCodecError):
        raise error
    if on_damage != "skip":
        on_damage(damage)


def _check_offsets(offsets: Any) -> tuple[int | None, int | None]:
    if offsets is None:
        return None, None
    if not isinstance(offsets, tuple) or len(offsets) != 2 or not all(_is_offset(bound) for bound in offsets):
        raise OptionError(f"offsets must be a pair (start, end) of integers or None, not {offsets!r}")
    start, end = offsets
    return start, end


def _is_offset(bound: Any) -> bool:
    return bound is None or (isinstance(bound, int) and not isinstance(bound, bool))


def _schema_of(columns: Sequence[str] | None) -> pa.Schema:
    if columns is None:
        return SCHEMA
    unknown = [name for name in columns if name not in SCHEMA.names]
    if isinstance(columns, str) or unknown or not columns or len(set(columns)) < len(columns):
        raise OptionError(f"columns must be some of {', '.join(SCHEMA.names)}, each once; not {columns!r}")
    return pa.schema([SCHEMA.field(name) for name in columns])


def _iter_batches(
    records: Iterable[Record], max_rows: int, max_bytes: int, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    rows: list[Record] = []
    num_bytes = 0
    for record in records:
        if record.control is not None:
            continue
        size = _size_of(record)
        if size > _LARGEST_COLUMN:
            raise EncodeError(f"offset {record.offset}: {size} bytes are too many for an Arrow column")
        if rows and (len(rows) >= max_rows or num_bytes + size > max_bytes):
            yield _build(rows, schema)
            rows, num_bytes = [], 0
        rows.append(record)
        num_bytes += size
    if rows:
        yield _build(rows, schema)


def _size_of(record: Record) -> int:
    size = len(record.key or b"") + len(record.value or b"")
    for key, value in record.headers:
        size += len(key) + len(value or b"") + _HEADER_WEIGHT
    return size


def _build(rows: list[Record], schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([_COLUMN_BUILDERS[name](rows) for name in schema.names], schema=schema)


def _build_timestamps(rows: list[Record]) -> pa.Array:
    return pa.array([row.timestamp for row in rows], pa.int64()).view(_TIMESTAMP)


def _build_timestamp_types(rows: list[Record]) -> pa.Array:
    return pa.array([_TIMESTAMP_TYPE_IDS[row.timestamp_type] for row in rows], pa.int8())


def _build_headers(rows: list[Record]) -> pa.Array:
    ends = [0]
    keys: list[bytes] = []
    values: list[bytes | None] = []
    for row in rows:
        for key, value in row.headers:
            keys.append(key)
            values.append(value)
        ends.append(len(keys))
    arrays = [pa.array(keys, pa.binary()), pa.array(values, pa.binary())]
    headers = pa.StructArray.from_arrays(arrays, fields=_HEADER_FIELDS)
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), headers, type=SCHEMA.field("headers").type)


_COLUMN_BUILDERS: dict[str, Callable[[list[Record]], pa.Array]] = {
    "offset": lambda rows: pa.array([row.offset for row in rows], pa.int64()),
    "timestamp": _build_timestamps,
    "timestamp_type": _build_timestamp_types,
    "key": lambda rows: pa.array([row.key for row in rows], pa.binary()),
    "value": lambda rows: pa.array([row.value for row in rows], pa.binary()),
    "headers": _build_headers,
}
