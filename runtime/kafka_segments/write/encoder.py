"""The compiled encoders with their loop, their memory and what comes out of them.

Strategy: batches are written one behind the other into an arena, which is handed out when it is full and used
again when nobody looks at it any more (`arena`). A batch that is under way then moves to the next
one; a batch that is larger than an arena gets a larger one.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from kafka_segments.native import kernels
from kafka_segments.native.engine import load_decoder
from kafka_segments.segment.columnar.arena import ArenaPool, Lease, pool_of
from kafka_segments.segment.columnar.native_chain import chain
from kafka_segments.write import encoder_loops
from kafka_segments.write.batch_options import MAX_INT, BatchOptions
from kafka_segments.write.encoder_inputs import NUM_ROWS
from kafka_segments_generated.columns import kafka_log_segment, kafka_message_legacy, kafka_record

__all__ = [
    "MAX_BATCHES",
    "SIZE_PIECE",
    "EncodedBatches",
    "Machine",
    "Memory",
    "content_of",
    "new_state",
    "template_of",
]

SIZE_PIECE = 1 << 20
"""Bytes that are handed out at once, about."""
MAX_BATCHES = 1024
_LARGEST_KEPT = 64 << 20  # bytes of an arena that waits to be used again
_SLACK = 256  # bytes behind a copy that it may write to, so that it need not be exact
_NUM_STATE = 64  # of an encoder's state, which has a column's rows and derived fields behind the named ones


@dataclass(frozen=True, slots=True)
class EncodedBatches:
    """Whole batches, one behind the other.

    Attributes:
        data: their bytes.
        heads: int64, a row a batch as a scanner would give it; positions count from the beginning of `data`.
    """

    data: memoryview
    heads: Any


class Memory:
    """Where batches are written: an arena at a time.

    Args:
        size: bytes of one.

    Attributes:
        address: of the arena.
        size: its bytes.
    """

    def __init__(self, size: int) -> None:
        self._take(size)

    def _take(self, size: int) -> None:
        self.size = size
        sizes = (("batches", size + _SLACK),)
        pool = pool_of(sizes) if size <= _LARGEST_KEPT else ArenaPool(sizes)
        self._lease: Lease = pool.take()
        self.address = self._lease.arena.addresses["batches"]

    def view(self, start: int, end: int) -> memoryview:
        """Some of its bytes, which stay what they are as long as somebody looks at them."""
        return memoryview(pa.foreign_buffer(self.address + start, end - start, self._lease))

    def hand_out(self, end: int, used: int) -> memoryview:
        """The first bytes; those behind them, up to `used`, move to the beginning of another arena."""
        data, before, lease = self.view(0, end), self.address, self._lease
        self._take(self.size)
        ctypes.memmove(self.address, before + end, used - end)
        del lease
        return data

    def grow(self, used: int) -> bool:
        """Take twice as much from now on, with what was in it; False if a batch cannot be larger."""
        if self.size >= MAX_INT:
            return False
        before, lease = self.address, self._lease
        self._take(min(2 * self.size, MAX_INT))
        ctypes.memmove(self.address, before, used)
        del lease
        return True

    def put(self, at: int, data: bytes) -> None:
        """Copy bytes into it."""
        ctypes.memmove(self.address + at, data, len(data))


def content_of(magic: int) -> int:
    """The number of what entries of a magic hold, in the generated table of batches."""
    return next(at for at, one in enumerate(kafka_log_segment.CONTENTS) if magic in one.cases)


def template_of(options: BatchOptions, *, compression: str, is_control: bool = False) -> Any:
    """What the options say of every batch, as a row of the table."""
    content = content_of(options.magic)
    codecs = {name: number for number, name in kafka_log_segment.CONTENTS[content].codecs.items()}
    row = np.zeros(kafka_log_segment.WIDTH, np.int64)
    row[kafka_log_segment.COL_CONTENT] = content
    row[kafka_log_segment.COL_MAGIC] = options.magic
    row[kafka_log_segment.COL_COMPRESSION] = row[kafka_log_segment.COL_CODEC] = codecs[compression]
    row[kafka_log_segment.COL_TIMESTAMP_TYPE] = options.is_append_time
    row[kafka_log_segment.COL_MAX_TIMESTAMP] = (
        -1 if options.log_append_time is None else options.log_append_time
    )
    row[kafka_log_segment.COL_PARTITION_LEADER_EPOCH] = options.partition_leader_epoch
    row[kafka_log_segment.COL_HAS_DELETE_HORIZON] = options.delete_horizon_ms is not None
    row[kafka_log_segment.COL_BASE_TIMESTAMP] = (
        -1 if options.delete_horizon_ms is None else options.delete_horizon_ms
    )
    row[kafka_log_segment.COL_IS_CONTROL] = is_control
    row[kafka_log_segment.COL_IS_TRANSACTIONAL] = options.is_transactional
    row[kafka_log_segment.COL_PRODUCER_ID] = options.producer_id
    row[kafka_log_segment.COL_PRODUCER_EPOCH] = options.producer_epoch
    row[kafka_log_segment.COL_BASE_SEQUENCE] = -1
    return row


def new_state() -> Any:
    """The state of an encoder, all zeros."""
    return np.zeros(_NUM_STATE, np.int64)


class Machine:
    """The compiled functions, and what they share.

    Args:
        options: how batches are made.
        template: what every row of the table begins as.
        heads: one of `loops.HEADS_LATER` and so on.
        size_head: bytes before a batch's records, by the encoder's own count.

    Attributes:
        module: the generated module of the encoder.
        records: addresses of the encoder's arguments.
        encode: the encoder's state.
        state: the loop's.
        table: a row a batch.
    """

    def __init__(self, options: BatchOptions, template: Any, *, heads: int, size_head: int) -> None:
        is_batch = options.magic >= 2
        self.module: Any = kafka_record if is_batch else kafka_message_legacy
        writes = heads != encoder_loops.NO_HEADS
        encoder = load_decoder(self.module.encoder, writes=writes)
        head_encoder = load_decoder(kafka_log_segment.head_encoder, writes=True)
        self._loop = load_decoder(encoder_loops.batcher if is_batch else encoder_loops.messenger)
        self.records, self._heads, self._arguments = (
            one.new_table() for one in (encoder, head_encoder, self._loop)
        )
        self._head_encoder = head_encoder
        self.encode = new_state()
        self.table = np.zeros((MAX_BATCHES, kafka_log_segment.WIDTH), np.int64)
        self._template = template
        self._inner = np.zeros(NUM_ROWS, np.int64)
        self.state = chain(
            encoder_loops.NUM_STATE,
            (encoder.address, self.records.address),
            (head_encoder.address, self._heads.address),
        )
        self._set_state(options, heads, size_head)
        for table in (self.records, self._heads):
            table.set("batches", self.table.ctypes.data, self.table.size)
            table.set("state", self.encode.ctypes.data, self.encode.size)
        self._set_arguments()

    def _set_state(self, options: BatchOptions, heads: int, size_head: int) -> None:
        state = self.state
        state[encoder_loops.MAX_BATCHES] = MAX_BATCHES
        state[encoder_loops.SIZE_HEAD], state[encoder_loops.SIZE_BATCH] = size_head, options.batch_size
        state[encoder_loops.HAS_HEADS], state[encoder_loops.GIVEN_BASE] = heads, -1
        state[encoder_loops.HAS_HORIZON] = int(options.delete_horizon_ms is not None)
        state[encoder_loops.SEQUENCE] = -1

    def _set_arguments(self) -> None:
        arrays = {
            "state": self.state,
            "encode": self.encode,
            "table": self.table,
            "template": self._template,
            "inner": self._inner,
        }
        for name in self._loop.parameters:
            if name in arrays:
                self._arguments.set(name, arrays[name].ctypes.data, arrays[name].size)

    def write_to(self, memory: Memory) -> None:
        """Have records written to some memory, and heads too."""
        self.state[encoder_loops.SIZE_OUT] = memory.size
        self.records.set("out", memory.address, memory.size + _SLACK)
        self.write_heads_to(memory)

    def write_heads_to(self, memory: Memory) -> None:
        """Have heads written to other memory than records."""
        self._heads.set("out", memory.address, memory.size + _SLACK)

    def begin(self, num_rows: int, offsets: int, timestamps: int) -> None:
        """Say which rows come next, and at which addresses their offsets and timestamps are."""
        self.encode[kernels.ENC_ROW], self.encode[kernels.ENC_END_ROW] = 0, num_rows
        self._arguments.set("offsets", offsets, num_rows)
        self._arguments.set("timestamps", timestamps, num_rows)
        if self.module is kafka_message_legacy:
            self.records.set("offset_values", self._inner.ctypes.data, num_rows)

    def run(self) -> int:
        """Run the loop; see `encoder_loops.batcher` for what it returns."""
        return self._loop(self._arguments)

    def write_head(self, memory: Memory, start: int, end: int, row: int) -> int:
        """Write the head of a batch whose payload is there already; returns the encoder's status."""
        encode = self.encode
        encode[kernels.ENC_BATCH], encode[kernels.ENC_HEAD] = row, start
        encode[kernels.ENC_PAYLOAD] = start + self.state[encoder_loops.SIZE_HEAD]
        encode[kernels.ENC_AT] = end
        self.write_heads_to(memory)
        return self._head_encoder(self._heads)
