"""The one door to the generated Kaitai classes: bytes in, named fields out, their errors turned into ours.

No position, width or order of a field is written here. Where the search for entries needs to know a place
without parsing, it is asked of the schema (`len_prefix`, `ofs_*`, `len_*`) or, for the digits of the length
field, learned by parsing probes: see `length_digits`.

Java's integer arithmetic is here too: what Kafka adds up (offsets, timestamps, sequences) wraps silently.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from typing import Any

from kaitaistruct import KaitaiStream, KaitaiStructError, ValidationFailedError

from kafka_segments.entries import Batch, Header
from kafka_segments.errors import CorruptBatchError, DecodeError
from kafka_segments_generated.kaitai.kafka_control_record_key import KafkaControlRecordKey
from kafka_segments_generated.kaitai.kafka_control_record_value import KafkaControlRecordValue
from kafka_segments_generated.kaitai.kafka_log_segment import KafkaLogSegment
from kafka_segments_generated.kaitai.kafka_message_0_7 import KafkaMessage07
from kafka_segments_generated.kaitai.kafka_message_legacy import KafkaMessageLegacy
from kafka_segments_generated.kaitai.kafka_offset_checkpoint import KafkaOffsetCheckpoint
from kafka_segments_generated.kaitai.kafka_record import KafkaRecord
from kafka_segments_generated.kaitai.kafka_record_batch_v2 import KafkaRecordBatchV2
from kafka_segments_generated.kaitai.kafka_record_header import KafkaRecordHeader
from kafka_segments_generated.kaitai.redpanda_batch_header import RedpandaBatchHeader

__all__ = [
    "LEN_HEAD",
    "LEN_LOG_OVERHEAD",
    "LEN_PREFIX",
    "LEN_REDPANDA_HEADER",
    "MAX_LEN_OFFSET_CHECKPOINT",
    "OFS_MAGIC",
    "Head",
    "Prefix",
    "RecordReader",
    "increment_sequence",
    "length_digits",
    "message_0_7_size",
    "read_control_key",
    "read_control_value",
    "read_head",
    "read_message_0_7",
    "read_offset_checkpoint",
    "read_prefix",
    "read_redpanda_header",
    "wrap_long",
]

# What generated classes raise on wrong bytes: their own errors, the stream's end, a negative size, bad UTF-8.
_PARSE_ERRORS = (KaitaiStructError, EOFError, ValueError)

_Prefix = KafkaLogSegment.EntryPrefix


def _explain(error: Exception) -> str:
    """A parse error on one line: what Kaitai says of a value may hold all of it, or an object's address."""
    if not isinstance(error, ValidationFailedError):
        return str(error)
    found = getattr(error, "actual", None)
    if found == b"":  # a field without bytes is there to check for the end
        return f"its content ends after {error.io.pos()} bytes, before its length does"
    found = getattr(found, "value", found)
    return f"{found!r:.60} is no valid value before byte {error.io.pos()} ({error.src_path})"


def _stream(data: bytes | memoryview) -> Any:
    return KaitaiStream(BytesIO(data))


def _constants(cls: Any) -> Any:
    """An instance that was never read: enough for value instances that depend on no field."""
    return cls.__new__(cls)


LEN_PREFIX: int = _constants(_Prefix).len_prefix
"""Bytes of an entry, of any magic, that tell its offset, length and magic."""
OFS_MAGIC: int = _constants(_Prefix).ofs_magic
LEN_LOG_OVERHEAD: int = _constants(_Prefix).len_log_overhead
"""Bytes of an entry that its length field does not count."""
LEN_HEAD: int = LEN_LOG_OVERHEAD + _constants(KafkaRecordBatchV2).len_header
"""Bytes before the records of a v2 batch; no message of the old formats has a longer header."""
LEN_REDPANDA_HEADER: int = _constants(RedpandaBatchHeader).len_header


