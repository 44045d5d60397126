"""Literal runs of a payload: bytes that are stored uncompressed.

Strategy: a payload is decoded step by step from its beginning up to the first contradiction. It may be
truncated anywhere, which the codecs' libraries do not support. That is slow, and used for damage only: a
message inside a wrapper may stand uncompressed in the file, and look like an entry. The codecs' modules have
the steps.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import NamedTuple, TypeAlias

from kafka_segments.errors import DecompressionError

__all__ = ["Run", "Steps", "Trace", "repeat", "trace"]

_LARGEST_COPY = 4 << 20  # lz4's largest block

Steps: TypeAlias = Iterator[tuple[int, int]]
"""Positions and sizes of runs, each after its bytes were added to the content.

Empty runs come in between where there are none for long, so that the content's size is checked.
"""


class Run(NamedTuple):
    """Literal run: `size` bytes of the payload from `place` on are those of the content from `to` on."""

    place: int
    to: int
    size: int


class Trace(NamedTuple):
    """Content of a payload, as far as it was decoded, and its literal runs."""

    content: bytes
    runs: list[Run]


def trace(codec: str, payload: bytes, magic: int, max_size: int) -> Trace:
    """Decode a payload from its beginning.

    Args:
        codec: Kafka's name; without `steps` in its module the trace is empty.
        payload: its available bytes.
        magic: of the batch or message.
        max_size: bytes of content after which decoding stops.
    """
    content, runs = bytearray(), list[Run]()
    try:
        for place, size in _steps_of(codec)(payload, magic, content):
            if size:
                runs.append(Run(place, len(content) - size, size))
            if len(content) > max_size:
                break
    except (DecompressionError, ImportError, IndexError, RuntimeError, zlib.error):
        pass  # up to here
    return Trace(bytes(content), runs)


def repeat(content: bytearray, distance: int, size: int, first: int) -> None:
    """Append a copy of the bytes `distance` before the end, which must not begin before `first`.

    Raises:
        DecompressionError: an invalid distance or size.
    """
    start = len(content) - distance
    if distance == 0 or start < first or size > _LARGEST_COPY:
        raise DecompressionError("a copy from before the beginning")
    while size > 0:
        piece = content[start : start + size]
        content += piece
        start, size = start + len(piece), size - len(piece)


def _steps_of(codec: str) -> Callable[[bytes, int, bytearray], Steps]:
    module = import_module(f"kafka_segments.core.codecs.{codec}")
    steps: Callable[[bytes, int, bytearray], Steps] = getattr(module, "steps", _no_steps)
    return steps


def _no_steps(_payload: bytes, _magic: int, _content: bytearray) -> Steps:
    return iter(())
