"""Fused scanning and decoding, so that records are decoded while their bytes are in the CPU's cache.

Strategy: a compiled loop alternates between the scanner on a piece of the window and the decoder of its
records; the bytes of the next piece are fetched from memory meanwhile (`copy_bytes` prefetches them). Where
it may, it reads one window after the other (`window_run`). Python is called when an Arrow batch is full. The
loop takes ordinary batches of one content, as in nearly all windows. At the first other entry it stops
decoding, and scans the window to its end: from there on the table is read as if there had been no fused scan.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from types import ModuleType

import numpy as np
import pyarrow as pa

from kafka_segments.core.formats.java import MAX_LONG, MIN_LONG
from kafka_segments.core.native.engine import Compiled
from kafka_segments.core.native.kernels import (
    AT,
    BATCH,
    CODEC,
    CONTENT,
    DONE,
    END_PAYLOAD,
    FULL,
    LEN_PIECE,
    LEN_WINDOW,
    MAX_ROWS,
    NUM_BATCHES,
    PAYLOAD,
    ROW,
    SHORT,
    WINDOW,
    Bytes,
    Longs,
    load,
    store,
)
from kafka_segments.core.segment.columnar.decoding import RecordDecoder
from kafka_segments.core.segment.records.batch_records import RecordPlace
from kafka_segments.core.segment.scan.native_chain import DECODER, FIRST, NUM_CHAINED, chain, run
from kafka_segments.core.segment.scan.scanner import HeaderScan
from kafka_segments.core.segment.scan.window_run import read_on

__all__ = ["FusedScan", "fused_loop"]

# What the loop's own state holds beside the two functions: the window's bytes, the table's rows, the bytes of
# a piece; how wide the table is, where five columns stand in it (one that has to be 0, twice the same unless
# transactions are not for the loop), which content is taken, and which offsets: the first and the last. After
# it: the scanner's last answer, and whether all of the window has been scanned that was to be.
LENGTH, NUM_ROWS, PIECE, WIDTH, IS_CONTROL, IS_APART, NUM_RECORDS, BASE_OFFSET, LAST_OFFSET_DELTA = range(
    NUM_CHAINED, NUM_CHAINED + 9
)
TAKEN, LOWEST, HIGHEST, STATUS, IS_OVER = range(NUM_CHAINED + 9, NUM_CHAINED + 14)
_NUM_STATE = NUM_CHAINED + 14


def scan_on(state: Longs, scan: Longs, length: int, max_rows: int) -> int:
    """Have the scanner go on, up to some place in the window and some row of the table."""
    store(scan, LEN_WINDOW, length)
    store(scan, MAX_ROWS, max_rows)
    status = run(state, FIRST)
    store(state, STATUS, status)
    return status


def is_inside(state: Longs, table: Longs, place: int) -> bool:
    """Return whether a batch's offsets are all in range, by its header; as `EntryTable.in_range`."""
    first = load(table, place + load(state, BASE_OFFSET))
    if first < load(state, LOWEST):
        return False
    delta = load(table, place + load(state, LAST_OFFSET_DELTA))
    more = max(delta, load(table, place + load(state, NUM_RECORDS)) - 1)
    return more <= load(state, HIGHEST) - first  # not added up, which may be more than a long holds


def count_taken(state: Longs, scan: Longs, table: Longs, spans: Longs, row: int) -> int:
    """Note where the records of new rows are, up to the first that is not ordinary; returns that row."""
    window = load(scan, WINDOW)
    while row < load(scan, ROW):
        place = row * load(state, WIDTH)
        if load(table, place + CONTENT) != load(state, TAKEN) or load(table, place + CODEC) != 0:
            break
        if load(table, place + load(state, IS_CONTROL)) != 0:
            break
        if load(table, place + load(state, IS_APART)) != 0:
            break
        if load(table, place + load(state, NUM_RECORDS)) < 1 or not is_inside(state, table, place):
            break
        store(spans, 3 * row, load(table, place + PAYLOAD) - window)
        store(spans, 3 * row + 1, load(table, place + END_PAYLOAD) - window)
        store(spans, 3 * row + 2, row)
        row += 1
    return row


def scan_piece(state: Longs, scan: Longs, table: Longs, spans: Longs, decode: Longs) -> None:
    """Scan the next piece of the window, or one entry that is larger; say what is to be decoded of it."""
    length, num_rows = load(state, LENGTH), load(state, NUM_ROWS)
    row = load(scan, ROW)
    limit = min(length, load(scan, AT) - load(scan, WINDOW) + load(state, PIECE))
    status = scan_on(state, scan, limit, num_rows)
    is_over = status != SHORT or limit == length
    if not is_over and load(scan, ROW) == row:
        status = scan_on(state, scan, length, row + 1)
        is_over = status != FULL or row + 1 == num_rows
    taken = count_taken(state, scan, table, spans, row)
    store(decode, NUM_BATCHES, taken)
    if not is_over and taken < load(scan, ROW):
        scan_on(state, scan, length, num_rows)
        is_over = True
    store(state, IS_OVER, 1 if is_over else 0)


