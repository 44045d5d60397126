"""Encoding of compressed batches, and of wrappers of magic 0 and 1.

Strategy: the loop writes a batch's content into scratch memory and stops; the codec's library compresses all
of it at once, and the header is written around the result. A wrapper is a message whose value is the
compressed messages, so the encoder of messages writes it. The headers of the discarded magic 3 vary in
length: the encoder of headers counts first how long one is.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kafka_segments.core import formats
from kafka_segments.core.codecs import compress
from kafka_segments.core.native import kernels
from kafka_segments.core.native.engine import Compiled
from kafka_segments.write import encoder_loops
from kafka_segments.write.batch_options import MAX_INT, BatchOptions
from kafka_segments.write.encoder import (
    MAX_BATCHES,
    SIZE_PIECE,
    EncodedBatches,
    Memory,
    new_state,
    segment_module,
    template_of,
)
from kafka_segments.write.encoding import Encoding, EncodingStart, len_head
from kafka_segments_generated.columns import kafka_message_legacy
from kafka_segments_generated.columns.kafka_log_segment import (
    COL_BASE_OFFSET,
    COL_END_POSITION,
    COL_LAST_OFFSET_DELTA,
    COL_MAX_TIMESTAMP,
    COL_POSITION,
)

__all__ = ["BatchEncoding", "WrapperEncoding"]

_LARGEST_SCRATCH = 1 << 20  # at first; it grows where batches are larger


class BatchEncoding(Encoding):
    """Encoding of compressed batches, and of those whose headers vary in length, compressed or not.

    For these, `batch_size` counts a header of the greatest length, as the loop cannot know the length
    beforehand. A batch's content comes first, in memory of its own.
    """

    def __init__(self, options: BatchOptions, start: EncodingStart, size_head: int | None = None) -> None:
        size_head = len_head(options.magic) if size_head is None else size_head
        super().__init__(options, start, heads=encoder_loops.HEADS_LATER, size_head=size_head)
        self._content = Memory(min(options.batch_size, _LARGEST_SCRATCH) + size_head)
        self._encoder.write_to(self._content)
        self._memory = Memory(SIZE_PIECE)
        self._used = 0
        self._count: Compiled | None = None
        if options.is_experimental:
            self._count = Compiled(segment_module(options.magic).head_encoder, writes=False)
            self._counted = new_state()
            self._count.set("batches", self._encoder.table.reshape(-1))
            self._count.set("state", self._counted)
            self._count.set("out", b"")

    def _close(self) -> Iterator[EncodedBatches]:
        """Compress the batch in the scratch memory, and append it to the others."""
        encoder, state = self._encoder, self._encoder.state
        row, options = int(state[encoder_loops.BATCH]), self._options
        plain = self._content.view(int(state[encoder_loops.SIZE_HEAD]), int(encoder.encode[kernels.ENC_AT]))
        codec, level = options.compression, options.compression_level
        is_plain = not options.is_compressed
        payload = bytes(plain) if is_plain else compress(codec, plain, level=level, magic=options.magic)
        if len(payload) > MAX_INT - int(state[encoder_loops.SIZE_HEAD]):
            self._too_large()
        size = self._entry_size(payload)
        if self._used and (self._used + size > self._memory.size or row + 1 == MAX_BATCHES):
            yield self._take()
            row = int(state[encoder_loops.BATCH])
        while size > self._memory.size:
            if not self._memory.grow(self._used):
                self._too_large()
        self._write_entry(row, payload, self._used, self._used + size)
        head = encoder.table[row]
        head[COL_POSITION], head[COL_END_POSITION] = self._used, self._used + size
        self._used += size
        state[encoder_loops.BATCH], state[encoder_loops.IS_OPEN], state[encoder_loops.START] = row + 1, 0, 0

    def _take(self) -> EncodedBatches:
        heads, data = self._take_heads(), self._memory.hand_out(self._used, self._used)
        self._used = 0
        return EncodedBatches(data, heads)

    def _entry_size(self, payload: bytes) -> int:
        encoder = self._encoder
        if self._count is None:
            return int(encoder.state[encoder_loops.SIZE_HEAD]) + len(payload)
        counted = self._counted
        counted[:] = encoder.encode
        counted[kernels.ENC_BATCH] = encoder.state[encoder_loops.BATCH]
        counted[kernels.ENC_HEAD] = counted[kernels.ENC_PAYLOAD] = 0
        counted[kernels.ENC_AT] = len(payload)
        if self._count() != kernels.DONE:
            self._refuse(encoder_loops.REFUSED_HEAD)
        return int(counted[kernels.ENC_AT])

    def _write_entry(self, row: int, payload: bytes, start: int, end: int) -> None:
        encoder, state = self._encoder, self._encoder.state
        self._memory.put(end - len(payload), payload)
        if encoder.write_head(self._memory, (start, end - len(payload), end), row) != kernels.DONE:
            self._refuse(encoder_loops.REFUSED_HEAD)
        sequence = int(state[encoder_loops.SEQUENCE])
        if sequence >= 0:
            delta = int(encoder.table[row, COL_LAST_OFFSET_DELTA])
            state[encoder_loops.SEQUENCE] = formats.increment_sequence(sequence, delta + 1)


class WrapperEncoding(BatchEncoding):
    """Encoding of wrappers of magic 0 and 1."""

    def __init__(self, options: BatchOptions, start: EncodingStart) -> None:
        self._message = _Message(options)
        super().__init__(options, start, self._message.size(b""))
        self._encoder.state[encoder_loops.IS_WRAPPER] = 1
        self._encoder.state[encoder_loops.IS_RELATIVE] = int(options.magic == 1)

    def _entry_size(self, payload: bytes) -> int:
        return self._message.size(payload)

    def _write_entry(self, row: int, payload: bytes, start: int, end: int) -> None:
        head = self._encoder.table[row]
        last_offset = int(head[COL_BASE_OFFSET] + head[COL_LAST_OFFSET_DELTA])
        self._message.write(payload, last_offset, int(head[COL_MAX_TIMESTAMP]), self._memory, (start, end))


class _Message:
    """Encoder of single messages whose value is compressed."""

    def __init__(self, options: BatchOptions) -> None:
        self._state, self._ends = new_state(), np.zeros(2, np.int32)
        self._offset, self._timestamp = np.zeros(1, np.int64), np.zeros(1, np.int64)
        arrays = {
            "batches": template_of(options, compression=options.compression),
            "state": self._state,
            "key_offsets": np.zeros(2, np.int32),
            "key_validity": np.zeros(8, np.uint8),
            "value_offsets": self._ends,
            "offset_values": self._offset,
            "timestamp_values": self._timestamp,
        }
        encoder = kafka_message_legacy.encoder
        self._runs = {writes: Compiled(encoder, writes=writes) for writes in (False, True)}
        for run in self._runs.values():
            for name, array in arrays.items():
                run.set(name, array)

    def size(self, value: bytes) -> int:
        """Return the entry's size in bytes."""
        self._run(value, 0, False)
        return int(self._state[kernels.ENC_AT])

    def write(self, value: bytes, offset: int, timestamp: int, memory: Memory, span: tuple[int, int]) -> None:
        """Write the entry at `span`."""
        self._offset[0], self._timestamp[0] = offset, timestamp
        self._runs[True].place("out", memory.address, memory.size)
        self._run(value, span[0], True)

    def _run(self, value: bytes, start: int, writes: bool) -> None:
        state, data = self._state, np.frombuffer(value, np.uint8)
        self._runs[writes].place("value_bytes", data.ctypes.data, data.size)
        self._ends[1] = data.size
        state[:] = 0
        state[kernels.ENC_END_ROW], state[kernels.ENC_AT] = 1, start
        state[kernels.ENC_LIMIT] = MAX_INT
        status = self._runs[writes]()
        assert status == kernels.DONE, status  # the size is known, and there is room
