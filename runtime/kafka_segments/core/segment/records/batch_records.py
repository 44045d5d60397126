"""Records of a batch, one after the other; those before a damaged one are delivered.

Strategy: magic 0 and 1 are decoded in `legacy_messages`. For magic 2: decompress the payload, let the
generated class read each record, add the batch's base values to the record's deltas, and wrap the sums as
Java does. Kafka's rules are in DefaultRecordBatch.RecordIterator and DefaultRecord.readFrom.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from functools import cached_property, partial
from itertools import chain
from typing import Any, NamedTuple, Protocol

from kafka_segments.core import formats
from kafka_segments.core.codecs import decompress
from kafka_segments.core.codecs.bounds import ItemBudget, content_bound
from kafka_segments.core.formats.control_records import decode_control
from kafka_segments.core.formats.entries import Batch, ExperimentalBatch, Record
from kafka_segments.core.segment.records.legacy_messages import Messages
from kafka_segments.errors import CorruptBatchError, DecompressionError, KafkaFormatError

__all__ = [
    "MAX_NUM_HEADERS",
    "ManyRows",
    "RecordPlace",
    "Rows",
    "check_codec",
    "iter_bodies",
    "open_records",
    "sequence_of",
]

MAX_NUM_HEADERS = 1_000_000
"""Headers of one record at most; Kafka only limits the size of a batch.

