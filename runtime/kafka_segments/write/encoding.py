"""Encoding of Arrow batches to pieces of batches: the common part, and encoding without compression."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kafka_segments.core import formats
from kafka_segments.core.native import kernels
from kafka_segments.write import encoder_loops
from kafka_segments.write.batch_options import MAX_INT, BatchOptions
from kafka_segments.write.encoder import (
    SIZE_PIECE,
    CompiledEncoder,
    EncodedBatches,
    Memory,
    content_of,
    segment_module,
    template_of,
)
from kafka_segments.write.encoder_inputs import Windows
from kafka_segments.write.given_batches import GivenBatch
from kafka_segments.write.inputs import Incoming
from kafka_segments.write.refusals import refused
from kafka_segments_generated.columns.kafka_log_segment import (
    COL_BASE_OFFSET,
    COL_END_POSITION,
    COL_POSITION,
)

__all__ = ["Encoding", "EncodingStart", "PlainEncoding", "Sizing", "len_head"]

# Bounds of a record's size without keys and values, in any format, and of each header's.
_MOST_OVERHEAD, _MOST_OF_HEADER = 64, 10


@dataclass(slots=True)
class EncodingStart:
    """Position where encoding continues.

    Attributes:
        next_offset: of the next record, if the data have no offsets.
        last_offset: all offsets must be greater.
        sequence: of the next record; -1 for none.
    """

    next_offset: int
    last_offset: int
    sequence: int


def len_head(magic: int) -> int:
    """Return the bytes of an entry before its records, at most; 0 where a record is an entry."""
    length = segment_module(magic).LEN_HEADS[content_of(magic)]
    return formats.LEN_LONGEST_HEAD if length is None else int(length)


class Encoding:
    """Encoder of Arrow batches, one after the other; for one thread.

    Args:
        options: of the batches.
        start: where to continue.
        heads: one of `encoder_loops.HEADS_LATER` and so on.
        size_head: bytes before a batch's records, by the encoder's own count.

    Attributes:
        start: where the next encoding would continue; valid after `finish`.
    """

    _content: Memory  # of the records

    def __init__(
        self,
        options: BatchOptions,
        start: EncodingStart,
        *,
        heads: int,
        size_head: int,
    ) -> None:
        self._options, self.start = options, start
        is_entry = size_head == 0 or options.magic >= 2
        template = template_of(options, compression=options.compression if is_entry else "none")
        self._encoder = encoder = CompiledEncoder(options, template, heads=heads, size_head=size_head)
        encoder.state[encoder_loops.SEQUENCE] = start.sequence
        self._windows = Windows(encoder.module, options, start.next_offset, start.last_offset)

    def feed(self, incoming: Incoming) -> Iterator[EncodedBatches]:
        """Encode records; yield full pieces.

        Raises:
            EncodeError: a record that Kafka would refuse.
        """
        encoder, windows = self._encoder, self._windows
        for num_rows in windows.iter_windows(incoming, encoder.records, encoder.encode):
            encoder.begin(num_rows, windows.offsets, windows.timestamps)
            yield from self._drain()
        self._advance_start()

    def feed_batches(self, incoming: Incoming, batches: Sequence[GivenBatch]) -> Iterator[EncodedBatches]:
        """Encode records in given batches, whatever their size; yield full pieces.

        Args:
            incoming: records.
            batches: in order; together they hold all records.

        Raises:
            EncodeError: as `feed`.
        """
        encoder, windows = self._encoder, self._windows
        encoder.state[encoder_loops.SIZE_BATCH] = MAX_INT
        at = start = 0
        for num_rows in windows.iter_windows(incoming, encoder.records, encoder.encode):
            encoder.begin(num_rows, windows.offsets, windows.timestamps)
            while at < len(batches) and encoder.encode[kernels.ENC_ROW] < num_rows:
                if not encoder.state[encoder_loops.IS_OPEN]:
                    batches[at].set_in(encoder)
                end = min(batches[at].end_row - start, num_rows)
                encoder.encode[kernels.ENC_END_ROW] = end
                yield from self._drain()
                if end == batches[at].end_row - start:
                    yield from self._cut()
                    at += 1
            start += num_rows

    def restart(self, start: EncodingStart) -> Iterator[EncodedBatches]:
        """Yield what is left, as `finish`, and start again at `start`."""
        yield from self.finish()
        self._encoder.state[encoder_loops.IS_LAST] = 0
        self._encoder.state[encoder_loops.SEQUENCE] = start.sequence
        self._windows.restart(start.next_offset, start.last_offset)

    def _cut(self) -> Iterator[EncodedBatches]:
        """End the open batch."""
        state = self._encoder.state
        if state[encoder_loops.IS_OPEN]:
            state[encoder_loops.IS_LAST] = 1
            yield from self._drain()
            state[encoder_loops.IS_LAST] = 0

    def finish(self) -> Iterator[EncodedBatches]:
        """Encode what is left; yield the last pieces."""
        encoder = self._encoder
        encoder.state[encoder_loops.IS_LAST] = 1
        encoder.encode[kernels.ENC_END_ROW] = encoder.encode[kernels.ENC_ROW]
        if encoder.state[encoder_loops.IS_OPEN]:
            yield from self._drain()
        if encoder.state[encoder_loops.BATCH]:
            yield self._take()
        self._advance_start()

    def _drain(self) -> Iterator[EncodedBatches]:
        encoder = self._encoder
        while True:
            status = encoder.run()
            if status == kernels.DONE:
                return
            if status == encoder_loops.CLOSED:
                yield from self._close()
            elif status != kernels.FULL:
                self._refuse(status)
            elif encoder.state[encoder_loops.START] > 0:
                yield self._take()
            elif self._content.grow(int(encoder.encode[kernels.ENC_AT])):
                encoder.write_to(self._content)
            else:
                self._too_large()

    def _close(self) -> Iterator[EncodedBatches]:
        """Finish a batch that is complete except for its header."""
        raise NotImplementedError

    def _take(self) -> EncodedBatches:
        """Return the complete batches as a piece."""
        raise NotImplementedError

    def _take_heads(self) -> Any:
        """Return the rows of complete batches; the row of the open batch becomes the table's first."""
        encoder, state = self._encoder, self._encoder.state
        num_batches = int(state[encoder_loops.BATCH])
        heads = encoder.table[:num_batches].copy()
        self._check_sizes(heads)
        if state[encoder_loops.IS_OPEN]:
            encoder.table[0] = encoder.table[num_batches]
            encoder.encode[kernels.ENC_BATCH] = 0
        state[encoder_loops.BATCH] = 0
        return heads

    def _advance_start(self) -> None:
        windows = self._windows
        self.start.next_offset, self.start.last_offset = windows.next_offset, windows.next_offset - 1
        self.start.sequence = int(self._encoder.state[encoder_loops.SEQUENCE])

    def _refuse(self, status: int) -> None:
        """Raise the error for the record or header at which an encoder stopped."""
        encoder, row = self._encoder, int(self._encoder.encode[kernels.ENC_ROW])
        if status == encoder_loops.REFUSED_HEAD:
            base = encoder.table[encoder.state[encoder_loops.BATCH], COL_BASE_OFFSET]
            raise refused("unwritable", "the head of the batch cannot be written", offset=int(base))
        self._windows.check_arrays()
        offset, number = self._windows.offset_of(row), self._windows.row + row
        if encoder.state[encoder_loops.IS_OPEN]:
            base = int(encoder.table[encoder.state[encoder_loops.BATCH], COL_BASE_OFFSET])
            if not 0 <= offset - base <= MAX_INT:
                raise refused("offset_delta", f"in a batch from offset {base} on", offset=offset, row=number)
        size, num_headers = self._windows.num_bytes(row), self._windows.num_headers(row)
        most = size + _MOST_OVERHEAD + num_headers * _MOST_OF_HEADER
        rule = "record_too_large" if most > MAX_INT else "unwritable"
        raise refused(rule, f"the record of {size} bytes cannot be written", offset=offset, row=number)

    def _check_sizes(self, heads: Any) -> None:
        most = self._options.max_message_bytes
        if most is None or not len(heads):
            return
        sizes = heads[:, COL_END_POSITION] - heads[:, COL_POSITION]
        if sizes.max() > most:
            at = int((sizes > most).argmax())
            raise refused(
                "batch_too_large",
                f"a batch of {int(sizes[at])} bytes, and max_message_bytes is {most}",
                offset=int(heads[at, COL_BASE_OFFSET]),
            )

    def _too_large(self) -> None:
        heads, open_row = self._encoder.table, self._encoder.state[encoder_loops.BATCH]
        base = int(heads[open_row, COL_BASE_OFFSET])
        raise refused("record_too_large", f"a batch of more than {MAX_INT} bytes", offset=base)


