"""Offset checkpoints, the files that note an offset for each partition of a log directory."""

from __future__ import annotations

from kafka_segments.core.formats.kaitai_classes import PARSE_ERRORS, explain, stream
from kafka_segments.errors import DecodeError
from kafka_segments_generated.kaitai.kafka_offset_checkpoint import KafkaOffsetCheckpoint

__all__ = ["MAX_LEN_OFFSET_CHECKPOINT", "read_offset_checkpoint"]

MAX_LEN_OFFSET_CHECKPOINT = 2 << 20
"""Bytes that an offset checkpoint may have here, enough for 50,000 partitions on one disk.

While it is read it may take 150 times as much memory: 300 MB.
"""


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
