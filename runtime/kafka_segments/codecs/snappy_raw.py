"""Ordinary snappy payloads, decompressed straight into memory that is there already.

Strategy: cramjam, which python-snappy is made of, writes where the caller wants. What is not quite
ordinary, or does not fit, is answered with None: then the codec's own module does it, which knows all the
rules and has the words for what is wrong. So a payload is never taken here that would be refused there.
(For the other codecs there are `loops`.)
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module

from kafka_segments.errors import DecompressionError

__all__ = ["Direct", "direct_codec"]

Direct = Callable[[memoryview, memoryview], int | None]
"""`(payload, target) -> bytes written`, or None: use the codec's module."""


@cache
def direct_codec(name: str) -> Direct | None:
    """The short way for a codec by Kafka's name; None if it has none here."""
    if name != "snappy":
        return None
    try:
        return _snappy()
    except ImportError:
        return None  # the codec's own module will say what is missing


def _snappy() -> Direct:
    """One stream of snappy-java's, or one bare block."""
    import cramjam

    snappy = import_module("kafka_segments.codecs.snappy")
    only_block, iter_blocks = snappy.only_block, snappy.iter_blocks
    decompress_into = cramjam.snappy.decompress_raw_into

    def direct(payload: memoryview, target: memoryview) -> int | None:
        try:
            block = only_block(payload)
            if block:
                size: int = decompress_into(block, target)
                return size
            size = 0
            for block in iter_blocks(payload):
                if not block:
                    return None
                size += decompress_into(block, target[size:])
        except (cramjam.DecompressionError, DecompressionError):  # wrong, or larger than the target
            return None
        return size

    return direct
