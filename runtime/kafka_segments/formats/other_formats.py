"""Other formats: Redpanda's headers, messages of Kafka 0.7, offset checkpoints, chunk sizes of tiers."""

from __future__ import annotations

from kafka_segments.errors import DecodeError
from kafka_segments.formats.kaitai_classes import PARSE_ERRORS, constants, explain, stream
from kafka_segments_generated.kaitai.aiven_chunk_sizes import AivenChunkSizes
from kafka_segments_generated.kaitai.kafka_message_0_7 import KafkaMessage07
from kafka_segments_generated.kaitai.kafka_offset_checkpoint import KafkaOffsetCheckpoint
from kafka_segments_generated.kaitai.redpanda_batch_header import RedpandaBatchHeader

__all__ = [
    "LEN_REDPANDA_HEADER",
    "MAX_LEN_OFFSET_CHECKPOINT",
    "message_0_7_size",
    "read_chunk_sizes",
    "read_message_0_7",
    "read_offset_checkpoint",
    "read_redpanda_header",
]

LEN_REDPANDA_HEADER: int = constants(RedpandaBatchHeader).len_header


def read_redpanda_header(data: bytes | memoryview) -> RedpandaBatchHeader | None:
    """A header of Redpanda's own log format, or None if the bytes are too few."""
    try:
        return RedpandaBatchHeader(stream(data))
    except PARSE_ERRORS:
        return None


def message_0_7_size(data: bytes | memoryview) -> int | None:
    """The size of the Kafka 0.7 message that begins with `data`; None if it cannot be one."""
    try:
        KafkaMessage07(stream(data))
        return len(data)
    except EOFError as error:
        return len(data) + getattr(error, "bytes_needed", 0) - getattr(error, "bytes_available", 0)
    except PARSE_ERRORS:
        return None


def read_message_0_7(data: bytes | memoryview) -> KafkaMessage07 | None:
    """A message of Kafka 0.7, or None if the bytes cannot be one."""
    try:
        return KafkaMessage07(stream(data))
    except PARSE_ERRORS:
        return None


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
            f"an offset checkpoint of more bytes than this reader takes, which is {MAX_LEN_OFFSET_CHECKPOINT}"
        )
    try:
        checkpoint = KafkaOffsetCheckpoint(stream(data))
        if checkpoint.version != 0:
            raise DecodeError(f"offset checkpoint of version {checkpoint.version}; only 0 is known")
        offsets = {(entry.topic, entry.partition): entry.offset for entry in checkpoint.entries}
        if checkpoint.num_entries != len(checkpoint.entries):
            raise DecodeError(
                f"{len(checkpoint.entries)} entries where {checkpoint.num_entries} are announced"
            )
    except PARSE_ERRORS as error:
        if isinstance(error, DecodeError):
            raise
        raise DecodeError(f"not an offset checkpoint: {explain(error)}") from error
    return offsets


def read_chunk_sizes(data: bytes | memoryview) -> tuple[int, ...]:
    """The sizes of a tiered segment's chunks, from Aiven's manifest.

    Raises:
        DecodeError: too few or too many bytes, or numbers that cannot be.
    """
    try:
        opened = stream(data)
        sizes = AivenChunkSizes(opened)
        if not opened.is_eof():
            raise DecodeError(f"{len(data)} bytes of chunk sizes, but they end after {opened.pos()}")
        others = [(sizes.base or 0) + one.value for one in sizes.differences or ()]
        return (*others, *([] if sizes.len_last is None else [sizes.len_last]))
    except PARSE_ERRORS as error:
        if isinstance(error, DecodeError):
            raise
        raise DecodeError(f"not the sizes of chunks: {explain(error)}") from error
