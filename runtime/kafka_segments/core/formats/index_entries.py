"""Files beside a segment: indexes, producer snapshots, checkpoints, a partition's metadata."""

from __future__ import annotations

import re
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from kafka_segments.core.formats.kaitai_classes import PARSE_ERRORS, explain, stream
from kafka_segments.errors import CorruptIndexError, DecodeError
from kafka_segments_generated.columns import kafka_offset_index, kafka_time_index, kafka_transaction_index
from kafka_segments_generated.kaitai.kafka_leader_epoch_checkpoint import KafkaLeaderEpochCheckpoint
from kafka_segments_generated.kaitai.kafka_offset_checkpoint import KafkaOffsetCheckpoint
from kafka_segments_generated.kaitai.kafka_partition_metadata import KafkaPartitionMetadata
from kafka_segments_generated.kaitai.kafka_producer_snapshot import KafkaProducerSnapshot

__all__ = [
    "LEN_OFFSET_ENTRY",
    "LEN_TIME_ENTRY",
    "LEN_TRANSACTION_ENTRY",
    "MAX_LEN_OFFSET_CHECKPOINT",
    "read_leader_epochs",
    "read_offset_checkpoint",
    "read_offset_entries",
    "read_partition_metadata",
    "read_producer_snapshot",
    "read_time_entries",
    "read_transaction_entries",
]

Columns = list[Sequence[int]]

LEN_OFFSET_ENTRY = kafka_offset_index.LEN_ENTRY
LEN_TIME_ENTRY = kafka_time_index.LEN_ENTRY
LEN_TRANSACTION_ENTRY = kafka_transaction_index.LEN_ENTRY
MAX_LEN_OFFSET_CHECKPOINT = 2 << 20
"""Bytes that an offset checkpoint may have here, enough for 50,000 partitions on one disk.

While it is read it may take 150 times as much memory: 300 MB.
"""

_INTEGER = re.compile(rb"[+-]?[0-9]{1,19}")


def read_offset_entries(data: bytes | memoryview) -> Columns:
    """Relative offsets and positions; `data` holds whole entries."""
    return _columns(kafka_offset_index, data, "relative_offset", "position")


def read_time_entries(data: bytes | memoryview) -> Columns:
    """Timestamps and relative offsets; `data` holds whole entries."""
    return _columns(kafka_time_index, data, "timestamp", "relative_offset")


def read_transaction_entries(data: bytes | memoryview) -> Columns:
    """Versions, producer ids, first, last and last stable offsets; `data` holds whole entries."""
    names = ("version", "producer_id", "first_offset", "last_offset", "last_stable_offset")
    return _columns(kafka_transaction_index, data, *names)


def _columns(module: ModuleType, data: bytes | memoryview, *names: str) -> Columns:
    columns = module.read_columns(data)
    return [columns[module.COLUMNS.index(name)] for name in names]


def read_producer_snapshot(data: bytes | memoryview) -> Any:
    """A producer snapshot as the generated class reads it; the caller verifies its checksum.

    Raises:
        CorruptIndexError: another version than 1, a negative number of entries, or too few bytes.
    """
    try:
        return KafkaProducerSnapshot(stream(data))
    except PARSE_ERRORS as error:
        raise CorruptIndexError(f"not a snapshot of producers: {explain(error)}") from error


def read_leader_epochs(data: bytes | memoryview) -> list[tuple[int, int]]:
    """Leader epochs and their start offsets; an empty file has none (CheckpointFile.read).

    Raises:
        CorruptIndexError: another version, another number of entries than it says, or no such text.
    """
    if not data:
        return []
    try:
        checkpoint = KafkaLeaderEpochCheckpoint(stream(data))
    except PARSE_ERRORS as error:
        raise CorruptIndexError(f"not a checkpoint of leader epochs: {explain(error)}") from error
    version = _integer(checkpoint.version_text, 32, "version")
    if version != 0:
        raise CorruptIndexError(f"checkpoint of leader epochs with version {version}; only 0 is known")
    if not checkpoint.num_entries_text and not checkpoint.entries:
        return []
    announced = _integer(checkpoint.num_entries_text, 32, "number of entries")
    if announced != len(checkpoint.entries):
        raise CorruptIndexError(f"{len(checkpoint.entries)} leader epochs, but {announced} are announced")
    return [
        (_integer(entry.epoch_text, 32, "epoch"), _integer(entry.start_offset_text, 64, "offset"))
        for entry in checkpoint.entries
    ]


def read_offset_checkpoint(data: bytes | memoryview) -> dict[tuple[str, int], int]:
    """Offsets by topic and partition; an empty file has no entries (CheckpointFile.read).

    Raises:
        DecodeError: another version, another number of entries than it says, no such text, or more than
            `MAX_LEN_OFFSET_CHECKPOINT` bytes.
    """
    if not data:
        return {}
    if len(data) > MAX_LEN_OFFSET_CHECKPOINT:
        raise DecodeError(
            f"it has more than the {MAX_LEN_OFFSET_CHECKPOINT} bytes that are read of an offset checkpoint"
        )
    try:
        checkpoint = KafkaOffsetCheckpoint(stream(data))
        if checkpoint.version != 0:
            raise DecodeError(f"offset checkpoint with version {checkpoint.version}; only 0 is known")
        offsets = {(entry.topic, entry.partition): entry.offset for entry in checkpoint.entries}
        if checkpoint.num_entries != len(checkpoint.entries):
            raise DecodeError(
                f"{len(checkpoint.entries)} entries, but {checkpoint.num_entries} are announced"
            )
    except PARSE_ERRORS as error:
        if isinstance(error, DecodeError):
            raise
        raise DecodeError(f"not an offset checkpoint: {explain(error)}") from error
    return offsets


def read_partition_metadata(data: bytes | memoryview) -> tuple[int, str]:
    """Version and topic id of a partition's metadata.

    Raises:
        CorruptIndexError: a negative version, or no such text.
    """
    if not data:
        raise CorruptIndexError("not the metadata of a partition: it is empty")
    try:
        metadata = KafkaPartitionMetadata(stream(data))
        topic_id = metadata.topic_id
    except PARSE_ERRORS as error:
        raise CorruptIndexError(f"not the metadata of a partition: {explain(error)}") from error
    version = _integer(metadata.version_text, 32, "version")
    if version < 0:
        raise CorruptIndexError(f"unknown version {version} of a partition's metadata; versions begin at 0")
    return version, topic_id.strip()


def _integer(text: bytes, num_bits: int, what: str) -> int:
    """A number of a width in bits, as Java writes it; Kafka skips blanks around it."""
    digits = text.strip()
    value = int(digits) if _INTEGER.fullmatch(digits) else None
    highest = (1 << num_bits - 1) - 1
    if value is None or not -highest - 1 <= value <= highest:
        raise CorruptIndexError(f"the {what} is {text!r:.40}, which is not a {num_bits}-bit integer")
    return value
