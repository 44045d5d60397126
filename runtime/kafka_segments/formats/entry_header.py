"""How entries begin: the prefix that all magics share, and the header of a batch or message."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from kaitaistruct import KaitaiStruct

from kafka_segments.errors import CorruptBatchError
from kafka_segments.formats import checksum
from kafka_segments.formats.entries import Batch
from kafka_segments.formats.java import increment_sequence, wrap_long
from kafka_segments.formats.kaitai_classes import PARSE_ERRORS, constants, explain, name, stream
from kafka_segments_generated.kaitai.kafka_log_segment import KafkaLogSegment
from kafka_segments_generated.kaitai.kafka_message_legacy import KafkaMessageLegacy
from kafka_segments_generated.kaitai.kafka_record_batch_v2 import KafkaRecordBatchV2

__all__ = [
    "LEN_HEAD",
    "LEN_LOG_OVERHEAD",
    "LEN_PREFIX",
    "OFS_MAGIC",
    "TIMESTAMP_TYPE_NAMES",
    "EntryHeader",
    "Prefix",
    "checksum_region",
    "known_magics",
    "length_digits",
    "message_timestamp_type",
    "read_entry_header",
    "read_prefix",
]

_Entry = KafkaLogSegment.Entry
_Prefix = KafkaLogSegment.EntryPrefix

LEN_PREFIX: int = constants(_Prefix).len_prefix
"""Bytes of an entry, of any magic, that tell its offset, length and magic."""
OFS_MAGIC: int = constants(_Prefix).ofs_magic
LEN_LOG_OVERHEAD: int = constants(_Prefix).len_log_overhead
"""Bytes of an entry that its length field does not count."""
LEN_HEAD: int = LEN_LOG_OVERHEAD + constants(KafkaRecordBatchV2).len_header
"""Bytes before the records of a v2 batch; no message of the old formats has a longer header."""


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
        return self.magic in known_magics()


def read_prefix(data: bytes | memoryview) -> Prefix:
    """Read the first `LEN_PREFIX` bytes of an entry; any bytes do."""
    prefix = _Prefix(stream(data))
    return Prefix(prefix.base_offset, prefix.len_body, prefix.magic, prefix.len_entry, prefix.min_len_body)


class FrameReader:
    """Reads where the entries in a piece of memory begin and end: as `read_prefix`, in half the time.

    Args:
        data: entries one behind the other; the last one may be cut off.
    """

    def __init__(self, data: bytes | memoryview) -> None:
        self._data = data
        self._io = stream(data)

    def read(self, position: int) -> tuple[int, int]:
        """The base offset of the entry at a position, and the length behind it (`len_body`)."""
        if len(self._data) - position < LEN_PREFIX:  # a short entry at the end
            prefix = _Prefix(stream(bytes(self._data[position:]).ljust(LEN_PREFIX, b"\0")))
        else:
            self._io.seek(position)
            prefix = _Prefix(self._io)
        return prefix.base_offset, prefix.len_body


@cache
def _length_positions() -> list[int]:
    """Where the length field's bytes are in a prefix, most significant first.

    Learned from the generated class: each byte in turn is set in a prefix of zeros, and its weight in
    `len_body` seen.
    """
    weights = {}
    for position in range(LEN_PREFIX):
        probe = bytearray(LEN_PREFIX)
        probe[position] = 1
        weights[position] = read_prefix(bytes(probe)).len_body
    digits = [position for position, weight in weights.items() if weight]
    return sorted(digits, key=lambda position: -weights[position])


@cache
def length_digits() -> tuple[list[int], int]:
    """Where the length field's bytes are in a prefix, most significant first; the least length there is."""
    least = min(read_prefix(_entry_of_zeros(magic)).min_len_body for magic in known_magics())
    return _length_positions(), least


@cache
def known_magics() -> dict[int, type[KaitaiStruct]]:
    """The magics that the schema knows, each with the class of such an entry's body.

    Learned from the generated class, which leaves the body of an entry of another magic as bytes.
    """
    bodies = {magic: _Entry(stream(_entry_of_zeros(magic))).body for magic in range(-128, 128)}
    contents = {magic: body.content for magic, body in bodies.items() if body is not None}
    return {magic: type(content) for magic, content in contents.items() if not isinstance(content, bytes)}


