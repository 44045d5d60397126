"""Records of a batch, one after the other, so that those before a bad one are delivered.

Strategy: the old formats have a module of their own (`messages`). For magic 2: decompress the payload, let
the generated class read each record and add the batch's base values to the record's deltas, and wrap the
sums as Java does. Kafka's rules are in DefaultRecordBatch.RecordIterator and DefaultRecord.readFrom.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from functools import cached_property, partial
from typing import NamedTuple, Protocol

from kafka_segments import formats
from kafka_segments.codecs import decompress
from kafka_segments.codecs.bounds import ItemBudget, content_bound
from kafka_segments.errors import CorruptBatchError, DecompressionError, KafkaFormatError
from kafka_segments.formats.control_records import decode_control
from kafka_segments.formats.entries import Batch, Record
from kafka_segments.segment.legacy_messages import Messages

__all__ = ["MAX_NUM_HEADERS", "ManyRows", "RecordPlace", "Rows", "check_codec", "open_records"]

MAX_NUM_HEADERS = 1_000_000
"""Headers that one record may have here; Kafka has no limit but the size of a batch.

A header has two bytes at least, and compression makes a thousandth of them, but as a pair of values it takes
about 80 bytes of memory and more for what is in it. A record of 1 MiB, which is what brokers let pass, has
half as many at most.
"""


class RecordPlace(NamedTuple):
    """Where in a batch's content to go on reading.

    Attributes:
        num_records: how many records are known already.
        place: behind the last of them, in bytes of the content.
        last_offset: of the last of them, where it was asked for.
    """

    num_records: int = 0
    place: int = 0
    last_offset: int | None = None


_BEGINNING = RecordPlace()


class Rows(Protocol):
    """A faster way to records, which leaves to the one here what it does not take."""

    def records(
        self, batch: Batch, payload: bytes | memoryview, max_items: int
    ) -> Generator[Record, None, RecordPlace | None]:
        """Yield records from the first on; return where to go on, None if that was all, and all is sound.

        It may stop before a record that has more than `max_items` headers.
        """
        ...


_MANY = 10_000


class ManyRows:
    """Another `Rows`, from the 10,000th record on: reading those one by one takes as long as making it ready.

    Args:
        load: makes it ready; None if it cannot be had.
    """

    def __init__(self, load: Callable[[], Rows | None]) -> None:
        self._load = load
        self._num_records = 0

    @cached_property
    def _rows(self) -> Rows | None:
        return self._load()

    def records(
        self, batch: Batch, payload: bytes | memoryview, max_items: int
    ) -> Generator[Record, None, RecordPlace | None]:
        """See `Rows`; the header tells how many records a batch has."""
        self._num_records += batch.num_records or 0
        if self._num_records <= _MANY or self._rows is None:
            return _BEGINNING
        return (yield from self._rows.records(batch, payload, max_items))


def open_records(
    batch: Batch,
    payload: bytes | memoryview,
    *,
    max_decompressed: int,
    check_crc: bool = True,
    rows: Rows | None = None,
    start: RecordPlace = _BEGINNING,
    items: ItemBudget | None = None,
) -> tuple[Batch, Iterator[Record]]:
    """A batch, with what only its content knows of it, and its records.

    Args:
        batch: its header.
        payload: what `entry_scan.read_payload` gives.
        max_decompressed: bytes that the payload may decompress to.
        check_crc: verify the checksums of messages in a wrapper.
        rows: decodes the records of magic 2 faster, if there is such a thing.
        start: in magic 2, which records are known already and are not yielded.
        items: counts records, headers and the content of control records, where a pass reads several batches.

    Returns:
        The batch: for a wrapper of magic 0 or 1 with its first offset and the number of messages. And the
        records; what is wrong is raised after those before it (inner checksums: after all the others).

    Raises:
        DecompressionError: an unknown codec, wrong bytes, or more than `max_decompressed`. In magic 2 this is
            raised when the first record is asked for.
        CorruptBatchError: counts, lengths or offsets contradict each other.
    """
    items = items or ItemBudget(max_decompressed)
    if batch.magic >= 2:
        return batch, _iter_batch(batch, payload, max_decompressed, rows=rows, start=start, items=items)
    try:
        check_codec(batch)
    except KafkaFormatError as error:
        error.position, error.path = batch.position, batch.path
        raise
    messages = Messages(batch, payload, max_decompressed=max_decompressed, check_crc=check_crc, items=items)
    return messages.batch, messages.records()


def _iter_batch(
    batch: Batch,
    payload: bytes | memoryview,
    max_decompressed: int,
    *,
    rows: Rows | None,
    start: RecordPlace,
    items: ItemBudget,
) -> Iterator[Record]:
    """The records of a batch of magic 2.

    Raises:
        DecompressionError: an unknown codec, wrong bytes, or more of them, or of records and headers, than
            `bounds` allows.
        CorruptBatchError: the count, a record's lengths, or bytes left behind the last record contradict each
            other, or a record has more than `MAX_NUM_HEADERS`; raised after the records before that.
    """
    try:
        check_codec(batch)
        plain = _decompressed(batch, payload, max_decompressed)
        budget = None if batch.compression == "none" else items
        if budget is not None:
            budget.add(batch.size)
        yield from _records(batch, plain, rows, start, budget)
    except KafkaFormatError as error:
        error.position, error.path = batch.position, batch.path
        raise


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
    batch: Batch, payload: bytes | memoryview, rows: Rows | None, start: RecordPlace, items: ItemBudget | None
) -> Iterator[Record]:
    """The records after `start`, as many as the budget has room for."""
    if rows is not None and not batch.is_control and start == _BEGINNING:
        max_items = MAX_NUM_HEADERS if items is None else items.largest(MAX_NUM_HEADERS)
        steps = rows.records(batch, payload, max_items)
        try:
            while True:
                record = next(steps)
                if items is not None:
                    items.take(1 + len(record.headers), batch.compression)
                yield record
        except StopIteration as stop:
            if stop.value is None:
                return
            start = stop.value
    yield from _exactly(batch, payload, start, items)


def _exactly(
    batch: Batch, payload: bytes | memoryview, start: RecordPlace, items: ItemBudget | None
) -> Iterator[Record]:
    """Records by the generated class, which knows what to say of those that are not sound."""
    count = batch.num_records
    if count is None or count < 0:
        raise CorruptBatchError(f"the batch claims {count} records")
    take = None if items is None else partial(items.take_record, batch.compression)
    reader = formats.RecordReader(payload, batch, MAX_NUM_HEADERS, start.place, take)
    try:
        for index in range(start.num_records, count):
            try:
                body = reader.read()
            except CorruptBatchError as error:
                detail = f"record {index + 1} of {count} cannot be read: {error.detail}"
                raise CorruptBatchError(detail) from error
            yield _record(batch, body)
        if reader.num_left():
            raise CorruptBatchError(f"{reader.num_left()} bytes are left behind the last of {count} records")
    finally:
        reader.close()


def _record(batch: Batch, body: formats.Body) -> Record:
    sequence = -1
    if batch.base_sequence >= 0:
        sequence = formats.increment_sequence(batch.base_sequence, body.offset_delta)
    return Record(
        position=batch.position,
        offset=body.offset,
        timestamp=body.timestamp,
        timestamp_type=batch.timestamp_type,
        sequence=sequence,
        key=body.key,
        value=body.value,
        headers=body.headers,
        control=decode_control(body.key, body.value) if batch.is_control else None,
    )
