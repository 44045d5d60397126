"""Records of v2 batches, with their headers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple, TypeAlias

from kafka_segments.core.formats.entries import Batch, ExperimentalBatch, Header
from kafka_segments.core.formats.java import wrap_long
from kafka_segments.core.formats.kaitai_classes import PARSE_ERRORS, explain, release_failed, stream
from kafka_segments.errors import CorruptBatchError, DecompressionError
from kafka_segments_generated.kaitai.kafka_record import KafkaRecord
from kafka_segments_generated.kaitai.kafka_record_header import KafkaRecordHeader
from kafka_segments_generated.kaitai.kafka_record_v3 import KafkaRecordV3

__all__ = ["Body", "RecordReader"]

_MAX_HEADER_OBJECTS = 1000  # of one record at a time; each takes about 700 bytes
_Record: TypeAlias = KafkaRecord | KafkaRecordV3
_RecordBody: TypeAlias = KafkaRecord.RecordBody | KafkaRecordV3.RecordBody


class Body(NamedTuple):
    """A record's own values; None is null. Offset and timestamp are wrapped as Java's are."""

    offset: int
    timestamp: int
    offset_delta: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...]


class RecordReader:
    """Reads the records of a batch of magic 2, or of the discarded magic 3, one after the other.

    Args:
        payload: the records' bytes, decompressed.
        batch: its header.
        max_num_headers: headers that one record may have.
        place: in the payload, where to begin; a record begins there.
        take: is called before a record's headers are read, with their number and the value of a control
            record; it may raise. None is no bound.
    """

    def __init__(
        self,
        payload: bytes | memoryview,
        batch: Batch,
        max_num_headers: int,
        place: int = 0,
        take: Callable[[int, bytes | None], None] | None = None,
    ) -> None:
        assert batch.base_offset is not None and batch.base_timestamp is not None
        self._io = stream(payload)
        self._io.seek(place)
        is_append_time = int(batch.timestamp_type == "LogAppendTime")
        times = is_append_time, batch.base_timestamp, batch.max_timestamp
        producer = batch.producer_id, batch.producer_epoch, batch.base_sequence
        self._base = (batch.base_offset, *times, batch.partition_leader_epoch, *producer)
        self._is_control = batch.is_control
        self._next: Callable[..., _Record] = KafkaRecord
        if isinstance(batch, ExperimentalBatch):
            self._next = partial(KafkaRecordV3, batch.ignores_message_attributes)
        self._max_num_headers = max_num_headers
        self._take = take

    def read(self) -> Body:
        """The next record.

        Raises:
            CorruptBatchError: there is none, its lengths contradict each other, or it has too many headers.
            DecompressionError: `take` has no room for it.
        """
        try:
            return self._read()
        except (CorruptBatchError, DecompressionError):
            raise
        except PARSE_ERRORS as error:
            detail = explain(error)
            release_failed(error)
            raise CorruptBatchError(detail) from error

    def _read(self) -> Body:
        record = self._next(self._is_control, _MAX_HEADER_OBJECTS, *self._base, self._io)
        body = record.body
        num_headers = body.num_headers.value
        key, value = body.key, body.value
        if self._take is not None and num_headers <= self._max_num_headers:
            self._take(num_headers, (value or b"") if self._is_control else None)
        headers = tuple(self._headers(body))
        delta = body.offset_delta.value
        read = Body(wrap_long(body.offset), wrap_long(body.timestamp), delta, key, value, headers)
        _release(record)
        return read

    def _headers(self, body: _RecordBody) -> Iterator[Header]:
        if not body.has_too_many_headers:
            yield from map(_header, body.headers or ())
            return
        # The generated class has left them unread: one by one, their objects are never there all at once.
        if body.num_headers.value > self._max_num_headers:
            raise CorruptBatchError(
                f"{body.num_headers.value} headers are more than the {self._max_num_headers} that this "
                "reader takes (Kafka itself has no limit)"
            )
        io = body._io  # noqa: SLF001 (so every Kaitai class holds its bytes)
        for _ in range(body.num_headers.value):
            yield _header(KafkaRecordHeader(io))
        if not io.is_eof():
            raise CorruptBatchError(f"its content ends after {io.pos()} bytes, before its stated length")

    def num_left(self) -> int:
        """Number of bytes after the last record that was read."""
        return self._io.size() - self._io.pos()

    def close(self) -> None:
        """Release the payload, which records refer to; see `kaitai_classes.release`."""
        self._io.close()


def _release(record: _Record) -> None:
    """Release a record's bytes after its values were taken: see `kaitai_classes.release`.

    Most of the time would go into its integers, which hold themselves too, but nothing that is large.
    """
    body = record.body
    for header in vars(body).get("headers", ()):
        vars(header).clear()
    body._io.close()  # noqa: SLF001 (so every Kaitai class holds its bytes)
    vars(body).clear()
    vars(record).clear()


def _header(header: KafkaRecordHeader) -> Header:
    return header.key, header.value
