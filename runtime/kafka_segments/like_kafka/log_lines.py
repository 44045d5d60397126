"""Lines of DumpLogSegments for a log: `.log` and `.checkpoint` (KRaft).

Strategy: entries are printed one by one, as the tool does it. An exception ends it in the middle of a line:
what it has printed of this line until then is written before the error is passed on.
"""

from __future__ import annotations

import os
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from kafka_segments.core import formats
from kafka_segments.core.formats.control_records import decode_control_as_version_0
from kafka_segments.core.formats.entries import Batch, ControlRecord
from kafka_segments.core.io.storage import open_source
from kafka_segments.core.segment.records.batch_records import ManyRows, check_codec, sequence_of
from kafka_segments.errors import CorruptBatchError, OptionError
from kafka_segments.like_kafka.lenient_entries import HIGHEST_INT, NEWEST, EntryFrame, EntryReader, OldRecord
from kafka_segments.like_kafka.message_lines import Decoder, MessageParser, json_text
from kafka_segments.like_kafka.tool_output import ToolOutput

__all__ = ["Printed", "dump_log"]

_NUM_LONGS = 1 << 64
_LABELS = {
    "LEADER_CHANGE": "LeaderChange:",
    "SNAPSHOT_HEADER": "SnapshotHeader",
    "SNAPSHOT_FOOTER": "SnapshotFooter",
    "KRAFT_VERSION": "KRaftVersion",
    "KRAFT_VOTERS": "KRaftVoters",
}


@dataclass(frozen=True, slots=True)
class Printed:
    """What is printed of a log.

    Attributes:
        has_records: records, too.
        has_metadata: of these, offsets, timestamps, sizes, and what control records say.
        has_contents: of these, keys and values.
        texts: what makes text of both, reading them field by field; or a decoder of keys and one of values.
        max_bytes: how much of the file is read.
    """

    has_records: bool
    has_metadata: bool
    has_contents: bool
    texts: MessageParser | tuple[Decoder, Decoder]
    max_bytes: int


def dump_log(path: str, output: ToolOutput, printed: Printed, rows: ManyRows) -> dict[int, int]:
    """Print a log.

    Args:
        path: the file.
        output: where to.
        printed: what of it.
        rows: a faster decoder of records.

    Returns:
        Offsets that do not follow the offset before them, which is the key.

    Raises:
        OptionError: a negative `max_bytes`, or a file that is too large.
        KafkaFormatError: where the tool ends with an exception; all before that was printed.
    """
    with closing(open_source(path, only_files=True)) as source:
        rows.expect(min(source.size, printed.max_bytes))
        log = _Log(EntryReader(source, rows), output, printed)
        log.dump()
    return log.gaps


