"""Wrappers of magic 0 and 1: the messages in their decompressed values, by the scanner and the decoder.

Strategy: a wrapper's content is a segment in memory, so the generated scanner makes rows of its messages, for
many wrappers with one call; their offsets are then made absolute in the table, where the decoder reads them.
LogAppendTime replaces the messages' own times after decoding. Whatever is unusual (a message that is
truncated, compressed itself, of another magic or with a wrong checksum, an impossible offset) is left to
`legacy_messages`, and with it all of its wrapper.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa

from kafka_segments.core.native.engine import Compiled, address_of
from kafka_segments.core.native.kernels import (
    AT,
    BATCH,
    CODEC,
    CONTENT,
    DONE,
    END_PAYLOAD,
    FILE,
    FULL,
    LEN_WINDOW,
    MAX_ROWS,
    NUM_BATCHES,
    PAYLOAD,
    RECORD_ROW,
    ROW,
    SIZE,
    WINDOW,
    Longs,
    load,
    store,
    wrap,
)
from kafka_segments.core.segment.columnar.decoding import RecordDecoder
from kafka_segments.core.segment.scan.native_chain import FIRST, NUM_CHAINED, chain, run

__all__ = ["Unwrapping", "unwrapper"]

# What the loop's own state holds beside the scanner: how many wrappers there are, and rows in the table of
# messages; how wide tables are, and where three columns stand in them; the content that is a message. After
# it: the scanner's last answer.
COUNT, NUM_ROWS, WIDTH, BASE_OFFSET, MAGIC, TIMESTAMP_TYPE, TAKEN, STATUS = range(
    NUM_CHAINED, NUM_CHAINED + 8
)
_NUM_STATE = NUM_CHAINED + 8
_NUM_SCAN_STATE = 16
_LOG_APPEND_TIME = 1  # org.apache.kafka.common.record.TimestampType

_FEW_MESSAGES = 1 << 14
_MOST_MESSAGES = 1 << 17  # that one wrapper may have here
_MOST_WRAPPERS = 1 << 12


def scan_content(state: Longs, scan: Longs, start: int, end: int, row: int) -> int:
    """Scan a wrapper's messages into rows from `row` on; return the row after the last."""
    store(scan, AT, start)
    store(scan, ROW, row)
    store(scan, MAX_ROWS, load(state, NUM_ROWS))
    store(scan, SIZE, end)
    store(scan, FILE, -1)
    store(scan, WINDOW, 0)
    store(scan, LEN_WINDOW, end)
    store(state, STATUS, run(state, FIRST))
    return load(scan, ROW)


def are_usual(state: Longs, table: Longs, row: int, end: int, head: int, batches: Longs) -> bool:  # noqa: PLR0917
    """Return whether messages have their wrapper's magic, no codec, and its type of timestamps."""
    magic = load(batches, head + load(state, MAGIC))
    is_created = magic != 0 and load(batches, head + load(state, TIMESTAMP_TYPE)) == 0
    while row < end:
        place = row * load(state, WIDTH)
        if load(table, place + CONTENT) != load(state, TAKEN) or load(table, place + CODEC) != 0:
            return False
        if load(table, place + load(state, MAGIC)) != magic:
            return False
        if is_created and load(table, place + load(state, TIMESTAMP_TYPE)) != 0:
            return False
        row += 1
    return True


def shift(state: Longs, table: Longs, spans: Longs, row: int, end: int, distance: int) -> None:  # noqa: PLR0917
    """Make offsets absolute, and set the positions of the messages."""
    while row < end:
        place = row * load(state, WIDTH)
        offset = place + load(state, BASE_OFFSET)
        store(table, offset, wrap(load(table, offset) + distance))
        store(spans, 3 * row, load(table, place + PAYLOAD))
        store(spans, 3 * row + 1, load(table, place + END_PAYLOAD))
        store(spans, 3 * row + 2, row)
        row += 1


def unwrapper() -> Callable[..., int]:
    """Return a function that finds the messages of wrappers; it returns how many wrappers were ordinary."""

    def unwrap(  # noqa: PLR0917
        state: Longs,
        scan: Longs,
        table: Longs,
        spans: Longs,
        batches: Longs,
        places: Longs,
        wrappers: Longs,
        firsts: Longs,
    ) -> int:
        at = row = 0
        while at < load(state, COUNT):
            behind = scan_content(state, scan, load(places, 2 * at), load(places, 2 * at + 1), row)
            head = load(wrappers, at) * load(state, WIDTH)
            if load(state, STATUS) != DONE or behind == row:
                break
            if not are_usual(state, table, row, behind, head, batches):
                break
            offset = load(batches, head + load(state, BASE_OFFSET))
            last = load(table, (behind - 1) * load(state, WIDTH) + load(state, BASE_OFFSET))
            distance = 0
            # Offsets are absolute in magic 0; old versions of librdkafka left 0 in wrappers.
            if load(batches, head + load(state, MAGIC)) != 0 and offset != 0:
                if offset < last:
                    break
                distance = wrap(offset - last)
            shift(state, table, spans, row, behind, distance)
            store(firsts, at, row)
            row = behind
            at += 1
        store(firsts, at, row)
        return at

    return unwrap