def goes_on(state: Longs, scan: Longs, decode: Longs, windows: Longs, data: Bytes) -> bool:
    """Read the next window if all entries of this one have been decoded; return whether there is one."""
    if load(state, STATUS) != SHORT or load(decode, NUM_BATCHES) != load(scan, ROW):
        return False
    if not read_on(windows, scan, data):
        return False
    store(state, LENGTH, load(scan, LEN_WINDOW))
    store(state, IS_OVER, 0)
    return True


def fused_loop() -> Callable[..., int]:
    """Return a function that scans and decodes windows, and returns the decoder's status."""

    def scan_and_decode(  # noqa: PLR0917
        state: Longs, scan: Longs, table: Longs, spans: Longs, decode: Longs, windows: Longs, data: Bytes
    ) -> int:
        while True:
            if load(decode, BATCH) < load(decode, NUM_BATCHES):
                status = run(state, DECODER)
                if status != DONE:
                    if status != FULL and load(state, IS_OVER) == 0:
                        scan_on(state, scan, load(state, LENGTH), load(state, NUM_ROWS))
                    return status
            if load(state, IS_OVER) != 0 and not goes_on(state, scan, decode, windows, data):
                return DONE
            scan_piece(state, scan, table, spans, decode)

    return scan_and_decode


class FusedScan:
    """A scanner chained to a decoder.

    Args:
        headers: the scanner.
        decoder: the decoder of the content's records, without anything left out.
        content: which one is taken, by the scanner's numbers.
        module: the generated module of the scanner.
        is_selective: whether batches of transactions are left to the caller, some of which are void.
        offsets: batches that may have others are left to the caller too: first, and after the last.

    Attributes:
        num_decoded: of the last window: how many rows of its table have been decoded.
        stop: where in the next row the decoder stopped, if that is not sound; else None.
    """

    def __init__(
        self,
        headers: HeaderScan,
        decoder: RecordDecoder,
        content: int,
        module: ModuleType,
        *,
        is_selective: bool = False,
        offsets: tuple[int | None, int | None] = (None, None),
    ) -> None:
        self._headers, self._decoder = headers, decoder
        self._loop = Compiled(fused_loop)
        self._state = state = chain(_NUM_STATE, headers.compile().entry, decoder.entry)
        self._spans = np.zeros((headers.max_rows, 3), np.int64)
        state[NUM_ROWS], state[PIECE] = headers.max_rows, LEN_PIECE
        state[WIDTH], state[TAKEN] = module.WIDTH, content
        state[IS_CONTROL] = state[IS_APART] = module.BATCH_COLUMNS.index("is_control")
        if is_selective:
            state[IS_APART] = module.BATCH_COLUMNS.index("is_transactional")
        state[BASE_OFFSET] = module.BATCH_COLUMNS.index("base_offset")
        state[LAST_OFFSET_DELTA] = module.BATCH_COLUMNS.index("last_offset_delta")
        start, end = offsets
        state[LOWEST] = MIN_LONG if start is None else start
        state[HIGHEST] = MAX_LONG if end is None else end - 1
        state[NUM_RECORDS] = module.BATCH_COLUMNS.index("num_records")
        arrays = {"state": state, "spans": self._spans, "decode": decoder.state}
        arrays |= {"scan": headers.state, "windows": headers.windows}
        for name, memory in arrays.items():
            self._loop.set(name, memory)
        self._loop.place("table", *headers.table)
        self.num_decoded = 0
        self.stop: RecordPlace | None = None

    def run(self, len_window: int) -> Generator[pa.RecordBatch, None, int]:
        """Scan and decode what the scanner has been made ready for; returns its last status.

        Args:
            len_window: bytes of the window that were read; 0 if the loop is to read them.
        """
        state = self._state
        state[LENGTH], state[IS_OVER] = len_window, 0
        self._loop.place("data", self._headers.address, len(self._headers.window))
        data, is_lent = memoryview(self._headers.window), self._headers.is_lent
        stopped = yield from self._decoder.decode(
            data, self._headers.table, self._spans, self._loop, is_lent=is_lent
        )
        self.num_decoded = int(self._decoder.state[BATCH]) if stopped is None else stopped.batch
        self.stop = None if stopped is None else stopped.start
        return int(state[STATUS])
