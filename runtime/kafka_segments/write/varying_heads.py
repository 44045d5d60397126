"""Encoding of batches whose header varies in length: those of the discarded magic 3.

Strategy: as with compression, the loop writes a batch's content into scratch memory and stops. Then the
encoder of headers counts, by the content's last offset and timestamps, how long the header is, and writes it.
"""

from __future__ import annotations

from kafka_segments.core import formats
from kafka_segments.core.native import kernels
from kafka_segments.core.native.engine import load_decoder
from kafka_segments.write import encoder_loops
from kafka_segments.write.batch_options import BatchOptions
from kafka_segments.write.compressing import ContentFirst
from kafka_segments.write.encoder import new_state, segment_module
from kafka_segments.write.encoding import EncodingStart, Exact, increment
from kafka_segments_generated.columns.kafka_log_segment import COL_LAST_OFFSET_DELTA

__all__ = ["VaryingHeads"]


class VaryingHeads(ContentFirst):
    """Encoding of batches with headers of any length, compressed or not.

    `batch_size` counts a header of the greatest length, as the loop cannot know the length beforehand.
    """

    def __init__(self, options: BatchOptions, start: EncodingStart, *, exact: Exact | None = None) -> None:
        super().__init__(options, start, size_head=formats.LEN_LONGEST_HEAD, exact=exact)
        self._count = load_decoder(segment_module(options.magic).head_encoder, writes=False)
        self._counted = new_state()
        self._table = self._count.new_table()
        self._table.set("batches", self._encoder.table.ctypes.data, self._encoder.table.size)
        self._table.set("state", self._counted.ctypes.data, self._counted.size)
        self._table.set("out", 0, 0)

    def _payload(self, options: BatchOptions, plain: memoryview) -> bytes:
        return super()._payload(options, plain) if options.is_compressed else bytes(plain)

    def _entry_size(self, payload: bytes) -> int:
        encoder, counted = self._encoder, self._counted
        row = int(encoder.state[encoder_loops.BATCH])
        if self._exact is not None and self._exact.last_offset is not None:
            self._set_last_offset(row, self._exact.last_offset)
        counted[:] = encoder.encode
        counted[kernels.ENC_BATCH], counted[kernels.ENC_HEAD] = row, 0
        counted[kernels.ENC_PAYLOAD], counted[kernels.ENC_AT] = 0, len(payload)
        if self._count(self._table) != kernels.DONE:
            self._refuse(encoder_loops.REFUSED_HEAD)
        return int(counted[kernels.ENC_AT])

    def _write_entry(self, row: int, payload: bytes, start: int, end: int) -> None:
        encoder, state = self._encoder, self._encoder.state
        longest = int(state[encoder_loops.SIZE_HEAD])
        self._memory.put(end - len(payload), payload)
        state[encoder_loops.SIZE_HEAD] = end - len(payload) - start
        status = encoder.write_head(self._memory, start, end, row)
        state[encoder_loops.SIZE_HEAD] = longest
        if status != kernels.DONE:
            self._refuse(encoder_loops.REFUSED_HEAD)
        last_delta = int(encoder.table[row, COL_LAST_OFFSET_DELTA])
        state[encoder_loops.SEQUENCE] = increment(int(state[encoder_loops.SEQUENCE]), last_delta)