class PlainEncoding(Encoding):
    """Encoding of batches and messages without compression: the loop writes them whole."""

    def __init__(self, options: BatchOptions, start: EncodingStart) -> None:
        super().__init__(options, start, heads=encoder_loops.HEADS_NOW, size_head=len_head(options.magic))
        self._memory = self._content = Memory(SIZE_PIECE + min(options.batch_size, SIZE_PIECE))
        self._encoder.write_to(self._memory)

    def _take(self) -> EncodedBatches:
        """Return the complete batches as a piece; the open batch moves to other memory."""
        encoder, state, encode = self._encoder, self._encoder.state, self._encoder.encode
        heads, start = self._take_heads(), int(state[encoder_loops.START])
        is_open = bool(state[encoder_loops.IS_OPEN])
        data = self._memory.hand_out(start, int(encode[kernels.ENC_AT]) if is_open else start)
        if is_open:
            encoder.table[0, COL_POSITION] = 0
            for slot in (kernels.ENC_AT, kernels.ENC_HEAD, kernels.ENC_PAYLOAD):
                encode[slot] -= start
        state[encoder_loops.START] = 0
        encoder.write_to(self._memory)
        return EncodedBatches(data, heads)


class Sizing(Encoding):
    """Encoding that only counts bytes, by the encoders' own arithmetic; its pieces have only headers."""

    def __init__(self, options: BatchOptions, start: EncodingStart) -> None:
        super().__init__(options, start, heads=encoder_loops.NO_HEADS, size_head=len_head(options.magic))
        self._encoder.state[encoder_loops.SIZE_OUT] = 1 << 62
        self._encoder.records.place("out", 0, 0)

    def _take(self) -> EncodedBatches:
        return EncodedBatches(memoryview(b""), self._take_heads())
