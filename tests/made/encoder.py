"""Kafka's record formats, written from their description alone: values to bytes, and what a consumer gets.

It shares no code with what it judges: neither the schemas, nor anything generated, nor the runtime. Kafka's
own classes judge it in turn (`test_encoder.py`). What may be damaged on purpose has a field of its own here
(`count`, `payload`, `stored`, `inner`, `raw`): the default is what Kafka writes, with right checksums.

Sources: DefaultRecord, DefaultRecordBatch, LegacyRecord, AbstractLegacyRecordBatch.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import crc32c
from tests.made.codecs import IDS, codec_of, compress

Header = tuple[bytes, bytes | None]

LOG_OVERHEAD = 12
"""Bytes of an entry before what its length counts."""
V2_HEADER = 61
"""Bytes of a v2 batch before its records."""

NO_TYPE, CREATE_TIME, LOG_APPEND_TIME = -1, 0, 1


class Row(NamedTuple):
    """One record as a consumer is given it; every reader's answer is brought into this form."""

    offset: int
    timestamp: int
    timestamp_type: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = ()
    is_control: bool = False


class Record(NamedTuple):
    """A record of a v2 batch."""

    offset_delta: int = 0
    timestamp_delta: int = 0
    key: bytes | None = None
    value: bytes | None = b""
    headers: tuple[Header, ...] = ()
    attributes: int = 0


@dataclass(frozen=True, slots=True)
class Batch:
    """A record batch of magic 2; `form` is one of `codecs.FORMS`, None is what follows from the rest."""

    base_offset: int = 0
    records: tuple[Record, ...] = ()
    form: str = "none"
    timestamp_type: int = CREATE_TIME
    is_transactional: bool = False
    is_control: bool = False
    has_delete_horizon: bool = False
    base_timestamp: int = 0
    max_timestamp: int | None = None
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    leader_epoch: int = -1
    last_offset_delta: int | None = None
    count: int | None = None
    payload: bytes | None = None
    stored: bytes | None = None

    def encode(self) -> bytes:
        """All bytes of the batch."""
        attributes = IDS[codec_of(self.form)] | self.timestamp_type << 3 | self.is_transactional << 4
        attributes |= self.is_control << 5 | self.has_delete_horizon << 6
        return pack_batch(
            self.base_offset,
            self.compressed() if self.stored is None else self.stored,
            leader_epoch=self.leader_epoch,
            attributes=attributes,
            last_offset_delta=self._last_offset_delta(),
            base_timestamp=self.base_timestamp,
            max_timestamp=self.highest_timestamp(),
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            base_sequence=self.base_sequence,
            count=len(self.records) if self.count is None else self.count,
        )

    def content(self) -> bytes:
        """The records, before they are compressed."""
        return b"".join(map(encode_record, self.records)) if self.payload is None else self.payload

    def compressed(self) -> bytes:
        """The records as they are stored; none need no codec."""
        content = self.content()
        return compress(self.form, content) if content else content

    def rows(self) -> list[Row]:
        """What a consumer gets; control records too."""
        appended = self.highest_timestamp() if self.timestamp_type == LOG_APPEND_TIME else None
        return [
            Row(
                to_long(self.base_offset + record.offset_delta),
                to_long(self.base_timestamp + record.timestamp_delta) if appended is None else appended,
                self.timestamp_type,
                record.key,
                record.value,
                record.headers,
                self.is_control,
            )
            for record in self.records
        ]

    def last_offset(self) -> int:
        """The offset that the header names as the last."""
        return self.base_offset + self._last_offset_delta()

    def _last_offset_delta(self) -> int:
        if self.last_offset_delta is not None:
            return self.last_offset_delta
        return max((record.offset_delta for record in self.records), default=0)

    def highest_timestamp(self) -> int:
        """The header's maxTimestamp."""
        if self.max_timestamp is not None:
            return self.max_timestamp
        times = [to_long(self.base_timestamp + record.timestamp_delta) for record in self.records]
        return max(times, default=-1)


@dataclass(frozen=True, slots=True)
class Message:
    """A message of magic 0 or 1 without compression: an entry of a segment, or one inside a wrapper."""

    offset: int = 0
    magic: int = 1
    key: bytes | None = None
    value: bytes | None = b""
    timestamp: int = -1
    timestamp_type: int = CREATE_TIME
    raw: bytes | None = None

    def encode(self, offset: int | None = None) -> bytes:
        """All bytes of the entry, under another offset if one is given."""
        if self.raw is not None:
            return self.raw
        offset = self.offset if offset is None else offset
        attributes = self.timestamp_type << 3
        return pack_message(offset, self.magic, attributes, self.timestamp, self.key, self.value)

    def rows(self) -> list[Row]:
        """What a consumer gets."""
        if self.magic == 0:
            return [Row(self.offset, -1, NO_TYPE, self.key, self.value)]
        return [Row(self.offset, self.timestamp, self.timestamp_type, self.key, self.value)]

    def last_offset(self) -> int:
        """Its own."""
        return self.offset


