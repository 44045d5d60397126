"""Sound entries of a source as a table of their headers, window by window, by a generated scanner.

Strategy: a window begins with an entry, and has a size that stays in the cache if it has to be read. The
scanner fills a row of the table for each entry that is sound and whole in the window, and stops at the first
other one, which the caller examines. Of a file, a loop may go through several windows (`window_run`).
"""

from __future__ import annotations

from collections.abc import Generator
from types import ModuleType
from typing import Any, Protocol, TypeVar

import numpy as np
import pyarrow as pa

from kafka_segments.core import formats
from kafka_segments.core.io.filesystem import lend_file
from kafka_segments.core.io.storage import Source
from kafka_segments.core.native import kernels
from kafka_segments.core.native.engine import has_crc32c, load_decoder
from kafka_segments.core.segment.columnar.arena import Scratch
from kafka_segments.core.segment.columnar.native_chain import NUM_CHAINED, chain
from kafka_segments.core.segment.columnar.window_run import (
    END,
    FILE,
    LEN_RUN,
    LEN_RUN_WINDOW,
    NUM_WINDOWS,
    window_loop,
)
from kafka_segments.errors import ReadError

__all__ = ["HeaderScan", "returned"]

T = TypeVar("T")

_LEN_WINDOW = 4 << 20
_LEN_FIRST_WINDOW = 64 << 10  # enough to see what is there
_LEN_MEMORY_WINDOW = 16 << 20  # of what need not be copied, for a fused loop
_LEN_EDGE = 64 << 10  # what is read beyond the place where no more may be wanted, and twice as much then
_MAX_ROWS = 4096
_NUM_STATE = 16


class FusedLoop(Protocol):
    """A loop that scans a window in place of the scanner."""

    def run(self, len_window: int) -> Generator[pa.RecordBatch, None, int]:
        """Scan the prepared window, or read windows if it is 0; return the scanner's last status."""
        ...


