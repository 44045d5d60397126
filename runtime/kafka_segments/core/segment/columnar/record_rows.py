"""Records one by one as Arrow batches, for what the generated decoders leave to the exact reader.

At most as many records are objects at a time as one Arrow batch takes, whatever a batch decompresses to. That
batch stays far below the 2 GiB that 32-bit offsets can address: it is cut before it would pass
`max_bytes`, and one record alone cannot hold as much (its length is an int32).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import pyarrow as pa

from kafka_segments.core.formats.entries import Batch, Damage, Record
from kafka_segments.core.segment.columnar.arrow_schema import (
    HEADER_FIELDS,
    NONE,
    SCHEMA,
    TIMESTAMP,
    schema_of,
)
from kafka_segments.core.segment.columnar.read_range import OffsetRange
from kafka_segments.core.segment.columnar.record_objects import RowDecoder
from kafka_segments.core.segment.records.batch_records import ManyRows, RecordPlace, open_records
from kafka_segments.core.segment.scan.entry_scan import Scan
from kafka_segments.errors import EncodeError, KafkaFormatError, OptionError

__all__ = ["ExactRecords", "record_batches"]

# org.apache.kafka.common.record.TimestampType
_TIMESTAMP_TYPE_IDS = {"NoTimestampType": -1, "CreateTime": 0, "LogAppendTime": 1}

_LARGEST_COLUMN = 2**31 - 1  # bytes that a binary column's int32 offsets can address
_HEADER_WEIGHT = 8  # counted for a header beside its bytes, so that empty ones end a batch too


class ExactRecords:
    """Reader of batches whose content the compiled decoders refuse.

    Args:
        scan: reads the payloads, and records sound batches.
        schema: the columns.
        offsets: only records in this range.
        check_crc: verify the checksums of messages in a wrapper.
        max_decompressed: bytes that one batch may decompress to.
    """

    def __init__(
        self,
        scan: Scan,
        *,
        schema: pa.Schema,
        offsets: OffsetRange,
        check_crc: bool,
        max_decompressed: int,
    ) -> None:
        self._scan = scan
        self._schema = schema
        self._offsets = offsets
        self._check_crc = check_crc
        self._max_decompressed = max_decompressed
        self._rows = ManyRows(RowDecoder)

    def events(
        self, batch: Batch, start: RecordPlace, *, is_strict: bool
    ) -> Iterator[pa.RecordBatch | Damage]:
        """The records from `start` on as arrow batches, then the damage if there is any.

        Args:
            batch: its header.
            start: which records were yielded already.
            is_strict: leave out records outside the range even if the header says that there are none.
        """
        damages: list[Damage] = []
        records = self._records(batch, start, damages)
        if is_strict or not self._offsets.covers(batch):
            records = (record for record in records if self._offsets.holds(record.offset))
        for rows in record_batches(records, columns=self._schema.names, batch=batch):
            yield rows.cast(self._schema)  # to views, if it has these
        yield from damages

    def _records(self, batch: Batch, start: RecordPlace, damages: list[Damage]) -> Iterator[Record]:
        """Yield the records from `start` on; damage after them is added to `damages`."""
        last_offset = None  # of a record that was yielded before, too: damage is described by its neighbours
        try:
            opened = open_records(
                batch,
                self._scan.payload(batch),
                max_decompressed=self._max_decompressed,
                check_crc=self._check_crc,
                rows=self._rows,
                items=self._scan.items,
            )
            for number, record in enumerate(opened[1]):
                last_offset = record.offset
                if number >= start.num_records:
                    yield record
            self._scan.note_sound(batch)
        except KafkaFormatError as error:
            damages.append(self._scan.damage_of(batch, error, last_offset))


def record_batches(
    records: Iterable[Record],
    *,
    max_rows: int = 10_000,
    max_bytes: int = 4 << 20,
    columns: Sequence[str] | None = None,
    batch: Batch | None = None,
) -> Iterator[pa.RecordBatch]:
    """Convert records to Arrow batches, in order; control records are left out.

    Args:
        records: what `Segment.iter_records` yields.
        max_rows: rows a batch may have.
        max_bytes: bytes of keys, values and headers a batch may have; a larger record makes one by itself.
        columns: names of the columns wanted, in the order wanted; all of `SCHEMA` if None.
        batch: that all of them are of; without it, only `sequence` is known of the further columns.

    Returns:
        Batches with at least one row; none if there are no data records.

    Raises:
        OptionError: at once, for a limit out of range or an unknown column.
        EncodeError: while iterating, for a record of 2 GiB and more (Kafka cannot store one).
    """
    schema = schema_of(columns)
    if not 1 <= max_rows <= _LARGEST_COLUMN or not 1 <= max_bytes <= _LARGEST_COLUMN:
        raise OptionError(f"max_rows ({max_rows}) and max_bytes ({max_bytes}) must be 1 to {_LARGEST_COLUMN}")
    if batch is None and (unknown := sorted(_OF_BATCHES.keys() & set(schema.names))):
        raise OptionError(f"{', '.join(unknown)}: records alone do not have this; read the segment")
    return (_build(rows, schema, batch) for rows in _iter_groups(records, max_rows, max_bytes))


def _iter_groups(records: Iterable[Record], max_rows: int, max_bytes: int) -> Iterator[list[Record]]:
    rows: list[Record] = []
    num_bytes = 0
    for record in records:
        if record.control is not None:
            continue
        size = _size_of(record)
        if size > _LARGEST_COLUMN:
            raise EncodeError(f"offset {record.offset}: {size} bytes are too many for an Arrow column")
        if rows and (len(rows) >= max_rows or num_bytes + size > max_bytes):
            yield rows
            rows, num_bytes = [], 0
        rows.append(record)
        num_bytes += size
    if rows:
        yield rows


def _size_of(record: Record) -> int:
    size = len(record.key or b"") + len(record.value or b"")
    for key, value in record.headers:
        size += len(key) + len(value or b"") + _HEADER_WEIGHT
    return size


def _build(rows: list[Record], schema: pa.Schema, batch: Batch | None) -> pa.RecordBatch:
    arrays = []
    for name, kind in zip(schema.names, schema.types, strict=True):
        if name not in _OF_BATCHES:
            arrays.append(_COLUMN_BUILDERS[name](rows))
        else:
            value = getattr(batch, _OF_BATCHES[name])
            arrays.append(pa.array([None if value == NONE else value] * len(rows), kind))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _build_timestamps(rows: list[Record]) -> pa.Array:
    times = [None if row.timestamp == NONE else row.timestamp for row in rows]
    return pa.array(times, pa.int64()).view(TIMESTAMP)


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
    headers = pa.StructArray.from_arrays(arrays, fields=HEADER_FIELDS)
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), headers, type=SCHEMA.field("headers").type)


_COLUMN_BUILDERS: dict[str, Callable[[list[Record]], pa.Array]] = {
    "offset": lambda rows: pa.array([row.offset for row in rows], pa.int64()),
    "timestamp": _build_timestamps,
    "timestamp_ms": lambda rows: pa.array([row.timestamp for row in rows], pa.int64()),
    "timestamp_type": _build_timestamp_types,
    "key": lambda rows: pa.array([row.key for row in rows], pa.binary()),
    "value": lambda rows: pa.array([row.value for row in rows], pa.binary()),
    "headers": _build_headers,
    "sequence": lambda rows: pa.array(
        [None if row.sequence == NONE else row.sequence for row in rows], pa.int32()
    ),
}
# Where the batch has them.
_OF_BATCHES = {
    "leader_epoch": "partition_leader_epoch",
    "producer_id": "producer_id",
    "producer_epoch": "producer_epoch",
}
