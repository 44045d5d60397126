"""What the Kaitai classes make of the same bytes: sound entries, their records, and where damage is."""

from __future__ import annotations

import zlib
from io import BytesIO
from typing import Any

import crc32c
from kaitaistruct import KaitaiStream, KaitaiStructError

from kafka_segments_generated.kaitai.kafka_log_segment import KafkaLogSegment
from kafka_segments_generated.kaitai.kafka_message_legacy import KafkaMessageLegacy
from kafka_segments_generated.kaitai.kafka_record import KafkaRecord

ERRORS = (KaitaiStructError, EOFError, ValueError)
NO_LIMIT = 0x7FFF_FFFF
GIVEN = (
    "base_offset",
    "timestamp_type",
    "base_timestamp",
    "max_timestamp",
    "partition_leader_epoch",
    "producer_id",
    "producer_epoch",
    "base_sequence",
)


def stream(data: bytes) -> Any:
    """A Kaitai stream."""
    return KaitaiStream(BytesIO(data))


def wrap(value: int) -> int:
    """As a Java long has it."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


def record_row(body: Any) -> tuple[Any, ...]:
    """Everything in the order of the generated columns: key, value, headers, offset..."""
    headers = tuple((each.key, getattr(each, "value", None)) for each in body.headers)
    return (
        getattr(body, "key", None),
        getattr(body, "value", None),
        headers,
        wrap(body.offset),
        wrap(body.timestamp),
        int(body.timestamp_type),
        body.leader_epoch,
        body.producer_id,
        body.producer_epoch,
        (body.sequence + (1 << 31)) % (1 << 32) - (1 << 31),
    )


def record_rows(payload: bytes, batch: dict[str, int]) -> tuple[list[tuple[Any, ...]], int | None]:
    """The records of a batch (a row of the table), and the number of the one that is damaged.

    Bytes behind the last one, or a negative number of records, is damage too: that of the one behind it.
    """
    io, rows = stream(payload), []
    given = [batch[name] for name in GIVEN]
    for number in range(batch["num_records"]):
        try:
            rows.append(record_row(KafkaRecord(bool(batch["is_control"]), NO_LIMIT, *given, io).body))
        except ERRORS:
            return rows, number
    is_whole = batch["num_records"] >= 0 and io.is_eof()
    return rows, None if is_whole else len(rows)


def message_row(body: bytes, base_offset: int) -> tuple[Any, ...] | None:
    """A message: key, value, offset, timestamp, timestamp type; None if damaged."""
    try:
        message = KafkaMessageLegacy(base_offset, stream(body))
    except ERRORS:
        return None
    return (
        getattr(message, "key", None),
        getattr(message, "value", None),
        message.offset,
        message.timestamp_value,
        int(message.timestamp_type),
    )


def headers_of(data: bytes, *, check_crc: bool) -> tuple[list[dict[str, int]], int]:
    """The headers of entries up to the first that is not sound, and where that one begins."""
    found: list[dict[str, int]] = []
    position, io = 0, stream(data)
    while position < len(data):
        entry = KafkaLogSegment.Entry(io, None, None)
        try:
            if not entry.is_complete:
                break
            row = _header(entry, check_crc)
        except ERRORS:
            break
        if row is None:
            break
        found.append({**row, "position": position, "end_position": io.pos()})
        position = io.pos()
    return found, position


def _header(entry: Any, check_crc: bool) -> dict[str, int] | None:
    """Header fields of an entry as the table has them, None if it is not sound."""
    data, row = entry._raw_body, {"base_offset": entry.base_offset, "len_body": entry.len_body}
    if entry.body.magic in (0, 1):
        header = KafkaMessageLegacy.MessageHeader(stream(data))
        if check_crc and zlib.crc32(data[header.ofs_crc_region :]) != header.crc:
            return None
        if (
            int(header.attributes.compression)
            and getattr(KafkaMessageLegacy(0, stream(data)), "value", None) is None
        ):
            return None  # nothing to be decompressed
        return {
            **row,
            **_named(header),
            **_named(header.attributes),
            "max_timestamp": -1 if header.timestamp is None else header.timestamp,
        }
    content = entry.body.content
    if isinstance(content, KafkaLogSegment.UnknownContent):
        return None
    if check_crc and crc32c.crc32c(content.crc_region) != content.crc:
        return None
    return {**row, **_named(content), **_named(content.attributes)}


def _named(tree: Any) -> dict[str, int]:
    """The numbers among the fields of a Kaitai object."""
    values = {
        name: getattr(value, "value", value) for name, value in vars(tree).items() if not name.startswith("_")
    }
    return {name: int(value) for name, value in values.items() if isinstance(value, int)}