def wrap_long(value: int) -> int:
    """`value` as a Java long has it."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


def _wrap_int(value: int) -> int:
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)


def increment_sequence(sequence: int, increment: int) -> int:
    """A sequence number advanced; 2^31-1 is followed by 0 (DefaultRecordBatch.incrementSequence)."""
    highest = (1 << 31) - 1
    if sequence > _wrap_int(highest - increment):
        return _wrap_int(increment - (highest - sequence) - 1)
    return _wrap_int(sequence + increment)


@dataclass(frozen=True, slots=True)
class Prefix:
    """The start of an entry. `len_entry` counts all its bytes; it may be nonsense in damaged files."""

    base_offset: int
    len_body: int
    magic: int
    len_entry: int
    min_len_body: int


def read_prefix(data: bytes | memoryview) -> Prefix:
    """Read the first `LEN_PREFIX` bytes of an entry; any bytes do."""
    prefix = _Prefix(_stream(data))
    return Prefix(prefix.base_offset, prefix.len_body, prefix.magic, prefix.len_entry, prefix.min_len_body)


@cache
def length_digits() -> tuple[list[int], int]:
    """Where the length field's bytes are in a prefix, most significant first, and the least length there is.

    Learned from the generated class: each byte in turn is set in a prefix of zeros, and its weight in
    `len_body` seen.
    """
    weights = {}
    for position in range(LEN_PREFIX):
        probe = bytearray(LEN_PREFIX)
        probe[position] = 1
        weights[position] = read_prefix(bytes(probe)).len_body
    digits = [position for position, weight in weights.items() if weight]
    least = min(read_prefix(_with_magic(magic)).min_len_body for magic in (0, 1, 2))
    return sorted(digits, key=lambda position: -weights[position]), least


def _with_magic(magic: int) -> bytes:
    probe = bytearray(LEN_PREFIX)
    probe[OFS_MAGIC] = magic
    return bytes(probe)


@dataclass(frozen=True, slots=True)
class Head:
    """A batch or message as its header tells it, and where the bytes begin that its checksum covers."""

    batch: Batch
    ofs_crc_region: int


def read_head(data: bytes | memoryview, path: str, position: int, previous_offset: int | None) -> Head:
    """Read the header of an entry of magic 0, 1 or 2.

    Args:
        data: the entry's first `LEN_HEAD` bytes, or all of it if it has fewer.
        path: for the `Batch`.
        position: of the entry in the file.
        previous_offset: the last sound offset before it.

    Raises:
        CorruptBatchError: the header does not fit into the entry.
    """
    prefix = read_prefix(data)
    body = data[LEN_LOG_OVERHEAD:]
    try:
        if prefix.magic == 2:
            header = KafkaRecordBatchV2(prefix.base_offset, _stream(body))
            return _head_v2(prefix, header, path, position, previous_offset)
        return _head_legacy(prefix, KafkaMessageLegacy.Header(_stream(body)), path, position, previous_offset)
    except _PARSE_ERRORS as error:
        detail = f"the header cannot be read: {_explain(error)}"
        raise CorruptBatchError(detail, position=position, path=path) from error


def _number(value: Any) -> int:
    """An enum's number; the generated classes leave unknown ones as they are."""
    return int(getattr(value, "value", value))


def _name(value: Any) -> str | None:
    """An enum value's name in the schema; None for a number that has none."""
    return getattr(value, "name", None)


def _timestamp_type(attributes: Any) -> str:
    """The timestamp type as Kafka prints it (TimestampType.name): that of the schema in CamelCase."""
    return "".join(word.capitalize() for word in str(attributes.timestamp_type.name).split("_"))


def _head_v2(prefix: Prefix, header: Any, path: str, position: int, previous_offset: int | None) -> Head:
    sequence = header.base_sequence
    batch = Batch(
        path=path,
        position=position,
        size=prefix.len_entry,
        magic=prefix.magic,
        base_offset=prefix.base_offset,
        last_offset=wrap_long(prefix.base_offset + header.last_offset_delta),
        partition_leader_epoch=header.partition_leader_epoch,
        crc=header.crc,
        crc_valid=None,
        compression=_name(header.attributes.compression),
        compression_id=_number(header.attributes.compression),
        timestamp_type=_timestamp_type(header.attributes),
        is_transactional=header.attributes.is_transactional,
        is_control=header.attributes.is_control,
        # The field has two meanings: with this bit it holds the horizon (RecordBatch.deleteHorizonMs).
        delete_horizon_ms=header.base_timestamp if header.attributes.has_delete_horizon else None,
        base_timestamp=header.base_timestamp,
        max_timestamp=header.max_timestamp,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=sequence,
        last_sequence=-1 if sequence == -1 else increment_sequence(sequence, header.last_offset_delta),
        num_records=header.num_records,
        previous_offset=previous_offset,
    )
    return Head(batch, LEN_LOG_OVERHEAD + header.ofs_crc_region)


def _head_legacy(prefix: Prefix, header: Any, path: str, position: int, previous_offset: int | None) -> Head:
    plain = _number(header.attributes.compression) == 0
    batch = Batch(
        path=path,
        position=position,
        size=prefix.len_entry,
        magic=prefix.magic,
        # A wrapper is kept under the offset of its last message; its value knows the first and how many.
        base_offset=prefix.base_offset if plain else None,
        last_offset=prefix.base_offset,
        partition_leader_epoch=-1,
        crc=header.crc,
        crc_valid=None,
        compression=_name(header.attributes.compression),
        compression_id=_number(header.attributes.compression),
        timestamp_type="NoTimestampType" if prefix.magic == 0 else _timestamp_type(header.attributes),
        is_transactional=False,
        is_control=False,
        delete_horizon_ms=None,
        base_timestamp=None,
        max_timestamp=header.timestamp if prefix.magic == 1 else -1,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        last_sequence=-1,
        num_records=1 if plain else None,
        previous_offset=previous_offset,
    )
    return Head(batch, LEN_LOG_OVERHEAD + header.ofs_crc_region)


_MAX_HEADER_OBJECTS = 1000  # of one record at a time; each takes about 700 bytes