def _entry_of_zeros(magic: int) -> bytes:
    """An entry as long as the longest header, of nothing but zeros beside its magic and its length."""
    probe = bytearray(LEN_HEAD)
    probe[OFS_MAGIC] = magic % 256
    *_, least_significant = _length_positions()
    probe[least_significant] = LEN_HEAD - LEN_LOG_OVERHEAD
    return bytes(probe)


@dataclass(frozen=True, slots=True)
class EntryHeader:
    """A batch or message as its header tells it, where the bytes begin that its checksum covers, and how."""

    batch: Batch
    ofs_crc_region: int
    checksum: Callable[[bytes | memoryview, int], int]


def read_entry_header(
    data: bytes | memoryview, path: str, position: int, previous_offset: int | None
) -> EntryHeader:
    """Read the header of an entry of a known magic.

    Args:
        data: the entry's first `LEN_HEAD` bytes, or all of it if it has fewer.
        path: for the `Batch`.
        position: of the entry in the file.
        previous_offset: the last sound offset before it.

    Raises:
        CorruptBatchError: the header does not fit into the entry.
    """
    prefix = read_prefix(data)
    body = stream(data[LEN_LOG_OVERHEAD:])
    try:
        if known_magics()[prefix.magic] is KafkaRecordBatchV2:
            header = KafkaRecordBatchV2(prefix.base_offset, body)
            return _head_v2(prefix, header, path, position, previous_offset)
        return _head_legacy(prefix, KafkaMessageLegacy.Header(body), path, position, previous_offset)
    except PARSE_ERRORS as error:
        detail = f"the header cannot be read: {explain(error)}"
        raise CorruptBatchError(detail, position=position, path=path) from error


@cache
def checksum_region(*, is_batch: bool) -> tuple[int, Callable[[bytes | memoryview, int], int]]:
    """Where the bytes begin that the checksum of a batch or message covers, and which checksum it is.

    It covers all from there to the end of the entry. Learned by parsing entries of zeros.
    """
    places = {
        (head.ofs_crc_region, head.checksum)
        for magic, body in known_magics().items()
        if (body is KafkaRecordBatchV2) is is_batch
        for head in [read_entry_header(_entry_of_zeros(magic), "", 0, None)]
    }
    (place,) = places
    return place


def _timestamp_type(number: int) -> str:
    """The timestamp type as Kafka prints it (TimestampType.name): that of the schema in CamelCase."""
    return "".join(word.capitalize() for word in str(name(number)).split("_"))


TIMESTAMP_TYPE_NAMES = tuple(_timestamp_type(kind) for kind in sorted(KafkaRecordBatchV2.TimestampType))
"""By their numbers."""


def message_timestamp_type(header: KafkaMessageLegacy.Header) -> str:
    """The timestamp type of a message of magic 0 or 1, which only magic 1 has, as Kafka prints it."""
    has_any = getattr(header, "timestamp", None) is not None
    return _timestamp_type(header.attributes.timestamp_type) if has_any else "NoTimestampType"


def _head_v2(
    prefix: Prefix, header: KafkaRecordBatchV2, path: str, position: int, previous_offset: int | None
) -> EntryHeader:
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
        compression=name(header.attributes.compression),
        compression_id=int(header.attributes.compression),
        timestamp_type=_timestamp_type(header.attributes.timestamp_type),
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
    return EntryHeader(batch, LEN_LOG_OVERHEAD + header.ofs_crc_region, checksum.crc32c)


def _head_legacy(
    prefix: Prefix, header: KafkaMessageLegacy.Header, path: str, position: int, previous_offset: int | None
) -> EntryHeader:
    plain = header.attributes.compression == KafkaMessageLegacy.Compression.none
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
        compression=name(header.attributes.compression),
        compression_id=int(header.attributes.compression),
        timestamp_type=message_timestamp_type(header),
        is_transactional=False,
        is_control=False,
        delete_horizon_ms=None,
        base_timestamp=None,
        max_timestamp=-1 if (timestamp := getattr(header, "timestamp", None)) is None else timestamp,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        last_sequence=-1,
        num_records=1 if plain else None,
        previous_offset=previous_offset,
    )
    return EntryHeader(batch, LEN_LOG_OVERHEAD + header.ofs_crc_region, checksum.crc32)
