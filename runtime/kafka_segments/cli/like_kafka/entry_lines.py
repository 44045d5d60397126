"""Lines of DumpLogSegments for an entry and its records.

Strategy: generators of pieces, cut where the tool calls `print`: after an error the pieces before it have
been printed, maybe a part of a line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from kafka_segments.cli.like_kafka.message_lines import MessageParser, json_text
from kafka_segments.cli.like_kafka.tool_options import ToolDecoder
from kafka_segments.core import formats
from kafka_segments.core.formats.control_records import decode_control_as_version_0
from kafka_segments.core.formats.entries import Batch, ControlRecord, Record
from kafka_segments.core.segment.batch_records import check_codec
from kafka_segments.core.segment.lenient_entries import EntryFrame, EntryReader, OldRecord
from kafka_segments.errors import CorruptBatchError

__all__ = ["Contents", "OffsetGaps", "entry_pieces", "record_pieces"]

_LABELS = {
    "LEADER_CHANGE": "LeaderChange:",
    "SNAPSHOT_HEADER": "SnapshotHeader",
    "SNAPSHOT_FOOTER": "SnapshotFooter",
    "KRAFT_VERSION": "KRaftVersion",
    "KRAFT_VOTERS": "KRaftVoters",
}


@dataclass(frozen=True, slots=True)
class Contents:
    """What is printed of records.

    Attributes:
        has_metadata: offsets, timestamps, sizes, and what control records say.
        has_contents: keys and values.
        decoders: what keys and values become.
        parse: makes text of both, in place of the decoders; None for these.
    """

    has_metadata: bool = True
    has_contents: bool = False
    decoders: tuple[ToolDecoder, ToolDecoder] = (ToolDecoder.STRING, ToolDecoder.STRING)
    parse: MessageParser | None = None


class OffsetGaps:
    """Offsets that do not follow the one before them, from 0 on; what the tool reports at its end."""

    def __init__(self) -> None:
        self.found: dict[int, int] = {}
        self._last = -1

    @property
    def last(self) -> int:
        """The offset of the last record."""
        return self._last

    def note(self, offset: int) -> None:
        """Take the offset of the next record."""
        if offset != formats.wrap_long(self._last + 1):
            self.found[self._last] = offset
        self._last = offset

    def note_all(self, found: dict[int, int], last: int) -> None:
        """Take what was found among several records, and the offset of the last one."""
        self.found |= found
        self._last = last


def entry_pieces(reader: EntryReader, frame: EntryFrame) -> Iterator[bytes | Batch]:
    """Yield the line of an entry, and its header before the line ends.

    Raises:
        KafkaFormatError: where the tool ends with an exception.
    """
    if frame.is_batch:
        header = reader.header(frame)
        yield _batch_words(header).encode()
    else:
        yield b"offset: %d" % frame.base_offset
        header = reader.header(frame)
    if header.compression is None:
        check_codec(header)
    yield header
    is_valid = "true" if reader.is_valid(header) else "false"
    yield (
        f" position: {header.position} {header.timestamp_type}: {header.max_timestamp} size: {header.size}"
        f" magic: {header.magic} compresscodec: {header.compression} crc: {header.crc} isvalid: {is_valid}\n"
    ).encode()


def _batch_words(header: Batch) -> str:
    horizon = header.delete_horizon_ms
    return (
        f"baseOffset: {header.base_offset} lastOffset: {header.last_offset} count: {header.num_records}"
        f" baseSequence: {header.base_sequence} lastSequence: {header.last_sequence}"
        f" producerId: {header.producer_id} producerEpoch: {header.producer_epoch}"
        f" partitionLeaderEpoch: {header.partition_leader_epoch}"
        f" isTransactional: {_flag(header.is_transactional)} isControl: {_flag(header.is_control)}"
        f" deleteHorizonMs: {'OptionalLong.empty' if horizon is None else f'OptionalLong[{horizon}]'}"
    )


def _flag(value: bool) -> str:
    return "true" if value else "false"


def record_pieces(
    reader: EntryReader, header: Batch, wanted: Contents, note: Callable[[int], None]
) -> Iterator[bytes]:
    """Yield the lines of an entry's records, and note the offset of each.

    Raises:
        KafkaFormatError: where the tool ends with an exception.
    """
    if header.magic < max(formats.MAGICS):
        for old in reader.old_records(header):
            note(old.offset)
            _count(reader, header, wanted, old.message.key, old.message.value)
            yield from _old_pieces(header, old, wanted)
    else:
        for record in reader.records(header):
            note(record.offset)
            _count(reader, header, wanted, record.key, record.value)
            yield from _new_pieces(header, record, wanted)


def _count(reader: EntryReader, header: Batch, wanted: Contents, *parts: bytes | None) -> None:
    if wanted.parse is not None:
        reader.take_message(header, sum(len(one) for one in parts if one is not None))


def _new_pieces(header: Batch, record: Record, wanted: Contents) -> Iterator[bytes]:
    key, value = record.key, record.value
    if wanted.has_metadata:
        sizes = f"keySize: {_size(key)} valueSize: {_size(value)}"
        names = ",".join(formats.java_text(name) for name, _ in record.headers)
        start = f"| offset: {record.offset} {header.timestamp_type}: {record.timestamp} {sizes}"
        yield f"{start} sequence: {record.sequence} headerKeys: [{names}]".encode()
        if record.control is not None:
            yield _control_words(decode_control_as_version_0(key, value)).encode()
    if wanted.has_contents and not header.is_control:
        yield _contents(record.offset, key, value, wanted)
    yield b"\n"


def _old_pieces(header: Batch, record: OldRecord, wanted: Contents) -> Iterator[bytes]:
    message = record.message
    if wanted.has_metadata:
        if message.len_key is None or message.len_value is None:
            raise _cut(header, record)
        sizes = f"keySize: {message.len_key} valueSize: {message.len_value}"
        yield f"| offset: {record.offset} {header.timestamp_type}: {record.timestamp} {sizes}".encode()
        yield f" isValid: {_flag(message.is_valid)} crc: {message.crc}".encode()
    if wanted.has_contents:
        if message.len_value is None or (message.len_value >= 0 and message.value is None):
            raise _cut(header, record)
        yield _contents(record.offset, message.key, message.value, wanted)
    yield b"\n"


def _cut(header: Batch, record: OldRecord) -> CorruptBatchError:
    detail = f"the message of offset {record.offset} is shorter than its key and value"
    return CorruptBatchError(detail, position=header.position, path=header.path)


def _size(data: bytes | None) -> int:
    return -1 if data is None else len(data)


def _contents(offset: int, key: bytes | None, value: bytes | None, wanted: Contents) -> bytes:
    prefix, found = " " if wanted.has_metadata else "| ", ""
    if wanted.parse is not None:
        key_text, value_text = wanted.parse(offset, key, value)
    else:
        of_keys, of_values = wanted.decoders
        key_text = None if key is None else _decoded(key, of_keys)
        value_text = None if value is None else _decoded(value, of_values)
    if key_text is not None:
        found, prefix = f"{prefix}key: {key_text}", " "
    return (found if value_text is None else f"{found}{prefix}payload: {value_text}").encode()


def _decoded(data: bytes, decoder: ToolDecoder) -> str:
    if decoder is ToolDecoder.STRING:
        return formats.java_text(data)
    return str(formats.java_integer(data, is_long=decoder is ToolDecoder.LONG))


def _control_words(control: ControlRecord) -> str:
    if control.version is not None and control.version < 0:  # ControlRecordType.parseTypeId
        raise CorruptBatchError(f"a control record whose key has version {control.version}")
    if control.type == "UNKNOWN":
        return f" controlType: UNKNOWN({control.type_id})"
    if control.value is None:
        raise CorruptBatchError(f"a control record of type {control.type} whose key or value is unreadable")
    if control.type not in _LABELS:
        return f" endTxnMarker: {control.type} coordinatorEpoch: {control.value['coordinator_epoch']}"
    return f" {_LABELS[control.type]} {json_text(_renamed(control.value))}"


def _renamed(value: Any) -> Any:
    if isinstance(value, dict):
        return {_camel(name): _renamed(one) for name, one in value.items()}
    return [_renamed(one) for one in value] if isinstance(value, list) else value


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)
