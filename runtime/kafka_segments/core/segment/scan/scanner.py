"""Sound entries of a source as a table of their headers, window by window, by a generated scanner.

Strategy: a window begins with an entry, and has a size that stays in the cache if it has to be read. The
scanner fills a row of the table for each entry that is sound and whole in the window, and stops at the first
other one, which the caller examines. Of a file, a loop may go through several windows (`window_run`).

Where only headers are wanted and batches are large, the scanner reads just the bytes that it needs, with one
short system call for each; where they are small, reading everything costs less, above all from a disk. The
first few entries decide. Tables begin small and grow, so a caller that stops early has read little.

The scanner runs interpreted for the first entries unless its machine code is loaded already, since loading it
takes longer than they do, and for all of them where there is no machine code.
"""

from __future__ import annotations

from array import array
from collections.abc import Generator
from types import ModuleType
from typing import Any, Protocol, TypeVar

from kafka_segments.core import formats
from kafka_segments.core.io.filesystem import lend_file
from kafka_segments.core.io.storage import Source
from kafka_segments.core.native import kernels
from kafka_segments.core.native.arena import Scratch
from kafka_segments.core.native.engine import Compiled, Interpreted, address_of, has_crc32c, is_loaded
from kafka_segments.core.segment.scan.entry_table import EntryTable
from kafka_segments.core.segment.scan.window_run import (
    END,
    FILE,
    IS_GROWING,
    LEN_RUN,
    LEN_RUN_WINDOW,
    NUM_WINDOWS,
    WindowLoop,
)
from kafka_segments.errors import MissingExtraError, ReadError

__all__ = ["HeaderScan", "returned"]

T = TypeVar("T")

_LEN_WINDOW = 4 << 20
_LEN_FIRST_WINDOW = 64 << 10  # enough to see what is there
_LEN_MEMORY_WINDOW = 16 << 20  # of what need not be copied, for a fused loop
_LEN_EDGE = 64 << 10  # what is read beyond the place where no more may be wanted, and twice as much then
_MAX_ROWS = 4096
_NUM_STATE = 16
_FEW = 2048  # entries that are scanned before machine code is loaded

# Of a scan for headers alone.
_LEN_HEADERS_WINDOW = 1 << 20
_LEN_HOP = 4096  # bytes of a short read
_FAR = 1 << 17  # from header to header: from here on short reads are cheaper
_NUM_FIRST_ROWS, _GROWTH, _MAX_HEADERS = 64, 4, 1 << 14


class FusedLoop(Protocol):
    """A loop that scans a window in place of the scanner."""

    def run(self, len_window: int) -> Generator[Any, None, int]:
        """Scan the prepared window, or read windows if it is 0; return the scanner's last status."""
        ...


