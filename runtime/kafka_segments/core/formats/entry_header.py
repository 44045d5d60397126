"""The beginning of entries: the prefix that all magics share, and the header of a batch or message."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias
from zlib import crc32

from crc32c import crc32c

from kafka_segments.core.formats.entries import Batch, ExperimentalBatch
from kafka_segments.core.formats.java import increment_sequence, wrap_long
from kafka_segments.core.formats.kaitai_classes import PARSE_ERRORS, constants, explain, name, stream
from kafka_segments.errors import CorruptBatchError
from kafka_segments_generated.columns import kafka_log_segment_experimental
from kafka_segments_generated.columns.kafka_log_segment import CONTENTS
from kafka_segments_generated.kaitai.kafka_log_segment import KafkaLogSegment
from kafka_segments_generated.kaitai.kafka_log_segment_experimental import KafkaLogSegmentExperimental
from kafka_segments_generated.kaitai.kafka_message_legacy import KafkaMessageLegacy
from kafka_segments_generated.kaitai.kafka_record_batch_v2 import KafkaRecordBatchV2
from kafka_segments_generated.kaitai.kafka_record_batch_v3 import KafkaRecordBatchV3
from kafka_segments_generated.kaitai.kafka_record_batch_v3_metadata_first import (
    KafkaRecordBatchV3MetadataFirst,
)

__all__ = [
    "EXPERIMENTAL_MAGICS",
    "LEN_HEAD",
    "LEN_LOG_OVERHEAD",
    "LEN_LONGEST_HEAD",
    "LEN_PREFIX",
    "MAGICS",
    "MIN_LEN_BODY",
    "OFS_LEN_BODY",
    "OFS_MAGIC",
    "TIMESTAMP_TYPE_NAMES",
    "Prefix",
    "checksum_region",
    "message_timestamp_type",
    "read_entry_header",
    "read_header_leniently",
    "read_prefix",
]

_Prefix = KafkaLogSegment.EntryPrefix

LEN_PREFIX: int = constants(_Prefix).len_prefix
"""Bytes of an entry, of any magic, that hold its offset, length and magic."""
OFS_MAGIC: int = constants(_Prefix).ofs_magic
OFS_LEN_BODY: int = constants(_Prefix).ofs_len_body
"""Position of the length field, a big-endian integer that ends at `LEN_LOG_OVERHEAD`."""
LEN_LOG_OVERHEAD: int = constants(_Prefix).len_log_overhead
"""Bytes of an entry that its length field does not count."""
LEN_HEAD: int = LEN_LOG_OVERHEAD + constants(KafkaRecordBatchV2).len_header
"""Bytes before the records of a v2 batch; no message of the old formats has a longer header."""
LEN_LONGEST_HEAD: int = LEN_LOG_OVERHEAD + constants(KafkaRecordBatchV3).max_len_header
"""Bytes before the records of any batch at most, one of the discarded magic 3 included."""
MAGICS = {magic: content for content in CONTENTS for magic in content.cases}
"""What an entry of each known magic holds, as the generated table of entries describes it."""
EXPERIMENTAL_MAGICS = {
    magic: content for content in kafka_log_segment_experimental.CONTENTS for magic in content.cases
}
"""`MAGICS` and the discarded magic 3, which is read only where the caller asks for it."""
_BATCH_REGION = LEN_LOG_OVERHEAD + constants(KafkaRecordBatchV2).ofs_crc_region, crc32c
_MESSAGE_REGION = (
    LEN_LOG_OVERHEAD + constants(KafkaMessageLegacy.MessageHeader).ofs_crc_region,
    crc32,
)


def _min_len_body(magic: int) -> int:
    prefix = constants(_Prefix)
    prefix.magic = magic
    return prefix.min_len_body


MIN_LEN_BODY: int = min(map(_min_len_body, MAGICS))
"""The least value of the length field in an entry of any known magic."""


@dataclass(frozen=True, slots=True)
class Prefix:
    """The start of an entry. `len_entry` counts all its bytes; it may be nonsense in damaged files."""

    base_offset: int
    len_body: int
    magic: int
    len_entry: int
    min_len_body: int

    @property
    def is_known(self) -> bool:
        """Whether the schema knows the magic."""
        return self.magic in MAGICS


def read_prefix(data: bytes | memoryview) -> Prefix:
    """Read the first `LEN_PREFIX` bytes of an entry; any bytes do."""
    prefix = _Prefix(stream(data))
    return Prefix(prefix.base_offset, prefix.len_body, prefix.magic, prefix.len_entry, prefix.min_len_body)


class FrameReader:
    """Reader of the first two fields of entries in memory: as `read_prefix`, in half the time.

    Args:
        data: consecutive entries; the last one may be cut off.
    """

    def __init__(self, data: bytes | memoryview) -> None:
        self._data = data
        self._io = stream(data)

    def read(self, position: int) -> tuple[int, int]:
        """The base offset of the entry at a position, and its length field (`len_body`)."""
        if len(self._data) - position < LEN_PREFIX:  # a short entry at the end
            prefix = _Prefix(stream(bytes(self._data[position:]).ljust(LEN_PREFIX, b"\0")))
        else:
            self._io.seek(position)
            prefix = _Prefix(self._io)
        return prefix.base_offset, prefix.len_body


def read_entry_header(
    data: bytes | memoryview,
    path: str,
    position: int,
    previous_offset: int | None,
    prefix: Prefix | None = None,
) -> Batch:
    """Read the header of an entry of a known or experimental magic.

    Args:
        data: the entry's first `LEN_HEAD` bytes, of an experimental magic `LEN_LONGEST_HEAD`, or all of it
            if it has fewer.
        path: for the `Batch`.
        position: of the entry in the file.
        previous_offset: the last sound offset before it.
        prefix: the entry's, if it has been read.

    Raises:
        CorruptBatchError: the header does not fit into the entry.
    """
    prefix = read_prefix(data) if prefix is None else prefix
    place = path, position, previous_offset
    body = stream(data[LEN_LOG_OVERHEAD:])
    try:
        if prefix.magic not in MAGICS:
            return _read_experimental(prefix, data[LEN_LOG_OVERHEAD:], place)
        if MAGICS[prefix.magic].is_repeated:
            return _read_batch(prefix, KafkaRecordBatchV2(prefix.base_offset, body), place)
        return _read_message(prefix, KafkaMessageLegacy.MessageHeader(body), *place)
    except PARSE_ERRORS as error:
        detail = f"the header cannot be read: {explain(error)}"
        raise CorruptBatchError(detail, position=position, path=path) from error


def read_header_leniently(data: bytes | memoryview, path: str, position: int, prefix: Prefix) -> Batch:
    """Read the header of an entry of any magic as Kafka iterates over files: above 2 it is taken for 2.

    Source: FileLogInputStream.nextBatch; Kafka's brokers refuse such a magic, its tools do not.

    Args:
        data: bytes of the file from the entry on, `LEN_HEAD` of them where there are so many; they need not
            all belong to the entry.
        path: for the `Batch`.
        position: of the entry in the file.
        prefix: the entry's.

    Raises:
        CorruptBatchError: the magic is negative, or the file ends in the header.
    """
    highest, magic = max(MAGICS), prefix.magic
    if magic < 0:
        raise CorruptBatchError(f"magic {magic} is below 0", position=position, path=path)
    if magic <= highest:
        return read_entry_header(data, path, position, None, prefix)
    taken = bytearray(data)
    taken[OFS_MAGIC] = highest
    return replace(read_entry_header(bytes(taken), path, position, None), magic=magic)


def checksum_region(magic: int) -> tuple[int, Callable[[bytes | memoryview, int], int]]:
    """Position of the first checksummed byte of an entry, and the checksum; the last byte ends the entry."""
    return _BATCH_REGION if EXPERIMENTAL_MAGICS[magic].is_repeated else _MESSAGE_REGION


TIMESTAMP_TYPE_NAMES = tuple(
    "".join(word.capitalize() for word in kind.name.split("_"))
    for kind in sorted(KafkaRecordBatchV2.TimestampType)
)
"""Timestamp types as Kafka prints them (TimestampType.name), by their numbers."""


def message_timestamp_type(header: KafkaMessageLegacy.MessageHeader) -> str:
    """The timestamp type of a message of magic 0 or 1, which only magic 1 has, as Kafka prints it."""
    has_none = header.timestamp is None
    return "NoTimestampType" if has_none else TIMESTAMP_TYPE_NAMES[header.attributes.timestamp_type]


_Header: TypeAlias = KafkaRecordBatchV2 | KafkaRecordBatchV3 | KafkaRecordBatchV3MetadataFirst
_Place: TypeAlias = tuple[str, int, int | None]  # path, position, offset before


def _read_batch(prefix: Prefix, header: KafkaRecordBatchV2, place: _Place) -> Batch:
    numbers = header.last_offset_delta, header.base_timestamp, header.max_timestamp
    return Batch(**_fields(prefix, header, *numbers, place))


def _read_experimental(prefix: Prefix, data: bytes | memoryview, place: _Place) -> ExperimentalBatch:
    """The header of a batch of magic 3; the schema of the segment decides which of its layouts it has."""
    body = KafkaLogSegmentExperimental.EntryBody(stream(data))
    has_metadata_first = body.layout != prefix.magic
    kind = KafkaRecordBatchV3MetadataFirst if has_metadata_first else KafkaRecordBatchV3
    header = kind(prefix.base_offset, stream(data))
    times = header.base_timestamp.value, wrap_long(header.max_timestamp)
    return ExperimentalBatch(
        **_fields(prefix, header, header.last_offset_delta.value, *times, place),
        len_head=LEN_LOG_OVERHEAD + header.len_header,
        ignores_message_attributes=header.attributes.ignores_message_attributes,
        has_metadata_first=has_metadata_first,
    )


def _fields(  # noqa: PLR0917
    prefix: Prefix,
    header: _Header,
    last_offset_delta: int,
    base_timestamp: int,
    max_timestamp: int,
    place: _Place,
) -> dict[str, Any]:
    """The fields of a `Batch`, by name."""
    attributes, sequence = header.attributes, header.base_sequence
    path, position, previous_offset = place
    return {
        "path": path,
        "position": position,
        "size": prefix.len_entry,
        "magic": prefix.magic,
        "base_offset": prefix.base_offset,
        "last_offset": wrap_long(prefix.base_offset + last_offset_delta),
        "partition_leader_epoch": header.partition_leader_epoch,
        "crc": header.crc,
        "compression": name(attributes.compression),
        "compression_id": int(attributes.compression),
        "timestamp_type": TIMESTAMP_TYPE_NAMES[attributes.timestamp_type],
        "is_transactional": attributes.is_transactional,
        "is_control": attributes.is_control,
        # The field has two meanings: with this bit it holds the horizon (RecordBatch.deleteHorizonMs).
        "delete_horizon_ms": base_timestamp if attributes.has_delete_horizon else None,
        "base_timestamp": base_timestamp,
        "max_timestamp": max_timestamp,
        "producer_id": header.producer_id,
        "producer_epoch": header.producer_epoch,
        "base_sequence": sequence,
        "last_sequence": -1 if sequence == -1 else increment_sequence(sequence, last_offset_delta),
        "num_records": header.num_records,
        "previous_offset": previous_offset,
    }


def _read_message(
    prefix: Prefix,
    header: KafkaMessageLegacy.MessageHeader,
    path: str,
    position: int,
    previous_offset: int | None,
) -> Batch:
    is_plain = header.attributes.compression == KafkaMessageLegacy.Compression.none
    return Batch(
        path=path,
        position=position,
        size=prefix.len_entry,
        magic=prefix.magic,
        # A wrapper has the offset of its last message; the first and the number are known from its value.
        base_offset=prefix.base_offset if is_plain else None,
        last_offset=prefix.base_offset,
        crc=header.crc,
        compression=name(header.attributes.compression),
        compression_id=int(header.attributes.compression),
        timestamp_type=message_timestamp_type(header),
        max_timestamp=-1 if header.timestamp is None else header.timestamp,
        num_records=1 if is_plain else None,
        previous_offset=previous_offset,
    )
