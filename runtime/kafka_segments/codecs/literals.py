"""Which bytes of a payload are its content as it is: literals, blocks that were stored.

Strategy: the beginning of a payload is followed step by step, as far as it goes without contradiction. It may
be cut off anywhere, which the codecs' libraries do not bear. That is slow, and only for those who ask about
damage: a message inside a wrapper may stand in the file byte for byte, as if it were an entry of its own.
The steps are in the codecs' own modules.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import NamedTuple, TypeAlias

from kafka_segments.errors import DecompressionError

__all__ = ["Run", "Steps", "Trace", "repeat", "trace"]

_LARGEST_COPY = 4 << 20  # of lz4's largest block

Steps: TypeAlias = Iterator[tuple[int, int]]
"""Places and sizes of runs, each after its bytes have been added to the content.

Where there are none for long, a run of no bytes comes now and then, so that the content's size is looked at.
"""


class Run(NamedTuple):
    """`size` bytes of the payload from `place` on, which are those of the content from `to` on."""

    place: int
    to: int
    size: int


class Trace(NamedTuple):
    """The beginning of a payload's content, and where the payload holds parts of it as they are."""

    content: bytes
    runs: list[Run]


def trace(codec: str, payload: bytes, magic: int, max_size: int) -> Trace:
    """Follow a payload from its beginning.

    Args:
        codec: Kafka's name; of one whose module has no `steps`, nothing is followed.
        payload: what there is of it.
        magic: of the batch or message.
        max_size: bytes of content after which no more is followed.
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
    """Repeat what is `distance` before the end, but nothing from before `first`.

    Raises:
        DecompressionError: there is nothing to repeat, or too much.
    """
    start = len(content) - distance
    if distance == 0 or start < first or size > _LARGEST_COPY:
        raise DecompressionError("a copy of what is not there")
    while size > 0:
        piece = content[start : start + size]
        content += piece
        start, size = start + len(piece), size - len(piece)


def _steps_of(codec: str) -> Callable[[bytes, int, bytearray], Steps]:
    module = import_module(f"kafka_segments.codecs.{codec}")
    steps: Callable[[bytes, int, bytearray], Steps] = getattr(module, "steps", _no_steps)
    return steps


def _no_steps(_payload: bytes, _magic: int, _content: bytearray) -> Steps:
    return iter(())
