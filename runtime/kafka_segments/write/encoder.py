"""The compiled encoders with their loop, their memory and their output.

Strategy: batches are written one after the other into an arena, which is handed out when it is full and
reused when it is no longer referenced (`arena`). The open batch then moves to the next arena; a batch larger
than an arena gets a larger one.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa

from kafka_segments.core import formats
from kafka_segments.core.native import kernels
from kafka_segments.core.native.arena import ArenaPool, Lease, pool_of
from kafka_segments.core.native.engine import Compiled
from kafka_segments.core.segment.scan.entry_table import EntryTable
from kafka_segments.core.segment.scan.native_chain import chain
from kafka_segments.write import encoder_loops
from kafka_segments.write.batch_options import MAX_INT, BatchOptions
from kafka_segments.write.encoder_inputs import NUM_ROWS
from kafka_segments_generated.columns import (
    kafka_log_segment,
    kafka_log_segment_experimental,
    kafka_message_legacy,
    kafka_record,
    kafka_record_v3,
)
from kafka_segments_generated.columns.kafka_log_segment import (
    COL_END_POSITION,
    COL_NUM_RECORDS,
    COL_POSITION,
)

__all__ = [
    "MAX_BATCHES",
    "SIZE_PIECE",
    "CompiledEncoder",
    "EncodedBatches",
    "Memory",
    "content_of",
    "new_state",
    "segment_module",
    "template_of",
]

SIZE_PIECE = 15 << 17
"""Approximate bytes of a piece: with a usual batch, less than the huge page that each writer would hold."""
MAX_BATCHES = 1024
_LARGEST_KEPT = 64 << 20  # bytes of the largest arena that is kept for reuse
_SLACK = 256  # bytes after a copy that it may overwrite, so that it need not be exact
_NUM_STATE = 64  # slots of an encoder's state: the named ones, then rows of columns and derived fields


@dataclass(frozen=True, slots=True)
class EncodedBatches:
    """Whole batches, one after the other.

    Attributes:
        data: their bytes.
        heads: int64, one row for each batch as a scanner returns it; positions count from `data`'s start.
    """

    data: memoryview
    heads: Any

    @property
    def sizes(self) -> Any:
        """The bytes of each: int64."""
        return self.heads[:, COL_END_POSITION] - self.heads[:, COL_POSITION]

    @property
    def counts(self) -> Any:
        """The number of records in each: int64."""
        return self.heads[:, COL_NUM_RECORDS]

    @property
    def entries(self) -> EntryTable:
        """Their headers as a table; the first offset of a wrapper is that of its first message."""
        return EntryTable(memoryview(self.heads.reshape(-1)), kafka_log_segment)


class Memory:
    """Output memory of an encoder: one arena at a time.

    Args:
        size: bytes of an arena.

    Attributes:
        address: of the arena.
        size: bytes of the arena.
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
        """Return some of its bytes, unchanged for as long as the view is referenced."""
        return memoryview(pa.foreign_buffer(self.address + start, end - start, self._lease))

    def hand_out(self, end: int, used: int) -> memoryview:
        """Return the first `end` bytes; the bytes after them, up to `used`, move to another arena."""
        data, before, lease = self.view(0, end), self.address, self._lease
        self._take(self.size)
        ctypes.memmove(self.address, before + end, used - end)
        del lease
        return data

    def grow(self, used: int) -> bool:
        """Double the size and keep the first `used` bytes; return False at the largest size of a batch."""
        if self.size >= MAX_INT:
            return False
        before, lease = self.address, self._lease
        self._take(min(2 * self.size, MAX_INT))
        ctypes.memmove(self.address, before, used)
        del lease
        return True

    def put(self, at: int, data: bytes) -> None:
        """Copy bytes into the arena."""
        ctypes.memmove(self.address + at, data, len(data))


_RECORD_MODULES: dict[str, ModuleType] = {
    "kafka_message_legacy": kafka_message_legacy,
    "kafka_record": kafka_record,
    "kafka_record_v3": kafka_record_v3,
}


def segment_module(magic: int) -> ModuleType:
    """Return the generated module of the segments that hold entries of a magic."""
    return kafka_log_segment if magic in formats.MAGICS else kafka_log_segment_experimental


def content_of(magic: int) -> int:
    """Return the number of the content of a magic's entries, in the generated table of batches."""
    return next(at for at, one in enumerate(segment_module(magic).CONTENTS) if magic in one.cases)


