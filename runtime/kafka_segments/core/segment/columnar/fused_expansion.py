"""Decompression chained to the decoder, so that records are decoded while they are in the CPU's cache.

Strategy: a compiled loop decompresses a few payloads and decodes their records in turn. Python is called when
an arrow batch is full, or before a payload that is not ordinary (`codec_loops`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafka_segments.core.native.engine import Compiled
from kafka_segments.core.native.kernels import BATCH, DONE, NUM_BATCHES, Longs, load, store
from kafka_segments.core.segment.columnar.codec_loops import NEXT, USED, Loop
from kafka_segments.core.segment.columnar.decoding import RecordDecoder
from kafka_segments.core.segment.scan.native_chain import DECODER, FIRST, NUM_CHAINED, chain, run

__all__ = ["FusedExpansion", "expansion_loop"]

KEEPS = NUM_CHAINED
"""A slot of the loop's state: whether contents stay; else the next ones take their place."""


def expansion_loop() -> Callable[..., int]:
    """Return a function that decompresses payloads and decodes their records; its result is the decoder's."""

    def expand_and_decode(state: Longs, expand: Longs, places: Longs, spans: Longs, decode: Longs) -> int:
        while True:
            if load(decode, BATCH) < load(decode, NUM_BATCHES):
                status = run(state, DECODER)
                if status != DONE:
                    return status
            first = load(decode, NUM_BATCHES)
            if load(state, KEEPS) == 0:
                store(expand, USED, 0)
            store(expand, NEXT, first)
            following = run(state, FIRST)
            if following == first:
                return DONE
            for at in range(first, following):
                store(spans, 3 * at, load(places, 2 * at))
                store(spans, 3 * at + 1, load(places, 2 * at + 1))
            store(decode, NUM_BATCHES, following)

    return expand_and_decode


class FusedExpansion:
    """The loop of a codec with a decoder.

    Args:
        loop: of the codec.
        decoder: of the records.
        keeps: whether contents stay as they are while they are referenced.
    """

    def __init__(self, loop: Loop, decoder: RecordDecoder, *, keeps: bool) -> None:
        self._loop, self._decoder = loop, decoder
        self._run = Compiled(expansion_loop)
        state = chain(NUM_CHAINED + 1, loop.entry, decoder.entry)
        state[KEEPS] = keeps
        for name, memory in {"state": state, "expand": loop.state, "decode": decoder.state}.items():
            self._run.set(name, memory)
        self._target = memoryview(b"")

    def prepare(
        self, window: memoryview, places: Any, spans: Any, target: memoryview, *, enough: int
    ) -> None:
        """Set what is to be decompressed and decoded.

        Args:
            window: the bytes that hold the payloads.
            places: an int64 array of two columns: where each payload begins and ends; overwritten.
            spans: the decoder's, for the same batches; of those that are done, it becomes where their records
                are in `target`.
            target: memory for contents.
            enough: bytes to decompress before they are decoded.
        """
        self._loop.prepare(window, places, target, enough)
        self._run.set("places", places)
        self._run.set("spans", spans)
        self._target = target

    @property
    def used(self) -> int:
        """Bytes of the target that hold contents."""
        return self._loop.state[USED]

    @property
    def num_done(self) -> int:
        """Number of batches that were decompressed and decoded, unless the decoder has stopped."""
        return self._loop.state[NEXT]

    def __call__(self) -> int:
        """Decompress and decode until an arrow batch is full, or a payload is not ordinary."""
        status = self._run()
        self._decoder.hold(self._target[: self.used])
        return status
