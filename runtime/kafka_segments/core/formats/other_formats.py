"""Formats of other programs: Redpanda's headers, messages of Kafka 0.7, chunk sizes of Aiven's tiers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from kafka_segments.core.formats.kaitai_classes import PARSE_ERRORS, constants, explain, stream
from kafka_segments.errors import DecodeError
from kafka_segments_generated.kaitai.aiven_chunk_sizes import AivenChunkSizes
from kafka_segments_generated.kaitai.kafka_message_0_7 import KafkaMessage07
from kafka_segments_generated.kaitai.redpanda_batch_header import RedpandaBatchHeader

__all__ = [
    "LEN_REDPANDA_HEADER",
    "message_0_7_size",
    "read_chunk_sizes",
    "read_message_0_7",
    "read_redpanda_header",
]

LEN_REDPANDA_HEADER: int = constants(RedpandaBatchHeader).len_header
T = TypeVar("T")


def _read(kind: Callable[[Any], T], data: bytes | memoryview) -> T | None:
    try:
        return kind(stream(data))
    except PARSE_ERRORS:
        return None


def read_redpanda_header(data: bytes | memoryview) -> RedpandaBatchHeader | None:
    """A header of Redpanda's own log format, or None if the bytes are too few."""
    return _read(RedpandaBatchHeader, data)


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
    return _read(KafkaMessage07, data)


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