class HeaderScan:
    """Scanner of a source, from any position on.

    Args:
        source: the segment's bytes.
        module: the generated module with the scanner, e.g. `columns.kafka_log_segment`.
        check_crc: whether an entry with a wrong checksum counts as not sound.
        end_position: where there may be nothing more to read; None is the source's end.
        whole: whether a compressed message without a value, or with contradicting lengths, is not sound.
        len_window: bytes of a window that has to be read, unless one entry takes more; None is 4 MiB.
        max_window: bytes that an entry may have to be read whole; larger ones are left to the caller.
        reads_on: whether a scan may go over several windows, of which `window` is the last one.

    Attributes:
        windows: of a fused loop that reads by itself; see `window_run`.
        window: the bytes that the last scan was of; valid until the next one.
        window_position: where they are in the source.
        address: where they are in memory.
        state: the compiled scanner's; see `native.kernels`.
        entry: addresses of the compiled scanner and of its arguments.
        max_rows: how many rows the table has.
        can_fuse: whether the scanner itself finds out what is sound.
    """

    def __init__(
        self,
        source: Source,
        module: ModuleType,
        *,
        check_crc: bool,
        end_position: int | None = None,
        whole: bool = True,
        len_window: int | None = None,
        max_window: int | None = None,
        reads_on: bool = False,
    ) -> None:
        self._source = source
        self._max_window = source.size if max_window is None else max_window
        self._end_position = end_position
        self._len_edge = _LEN_EDGE
        self._names = {name: at for at, name in enumerate(module.BATCH_COLUMNS)}
        # Where decoders cannot compute CRC-32C (ARM, old x86), the package does it here.
        self._verifies = check_crc and not has_crc32c()
        self.can_fuse = not self._verifies
        self._contents = module.CONTENTS
        self._scan = load_decoder(module.scanner, check_crc=check_crc and not self._verifies, whole=whole)
        self.max_rows = _MAX_ROWS
        self._rows = np.zeros((_MAX_ROWS, module.WIDTH), np.int64)
        self.state = np.zeros(_NUM_STATE, np.int64)
        self._arguments = self._scan.new_table()
        self._arguments.set("state", self.state.ctypes.data, _NUM_STATE)
        self._arguments.set("table", self._rows.ctypes.data, self._rows.size)
        self.entry = self._scan.address, self._arguments.address
        self._len_window = _LEN_WINDOW if len_window is None else len_window
        self._len_next = min(_LEN_FIRST_WINDOW, self._len_window)
        self._buffer: memoryview = memoryview(b"")
        self._scratch: Scratch | None = None
        self.window: bytes | memoryview = b""
        self.window_position = 0
        self.address = 0
        self.windows = np.full(NUM_WINDOWS, -1, np.int64)
        self._can_lend, self._reads_on = self.can_fuse, reads_on and self.can_fuse
        self._loop: WindowLoop | None = None

    @property
    def table(self) -> tuple[int, int]:
        """Address and length of the table that contains `rows`."""
        return self._rows.ctypes.data, self._rows.size

    def column(self, rows: Any, name: str) -> Any:
        """Return one column of some rows, int64."""
        return rows[:, self._names[name]]

    def scan(
        self, position: int, fused: FusedLoop | None = None
    ) -> Generator[pa.RecordBatch, None, tuple[Any, int, bool]]:
        """Scan on from where an entry should begin.

        Args:
            position: in the source.
            fused: scans in place of the scanner, and yields the records that it decodes.

        Returns:
            The rows of sound entries (a part of the table, valid until the next scan), where they end, and
            whether the bytes there are unsound or unreadable. No rows and False: the end.
        """
        readable = self._source.size - position
        is_first = self._len_next < self._len_window
        size = min(self._size_wanted(position, fused is not None), readable)
        if not is_first and (self._reads_on or fused is not None) and self._lend(position, size):
            status = yield from self._scan_windows(position, fused)
            if status != kernels.SHORT or self.state[kernels.ROW]:
                return self._found(status)
            self._can_lend = False  # an entry is larger than such a window, or it cannot be read
        self.windows[FILE] = -1
        while size > 0:
            try:
                self._load(position, size)
            except ReadError as error:
                if error.position is None or error.position <= position:
                    return self._rows[:0], position, True
                size = readable = min(error.position - position, size - 1)
                continue
            self._begin(position)
            status = self._scan(self._arguments) if fused is None else (yield from fused.run(size))
            rows, end = self._rows[: self.state[kernels.ROW]], int(self.state[kernels.AT])
            if self._verifies and len(rows) and self.column(rows, "end_position")[-1] > position + size:
                rows, end, status = rows[:-1], int(self.column(rows, "position")[-1]), kernels.SHORT
            if self._verifies and (num_sound := self._count_sound(rows)) < len(rows):
                return rows[:num_sound], int(self.column(rows, "position")[num_sound]), True
            if status != kernels.SHORT or len(rows):
                return rows, end, _is_trouble(status)
            larger = self._len_entry()
            if not size < larger <= min(readable, self._max_window):
                return rows, position, True
            size = larger
        return self._rows[:0], position, False

    def _lend(self, position: int, size: int) -> bool:
        """Prepare windows that compiled code reads by itself, from a position on; return whether it may."""
        if not self._can_lend or size < LEN_RUN_WINDOW:
            return False
        size = min(LEN_RUN if self._end_position is None else size, self._source.size - position)
        self.windows[FILE], self.windows[END] = lend_file(self._source, position, size), position + size
        return bool(self.windows[FILE] >= 0)

    def _scan_windows(self, position: int, fused: FusedLoop | None) -> Generator[pa.RecordBatch, None, int]:
        """Scan windows that compiled code reads; return the scanner's last status."""
        if len(self._buffer) < LEN_RUN_WINDOW:
            self._scratch = Scratch(self._len_window)
            self._buffer = self._scratch.view
        self.window = self._buffer[:LEN_RUN_WINDOW]
        self.address = pa.py_buffer(self.window).address
        self._arguments.set("data", self.address, LEN_RUN_WINDOW)
        self._begin(position)
        self.state[kernels.WINDOW], self.state[kernels.LEN_WINDOW] = -1, 0  # nothing is in it yet
        if fused is not None:
            status = yield from fused.run(0)
        else:
            self._loop = self._loop or WindowLoop(self.entry, self.state, self.windows)
            status = self._loop.run(self.address)
        self.window_position = int(self.state[kernels.WINDOW])
        return status

    def _found(self, status: int) -> tuple[Any, int, bool]:
        rows = self._rows[: self.state[kernels.ROW]]
        return rows, int(self.state[kernels.AT]), _is_trouble(status)

    def _size_wanted(self, position: int, is_fused: bool) -> int:
        """Return the size of the next window, if so much is left."""
        size, self._len_next = self._len_next, self._len_window
        if is_fused and self._source.is_memory:
            size = _LEN_MEMORY_WINDOW
        if self._end_position is None:
            return size
        edge = self._end_position + self._len_edge - position
        if edge < size:  # this window shows the end, or the next one looks farther
            self._len_edge *= 2
        return min(size, max(edge, _LEN_EDGE))

    def _load(self, position: int, size: int) -> None:
        if size > len(self._buffer) and not self._source.is_memory:
            if self._scratch is None and size <= self._len_window:
                self._scratch = Scratch(self._len_window)
                self._buffer = self._scratch.view
            else:
                self._buffer = memoryview(bytearray(size))
        self.window = self._source.window(position, size, self._buffer)
        self.window_position = position
        self.address = pa.py_buffer(self.window).address
        self._arguments.set("data", self.address, size)

    def _begin(self, position: int) -> None:
        state = self.state
        state[kernels.AT] = state[kernels.WINDOW] = position
        state[kernels.ROW] = 0
        state[kernels.MAX_ROWS] = _MAX_ROWS
        state[kernels.SIZE] = self._source.size
        state[kernels.FILE] = -1
        state[kernels.LEN_WINDOW] = len(self.window)

    def _count_sound(self, rows: Any) -> int:
        """Return how many of the rows have right checksums, up to the first that has not."""
        window = memoryview(self.window)
        places = [self.column(rows, name).tolist() for name in ("position", "end_position", "content", "crc")]
        for at, (position, end, content, stored) in enumerate(zip(*places, strict=True)):
            start = position - self.window_position
            ofs_region, function = formats.checksum_region(self._contents[content].cases[0])
            if function(window[start + ofs_region : end - self.window_position], 0) != stored:
                return at
        return len(rows)

    def _len_entry(self) -> int:
        """Return the size of the entry at the beginning of the window, as far as it is known."""
        if len(self.window) < formats.LEN_PREFIX:
            return 0
        return formats.read_prefix(self.window[: formats.LEN_PREFIX]).len_entry


class WindowLoop:
    """Compiled loop of a scanner over windows that it reads.

    Args:
        scanner: address of its code and of its arguments.
        scan: its state.
        windows: see `window_run`.
    """

    def __init__(self, scanner: tuple[int, int], scan: Any, windows: Any) -> None:
        self._loop = load_decoder(window_loop)
        self._arguments = self._loop.new_table()
        self._state = chain(NUM_CHAINED, scanner, (0, 0))
        for name, array in {"state": self._state, "scan": scan, "windows": windows}.items():
            self._arguments.set(name, array.ctypes.data, array.size)

    def run(self, address: int) -> int:
        """Scan, with the memory of a window at an address; return the scanner's last status."""
        self._arguments.set("data", address, LEN_RUN_WINDOW)
        return self._loop(self._arguments)


def _is_trouble(status: int) -> bool:
    return status not in (kernels.DONE, kernels.FULL, kernels.SHORT)


def returned(steps: Generator[Any, None, T]) -> T:
    """Take steps for what they return alone."""
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            result: T = stop.value
            return result
