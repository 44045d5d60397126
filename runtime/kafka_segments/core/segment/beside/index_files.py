"""Readers of index files, producer snapshots, leader epochs and partition metadata.

Strategy: a file is read whole and becomes plain values, or an error with its position. The checks are those
of Kafka when it loads the file (`sanityCheck` of each class), and those that make an entry readable. Zeros
after the last entry are reserved space: a broker preallocates the indexes of the newest segment, and
truncates them when it rolls the segment or stops. A killed broker leaves the zeros, and Kafka then reads them
as entries until it has rebuilt the index; here they never count.
"""

from __future__ import annotations

import base64
import re
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from crc32c import crc32c

from kafka_segments.core import formats
from kafka_segments.core.io.storage import Source, SourceLike, open_source
from kafka_segments.errors import ChecksumMismatchError, CorruptIndexError, KafkaFormatError, TruncatedError

__all__ = [
    "MAX_LEN_CHECKPOINT",
    "MAX_LEN_INDEX",
    "MAX_LEN_SNAPSHOT",
    "AbortedTxn",
    "LeaderEpoch",
    "OffsetIndex",
    "PartitionMetadata",
    "ProducerEntry",
    "TimeIndex",
    "read_leader_epochs",
    "read_offset_index",
    "read_partition_metadata",
    "read_producer_snapshot",
    "read_time_index",
    "read_transaction_index",
]

MAX_LEN_INDEX = 64 << 20
"""Bytes of an index that are read, in up to 14 times as much memory; `segment.index.bytes` is 10 MiB."""
MAX_LEN_SNAPSHOT = 32 << 20
"""Bytes of a snapshot that are read: 700,000 producers, in 700 MB of memory meanwhile."""
MAX_LEN_CHECKPOINT = 2 << 20
"""Bytes of a text file that are read."""

T = TypeVar("T")
_NAME = re.compile(r"([0-9]{20})\.(index|timeindex|txnindex|snapshot)(\.[^/]*)?")
_TOPIC_ID = re.compile(r"[A-Za-z0-9_-]{22}")


@dataclass(frozen=True, slots=True)
class OffsetIndex:
    """A `.index`: the batch at `positions[i]` ends with `offsets[i]`.

    Attributes:
        path: the file, as the caller named it.
        base_offset: the segment's.
        offsets: absolute, in the file's order.
        positions: in bytes from the beginning of the `.log`.
        num_padding: number of entries of zeros at the end.
    """

    path: str
    base_offset: int
    offsets: tuple[int, ...]
    positions: tuple[int, ...]
    num_padding: int

    def lookup(self, offset: int) -> tuple[int, int]:
        """Return offset and position of the last entry up to `offset`; those of the segment if there is none.

        Source: OffsetIndex.lookup.
        """
        at = bisect_right(self.offsets, offset)
        return (self.offsets[at - 1], self.positions[at - 1]) if at else (self.base_offset, 0)


@dataclass(frozen=True, slots=True)
class TimeIndex:
    """A `.timeindex`: up to `offsets[i]` no record of the segment is later than `timestamps[i]` (ms)."""

    path: str
    base_offset: int
    timestamps: tuple[int, ...]
    offsets: tuple[int, ...]
    num_padding: int

    def lookup(self, timestamp: int) -> tuple[int, int]:
        """Return timestamp and offset of the last entry up to `timestamp`; -1 and the base offset if none.

        Source: TimeIndex.lookup.
        """
        at = bisect_right(self.timestamps, timestamp)
        return (self.timestamps[at - 1], self.offsets[at - 1]) if at else (-1, self.base_offset)


@dataclass(frozen=True, slots=True)
class AbortedTxn:
    """An entry of a `.txnindex`: an aborted transaction; `last_offset` is that of the ABORT marker.

    `last_stable_offset`: transactions that began before it had ended at the marker.
    """

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


@dataclass(frozen=True, slots=True)
class ProducerEntry:
    """State of a producer in a `.snapshot`; see the schema for the meaning of -1."""

    producer_id: int
    epoch: int
    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int
    coordinator_epoch: int
    current_txn_first_offset: int


