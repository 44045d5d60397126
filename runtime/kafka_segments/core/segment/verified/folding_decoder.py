"""Decoder that keeps of each batch's records only what checks need: the greatest timestamp, and offsets.

Strategy: a compiled loop calls the decoder (`native_chain`), which decodes offsets and timestamps of some
records into small arrays, folds these into a row for each batch, and goes on. So no call is ever stopped by
full arrays, and what was decoded is still in the CPU's first cache when it is folded.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from types import ModuleType

import pyarrow as pa

from kafka_segments.core.native.arena import Lease
from kafka_segments.core.native.engine import Compiled
from kafka_segments.core.native.kernels import BATCH, FULL, RECORD, RECORD_ROW, Longs, load, store
from kafka_segments.core.segment.columnar.arrow_schema import decoded_schema, schema_of
from kafka_segments.core.segment.columnar.decoding import RecordDecoder, Spans, Stop
from kafka_segments.core.segment.columnar.record_columns import Array, Capacity
from kafka_segments.core.segment.records.batch_records import MAX_NUM_HEADERS
from kafka_segments.core.segment.scan.native_chain import DECODER, NUM_CHAINED, chain, run
from kafka_segments.core.segment.verified.verified_entries import (
    FIRST_OFFSET,
    GREATEST,
    INCREASES,
    LAST_OFFSET,
    NUM_FACTS,
)

__all__ = ["FoldingDecoder", "folding_loop"]

# What the loop's state holds beside the decoder: how wide the scan's table is, where the number of records
# stands in it, and whether each entry is one record, whatever stands there.
_WIDTH, _NUM_RECORDS, _IS_SINGLE = range(NUM_CHAINED, NUM_CHAINED + 3)
_NUM_STATE = NUM_CHAINED + 3
_CAPACITY = Capacity(num_rows=1024, num_bytes=1 << 20, num_items=1 << 10)


def fold_rows(  # noqa: PLR0917
    state: Longs,
    decode: Longs,
    spans: Longs,
    batches: Longs,
    offsets: Longs,
    times: Longs,
    facts: Longs,
    batch: int,
    record: int,
) -> None:
    """Fold the decoded rows, the first of which is this record of this batch, into the batches' rows."""
    row, num_rows = 0, load(decode, RECORD_ROW)
    while row < num_rows:
        head = load(spans, 3 * batch + 2)
        count = 1
        if load(state, _IS_SINGLE) == 0:
            count = load(batches, head * load(state, _WIDTH) + load(state, _NUM_RECORDS))
        end = min(row + count - record, num_rows)
        if end == row:  # without records
            batch += 1
            continue
        place = head * NUM_FACTS
        greatest, num_falls = load(times, row), 0
        if record == 0:
            store(facts, place + FIRST_OFFSET, load(offsets, row))
        else:
            greatest = max(greatest, load(facts, place + GREATEST))
            if load(facts, place + INCREASES) == 0 or load(offsets, row) <= load(facts, place + LAST_OFFSET):
                num_falls = 1
        for at in range(row + 1, end):
            greatest = max(greatest, load(times, at))
            num_falls += 1 if load(offsets, at) <= load(offsets, at - 1) else 0
        store(facts, place + GREATEST, greatest)
        store(facts, place + LAST_OFFSET, load(offsets, end - 1))
        store(facts, place + INCREASES, 1 if num_falls == 0 else 0)
        row, record = end, 0
        batch += 1


def folding_loop() -> Callable[..., int]:
    """Return a function that decodes and folds batches, and returns the decoder's status: never `FULL`."""

    def decode_and_fold(  # noqa: PLR0917
        state: Longs,
        decode: Longs,
        spans: Longs,
        batches: Longs,
        offsets: Longs,
        times: Longs,
        facts: Longs,
    ) -> int:
        while True:
            batch, record = load(decode, BATCH), load(decode, RECORD)
            status = run(state, DECODER)
            fold_rows(state, decode, spans, batches, offsets, times, facts, batch, record)
            store(decode, RECORD_ROW, 0)
            if status != FULL:
                return status

    return decode_and_fold


class FoldingDecoder(RecordDecoder):
    """Decoder of records of one format that yields nothing, and fills a row for each entry of a scan.

    Args:
        module: the generated module of the records.
        scan: the generated module of the scan.
        content: of the records, by the scan's numbers.
        facts: the result: `NUM_FACTS` for each row of the scan's table, of which the first four are set.
            Rows of entries without records, and of those that the decoder refused, have arbitrary values.
    """

    def __init__(self, module: ModuleType, scan: ModuleType, content: int, facts: memoryview) -> None:
        schema = decoded_schema(schema_of(("offset", "timestamp_ms")), False)
        super().__init__(module, schema, capacity=_CAPACITY, max_items=MAX_NUM_HEADERS)
        self._loop = Compiled(folding_loop)
        self._state = state = chain(_NUM_STATE, (0, 0), self.entry)
        state[_WIDTH], state[_NUM_RECORDS] = scan.WIDTH, scan.BATCH_COLUMNS.index("num_records")
        state[_IS_SINGLE] = not scan.CONTENTS[content].is_repeated
        for name, memory in {"state": state, "decode": self.state, "facts": facts}.items():
            self._loop.set(name, memory)
        self.entry = self._loop.entry

    def decode(
        self,
        data: memoryview,
        batches: tuple[int, int],
        spans: Spans,
        fused: Callable[[], int] | None = None,
        *,
        is_lent: bool = False,
    ) -> Generator[pa.RecordBatch, None, Stop | None]:
        """Decode and fold the records of some batches; see `RecordDecoder.decode`."""
        self._loop.place("batches", *batches)
        self._loop.set("spans", spans)
        return super().decode(data, batches, spans, fused, is_lent=is_lent)

    def run(self) -> int:
        """Call the compiled loop."""
        return self._loop()

    def _use(self, lease: Lease, capacity: Capacity, arrays: Sequence[Array]) -> None:
        super()._use(lease, capacity, arrays)
        for name in ("offset", "timestamp"):
            array = next(one for one in arrays if one.name == f"{name}_values")
            argument = {"offset": "offsets", "timestamp": "times"}[name]
            self._loop.place(argument, lease.arena.addresses[array.name], array.length)