@dataclass(frozen=True, slots=True)
class Wrapper:
    """A compressed message of magic 0 or 1, with the messages inside (absolute offsets, ascending).

    `first_inner` is the relative offset that a wrapper of magic 1 gives to its first message: 0 as written by
    producers, more where compaction has removed those before. `of_librdkafka`: old versions wrote wrappers of
    magic 1 with offset 0, whatever was inside; the messages' relative offsets then count from 0.
    """

    messages: tuple[Message, ...]
    magic: int = 1
    form: str = "gzip"
    timestamp: int = -1
    timestamp_type: int = CREATE_TIME
    first_inner: int = 0
    of_librdkafka: bool = False
    inner: bytes | None = None
    stored: bytes | None = None

    def encode(self) -> bytes:
        """All bytes of the entry."""
        value = self.compressed() if self.stored is None else self.stored
        attributes = IDS[codec_of(self.form)] | self.timestamp_type << 3
        return pack_message(self.last_offset(), self.magic, attributes, self.timestamp, None, value)

    def content(self) -> bytes:
        """The messages, before they are compressed."""
        if self.inner is not None:
            return self.inner
        return b"".join(message.encode(message.offset - self.shift()) for message in self.messages)

    def shift(self) -> int:
        """What the messages' offsets lack inside."""
        if self.magic == 0 or self.of_librdkafka:
            return 0
        return self.messages[0].offset - self.first_inner

    def compressed(self) -> bytes:
        """The messages as they are stored."""
        return compress(self.form, self.content(), self.magic)

    def rows(self) -> list[Row]:
        """What a consumer gets: the wrapper's timestamp where the broker has set it, and always its type."""
        return [row for message in self.messages for row in self._rows_of(message)]

    def _rows_of(self, message: Message) -> Iterable[Row]:
        for row in message.rows():
            if message.magic == 0:
                yield row
            elif self.magic == 0:
                yield row._replace(timestamp_type=NO_TYPE)
            elif self.timestamp_type == LOG_APPEND_TIME:
                yield row._replace(timestamp=self.timestamp, timestamp_type=LOG_APPEND_TIME)
            else:
                yield row._replace(timestamp_type=CREATE_TIME)

    def last_offset(self) -> int:
        """The entry's own: that of the last message inside."""
        return 0 if self.of_librdkafka else self.messages[-1].offset


Entry = Batch | Message | Wrapper


def encode_segment(entries: Iterable[Entry]) -> bytes:
    """The bytes of a segment with these entries."""
    return b"".join(entry.encode() for entry in entries)


def encode_record(record: Record) -> bytes:
    """A record of a v2 batch, its length included."""
    body = bytearray(struct.pack(">b", record.attributes))
    body += varint(record.timestamp_delta) + varint(record.offset_delta)
    body += sized(record.key) + sized(record.value) + varint(len(record.headers))
    for key, value in record.headers:
        body += sized(key) + sized(value)
    return varint(len(body)) + body


def varint(value: int) -> bytes:
    """ZigZag, then as an unsigned one: 32 bits and 64 bits look the same."""
    return unsigned_varint(value * 2 if value >= 0 else -value * 2 - 1)


def unsigned_varint(value: int) -> bytes:
    """Seven bits a byte, least significant first."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def to_long(value: int) -> int:
    """A sum as a Java long holds it."""
    value &= (1 << 64) - 1
    return value - (1 << 64) if value >> 63 else value


def sized(data: bytes | None) -> bytes:
    """Bytes behind their length; null is of length -1."""
    return varint(-1) if data is None else varint(len(data)) + data


def pack_batch(
    base_offset: int,
    payload: bytes,
    *,
    leader_epoch: int = 0,
    magic: int = 2,
    attributes: int = 0,
    last_offset_delta: int = 0,
    base_timestamp: int = 0,
    max_timestamp: int = 0,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    count: int = 0,
    wrong_by: int = 0,
) -> bytes:
    """A batch with these fields and this payload; its checksum is right unless `wrong_by` says otherwise."""
    producer = producer_id, producer_epoch, base_sequence
    covered = struct.pack(
        ">hiqqqhii", attributes, last_offset_delta, base_timestamp, max_timestamp, *producer, count
    )
    crc = crc32c.crc32c(covered + payload) ^ wrong_by
    head = struct.pack(">ibI", leader_epoch, magic, crc) + covered
    return struct.pack(">qi", base_offset, len(head) + len(payload)) + head + payload


def pack_message(
    offset: int,
    magic: int,
    attributes: int,
    timestamp: int,
    key: bytes | None,
    value: bytes | None,
    wrong_by: int = 0,
) -> bytes:
    """A message of magic 0 or 1 as an entry; its checksum is right unless `wrong_by` says otherwise."""
    covered = struct.pack(">bb", magic, attributes if magic else attributes & 7)
    if magic == 1:
        covered += struct.pack(">q", timestamp)
    for part in (key, value):
        covered += struct.pack(">i", -1) if part is None else struct.pack(">i", len(part)) + part
    body = struct.pack(">I", zlib.crc32(covered) ^ wrong_by) + covered
    return struct.pack(">qi", offset, len(body)) + body