@dataclass(frozen=True, slots=True)
class LeaderEpoch:
    """A leader epoch and the offset that it began with."""

    epoch: int
    start_offset: int


@dataclass(frozen=True, slots=True)
class PartitionMetadata:
    """The id of a partition's topic: 22 characters of base64url."""

    version: int
    topic_id: str


def read_offset_index(source: SourceLike | Source, base_offset: int | None = None) -> OffsetIndex:
    """Read a `.index`.

    Args:
        source: a path, bytes, a binary file object, or a `storage.Source`, which is closed then.
        base_offset: the segment's; None takes it from the file's name, or 0 if the name has none.

    Raises:
        ReadError: the file cannot be opened or read.
        CorruptIndexError: its size is not a multiple of an entry's, or its last offset is below the base
            offset (OffsetIndex.sanityCheck).

    Example:
        >>> read_offset_index(b"").lookup(5)
        (0, 0)
    """

    def decode(data: bytes, path: str) -> OffsetIndex:
        base, size = _base_offset(path, base_offset), formats.LEN_OFFSET_ENTRY
        end = _end_of_entries(data, size)
        relative, positions = formats.read_offset_entries(data[:end])
        offsets = tuple(base + offset for offset in relative)
        _check_last_offset(offsets, base, end - size)
        return OffsetIndex(path, base, offsets, tuple(positions), (len(data) - end) // size)

    return _decoded(source, MAX_LEN_INDEX, decode)


def read_time_index(source: SourceLike | Source, base_offset: int | None = None) -> TimeIndex:
    """Read a `.timeindex`; arguments as for `read_offset_index`.

    Raises:
        ReadError: the file cannot be opened or read.
        CorruptIndexError: its size is not a multiple of an entry's, its last timestamp is below the first, or
            its last offset is below the base offset (TimeIndex.sanityCheck).
    """

    def decode(data: bytes, path: str) -> TimeIndex:
        base, size = _base_offset(path, base_offset), formats.LEN_TIME_ENTRY
        end = _end_of_entries(data, size)
        if end == 0 and len(data) == size:
            end = size  # a single entry of zeros counts: its timestamp is 1970-01-01
        timestamps, relative = formats.read_time_entries(data[:end])
        offsets = tuple(base + offset for offset in relative)
        if timestamps and timestamps[-1] < timestamps[0]:
            detail = f"the last timestamp is {timestamps[-1]}, which is less than the first, {timestamps[0]}"
            raise CorruptIndexError(detail, position=end - size)
        _check_last_offset(offsets, base, end - size)
        return TimeIndex(path, base, tuple(timestamps), offsets, (len(data) - end) // size)

    return _decoded(source, MAX_LEN_INDEX, decode)


def read_transaction_index(
    source: SourceLike | Source, base_offset: int | None = None
) -> tuple[AbortedTxn, ...]:
    """Read a `.txnindex`; arguments as for `read_offset_index`.

    Raises:
        ReadError: the file cannot be opened or read.
        TruncatedError: the last entry is cut off. (Kafka passes over the rest.)
        CorruptIndexError: an entry has an unknown version, or ends below the base offset
            (TransactionIndex.sanityCheck).
    """

    def decode(data: bytes, path: str) -> tuple[AbortedTxn, ...]:
        base, size = _base_offset(path, base_offset), formats.LEN_TRANSACTION_ENTRY
        available = len(data) % size
        if available:
            detail = f"the last entry has {available} of {size} bytes"
            position = len(data) - available
            raise TruncatedError(detail, position=position, needed=size, available=available)
        versions, *columns = formats.read_transaction_entries(data)
        entries = tuple(map(AbortedTxn, *columns))
        for at, (version, entry) in enumerate(zip(versions, entries, strict=True)):
            # Kafka looks at the first byte of the two alone, so it would take version 1.
            if version > 0:
                raise CorruptIndexError(f"version {version}; only 0 is known", position=at * size)
            if entry.last_offset < base:
                detail = f"the last offset is {entry.last_offset}, which is less than the base offset {base}"
                raise CorruptIndexError(detail, position=at * size)
        return entries

    return _decoded(source, MAX_LEN_INDEX, decode)


def read_producer_snapshot(source: SourceLike | Source) -> tuple[ProducerEntry, ...]:
    """Read a `.snapshot`.

    Raises:
        ReadError: the file cannot be opened or read.
        ChecksumMismatchError: the checksum is wrong.
        CorruptIndexError: another version than 1, a negative number of entries, or too few bytes
            (ProducerStateManager.readSnapshot).
    """

    def decode(data: bytes, _path: str) -> tuple[ProducerEntry, ...]:
        snapshot = formats.read_producer_snapshot(data)
        computed = crc32c(snapshot.crc_region)
        if computed != snapshot.crc:
            detail = f"stored 0x{snapshot.crc:08x}, computed 0x{computed:08x}"
            raise ChecksumMismatchError(detail, position=0, stored=snapshot.crc, computed=computed)
        names = ProducerEntry.__slots__
        return tuple(
            ProducerEntry(*(getattr(entry, name) for name in names)) for entry in snapshot.producer_entries
        )

    return _decoded(source, MAX_LEN_SNAPSHOT, decode)


def read_leader_epochs(source: SourceLike | Source) -> tuple[LeaderEpoch, ...]:
    """Read a `leader-epoch-checkpoint`; a file without a byte holds none.

    Raises:
        ReadError: the file cannot be opened or read.
        CorruptIndexError: another version than 0, another number of lines than announced, or a line that is
            not two numbers (CheckpointFile.read, LeaderEpochCheckpointFile).
    """
    return _decoded(
        source,
        MAX_LEN_CHECKPOINT,
        lambda data, _path: tuple(LeaderEpoch(*entry) for entry in formats.read_leader_epochs(data)),
    )


def read_partition_metadata(source: SourceLike | Source) -> PartitionMetadata:
    """Read a `partition.metadata`.

    Raises:
        ReadError: the file cannot be opened or read.
        CorruptIndexError: a negative version, or an id that is invalid or not a topic's
            (PartitionMetadataReadBuffer).
    """

    def decode(data: bytes, _path: str) -> PartitionMetadata:
        version, topic_id = formats.read_partition_metadata(data)
        if not _TOPIC_ID.fullmatch(topic_id):
            raise CorruptIndexError(f"the topic id {topic_id!r:.40} is not a UUID in base64url")
        if not any(base64.urlsafe_b64decode(f"{topic_id}==")):
            raise CorruptIndexError(f"the topic id {topic_id} is not the id of a topic")
        return PartitionMetadata(version, topic_id)

    return _decoded(source, MAX_LEN_CHECKPOINT, decode)


def _decoded(source: SourceLike | Source, most: int, decode: Callable[[bytes, str], T]) -> T:
    opened = _opened(source)
    try:
        if opened.size > most:
            raise CorruptIndexError(f"{opened.size} bytes, more than the {most} that this reader takes")
        return decode(bytes(opened.read(0, opened.size)), opened.name)
    except KafkaFormatError as error:
        raise error.with_context(path=opened.name) from error.__cause__
    finally:
        opened.close()


def _opened(source: SourceLike | Source) -> Source:
    """Open a source; an open one is taken over."""
    either: Any = source
    is_source = hasattr(source, "window") and hasattr(source, "descriptor")
    return either if is_source else open_source(either, only_files=True)


def _base_offset(path: str, given: int | None) -> int:
    match = _NAME.fullmatch(path.rpartition("/")[2])
    named = int(match[1]) if match else 0
    return named if given is None else given


def _end_of_entries(data: bytes, size: int) -> int:
    """Return where the last non-zero entry ends."""
    if len(data) % size:
        detail = f"{len(data)} bytes, which is not a multiple of an entry's {size}"
        raise CorruptIndexError(detail, position=len(data) - len(data) % size)
    used = len(data.rstrip(b"\0"))
    return used + -used % size


def _check_last_offset(offsets: tuple[int, ...], base_offset: int, position: int) -> None:
    if offsets and offsets[-1] < base_offset:
        detail = f"the last offset is {offsets[-1]}, which is less than the base offset {base_offset}"
        raise CorruptIndexError(detail, position=position)
