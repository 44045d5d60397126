"""Decompression without decoding: each codec's libraries that are here, of which the fastest is the limit."""

from __future__ import annotations

import struct
import time
import zlib
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

from tests.bench.corpora import CODEC_IDS, positions

Into = Callable[[memoryview], Any]

OFS_ATTRIBUTES = 21
LEN_HEADER = 61
LEN_XERIAL_HEADER = 16
LARGEST_BATCH = 1 << 18
# zlib's number for gzip's container.
GZIP = 31


class NotPlainError(Exception):
    """A payload that our short way leaves to the codec's own module."""


def payloads(segment: bytes) -> Iterator[tuple[str, memoryview]]:
    """Codec and payload of every batch."""
    names = {number: name for name, number in CODEC_IDS.items()}
    whole = memoryview(segment)
    for begin, end in positions(segment):
        codec = struct.unpack_from(">h", segment, begin + OFS_ATTRIBUTES)[0] & 7
        yield names[codec], whole[begin + LEN_HEADER : end]


def xerial(payload: memoryview, block: Callable[[memoryview], Any]) -> None:
    """Decompress the blocks of snappy-java's framing."""
    position = LEN_XERIAL_HEADER
    while position < len(payload):
        size = struct.unpack_from(">I", payload, position)[0]
        block(payload[position + 4 : position + 4 + size])
        position += 4 + size


def cramjam(codec: str) -> Into:
    """cramjam, into memory that is used again."""
    library = import_module("cramjam")
    target = memoryview(bytearray(LARGEST_BATCH))
    if codec == "snappy":
        return lambda payload: xerial(
            payload, lambda block: library.snappy.decompress_raw_into(block, target)
        )
    into = getattr(library, codec).decompress_into
    return lambda payload: into(payload, target)


def usual(codec: str) -> Into:
    """The library that kafka-segments depends on, or Python's own."""
    if codec == "gzip":
        return lambda payload: zlib.decompress(payload, GZIP)
    if codec == "lz4":
        frame = import_module("lz4.frame")
        decompress: Into = frame.decompress
        return decompress
    if codec == "zstd":
        decompressor = import_module("zstandard").ZstdDecompressor()
        return lambda payload: decompressor.decompressobj().decompress(payload)
    snappy = import_module("snappy")
    return lambda payload: xerial(payload, lambda block: snappy.uncompress(bytes(block)))


def own(codec: str) -> Into:
    """What kafka-segments itself does, if that can write into memory that is there."""
    import numpy as np
    from tests.bench import ours

    direct = ours.direct_codec(codec)
    target = np.empty(LARGEST_BATCH, np.uint8)
    view = target.data

    def into(payload: memoryview) -> int:
        written = direct(payload, view)
        if written is None:
            raise NotPlainError(codec)
        return int(written)

    return into


LIBRARIES: dict[str, Callable[[str], Into]] = {
    "the codec's usual library": usual,
    "cramjam, into memory used again": cramjam,
    "the codec's own library, into memory used again": own,
}


def fastest(sample: list[tuple[str, memoryview]]) -> tuple[str, Callable[[tuple[str, memoryview]], Any]]:
    """Name and function of the library that is through a corpus' payloads first, of those that are here."""
    codec = sample[0][0]
    timed = []
    for name, make in LIBRARIES.items():
        try:
            into = make(codec)
            seconds = min(seconds_for(sample, into) for _ in range(2))
        except (ImportError, NotPlainError):
            continue
        timed.append((seconds, name, into))
    _, name, into = min(timed, key=lambda entry: entry[0])
    return name, lambda pair: into(pair[1])


def seconds_for(sample: list[tuple[str, memoryview]], into: Into) -> float:
    """How long it takes for all payloads."""
    started = time.perf_counter()
    for _, payload in sample:
        into(payload)
    return time.perf_counter() - started