class HeaderScan:
    """Scanner of a source, from any position on.

    Args:
        source: the segment's bytes.
        module: the generated module with the scanner, e.g. `columns.kafka_log_segment`.
        check_crc: whether an entry with a wrong checksum counts as not sound.
        end_position: where there may be nothing more to read; None is the source's end.
        whole: whether all bytes of an entry are wanted, and a compressed message without a value, or with
            contradicting lengths, is not sound. Else headers alone are read, unless checksums are verified.
        len_window: bytes of a window that has to be read, unless one entry takes more; None is 4 MiB.
        max_window: bytes that an entry may have to be read whole; larger ones are left to the caller.
        reads_on: whether a scan may go over several windows, of which `window` is the last one.
        keeps: whether windows stay as they are while they are referenced.

    Attributes:
        windows: of a fused loop that reads by itself; see `window_run`.
        window: the bytes that the last scan was of; valid until the next one.
        window_position: where they are in the source.
        max_rows: how many rows the table may have.
        can_fuse: whether the scanner itself finds out what is sound; known once it is compiled.
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
        keeps: bool = False,
    ) -> None:
        self._source, self._module = source, module
        self._max_window = source.size if max_window is None else max_window
        self._end_position = end_position
        self._len_edge = _LEN_EDGE
        self._check_crc, self._whole = check_crc, whole
        self._only_headers = not (check_crc or whole)
        most = _MAX_HEADERS if self._only_headers else _MAX_ROWS
        self.max_rows = min(most, source.size // formats.LEN_PREFIX + 1)
        self._hops, self._num_rows = True, min(self.max_rows, _NUM_FIRST_ROWS)
        self._rows = _zeros(self.max_rows * module.WIDTH)
        self._state = _zeros(_NUM_STATE)
        self._compiled: Compiled | None = None
        self._can_compile, self._num_scanned = True, 0
        self._verifies = self.can_fuse = False
        self._run: Interpreted | Compiled = Interpreted(module.scanner, check_crc=check_crc, whole=whole)
        self._set_arrays()
        self._len_window = _LEN_WINDOW if len_window is None else len_window
        self._len_next = min(_LEN_FIRST_WINDOW, self._len_window)
        self._buffer: memoryview = memoryview(b"")
        self._scratch: Scratch | None = None
        self.window: bytes | memoryview = b""
        self.window_position = 0
        self.windows = _zeros(NUM_WINDOWS)
        self.windows[FILE] = -1
        self._can_lend, self._reads_on, self._keeps = True, reads_on and not keeps, keeps
        self.windows[IS_GROWING] = keeps
        self._loop: WindowLoop | None = None

    def _set_arrays(self) -> None:
        self._run.set("state", self._state)
        self._run.set("table", self._rows)

    def compile(self) -> Compiled:
        """Take machine code from now on; return it.

        Raises:
            MissingExtraError: there is none, and it cannot be compiled here.
        """
        if self._compiled is None:
            # Where decoders cannot compute CRC-32C (ARM, old x86), the package does it here.
            self._verifies = self._check_crc and not has_crc32c()
            self.can_fuse = not self._verifies
            check_crc = self._check_crc and not self._verifies
            self._run = self._compiled = Compiled(
                self._module.scanner, check_crc=check_crc, whole=self._whole
            )
            self._set_arrays()
        return self._compiled

    @property
    def is_lent(self) -> bool:
        """Whether `window` is memory of the caller."""
        return self._source.is_memory

    @property
    def address(self) -> int:
        """Address of `window` in memory."""
        return address_of(memoryview(self.window))

    @property
    def state(self) -> memoryview:
        """The scanner's state; see `native.kernels`."""
        return self._state

    @property
    def table(self) -> tuple[int, int]:
        """Address and length of the memory of the table."""
        return address_of(self._rows), len(self._rows)

    def scan(
        self, position: int, fused: FusedLoop | None = None
    ) -> Generator[Any, None, tuple[EntryTable, int, bool]]:
        """Scan on from where an entry should begin.

        Args:
            position: in the source.
            fused: scans in place of the scanner, and yields the records that it decodes.

        Returns:
            The sound entries (valid until the next scan), where they end, and whether the bytes there are
            unsound or unreadable. No entries and False: the end.
        """
        if self._compiled is None and self._can_compile and self._is_compiling():
            try:
                self.compile()
            except MissingExtraError:
                self._can_compile = False
        if self._only_headers:
            found = self._scan_headers(position)
        else:
            found = yield from self._scan(position, fused)
        self._num_scanned += len(found[0])
        if found[2]:  # the next one may not get far, either
            self._len_next = min(_LEN_FIRST_WINDOW, self._len_window)
        return found

    def _is_compiling(self) -> bool:
        """Whether it is time for machine code."""
        return self._num_scanned >= _FEW or is_loaded(self._module.scanner)

    def _scan(
        self, position: int, fused: FusedLoop | None
    ) -> Generator[Any, None, tuple[EntryTable, int, bool]]:
        readable = self._source.size - position
        is_first = self._len_next < self._len_window
        size = min(self._size_wanted(position, fused is not None), readable)
        if not is_first and (self._reads_on or fused is not None) and self._lend(position, size):
            status = yield from self._scan_windows(position, fused)
            if status != kernels.SHORT or self._state[kernels.ROW]:
                return self._entries(self._state[kernels.ROW]), self._state[kernels.AT], _is_trouble(status)
            self._can_lend = False  # an entry is larger than such a window, or it cannot be read
        self.windows[FILE] = -1
        while size > 0:
            try:
                self._load(position, size)
            except ReadError as error:
                if error.position is None or error.position <= position:
                    return self._entries(0), position, True
                size = readable = min(error.position - position, size - 1)
                continue
            self._begin(position)
            status = self._run() if fused is None else (yield from fused.run(size))
            entries, end = self._entries(self._state[kernels.ROW]), self._state[kernels.AT]
            if self._verifies and len(entries):
                last = len(entries) - 1
                if entries.value(last, "end_position") > position + size:
                    end, status = entries.value(last, "position"), kernels.SHORT
                    entries = entries.before(last)
                if (num_sound := self._count_sound(entries)) < len(entries):
                    return entries.before(num_sound), entries.value(num_sound, "position"), True
            if status != kernels.SHORT or len(entries):
                return entries, end, _is_trouble(status)
            larger = self._len_entry()
            if not size < larger <= min(readable, self._max_window):
                return entries, position, True
            size = larger
        return self._entries(0), position, False

    def _scan_headers(self, start: int) -> tuple[EntryTable, int, bool]:
        """Fill the table from windows, or by short reads from header to header."""
        state, position, status = self._state, start, kernels.DONE
        state[kernels.ROW], num_rows = 0, self._num_rows
        while position < self._source.size:
            self._place(position)
            state[kernels.MAX_ROWS] = num_rows
            status = self._run()
            is_stuck = state[kernels.AT] == position
            position = state[kernels.AT]
            if status != kernels.SHORT or is_stuck or state[kernels.ROW] == num_rows:
                break
        entries = self._entries(state[kernels.ROW])
        if len(entries):
            self._hops = position - start >= _FAR * len(entries)
            self._num_rows = min(_GROWTH * num_rows, self.max_rows)
        return entries, position, status == kernels.DAMAGED or (status == kernels.SHORT and position == start)

    def _place(self, position: int) -> None:
        """Prepare to scan headers from a position on: with a window, or the file itself."""
        row = self._state[kernels.ROW]
        window = None if self._hops and self._source.descriptor >= 0 else self._headers_window(position)
        self.window, self.window_position = window or self._buffer_of(_LEN_HOP), position
        self._run.set("data", self.window)
        self._begin(position)
        self._state[kernels.ROW] = row
        if window is None:
            self._state[kernels.FILE] = lend_file(self._source, position, self._source.size - position)
            self._state[kernels.WINDOW], self._state[kernels.LEN_WINDOW] = -1, 0  # nothing is in it yet

    def _headers_window(self, position: int) -> bytes | memoryview | None:
        """The bytes from there on; None if not all can be read, but the headers perhaps."""
        size = min(_LEN_HEADERS_WINDOW, self._source.size - position)
        try:
            return self._source.window(position, size, self._buffer_of(_LEN_HEADERS_WINDOW))
        except ReadError:
            if self._source.descriptor < 0:
                raise
            return None

    def _entries(self, num_rows: int) -> EntryTable:
        """The first rows of the table."""
        return EntryTable(self._rows[: num_rows * self._module.WIDTH], self._module)

    def _lend(self, position: int, size: int) -> bool:
        """Prepare windows that compiled code reads by itself, from a position on; return whether it may."""
        if not (self._can_lend and self.can_fuse) or size < LEN_RUN_WINDOW:
            return False
        if self._end_position is None and not self._keeps:
            size = LEN_RUN
        size = min(size, self._source.size - position)
        self.windows[FILE], self.windows[END] = lend_file(self._source, position, size), position + size
        return self.windows[FILE] >= 0

    def _scan_windows(self, position: int, fused: FusedLoop | None) -> Generator[Any, None, int]:
        """Scan windows that compiled code reads; return the scanner's last status."""
        self.window = self._buffer_of(self.windows[END] - position if self._keeps else LEN_RUN_WINDOW)
        compiled = self.compile()
        compiled.set("data", self.window)
        self._begin(position)
        self._state[kernels.LEN_WINDOW] = 0  # nothing is in it yet
        if not self._keeps:
            self._state[kernels.WINDOW] = -1
        if fused is not None:
            status = yield from fused.run(0)
        else:
            self._loop = self._loop or WindowLoop(compiled.entry, self._state, self.windows)
            status = self._loop.run(self.window)
        self.window_position = self._state[kernels.WINDOW]
        return status

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
        buffer = self._buffer if self._source.is_memory else self._buffer_of(size)
        self.window = self._source.window(position, size, buffer)
        self.window_position = position
        self._run.set("data", self.window)

    def _buffer_of(self, size: int) -> memoryview:
        """Memory of this scanner, of so many bytes."""
        if self._keeps:
            self._release()
        if size > len(self._buffer):
            is_filled = self._keeps and size == self._len_window
            is_usual = is_filled or (self._compiled is not None and size <= self._len_window)
            if is_usual and self._scratch is None:
                self._scratch = Scratch(self._len_window, is_filled=is_filled)  # used again by later scanners
                self._buffer = self._scratch.view
            else:
                self._buffer = memoryview(bytearray(size))
        return self._buffer[:size]

    def _release(self) -> None:
        """Refer to the last window no more, so that its memory is used again if nothing else does."""
        self._scratch, self._buffer, self.window = None, memoryview(b""), b""
        self._run.set("data", self.window)

    def _begin(self, position: int) -> None:
        state = self._state
        state[kernels.AT] = state[kernels.WINDOW] = position
        state[kernels.ROW] = 0
        state[kernels.MAX_ROWS] = self.max_rows
        state[kernels.SIZE] = self._source.size
        state[kernels.FILE] = -1
        state[kernels.LEN_WINDOW] = len(self.window)

    def _count_sound(self, entries: EntryTable) -> int:
        """Return how many of the entries have right checksums, up to the first that has not."""
        window = memoryview(self.window)
        places = [entries.values(name) for name in ("position", "end_position", "content", "crc")]
        for at, (position, end, content, stored) in enumerate(zip(*places, strict=True)):
            start = position - self.window_position
            ofs_region, function = formats.checksum_region(self._module.CONTENTS[content].cases[0])
            if function(window[start + ofs_region : end - self.window_position], 0) != stored:
                return at
        return len(entries)

    def _len_entry(self) -> int:
        """Return the size of the entry at the beginning of the window, as far as it is known."""
        if len(self.window) < formats.LEN_PREFIX:
            return 0
        return formats.read_prefix(self.window[: formats.LEN_PREFIX]).len_entry


def _zeros(count: int) -> memoryview:
    """Memory of so many 64-bit integers."""
    return memoryview(array("q", [0]) * count)


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