class RecordReader:
    """Reads the records of a v2 batch one after the other.

    Args:
        payload: the records' bytes, decompressed.
        batch: its header.
        max_num_headers: headers that one record may have.
    """

    def __init__(self, payload: bytes | memoryview, batch: Batch, max_num_headers: int) -> None:
        self._io = _stream(payload)
        is_append_time = int(batch.timestamp_type == "LogAppendTime")
        self._base = (batch.base_offset, is_append_time, batch.base_timestamp, batch.max_timestamp)
        self._is_control = batch.is_control
        self._max_num_headers = max_num_headers

    def read(self) -> tuple[Any, tuple[Header, ...]]:
        """The next record's body, as the generated class has it, and its headers as plain values.

        Raises:
            CorruptBatchError: there is none, its lengths contradict each other, or it has too many headers.
        """
        try:
            body = KafkaRecord(self._is_control, _MAX_HEADER_OBJECTS, *self._base, self._io).body
            return body, tuple(self._headers(body))
        except CorruptBatchError:
            raise
        except _PARSE_ERRORS as error:
            raise CorruptBatchError(_explain(error)) from error

    def _headers(self, body: Any) -> Iterator[Header]:
        if not body.has_too_many_headers:
            yield from map(_header, body.headers)
            return
        # The generated class has left them unread: one by one, their objects are never there all at once.
        if body.num_headers.value > self._max_num_headers:
            raise CorruptBatchError(
                f"{body.num_headers.value} headers are more than this reader takes, which is "
                f"{self._max_num_headers} (Kafka itself has no limit)"
            )
        stream = body._io  # noqa: SLF001 (so every Kaitai class holds its bytes)
        for _ in range(body.num_headers.value):
            yield _header(KafkaRecordHeader(stream))
        if not stream.is_eof():
            raise CorruptBatchError(f"its content ends after {stream.pos()} bytes, before its length does")

    def num_left(self) -> int:
        """Bytes behind the last record that was read."""
        return int(self._io.size() - self._io.pos())


def _header(header: Any) -> Header:
    return header.key, getattr(header, "value", None)


def read_control_key(key: bytes) -> tuple[int, int, str | None] | None:
    """A control record's key: version, type number, and the type's name if it has one; None if too short."""
    try:
        parsed = KafkaControlRecordKey(_stream(key))
    except _PARSE_ERRORS:
        return None
    return parsed.version, _number(parsed.type), _name(parsed.type)


def read_control_value(type_id: int, value: bytes) -> Any:
    """A control record's value, as the generated class has it; None if too short or of an unknown version."""
    try:
        enum = KafkaControlRecordKey.ControlRecordType
        return KafkaControlRecordValue(enum(type_id), _stream(value)).content
    except _PARSE_ERRORS:
        return None


def read_redpanda_header(data: bytes | memoryview) -> Any:
    """A header of Redpanda's own log format, or None if the bytes are too few."""
    try:
        return RedpandaBatchHeader(_stream(data))
    except _PARSE_ERRORS:
        return None


def message_0_7_size(data: bytes | memoryview) -> int | None:
    """All bytes of the Kafka 0.7 message of which `data` is the beginning; None if it cannot be one."""
    try:
        KafkaMessage07(_stream(data))
        return len(data)
    except EOFError as error:
        return len(data) + getattr(error, "bytes_needed", 0) - getattr(error, "bytes_available", 0)
    except _PARSE_ERRORS:
        return None


def read_message_0_7(data: bytes | memoryview) -> Any:
    """A message of Kafka 0.7, or None if the bytes cannot be one."""
    try:
        return KafkaMessage07(_stream(data))
    except _PARSE_ERRORS:
        return None


MAX_LEN_OFFSET_CHECKPOINT = 2 << 20
"""Bytes that an offset checkpoint may have here, enough for 50,000 partitions on one disk.

While it is read it may take 150 times as much memory: 300 MB.
"""


def read_offset_checkpoint(data: bytes | memoryview) -> dict[tuple[str, int], int]:
    """Offsets by topic and partition; no bytes at all stand for no entries (CheckpointFile.read).

    Raises:
        DecodeError: another version, another number of entries than it says, no such text, or more than
            `MAX_LEN_OFFSET_CHECKPOINT` bytes.
    """
    if not data:
        return {}
    if len(data) > MAX_LEN_OFFSET_CHECKPOINT:
        raise DecodeError(
            f"an offset checkpoint of more bytes than this reader takes, which is {MAX_LEN_OFFSET_CHECKPOINT}"
        )
    try:
        checkpoint = KafkaOffsetCheckpoint(_stream(data))
        if checkpoint.version != 0:
            raise DecodeError(f"offset checkpoint of version {checkpoint.version}; only 0 is known")
        offsets = {(entry.topic, entry.partition): entry.offset for entry in checkpoint.entries}
        if checkpoint.num_entries != len(checkpoint.entries):
            raise DecodeError(
                f"{len(checkpoint.entries)} entries where {checkpoint.num_entries} are announced"
            )
    except _PARSE_ERRORS as error:
        if isinstance(error, DecodeError):
            raise
        raise DecodeError(f"not an offset checkpoint: {_explain(error)}") from error
    return offsets
