"""Records of a batch, one after the other, so that those before a bad one are delivered.

Strategy: the old formats have a module of their own (`messages`). For magic 2: decompress the payload, let
the generated class read each record and add the batch's base values to the record's deltas, and wrap the
sums as Java does. Kafka's rules are in DefaultRecordBatch.RecordIterator and DefaultRecord.readFrom.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from itertools import islice
from typing import Any, Protocol

from kafka_segments import layout
from kafka_segments.compression import decompress
from kafka_segments.control import decode_control
from kafka_segments.entries import Batch, Header, Record
from kafka_segments.errors import CorruptBatchError, DecompressionError, KafkaFormatError
from kafka_segments.messages import Messages

__all__ = ["MAX_NUM_HEADERS", "Rows", "check_codec", "open_records"]

MAX_NUM_HEADERS = 1_000_000
"""Headers that one record may have here; Kafka has no limit but the size of a batch.

A header has two bytes at least, and compression makes a thousandth of them, but as a pair of values it takes
about 80 bytes of memory and more for what is in it. A record of 1 MiB, which is what brokers let pass, has
half as many at most.
"""


class Rows(Protocol):
    """A faster way to records, which leaves to the one here what it does not take."""

    def records(self, batch: Batch, payload: bytes | memoryview) -> Generator[Record, None, tuple[int, bool]]:
        """Yield records from the first on; return how many, and whether that was all, and all is sound."""
        ...


def open_records(
    batch: Batch,
    payload: bytes | memoryview,
    *,
    max_decompressed: int,
    check_crc: bool = True,
    rows: Rows | None = None,
) -> tuple[Batch, Iterator[Record]]:
    """A batch, with what only its content knows of it, and its records.

    Args:
        batch: its header.
        payload: what `framing.read_payload` gives.
        max_decompressed: bytes that the payload may decompress to.
        check_crc: verify the checksums of messages in a wrapper.
        rows: decodes the records of magic 2 faster, if there is such a thing.

    Returns:
        The batch: for a wrapper of magic 0 or 1 with its first offset and the number of messages. And the
        records; what is wrong is raised after those before it (inner checksums: after all the others).

    Raises:
        DecompressionError: an unknown codec, wrong bytes, or more than `max_decompressed`. In magic 2 this is
            raised when the first record is asked for.
        CorruptBatchError: counts, lengths or offsets contradict each other.
    """
    if batch.magic >= 2:
        return batch, _iter_batch(batch, payload, max_decompressed, rows)
    try:
        check_codec(batch)
    except KafkaFormatError as error:
        error.position, error.path = batch.position, batch.path
        raise
    messages = Messages(batch, payload, max_decompressed=max_decompressed, check_crc=check_crc)
    return messages.batch, messages.records()


def _iter_batch(
    batch: Batch, payload: bytes | memoryview, max_decompressed: int, rows: Rows | None
) -> Iterator[Record]:
    """The records of a batch of magic 2.

    Raises:
        DecompressionError: an unknown codec, wrong bytes, or more than `max_decompressed`.
        CorruptBatchError: the count, a record's lengths, or bytes left behind the last record contradict each
            other, or a record has more than `MAX_NUM_HEADERS`; raised after the records before that.
    """
    try:
        check_codec(batch)
        plain = _decompressed(batch, payload, max_decompressed)
        num_taken, is_done = 0, False
        if rows is not None and not batch.is_control:
            num_taken, is_done = yield from rows.records(batch, plain)
        if not is_done:
            yield from islice(_records(batch, plain), num_taken, None)
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
    return decompress(batch.compression, payload, max_size=max_decompressed, magic=batch.magic)


def _records(batch: Batch, payload: bytes | memoryview) -> Iterator[Record]:
    count = batch.num_records
    if count is None or count < 0:
        raise CorruptBatchError(f"the batch claims {count} records")
    reader = layout.RecordReader(payload, batch, MAX_NUM_HEADERS)
    for index in range(count):
        try:
            body, headers = reader.read()
        except CorruptBatchError as error:
            detail = f"record {index + 1} of {count} cannot be read: {error.detail}"
            raise CorruptBatchError(detail) from error
        yield _record(batch, body, headers)
    if reader.num_left():
        raise CorruptBatchError(f"{reader.num_left()} bytes are left behind the last of {count} records")


def _record(batch: Batch, body: Any, headers: tuple[Header, ...]) -> Record:
    key, value = getattr(body, "key", None), getattr(body, "value", None)
    sequence = -1
    if batch.base_sequence >= 0:
        sequence = layout.increment_sequence(batch.base_sequence, body.offset_delta.value)
    return Record(
        position=batch.position,
        offset=layout.wrap_long(body.offset),
        timestamp=layout.wrap_long(body.timestamp),
        timestamp_type=batch.timestamp_type,
        sequence=sequence,
        key=key,
        value=value,
        headers=headers,
        control=decode_control(key, value) if batch.is_control else None,
    )