class _Log:
    """One log that is being printed."""

    def __init__(self, reader: EntryReader, output: ToolOutput, printed: Printed) -> None:
        if printed.max_bytes < 0:
            raise OptionError(f"--max-bytes is {printed.max_bytes}; give a number of bytes")
        self.gaps: dict[int, int] = {}
        self._next_offset = 0
        self._reader, self._output, self._printed = reader, output, printed

    def dump(self) -> None:
        """Print all entries, and how many bytes follow the last one."""
        source, most = self._reader.source, self._printed.max_bytes
        position, end = 0, min(source.size, most)
        while True:
            for header in self._reader.sound(position, end):
                self._contents_of(header, f"{_first_words(header)}{_last_words(header, is_valid=True)}")
                position = header.end_position
            if (frame := self._reader.frame(position, end)) is None:
                break
            self._contents_of(self._header(frame))
            position = frame.end_position
        if position < end and most == HIGHEST_INT:
            name = os.path.basename(source.name)
            self._output.line(f"Found {end - position} invalid bytes at the end of {name}")

    def _header(self, frame: EntryFrame) -> Batch:
        """Print the line of an entry, and return its header."""
        if frame.is_batch:
            header = self._reader.header(frame)
            self._output.write(_first_words(header))
        else:
            self._output.write(f"offset: {frame.prefix.base_offset}")
            header = self._reader.header(frame)
        if header.compression is None:
            check_codec(header)
        self._output.write(_last_words(header, is_valid=self._reader.is_valid(header)))
        return header

    def _contents_of(self, header: Batch, line: str = "") -> None:
        """Print the records of an entry, after its line."""
        if not self._printed.has_records:
            self._output.write(line)
        elif header.magic >= NEWEST:
            self._records(header, [line])
        else:
            self._messages(header, [line])

    def _records(self, header: Batch, pieces: list[str]) -> None:
        """Print the records of a batch, after some pieces."""
        printed, is_control = self._printed, header.is_control
        is_parsed = not isinstance(printed.texts, tuple)
        kind, has_sequence = header.timestamp_type, header.base_sequence >= 0
        try:
            for bodies in self._reader.records(header):
                for body in bodies:
                    offset, timestamp, _delta, key, value, headers = body
                    if offset != self._next_offset:
                        self._note_gap(offset)
                    self._next_offset = offset + 1
                    if is_parsed:
                        self._reader.take_message(header, key, value)
                    if printed.has_metadata:
                        names = ",".join([formats.java_text(name) for name, _ in headers]) if headers else ""
                        pieces.append(
                            f"| offset: {offset} {kind}: {timestamp}"
                            f" keySize: {-1 if key is None else len(key)}"
                            f" valueSize: {-1 if value is None else len(value)}"
                            f" sequence: {sequence_of(header, body) if has_sequence else -1}"
                            f" headerKeys: [{names}]"
                        )
                        if is_control:
                            pieces.append(_control_words(decode_control_as_version_0(key, value)))
                    if printed.has_contents and not is_control:
                        self._contents(pieces, offset, key, value)
                    pieces.append("\n")
                self._output.write("".join(pieces))
                pieces.clear()
        finally:
            self._output.write("".join(pieces))

    def _messages(self, header: Batch, pieces: list[str]) -> None:
        """Print a message of the old formats, or those in a wrapper, after some pieces."""
        printed = self._printed
        is_parsed = not isinstance(printed.texts, tuple)
        try:
            for record in self._reader.old_records(header):
                if record.offset != self._next_offset:
                    self._note_gap(record.offset)
                self._next_offset = record.offset + 1
                if is_parsed:
                    self._reader.take_message(header, record.key, record.value)
                if printed.has_metadata:
                    if record.len_key is None or record.len_value is None:
                        raise _cut(header, record)
                    pieces.append(
                        f"| offset: {record.offset} {header.timestamp_type}: {record.timestamp}"
                        f" keySize: {record.len_key} valueSize: {record.len_value}"
                        f" isValid: {_flag(record.is_valid)} crc: {record.crc}"
                    )
                if printed.has_contents:
                    if record.len_value is None or (record.len_value >= 0 and record.value is None):
                        raise _cut(header, record)
                    self._contents(pieces, record.offset, record.key, record.value)
                pieces.append("\n")
                self._output.write("".join(pieces))
                pieces.clear()
        finally:
            self._output.write("".join(pieces))

    def _note_gap(self, offset: int) -> None:
        """Note an offset that does not follow the one before it, unless that was the greatest."""
        if (offset - self._next_offset) % _NUM_LONGS:
            self.gaps[self._next_offset - 1] = offset

    def _contents(self, pieces: list[str], offset: int, key: bytes | None, value: bytes | None) -> None:
        """Append the texts of a key and a value, if both can be made."""
        texts = self._printed.texts
        if isinstance(texts, tuple):
            key_text = None if key is None else texts[0](key)
            value_text = None if value is None else texts[1](value)
        else:
            key_text, value_text = texts(offset, key, value)
        first = " " if self._printed.has_metadata else "| "
        if key_text is not None:
            pieces.append(f"{first}key: {key_text}")
            first = " "
        if value_text is not None:
            pieces.append(f"{first}payload: {value_text}")


def _first_words(header: Batch) -> str:
    """What is printed of a batch before its place in the file; of a message its offset."""
    if header.magic < NEWEST:
        return f"offset: {header.last_offset}"
    horizon = header.delete_horizon_ms
    return (
        f"baseOffset: {header.base_offset} lastOffset: {header.last_offset} count: {header.num_records}"
        f" baseSequence: {header.base_sequence} lastSequence: {header.last_sequence}"
        f" producerId: {header.producer_id} producerEpoch: {header.producer_epoch}"
        f" partitionLeaderEpoch: {header.partition_leader_epoch}"
        f" isTransactional: {_flag(header.is_transactional)} isControl: {_flag(header.is_control)}"
        f" deleteHorizonMs: {'OptionalLong.empty' if horizon is None else f'OptionalLong[{horizon}]'}"
    )


def _last_words(header: Batch, *, is_valid: bool) -> str:
    return (
        f" position: {header.position} {header.timestamp_type}: {header.max_timestamp}"
        f" size: {header.size} magic: {header.magic} compresscodec: {header.compression}"
        f" crc: {header.crc} isvalid: {_flag(is_valid)}\n"
    )


def _flag(value: bool) -> str:
    return "true" if value else "false"


def _cut(header: Batch, record: OldRecord) -> CorruptBatchError:
    detail = f"the message of offset {record.offset} is shorter than its key and value"
    return CorruptBatchError(detail, position=header.position, path=header.path)


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