A header takes two bytes or more, a thousandth of that when compressed, but as a pair of values about 80 bytes
of memory besides its content. A record of 1 MiB, the default limit of brokers, has half as many at most.
"""


class RecordPlace(NamedTuple):
    """Position in a batch's content where decoding continues.

    Attributes:
        num_records: number of records decoded before.
        place: after the last of them, in bytes of the content.
    """

    num_records: int = 0
    place: int = 0


_BEGINNING = RecordPlace()


class Rows(Protocol):
    """A faster decoder of records, which may leave records to the one in this module."""

    def bodies(
        self, batch: Batch, payload: bytes | memoryview, max_items: int
    ) -> Generator[Iterable[formats.Body], None, RecordPlace | None]:
        """Yield records from the first on, several at once; return where to continue, None if all are sound.

        It may stop before a record that has more than `max_items` headers.
        """
        ...

    def ahead(self, batch: Batch) -> list[formats.Body] | None:
        """Return all records of a sound entry that was decoded with others; None if it was not."""
        ...

    def follow(self, walk: Any) -> None:
        """Decode ahead the batches of a walk, which are asked for in its order."""
        ...


_MANY = 10_000
_LONG = 16 << 20  # bytes that are likely to have many more


class ManyRows:
    """Rows that are loaded at the 10,000th record: decoding fewer one by one takes less time than loading.

    Args:
        load: loads the decoder; returns None if it is not available.
    """

    def __init__(self, load: Callable[[], Rows | None]) -> None:
        self._load = load
        self._num_records = 0
        self._walk: Any = None

    def expect(self, num_bytes: int) -> None:
        """Load the decoder for the first record, if so many bytes are to be read that it is worth it."""
        if num_bytes >= _LONG:
            self._num_records = _MANY

    @cached_property
    def _rows(self) -> Rows | None:
        rows = self._load()
        if rows is not None and self._walk is not None:
            rows.follow(self._walk)
        return rows

    def ahead(self, batch: Batch) -> list[formats.Body] | None:
        self._num_records += batch.magic < 2  # others are counted by `bodies`
        is_worth_it = self._num_records > _MANY and self._rows is not None
        return self._rows.ahead(batch) if is_worth_it and self._rows is not None else None

    def follow(self, walk: Any) -> None:
        self._walk = walk
        if "_rows" in self.__dict__ and self._rows is not None:
            self._rows.follow(walk)

    def bodies(
        self, batch: Batch, payload: bytes | memoryview, max_items: int
    ) -> Generator[Iterable[formats.Body], None, RecordPlace | None]:
        count = batch.num_records or 0
        self._num_records += count
        if self._num_records <= _MANY or self._rows is None:
            return _BEGINNING
        return (yield from self._rows.bodies(batch, payload, max_items))


def open_records(
    batch: Batch,
    payload: bytes | memoryview,
    *,
    max_decompressed: int,
    check_crc: bool = True,
    rows: Rows | None = None,
    items: ItemBudget | None = None,
) -> tuple[Batch, Iterator[Record]]:
    """Return a batch, completed from its content, and its records.

    Args:
        batch: its header.
        payload: the result of `entry_scan.read_payload`.
        max_decompressed: bytes that the payload may decompress to.
        check_crc: verify the checksums of messages in a wrapper.
        rows: a faster decoder for records of magic 2, if available.
        items: counts records, headers and the content of control records, where a pass reads several batches.

    Returns:
        The batch: for a wrapper of magic 0 or 1 with its first offset and the number of messages. And the
        records; errors are raised after the records before them (inner checksums: after all the others).

    Raises:
        DecompressionError: an unknown codec, invalid bytes, or more than `max_decompressed`. In magic 2 it is
            raised when the first record is requested.
        CorruptBatchError: inconsistent counts, lengths or offsets.
    """
    items = items or ItemBudget(max_decompressed)
    if batch.magic >= 2:
        bodies = iter_bodies(batch, payload, max_decompressed=max_decompressed, rows=rows, items=items)
        return batch, (_record(batch, body) for body in chain.from_iterable(bodies))
    try:
        check_codec(batch)
    except KafkaFormatError as error:
        raise error.with_context(position=batch.position, path=batch.path) from error.__cause__
    messages = Messages(batch, payload, max_decompressed=max_decompressed, check_crc=check_crc, items=items)
    return messages.batch, messages.records()


def iter_bodies(
    batch: Batch,
    payload: bytes | memoryview,
    *,
    max_decompressed: int,
    rows: Rows | None = None,
    items: ItemBudget | None = None,
) -> Iterator[Iterable[formats.Body]]:
    """Yield the records of a batch of magic 2 by their own values, several at once, each to be read at once.

    Arguments are those of `open_records`.

    Raises:
        DecompressionError: an unknown codec, invalid bytes, or more of them, or of records and headers, than
            `bounds` allows.
        CorruptBatchError: an inconsistent count or length, bytes after the last record, or a record with more
            than `MAX_NUM_HEADERS`; raised after the records before that.
    """
    try:
        check_codec(batch)
        plain = _decompressed(batch, payload, max_decompressed)
        budget = None if batch.compression == "none" else items or ItemBudget(max_decompressed)
        if budget is not None:
            budget.add(batch.size)
        yield from _records(batch, plain, rows, budget)
    except KafkaFormatError as error:
        raise error.with_context(position=batch.position, path=batch.path) from error.__cause__


def check_codec(batch: Batch) -> None:
    """Raise `DecompressionError` if the codec's number is unknown, or (zstd) newer than the batch's magic."""
    if batch.compression is None:
        raise DecompressionError(
            f"unknown compression codec {batch.compression_id}; Kafka has 0 to 4", codec=batch.compression_id
        )
    if batch.magic < 2 and batch.compression == "zstd":
        detail = f"zstd in a message of magic {batch.magic}: Kafka has it since magic 2"
        raise DecompressionError(detail, codec="zstd")


def _decompressed(batch: Batch, payload: bytes | memoryview, max_decompressed: int) -> bytes | memoryview:
    # A batch without records may name a codec and have no payload, where most codecs would miss their header.
    if batch.compression == "none" or (batch.num_records == 0 and len(payload) == 0):
        return payload
    assert batch.compression is not None
    max_size = content_bound(len(payload), max_decompressed)
    return decompress(batch.compression, payload, max_size=max_size, magic=batch.magic)


def _records(
    batch: Batch, payload: bytes | memoryview, rows: Rows | None, items: ItemBudget | None
) -> Iterator[Iterable[formats.Body]]:
    """Yield the records, within the budget."""
    start, is_experimental = _BEGINNING, isinstance(batch, ExperimentalBatch)
    if rows is not None and not (batch.is_control or is_experimental):  # which faster decoders do not know
        max_items = MAX_NUM_HEADERS if items is None else items.largest(MAX_NUM_HEADERS)
        steps = rows.bodies(batch, payload, max_items)
        try:
            while True:
                bodies = next(steps)
                yield bodies if items is None else _taken(bodies, items, batch)
        except StopIteration as stop:
            if stop.value is None:
                return
            start = stop.value
    for body in _exactly(batch, payload, start, items):
        yield (body,)


def _taken(bodies: Iterable[formats.Body], items: ItemBudget, batch: Batch) -> Iterator[formats.Body]:
    for body in bodies:
        items.take(1 + len(body.headers), batch.compression)
        yield body


def _exactly(
    batch: Batch, payload: bytes | memoryview, start: RecordPlace, items: ItemBudget | None
) -> Iterator[formats.Body]:
    """Decode records by the generated class, whose errors describe the damage."""
    count = batch.num_records
    if count is None or count < 0:
        raise CorruptBatchError(f"the batch claims {count} records")
    take = None if items is None else partial(items.take_record, batch.compression)
    reader: formats.RecordReader | formats.MetadataFirstReader
    if isinstance(batch, ExperimentalBatch) and batch.has_metadata_first:
        reader = formats.MetadataFirstReader(payload, batch, take)
    else:
        reader = formats.RecordReader(payload, batch, MAX_NUM_HEADERS, start.place, take)
    try:
        for index in range(start.num_records, count):
            try:
                body = reader.read()
            except CorruptBatchError as error:
                detail = f"record {index + 1} of {count} cannot be read: {error.detail}"
                raise CorruptBatchError(detail) from error
            yield body
        if reader.num_left():
            raise CorruptBatchError(f"{reader.num_left()} bytes are left after the last of {count} records")
    finally:
        reader.close()


def _record(batch: Batch, body: formats.Body) -> Record:
    return Record(
        position=batch.position,
        offset=body.offset,
        timestamp=body.timestamp,
        timestamp_type=batch.timestamp_type,
        sequence=sequence_of(batch, body),
        key=body.key,
        value=body.value,
        headers=body.headers,
        control=decode_control(body.key, body.value) if batch.is_control else None,
    )


def sequence_of(batch: Batch, body: formats.Body) -> int:
    """The sequence number of a record in a batch of magic 2; -1 for none."""
    if batch.base_sequence < 0:
        return -1
    return formats.increment_sequence(batch.base_sequence, body.offset_delta)
