"""The canonical text of segments and varints, by the Python classes: what the other languages have to print.

A file is a segment, or (`.varints`) cases: a byte with the kind (0 `kafka_varint`, 1 `kafka_varlong`,
2 `kafka_unsigned_varint`), a byte with the number of bytes that follow, these bytes. An error stands in the
place of what could not be read. Integers are those of Kafka: what exceeds their width is wrapped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import IntEnum
from io import BytesIO
from pathlib import Path
from typing import Any

from kaitaistruct import KaitaiStream, KaitaiStructError

from kafka_segments_generated.kaitai.kafka_log_segment import KafkaLogSegment
from kafka_segments_generated.kaitai.kafka_unsigned_varint import KafkaUnsignedVarint
from kafka_segments_generated.kaitai.kafka_varint import KafkaVarint
from kafka_segments_generated.kaitai.kafka_varlong import KafkaVarlong

VARINTS = (KafkaVarint, KafkaVarlong, KafkaUnsignedVarint)
ERRORS = (KaitaiStructError, EOFError, ValueError)
_LEAST, _LEN_LOG_OVERHEAD = 14, 12
EXACT = 2**53 - 1
"""The greatest integer of JavaScript that stands for no other one."""


class Reference:
    """Prints files.

    Args:
        is_javascript: whether integers are those of JavaScript, whose program says `inexact` of large ones.
        is_rust: whether a segment is refused whose last entry lacks no more than its first fields have:
            an instance's `_io.pos` is that of the beginning there.
    """

    def __init__(self, *, is_javascript: bool = False, is_rust: bool = False) -> None:
        self._is_javascript, self._is_rust = is_javascript, is_rust

    def lines(self, files: Sequence[Path]) -> Iterator[str]:
        """Yield the lines of all files."""
        for number, file in enumerate(files):
            yield f"file {number}"
            data = file.read_bytes()
            yield from self._varints(data) if file.suffix == ".varints" else self._segment(data)

    def _number(self, value: int, *parts: int, bits: int = 64) -> str:
        """An integer; `parts` is what it was computed from."""
        if self._is_javascript and max(map(abs, (value, *parts))) > EXACT:
            return "inexact"
        return str((value + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1))

    def _varints(self, data: bytes) -> Iterator[str]:
        at = 0
        while at < len(data):
            kind, size = data[at], data[at + 1]
            try:
                found = VARINTS[kind](KaitaiStream(BytesIO(data[at + 2 : at + 2 + size])))
                yield f"varint {kind} {self._number(found.value)} {found.len}"
            except ERRORS:
                yield f"varint {kind} error"
            at += 2 + size

    def _segment(self, data: bytes) -> Iterator[str]:
        entries = KafkaLogSegment(KaitaiStream(BytesIO(data))).entries
        if self._is_rust and any(map(_is_cut, entries)):
            yield "segment error"
            return
        for entry in entries:
            if entry.is_padding:
                yield f"padding {len(entry.padding)}"
            elif not entry.is_complete:
                yield f"partial {len(entry.partial)}"
            else:
                magic = entry.body.magic
                yield f"entry {self._number(entry.base_offset)} {entry.len_body} {magic}"
                try:
                    content = entry.body.content
                    yield from (
                        ()
                        if magic not in (0, 1, 2)
                        else (self._batch(content) if magic == 2 else self._message(content))
                    )
                except ERRORS:
                    yield "error"

    def _message(self, message: Any) -> Iterator[str]:
        key = message.key if message.len_key >= 0 else None
        value = message.value if message.len_value >= 0 else None
        yield (
            f"message {self._number(message.offset)} {self._number(message.timestamp_value)} "
            f"{message.timestamp_type} {message.header.crc} {known(message.header.attributes.compression)} "
            f"{text(key)} {text(value)}"
        )

    def _batch(self, batch: Any) -> Iterator[str]:
        bits = batch.attributes
        flags = (bits.is_transactional, bits.is_control, bits.has_delete_horizon)
        yield " ".join(
            map(
                str,
                (
                    "batch", batch.partition_leader_epoch, batch.crc, known(bits.compression),
                    int(bits.timestamp_type), *map(int, flags), batch.last_offset_delta,
                    self._number(batch.base_timestamp), self._number(batch.max_timestamp),
                    self._number(batch.producer_id), batch.producer_epoch, batch.base_sequence,
                    batch.num_records, len(batch.payload),
                ),
            )
        )  # fmt: skip
        for record in batch.records or () if bits.compression == 0 else ():
            yield self._record(batch, record.body)
            if record.body.is_control_record:
                yield _control(record.body)

    def _record(self, batch: Any, body: Any) -> str:
        deltas = (
            () if batch.attributes.timestamp_type == 1 else (batch.base_timestamp, body.timestamp_delta.value)
        )
        headers = "".join(
            f" {header.key.hex()}={text(header.value if header.len_value.value >= 0 else None)}"
            for header in body.headers
        )
        return (
            f"record {self._number(body.offset, batch.base_offset)} {self._number(body.timestamp, *deltas)} "
            f"{self._number(body.sequence, bits=32)} {text(body.key if body.len_key.value >= 0 else None)} "
            f"{text(body.value if body.len_value.value >= 0 else None)}{headers}"
        )


def _is_cut(entry: Any) -> bool:
    """Whether a few bytes of an entry are missing."""
    if entry.is_complete or entry.is_padding or not entry.has_log_overhead or entry.len_body < _LEAST:
        return False
    return bool(entry.len_body <= len(entry.partial) + _LEN_LOG_OVERHEAD)


def _control(body: Any) -> str:
    try:
        key = body.control_key
        kind = known(key.record_type)
        detail = "-"
        if kind in ("0", "1", "2") and body.len_value.value >= 0:
            content = body.control_value.content
            detail = f"{content.leader_id}" if kind == "2" else f"{content.coordinator_epoch}"
        return f"control {key.version} {kind} {detail}"
    except ERRORS:
        return "control error"


def known(value: int) -> str:
    """The number of an enum's member; `?` of a number that has no name."""
    return str(int(value)) if isinstance(value, IntEnum) else "?"


def text(data: bytes | None) -> str:
    """Bytes in hexadecimal, `-` for null, `.` for none."""
    return "-" if data is None else data.hex() or "."
