"""Messages of magic 0 and 1 by generated classes, and Kafka's rules for what is inside a wrapper.

Targets that make trees know nothing of the relation between a wrapper and what is in it; these rules are
those of AbstractLegacyRecordBatch.DeepRecordsIterator. Errors are told by the names of the runtime's classes.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from typing import Any

from construct import ConstructError
from kaitaistruct import KaitaiStructError
from tests.made.codecs import IDS
from tests.made.encoder import LOG_APPEND_TIME, LOG_OVERHEAD, Row, to_long

from kafka_segments.core.codecs import decompress
from kafka_segments.errors import (
    ChecksumMismatchError,
    CorruptBatchError,
    DecompressionError,
    KafkaFormatError,
)

LEAST_BODY = 14
OFS_MAGIC = 16
NAMES = {number: name for name, number in IDS.items()}
PARSE_ERRORS = (KaitaiStructError, ConstructError, EOFError, ValueError)

Parse = Callable[[bytes], list[Any]]
"""From the bytes of a segment to its entries, as a target has them."""


def read(entry: bytes, parse: Parse) -> tuple[tuple[Row, ...], str | None]:
    """The records of one entry whose checksum is right, and the name of the error that was met, if any."""
    rows: list[Row] = []
    mismatch = None
    try:
        for row in _rows(parse(entry)[0], parse):
            if isinstance(row, Row):
                rows.append(row)
            else:
                mismatch = type(row).__name__
    except KafkaFormatError as error:
        return tuple(rows), type(error).__name__
    except PARSE_ERRORS:
        return tuple(rows), CorruptBatchError.__name__
    return tuple(rows), mismatch


def _rows(entry: Any, parse: Parse) -> Iterator[Row | ChecksumMismatchError]:
    outer = entry.body.content
    codec = NAMES.get(int(outer.header.attributes.compression))
    if codec in (None, "zstd"):
        raise DecompressionError("a codec that is not of this format")
    if codec == "none":
        yield _row(entry.base_offset, outer)
        return
    value = getattr(outer, "value", None)
    if value is None:
        raise CorruptBatchError("a wrapper without a value")
    content = decompress(codec, value, magic=outer.header.magic)
    inner = _inner_entries(parse(_taken_for_1(content)))
    base = _base_offset(entry.base_offset, outer, inner)
    end = 0
    for found in inner:
        start, end = end, end + LOG_OVERHEAD + found.len_body
        if not _is_sound(content[start + LOG_OVERHEAD : end]):
            yield ChecksumMismatchError("of a message inside a wrapper")
            continue
        if int(found.body.content.header.attributes.compression):
            raise CorruptBatchError("a compressed message inside a wrapper")
        row = _row(to_long(base + found.base_offset), found.body.content)
        # Kafka hands the wrapper's time and type to messages of magic 1 alone.
        yield _inner_row(row, outer) if content[start + OFS_MAGIC] == 1 else row


def _taken_for_1(content: bytes) -> bytes:
    """Messages with magic 1 in place of any that is neither 0 nor 1: so Kafka reads them (LegacyRecord)."""
    taken, position = bytearray(content), 0
    while position + OFS_MAGIC < len(taken):
        taken[position + OFS_MAGIC] = min(taken[position + OFS_MAGIC], 1)
        size = int.from_bytes(taken[position + 8 : position + LOG_OVERHEAD], "big", signed=True)
        if size < LEAST_BODY:
            break
        position += LOG_OVERHEAD + size
    return bytes(taken)


def _inner_entries(entries: list[Any]) -> list[Any]:
    """The entries of a decompressed value; one that is cut off ends them, as in Kafka."""
    found = []
    for entry in entries:
        if getattr(entry, "body", None) is None:
            if entry.has_log_overhead and entry.len_body < LEAST_BODY:
                raise CorruptBatchError("a length inside a wrapper is too small")
            break
        found.append(entry)
    if not found:
        raise CorruptBatchError("a wrapper without messages")
    return found


def _is_sound(body: bytes) -> bool:
    """Whether a message's checksum is right; nothing else of it counts if not."""
    return zlib.crc32(body[4:]) == int.from_bytes(body[:4], "big")


def _base_offset(offset: int, outer: Any, inner: list[Any]) -> int:
    """What the offsets inside are relative to; old versions of librdkafka wrote 0 for the wrapper's own."""
    if outer.header.magic == 0 or offset == 0:
        return 0
    if offset < inner[-1].base_offset:
        raise CorruptBatchError("a wrapper's offset is below its last message's")
    base: int = offset - inner[-1].base_offset
    return base


def _row(offset: int, message: Any) -> Row:
    key, value = getattr(message, "key", None), getattr(message, "value", None)
    return Row(offset, message.timestamp_value, message.timestamp_type, key, value)


def _inner_row(row: Row, outer: Any) -> Row:
    """The wrapper's type and, where the broker has set it, its time; both only for messages that have any."""
    if row.timestamp_type == -1:
        return row
    kind = outer.timestamp_type
    time = outer.timestamp_value if kind == LOG_APPEND_TIME else row.timestamp
    return row._replace(timestamp=time, timestamp_type=kind)
