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
from kafka_segments.core.native.engine import load_decoder
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
from kafka_segments.write.encoding import Encoding, EncodingStart, Exact, increment, len_head
from kafka_segments_generated.columns import kafka_message_legacy
from kafka_segments_generated.columns.kafka_log_segment import (
    COL_BASE_OFFSET,
    COL_END_POSITION,
    COL_LAST_OFFSET_DELTA,
    COL_MAX_TIMESTAMP,
    COL_POSITION,
)

__all__ = ["CompressedEncoding", "VaryingHeads", "WrapperEncoding"]

_LARGEST_SCRATCH = 1 << 20  # at first; it grows where batches are larger


class _ContentFirst(Encoding):
    """Common part of encodings that need a batch's content first, in memory of its own."""

    def __init__(
        self, options: BatchOptions, start: EncodingStart, *, size_head: int, exact: Exact | None
    ) -> None:
        super().__init__(options, start, heads=encoder_loops.HEADS_LATER, size_head=size_head, exact=exact)
        self._content = Memory(min(options.batch_size, _LARGEST_SCRATCH) + size_head)
        self._encoder.write_to(self._content)
        self._memory = Memory(SIZE_PIECE)
        self._used = 0

    def _end(self) -> Iterator[EncodedBatches]:
        if self._encoder.state[encoder_loops.IS_OPEN]:
            yield from self._drain()
        if self._used:
            yield self._take()

    def _close(self) -> Iterator[EncodedBatches]:
        """Compress the batch in the scratch memory, and append it to the others."""
        encoder, state = self._encoder, self._encoder.state
        row, options = int(state[encoder_loops.BATCH]), self._options
        plain = self._content.view(int(state[encoder_loops.SIZE_HEAD]), int(encoder.encode[kernels.ENC_AT]))
        payload = self._payload(options, plain)
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

    def _payload(self, options: BatchOptions, plain: memoryview) -> bytes:
        return compress(options.compression, plain, level=options.compression_level, magic=options.magic)

    def _entry_size(self, payload: bytes) -> int:
        raise NotImplementedError

    def _write_entry(self, row: int, payload: bytes, start: int, end: int) -> None:
        raise NotImplementedError

    def _take(self) -> EncodedBatches:
        """Return the complete batches as a piece; the row of the open batch becomes the table's first."""
        encoder, state = self._encoder, self._encoder.state
        num_batches = int(state[encoder_loops.BATCH])
        heads = encoder.table[:num_batches].copy()
        self._check_sizes(heads)
        data = self._memory.hand_out(self._used, self._used)
        if state[encoder_loops.IS_OPEN]:
            encoder.table[0] = encoder.table[num_batches]
            encoder.encode[kernels.ENC_BATCH] = 0
        state[encoder_loops.BATCH] = self._used = 0
        return EncodedBatches(data, heads)


class CompressedEncoding(_ContentFirst):
    """Encoding of compressed batches of magic 2."""

    def __init__(self, options: BatchOptions, start: EncodingStart, *, exact: Exact | None = None) -> None:
        super().__init__(options, start, size_head=len_head(options.magic), exact=exact)

    def _entry_size(self, payload: bytes) -> int:
        return int(self._encoder.state[encoder_loops.SIZE_HEAD]) + len(payload)

    def _write_entry(self, row: int, payload: bytes, start: int, end: int) -> None:
        encoder, state = self._encoder, self._encoder.state
        self._memory.put(end - len(payload), payload)
        if self._exact is not None and self._exact.last_offset is not None:
            self._set_last_offset(row, self._exact.last_offset)
        status = encoder.write_head(self._memory, start, end, row)
        if status != kernels.DONE:
            self._refuse(encoder_loops.REFUSED_HEAD)
        last_delta = int(encoder.table[row, COL_LAST_OFFSET_DELTA])
        state[encoder_loops.SEQUENCE] = increment(int(state[encoder_loops.SEQUENCE]), last_delta)


class WrapperEncoding(_ContentFirst):
    """Encoding of wrappers of magic 0 and 1."""

    def __init__(self, options: BatchOptions, start: EncodingStart, *, exact: Exact | None = None) -> None:
        self._message = _Message(options)
        super().__init__(options, start, size_head=self._message.size(b""), exact=exact)
        self._encoder.state[encoder_loops.IS_WRAPPER] = 1
        self._encoder.state[encoder_loops.IS_RELATIVE] = int(options.magic == 1)

    def _entry_size(self, payload: bytes) -> int:
        return self._message.size(payload)

    def _write_entry(self, row: int, payload: bytes, start: int, end: int) -> None:
        head = self._encoder.table[row]
        last_offset = int(head[COL_BASE_OFFSET] + head[COL_LAST_OFFSET_DELTA])
        self._message.write(payload, last_offset, int(head[COL_MAX_TIMESTAMP]), self._memory, (start, end))


class VaryingHeads(_ContentFirst):
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


class _Message:
    """Encoder of single messages whose value is compressed."""

    def __init__(self, options: BatchOptions) -> None:
        self._row = template_of(options, compression=options.compression)
        self._state = new_state()
        self._offset, self._timestamp = np.zeros(1, np.int64), np.zeros(1, np.int64)
        self._ends = np.zeros(2, np.int32)
        self._no_key = np.zeros(2, np.int32)
        self._calls = {
            writes: load_decoder(kafka_message_legacy.encoder, writes=writes) for writes in (False, True)
        }
        self._tables = {writes: call.new_table() for writes, call in self._calls.items()}
        for table in self._tables.values():
            for name, array in (
                ("batches", self._row),
                ("state", self._state),
                ("key_offsets", self._no_key),
                ("key_validity", self._no_key),
                ("value_offsets", self._ends),
                ("offset_values", self._offset),
                ("timestamp_values", self._timestamp),
            ):
                table.set(name, array.ctypes.data, array.size)

    def size(self, value: bytes) -> int:
        """Return the entry's size in bytes."""
        self._run(value, 0, False)
        return int(self._state[kernels.ENC_AT])

    def write(self, value: bytes, offset: int, timestamp: int, memory: Memory, span: tuple[int, int]) -> None:
        """Write the entry at `span`."""
        self._offset[0], self._timestamp[0] = offset, timestamp
        self._tables[True].set("out", memory.address, memory.size)
        self._run(value, span[0], True)

    def _run(self, value: bytes, start: int, writes: bool) -> None:
        table, state = self._tables[writes], self._state
        data = np.frombuffer(value, np.uint8)
        table.set("value_bytes", data.ctypes.data, data.size)
        self._ends[1] = data.size
        state[:] = 0
        state[kernels.ENC_END_ROW], state[kernels.ENC_AT] = 1, start
        state[kernels.ENC_LIMIT] = MAX_INT
        status = self._calls[writes](table)
        assert status == kernels.DONE, status  # the size is known, and there is room
