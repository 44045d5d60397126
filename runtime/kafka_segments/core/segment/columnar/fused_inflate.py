"""Fused decompression and decoding: some payloads, then their records, and so on.

Strategy: as `fused_scan`, a compiled loop that calls two others (`native_chain`), here a codec's (`loops`)
and the decoder. Both stop before what they refuse, and so does this loop.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import pyarrow as pa

from kafka_segments.core.native.engine import load_decoder
from kafka_segments.core.native.kernels import BATCH, DONE, NUM_BATCHES, Longs, load, store
from kafka_segments.core.segment.codec_loops.loops import AT, COUNT, Loop
from kafka_segments.core.segment.columnar.decoding import RecordDecoder, Stop
from kafka_segments.core.segment.scan.native_chain import DECODER, FIRST, NUM_CHAINED, chain, run

__all__ = ["Inflation", "inflater"]


def inflater() -> Callable[..., int]:
    """Return a function that decompresses and decodes; it returns the decoder's status, and can continue."""

    def inflate(state: Longs, codec: Longs, places: Longs, spans: Longs, decode: Longs) -> int:
        while True:
            if load(decode, BATCH) < load(decode, NUM_BATCHES):
                status = run(state, DECODER)
                if status != DONE:
                    return status
            done = load(decode, NUM_BATCHES)
            if done == load(codec, COUNT):
                return DONE
            store(codec, AT, done)
            run(state, FIRST)
            following = load(codec, AT)
            if following == done:
                return DONE
            for at in range(done, following):
                store(spans, 3 * at, load(places, 2 * at))
                store(spans, 3 * at + 1, load(places, 2 * at + 1))
            store(decode, NUM_BATCHES, following)

    return inflate


class Inflation:
    """A codec's loop chained to a decoder.

    Args:
        loop: the codec's.
        decoder: of the records in its payloads.
    """

    def __init__(self, loop: Loop, decoder: RecordDecoder) -> None:
        self._loop, self._decoder = loop, decoder
        self._inflate = load_decoder(inflater)
        self._arguments = self._inflate.new_table()
        self._state = state = chain(NUM_CHAINED, loop.entry, decoder.entry)
        self._arguments.set("state", state.ctypes.data, state.size)
        self._arguments.set("codec", *loop.state)
        self._arguments.set("decode", decoder.state.ctypes.data, decoder.state.size)

    def run(
        self, target: tuple[int, int], batches: tuple[int, int], places: Any, spans: Any
    ) -> Generator[pa.RecordBatch, None, tuple[int, Stop | None]]:
        """Decompress and decode from the first payload on, as far as it goes.

        Args:
            target: address and size of the memory that the loop writes to.
            batches: address and length of the scan's table.
            places: int64, two columns: the payloads set in the loop. Changes.
            spans: int64, three columns, the last of which says where in the table each batch stands. Changes.

        Returns:
            How many batches were decoded; and if the next was refused, what `RecordDecoder.decode` returns.
        """
        self._arguments.set("places", places.ctypes.data, places.size)
        self._arguments.set("spans", spans.ctypes.data, spans.size)
        stopped = yield from self._decoder.decode(target, batches, spans, self._run)
        return int(self._decoder.state[BATCH]), stopped

    def _run(self) -> int:
        return self._inflate(self._arguments)
