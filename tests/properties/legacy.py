"""Messages of magic 0 and 1 by the generated Kaitai classes, and Kafka's rules for what is inside a wrapper.

The classes stop at a wrapper's value, which is compressed; the rules are those of
AbstractLegacyRecordBatch.DeepRecordsIterator. Errors are told by the names of the runtime's classes.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from functools import lru_cache
from io import BytesIO
from typing import Any

from kaitaistruct import KaitaiStream, KaitaiStructError
from tests.properties.encoder import LOG_APPEND_TIME, Row, to_long

from kafka_segments.compression import decompress
from kafka_segments.errors import ChecksumMismatchError, CorruptBatchError, KafkaFormatError
from kafka_segments_generated.kaitai.kafka_log_segment import KafkaLogSegment

LEAST_BODY = 14
_PARSE_ERRORS = (KaitaiStructError, EOFError, ValueError)


@lru_cache(maxsize=1000)  # files are cut at every byte
def read(entry: bytes) -> tuple[tuple[Row, ...], str | None]:
    """The records of one entry whose checksum is right, and the name of the error that was met, if any."""
    rows: list[Row] = []
    mismatch = None
    try:
        for row in _rows(_entries(entry)[0]):
            if isinstance(row, Row):
                rows.append(row)
            else:
                mismatch = "ChecksumMismatchError"
    except KafkaFormatError as error:
        return tuple(rows), type(error).__name__
    except _PARSE_ERRORS:
        return tuple(rows), CorruptBatchError.__name__
    return tuple(rows), mismatch


def _entries(data: bytes) -> list[Any]:
    found: list[Any] = KafkaLogSegment(KaitaiStream(BytesIO(data))).entries
    return found


def _rows(entry: Any) -> Iterator[Row | ChecksumMismatchError]:
    outer = entry.body.content
    codec = outer.header.attributes.compression
    if not int(codec):
        yield _row(entry.base_offset, outer)
        return
    value = getattr(outer, "value", None)
    if value is None:
        raise CorruptBatchError("a wrapper without a value")
    inner = _inner_entries(decompress(codec.name, value, magic=outer.header.magic))
    base = _base_offset(entry.base_offset, outer, inner)
    for found in inner:
        message = found.body.content
        if int(message.header.attributes.compression):
            raise CorruptBatchError("a compressed message inside a wrapper")
        if zlib.crc32(message.crc_region) != message.header.crc:
            yield ChecksumMismatchError("of a message inside a wrapper")
        else:
            yield _inner_row(_row(to_long(base + found.base_offset), message), outer)


def _inner_entries(data: bytes) -> list[Any]:
    """The entries of a decompressed value; one that is cut off ends them, as in Kafka."""
    found = []
    for entry in _entries(data):
        if not hasattr(entry, "body"):
            if (getattr(entry, "len_body", None) or LEAST_BODY) < LEAST_BODY or hasattr(entry, "padding"):
                raise CorruptBatchError("a length inside a wrapper is too small")
            break
        found.append(entry)
    if not found:
        raise CorruptBatchError("a wrapper without messages")
    return found


def _base_offset(offset: int, outer: Any, inner: list[Any]) -> int:
    """What the offsets inside are relative to; old versions of librdkafka wrote 0 for the wrapper's own."""
    if outer.header.magic == 0 or offset == 0:
        return 0
    if offset < inner[-1].base_offset:
        raise CorruptBatchError("a wrapper's offset is below its last message's")
    base: int = offset - inner[-1].base_offset
    return base


def _row(offset: int, message: Any) -> Row:
    header = message.header
    key, value = getattr(message, "key", None), getattr(message, "value", None)
    if header.magic == 0:
        return Row(offset, -1, -1, key, value)
    return Row(offset, header.timestamp, int(header.attributes.timestamp_type), key, value)


def _inner_row(row: Row, outer: Any) -> Row:
    """The wrapper's type and, where the broker has set it, its time; both only for messages that have any."""
    if row.timestamp_type == -1:
        return row
    if outer.header.magic == 0:
        return row._replace(timestamp_type=-1)
    kind = int(outer.header.attributes.timestamp_type)
    time = outer.header.timestamp if kind == LOG_APPEND_TIME else row.timestamp
    return row._replace(timestamp=time, timestamp_type=kind)