def template_of(options: BatchOptions, *, compression: str, is_control: bool = False) -> Any:
    """Return a row of the table with the fields that the options determine."""
    content = content_of(options.magic)
    module = segment_module(options.magic)
    codecs = {name: number for number, name in module.CONTENTS[content].codecs.items()}
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
    row[kafka_log_segment.COL_IGNORES_MESSAGE_ATTRIBUTES] = options.is_experimental
    return row


def new_state() -> Any:
    """Return a zeroed state of an encoder."""
    return np.zeros(_NUM_STATE, np.int64)


class CompiledEncoder:
    """The compiled functions and the arrays they share.

    Args:
        options: of the batches.
        template: initial values of every row of the table.
        heads: one of `encoder_loops.HEADS_LATER` and so on.
        size_head: bytes before a batch's records, by the encoder's own count.

    Attributes:
        module: the generated module of the encoder.
        records: the encoder of records.
        encode: the encoder's state.
        state: the loop's state.
        table: one row for each batch.
        template: what each row is at first.
    """

    def __init__(self, options: BatchOptions, template: Any, *, heads: int, size_head: int) -> None:
        is_batch = options.magic >= 2
        segment = segment_module(options.magic)
        self.module: Any = _RECORD_MODULES[segment.CONTENTS[content_of(options.magic)].decoder]
        self.records = Compiled(self.module.encoder, writes=heads != encoder_loops.NO_HEADS)
        self._heads = Compiled(segment.head_encoder, writes=True)
        self._run = Compiled(encoder_loops.batcher if is_batch else encoder_loops.messenger)
        self.encode, self._inner = new_state(), np.zeros(NUM_ROWS, np.int64)
        self.table = np.zeros((MAX_BATCHES, kafka_log_segment.WIDTH), np.int64)
        self.template = template
        self.state = state = chain(encoder_loops.NUM_STATE, self.records.entry, self._heads.entry)
        state[encoder_loops.MAX_BATCHES] = MAX_BATCHES
        state[encoder_loops.SIZE_HEAD], state[encoder_loops.SIZE_BATCH] = size_head, options.batch_size
        state[encoder_loops.HAS_HEADS], state[encoder_loops.GIVEN_BASE] = heads, -1
        state[encoder_loops.HAS_HORIZON] = int(options.delete_horizon_ms is not None)
        state[encoder_loops.SEQUENCE] = -1
        for encoder in (self.records, self._heads):
            encoder.set("batches", self.table)
            encoder.set("state", self.encode)
        shared = {"state": state, "encode": self.encode, "table": self.table, "template": template}
        for name, array in (shared if is_batch else shared | {"inner": self._inner}).items():
            self._run.set(name, array)

    def write_to(self, memory: Memory) -> None:
        """Set the memory that records and headers are written to."""
        self.state[encoder_loops.SIZE_OUT] = memory.size
        self.records.place("out", memory.address, memory.size + _SLACK)
        self.write_heads_to(memory)

    def write_heads_to(self, memory: Memory) -> None:
        """Set the memory of headers, if it is not that of records."""
        self._heads.place("out", memory.address, memory.size + _SLACK)

    def begin(self, num_rows: int, offsets: int, timestamps: int) -> None:
        """Set the next rows, and the addresses of their offsets and timestamps."""
        self.encode[kernels.ENC_ROW], self.encode[kernels.ENC_END_ROW] = 0, num_rows
        self._run.place("offsets", offsets, num_rows)
        self._run.place("timestamps", timestamps, num_rows)
        if self.module is kafka_message_legacy:
            self.records.place("offset_values", self._inner.ctypes.data, num_rows)

    def run(self) -> int:
        """Run the loop; returns as described in `encoder_loops.batcher`."""
        return self._run()

    def write_head(self, memory: Memory, places: tuple[int, int, int], row: int) -> int:
        """Write the header of a batch whose payload is complete; return the encoder's status.

        Args:
            memory: of the batch.
            places: where in it the batch begins, its payload begins, and both end.
            row: of the table.
        """
        encode = self.encode
        encode[kernels.ENC_BATCH], encode[kernels.ENC_HEAD] = row, places[0]
        encode[kernels.ENC_PAYLOAD], encode[kernels.ENC_AT] = places[1:]
        self.write_heads_to(memory)
        return self._heads()