class Unwrapping:
    """A scanner of messages, and a decoder of them.

    Args:
        decoder: of messages.
        content: which of the contents a message is.
        module: the generated module of the scanner.
        check_crc: verify the checksums of the messages.
    """

    def __init__(self, decoder: RecordDecoder, content: int, module: ModuleType, *, check_crc: bool) -> None:
        self._decoder = decoder
        self._width = module.WIDTH
        self._scanner = Compiled(module.scanner, check_crc=check_crc, whole=True)
        self._unwrap = Compiled(unwrapper)
        self._scan = np.zeros(_NUM_SCAN_STATE, np.int64)
        self._scanner.set("state", self._scan)
        self._state = chain(_NUM_STATE, self._scanner.entry, (0, 0))
        names = module.BATCH_COLUMNS
        self._state[WIDTH], self._state[TAKEN] = module.WIDTH, content
        columns = {BASE_OFFSET: "base_offset", MAGIC: "magic", TIMESTAMP_TYPE: "timestamp_type"}
        for place, name in columns.items():
            self._state[place] = names.index(name)
        self._firsts = np.zeros(_MOST_WRAPPERS + 1, np.int64)
        for name, array in (("state", self._state), ("scan", self._scan), ("firsts", self._firsts)):
            self._unwrap.set(name, array)
        self._times: Any = None
        self._num_messages = 0
        self._make_room(_FEW_MESSAGES)

    def _make_room(self, num_messages: int) -> None:
        self._table = np.zeros((num_messages, self._width), np.int64)
        self._spans = np.zeros((num_messages, 3), np.int64)
        self._state[NUM_ROWS] = num_messages
        self._scanner.set("table", self._table)
        self._unwrap.set("table", self._table)
        self._unwrap.set("spans", self._spans)

    def run(
        self,
        data: memoryview,
        places: Any,
        batches: tuple[int, int],
        rows: Any,
        *,
        times: Any,
        bounds: Any,
    ) -> Generator[pa.RecordBatch, None, tuple[int, int | None]]:
        """Decode the messages of wrappers, from the first on, as far as all is as usual.

        Args:
            data: the bytes that hold the wrappers' values, decompressed.
            places: int64, two columns: where each value is in them.
            batches: address and length of the scan's table.
            rows: int64: where in that table each wrapper stands.
            times: int64, of each wrapper the time that counts for its messages; None if it is their own.
            bounds: int64, of each how many messages it may hold.

        Returns:
            How many wrappers were decoded; and of the next, if its messages were refused by the decoder, how
            many of its records were decoded before.
        """
        done = self._find(data, places[:_MOST_WRAPPERS], batches, rows)
        crowded = np.flatnonzero(np.diff(self._firsts[: done + 1]) > bounds[:done])
        done = int(crowded[0]) if len(crowded) else done
        if done == 0:
            return 0, None
        firsts = self._firsts[: done + 1]
        self._num_messages = num_messages = int(firsts[done])
        self._times = None if times is None else np.repeat(times[:done], np.diff(firsts))
        table = self._table.ctypes.data, self._table.size
        stopped = yield from self._decoder.decode(data, table, self._spans[:num_messages], self._run)
        if stopped is None:
            return done, None
        message = stopped.batch
        wrapper = int(np.searchsorted(firsts, message, "right")) - 1
        return wrapper, message - int(firsts[wrapper])

    def _find(self, data: memoryview, places: Any, batches: tuple[int, int], rows: Any) -> int:
        """Fill table and spans; returns of how many wrappers."""
        self._scanner.place("data", address_of(data), len(data))
        self._unwrap.set("places", places)
        self._unwrap.place("batches", *batches)
        self._unwrap.set("wrappers", rows)
        self._state[COUNT] = len(places)
        while True:
            done = self._unwrap()
            if done or self._state[STATUS] != FULL or len(self._table) >= _MOST_MESSAGES:
                return done
            self._make_room(4 * len(self._table))

    def _run(self) -> int:
        """Call the decoder, and write the broker's times over what it decoded."""
        decoder, times = self._decoder, self._times
        batch, row = int(decoder.state[BATCH]), int(decoder.state[RECORD_ROW])
        if decoder.state[NUM_BATCHES] == 0:
            decoder.state[NUM_BATCHES] = self._num_messages
        status = decoder.run()
        if times is not None:
            count = int(decoder.state[RECORD_ROW]) - row
            decoder.overwrite("timestamp", row, times[batch : batch + count])
            decoder.overwrite("timestamp_type", row, np.full(count, _LOG_APPEND_TIME))
        return status
