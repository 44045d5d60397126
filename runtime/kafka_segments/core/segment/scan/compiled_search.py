"""Search for the next sound entry in machine code: some tens of nanoseconds a byte, for any content.

Strategy: at each byte the generated scanner says whether an entry may begin there, and the checksum over its
length field's bytes decides. Adversarial bytes can look like an entry of any length everywhere, so the cost
of that checksum must not depend on the length: as in `crc_spans`, the checksums of all bytes up to each grid
line are kept, and the checksum of a span between two lines follows from them. Here the grid is finer; the
bytes between the last line and the entry's end come from a block cache.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import lru_cache
from typing import Any
from zlib import crc32 as crc32_of

import numpy as np
from crc32c import crc32c as crc32c_of

from kafka_segments.core import formats
from kafka_segments.core.io.filesystem import lend_file
from kafka_segments.core.io.storage import BLOCK_SIZE, Source
from kafka_segments.core.native.engine import Compiled
from kafka_segments.core.native.kernels import (
    CONTENT,
    DONE,
    Bytes,
    Longs,
    call,
    crc32,
    crc32c,
    load,
    rare,
    store,
)
from kafka_segments.core.segment.scan.crc_spans import (
    CRC32_POLYNOMIAL,
    CRC32C_POLYNOMIAL,
    multiply,
    power_of_x,
)
from kafka_segments.errors import ReadError
from kafka_segments_generated.columns import kafka_log_segment
from kafka_segments_generated.columns.kafka_log_segment import COL_BASE_OFFSET, COL_CRC, scan_entry

__all__ = ["Searcher", "finder", "lines_maker"]

# Slots of the state. Input: where to search and where to stop; the window's position and size; the source's
# size; the least base offset accepted; the grid: bytes between lines, the first line, and the last known
# line; the file, the addresses of `pread` and of the block cache; lines and powers per checksum. Output: the
# position found (in AT), and the line or block that is needed.
AT, STOP, WINDOW, LEN_WINDOW, SIZE, LOWEST, GRID, FIRST_LINE, LAST_LINE, FILE, PREAD, CACHE = range(12)
NUM_LINES, NUM_POWERS, NEEDED = range(12, 15)
# Then for each kind of entry: where the bytes begin that its checksum covers, and which checksum (0 or 1).
REGIONS = 15
_NUM_STATE = REGIONS + 2 * len(kafka_log_segment.CONTENTS)
# Status of `find`: found, nothing in this window, or what it needs to continue.
FOUND, OVER, NEEDS_LINES, NEEDS_BLOCK = range(4)

_NUM_NEAR = 2048  # lines covered by one table of powers
_NUM_BYTES = 256
_BIT_31 = 1 << 31
# Every fourth bit of 63, starting at bit 0, 1, 2 and 3.
_FOURTH = 0x1111111111111111, 0x2222222222222222, 0x4444444444444444, 0x0888888888888888
_NUM_REDUCING = 4 * _NUM_BYTES  # the tables before the powers
_NUM_SLOTS = 4096
_LEN_BLOCK = 4096
_LEN_WINDOW = 4 << 20
_LEN_STEP = 1 << 20
_FINE, _COARSE, _LARGE_FILE = 512, 4096, 2 << 30
_POLYNOMIALS = CRC32_POLYNOMIAL, CRC32C_POLYNOMIAL
_CHECKSUMS = crc32_of, crc32c_of


def carryless(one: int, other: int) -> int:
    """Multiply two 32-bit numbers as polynomials over GF(2), by ordinary multiplication.

    Each factor is split into four, with every fourth bit each: at most 8 bits meet in one place of a product,
    and their carries stay in the three places next to it, which are masked out.
    """
    a, b, c, d = one & _FOURTH[0], one & _FOURTH[1], one & _FOURTH[2], one & _FOURTH[3]
    w, x, y, z = other & _FOURTH[0], other & _FOURTH[1], other & _FOURTH[2], other & _FOURTH[3]
    return (
        ((a * w ^ b * z ^ c * y ^ d * x) & _FOURTH[0])
        | ((a * x ^ b * w ^ c * z ^ d * y) & _FOURTH[1])
        | ((a * y ^ b * x ^ c * w ^ d * z) & _FOURTH[2])
        | ((a * z ^ b * y ^ c * x ^ d * w) & _FOURTH[3])
    )


def product(one: int, other: int, powers: Longs, reducing: int) -> int:
    """Multiply as `crc_spans.multiply`, modulo the polynomial of one of the two checksums.

    Args:
        one: in the notation of `crc_spans`: the highest of 32 bits is the coefficient of 1.
        other: likewise.
        powers: holds the tables of `_reducing`.
        reducing: where those of the polynomial begin.
    """
    whole = carryless(one, other)
    result, high = whole >> 31, whole % _BIT_31 << 1
    for at in range(4):  # byte by byte
        result ^= load(powers, reducing + _NUM_BYTES * at + high % _NUM_BYTES)
        high //= _NUM_BYTES
    return result


def checksum_of(data: Bytes, start: int, end: int, kind: int) -> int:
    """Compute CRC-32 (`kind` 0) or CRC-32C (1)."""
    return crc32(data, start, end) if kind == 0 else crc32c(data, start, end)


def lines_maker() -> Callable[..., int]:
    """Return a function that continues the checksums up to each grid line, for the cells in `data`."""

    def make_lines(data: Bytes, state: Longs, lines: Longs, powers: Longs) -> int:
        grid, num_lines = load(state, GRID), load(state, NUM_LINES)
        known = load(state, LAST_LINE) - load(state, FIRST_LINE)
        num_cells = load(state, NEEDED) - load(state, LAST_LINE)
        for kind in range(2):
            reducing = kind * load(state, NUM_POWERS)
            one_line = load(powers, reducing + _NUM_REDUCING + grid + 1)
            for cell in range(num_cells):
                at = kind * num_lines + known + cell
                value = checksum_of(data, cell * grid, (cell + 1) * grid, kind)
                store(lines, at + 1, product(load(lines, at), one_line, powers, reducing) ^ value)
        store(state, LAST_LINE, load(state, NEEDED))
        return OVER

    return make_lines


def tail_of(  # noqa: PLR0917
    data: Bytes, state: Longs, tags: Longs, cache: Bytes, line: int, end: int, kind: int
) -> int:
    """Return the checksum from a grid line to an entry's claimed end; -1 if the bytes are not cached."""
    start = line * load(state, GRID)
    window = load(state, WINDOW)
    if start >= window and end <= window + load(state, LEN_WINDOW):
        return checksum_of(data, start - window, end - window, kind)
    if start == end:
        return 0
    block = start // _LEN_BLOCK
    slot = (block ^ block >> 12) & (_NUM_SLOTS - 1)
    if load(tags, slot) != block:
        store(state, NEEDED, block)
        store(tags, slot, -1)
        size = min(_LEN_BLOCK, load(state, SIZE) - block * _LEN_BLOCK)
        to = load(state, CACHE) + slot * _LEN_BLOCK
        if load(state, FILE) < 0:
            return -1
        if call(load(state, PREAD), load(state, FILE), to, size, block * _LEN_BLOCK, 0, 0, 0) != size:
            return -1
        store(tags, slot, block)
    place = slot * _LEN_BLOCK - block * _LEN_BLOCK
    return checksum_of(cache, place + start, place + end, kind)


def span_of(  # noqa: PLR0917
    data: Bytes, state: Longs, lines: Longs, powers: Longs, start: int, end: int, kind: int
) -> int:
    """Return the checksum from a position in the window to the grid line with the number `end`."""
    grid, window = load(state, GRID), load(state, WINDOW)
    first = (start + grid - 1) // grid
    at = kind * load(state, NUM_LINES) - load(state, FIRST_LINE)
    value = load(lines, at + first) ^ checksum_of(data, start - window, first * grid - window, kind)
    reducing = kind * load(state, NUM_POWERS)
    table = reducing + _NUM_REDUCING + grid
    near, far = (end - first) % _NUM_NEAR, (end - first) // _NUM_NEAR
    if near != 0:
        value = product(load(powers, table + near), value, powers, reducing)
    if far != 0:
        value = product(load(powers, table + _NUM_NEAR + far), value, powers, reducing)
    return value ^ load(lines, at + end)


def check_entry(  # noqa: PLR0917
    data: Bytes, state: Longs, row: Longs, lines: Longs, powers: Longs, tags: Longs, cache: Bytes, end: int
) -> int:
    """Compare the checksum in a row with that of an entry with this end: `FOUND`, `OVER` or a need."""
    grid, window, len_window = load(state, GRID), load(state, WINDOW), load(state, LEN_WINDOW)
    region = REGIONS + 2 * load(row, CONTENT)
    start, kind = load(state, AT) + load(state, region), load(state, region + 1)
    crc = load(row, COL_CRC)
    line = end // grid
    next_line = (start + grid - 1) // grid * grid
    if next_line >= line * grid:
        if end > window + len_window:  # it is short, so the window ends at an unreadable block
            return OVER
        return FOUND if checksum_of(data, start - window, end - window, kind) == crc else OVER
    if next_line > window + len_window:
        return OVER
    if rare(line > load(state, LAST_LINE)):
        store(state, NEEDED, line)
        return NEEDS_LINES
    tail = tail_of(data, state, tags, cache, line, end, kind)
    if rare(tail < 0):
        return NEEDS_BLOCK
    value = span_of(data, state, lines, powers, start, line, kind)
    reducing = kind * load(state, NUM_POWERS)
    power = load(powers, reducing + _NUM_REDUCING + end - line * grid)
    return FOUND if product(power, value, powers, reducing) ^ tail == crc else OVER


def finder() -> Callable[..., int]:
    """Return a function that finds the first position in a window where an entry has a right checksum."""

    def find(  # noqa: PLR0917
        data: Bytes, state: Longs, row: Longs, lines: Longs, powers: Longs, tags: Longs, cache: Bytes
    ) -> int:
        at, stop, lowest = load(state, AT), load(state, STOP), load(state, LOWEST)
        window, len_window = load(state, WINDOW), load(state, LEN_WINDOW)
        size = load(state, SIZE) - window
        while at < stop:
            status, end = scan_entry(data, at - window, len_window, size, window, row, 0, False, False)
            if status == DONE and load(row, COL_BASE_OFFSET) >= lowest:
                store(state, AT, at)
                status = check_entry(data, state, row, lines, powers, tags, cache, window + end)
                if rare(status != OVER):
                    return status
            at += 1
        store(state, AT, at)
        return OVER

    return find


class Searcher:
    """Search of one source, from a position on.

    Args:
        source: the segment's bytes.
        position: the least position that is searched.
    """

    def __init__(self, source: Source, position: int) -> None:
        self._source, self.position = source, position
        self._find, self._make_lines = Compiled(finder), Compiled(lines_maker)
        self._grid = grid = _FINE if source.size <= _LARGE_FILE else _COARSE
        first_line = position // grid
        num_lines = source.size // grid + 1 - first_line
        powers = [(*_reducing(one), *_powers(one, grid, num_lines)) for one in _POLYNOMIALS]
        self._powers = np.array(powers, np.int64)
        self._lines = np.zeros((2, num_lines), np.int64)
        self._state = state = np.zeros(_NUM_STATE, np.int64)
        self._row = np.zeros(kafka_log_segment.WIDTH, np.int64)
        self._tags = np.full(_NUM_SLOTS, -1, np.int64)
        self._cache = np.empty((_NUM_SLOTS, _LEN_BLOCK), np.uint8)
        state[SIZE], state[GRID], state[NUM_LINES] = source.size, grid, num_lines
        state[FIRST_LINE] = state[LAST_LINE] = first_line
        state[NUM_POWERS] = self._powers.shape[1]
        state[FILE] = lend_file(source, position, source.size - position)
        state[CACHE] = self._cache.ctypes.data
        state[PREAD] = ctypes.cast(ctypes.CDLL(None).pread, ctypes.c_void_p).value or 0
        for at, content in enumerate(kafka_log_segment.CONTENTS):
            ofs_region, function = formats.checksum_region(content.cases[0])
            state[REGIONS + 2 * at : REGIONS + 2 * at + 2] = ofs_region, _CHECKSUMS.index(function)
        names: dict[str, Any] = {"row": self._row, "tags": self._tags, "cache": self._cache}
        for name, array in names.items():
            self._find.set(name, array)
        for name, array in {"state": state, "lines": self._lines, "powers": self._powers}.items():
            self._find.set(name, array)
            self._make_lines.set(name, array)

    def next_place(self, position: int, lowest: int) -> int | None:
        """Return the next position from `position` on of a sound entry with base offset `lowest` or more."""
        self._state[LOWEST] = lowest
        while position < self._source.size:
            size = self._source.size if self._source.is_memory else position + _LEN_WINDOW
            end = min(self._source.size, size)
            try:
                window, following = self._source.read(position, end - position), end
            except ReadError as error:
                bad = position if error.position is None else max(error.position, position)
                following = (bad // BLOCK_SIZE + 1) * BLOCK_SIZE
                window = self._source.read(position, bad - position)
            else:
                if end < self._source.size:  # an entry at the end is searched again with the bytes after it
                    following = end - 3 * self._grid
            stop = min(following, position + len(window))
            found = self._search(window, position, stop) if len(window) else None
            if found is not None:
                return found
            position = following
        return None

    def _search(self, window: bytes | memoryview, position: int, stop: int) -> int | None:
        state = self._state
        view = np.frombuffer(window, np.uint8)
        self._find.place("data", view.ctypes.data, view.size)
        state[AT] = state[WINDOW] = position
        state[STOP], state[LEN_WINDOW] = stop, view.size
        while True:
            status = self._find()
            if status == FOUND:
                return int(state[AT])
            if status == OVER:
                return None
            if status == NEEDS_LINES:
                self._extend(int(state[NEEDED]))
            elif not self._read_block(int(state[NEEDED])):
                state[AT] += 1  # an unreadable entry is not a sound one

    def _extend(self, line: int) -> None:
        """Compute the checksums up to a grid line, and some after it."""
        grid, state = self._grid, self._state
        last = self._source.size // grid
        while state[LAST_LINE] < line:
            start = int(state[LAST_LINE])
            end = min(last, start + _LEN_STEP // grid)
            cells = self._cells(start * grid, end * grid)
            self._make_lines.place("data", cells.ctypes.data, cells.size)
            state[NEEDED] = end
            self._make_lines()

    def _cells(self, start: int, end: int) -> Any:
        """Return whole cells of the grid; zeros, with which no checksum is right, for unreadable ones."""
        try:
            return np.frombuffer(self._source.read(start, end - start), np.uint8)
        except ReadError:
            cells = np.zeros(end - start, np.uint8)
        for at in range(start, end, self._grid):
            try:
                cell = self._source.read(at, self._grid)
            except ReadError:
                continue
            cells[at - start : at - start + self._grid] = np.frombuffer(cell, np.uint8)
        return cells

    def _read_block(self, block: int) -> bool:
        """Read a block of the source into the cache; return False if it is unreadable."""
        slot = (block ^ block >> 12) & (_NUM_SLOTS - 1)
        start = block * _LEN_BLOCK
        try:
            data = self._source.read(start, min(_LEN_BLOCK, self._source.size - start))
        except ReadError:
            return False
        self._cache[slot, : len(data)] = np.frombuffer(data, np.uint8)
        self._tags[slot] = block
        return True


@lru_cache(maxsize=8)
def _powers(polynomial: int, grid: int, num_lines: int) -> tuple[int, ...]:
    """Return powers of x for 0 to `grid` bytes, 0 to `_NUM_NEAR` lines, and multiples of the latter."""
    powers = []
    for num_bytes, count in ((1, grid), (grid, _NUM_NEAR), (grid * _NUM_NEAR, num_lines // _NUM_NEAR + 1)):
        power, step = power_of_x(0, polynomial), power_of_x(8 * num_bytes, polynomial)
        for _ in range(count):
            powers.append(power)
            power = multiply(power, step, polynomial)
    return tuple(powers)


@lru_cache(maxsize=2)
def _reducing(polynomial: int) -> tuple[int, ...]:
    """Return, for each value of each of four bytes, lowest first, its product with x^32."""
    shift = power_of_x(32, polynomial)
    tables: list[int] = []
    for byte in range(4):
        bits = [multiply(shift, 1 << 8 * byte + bit, polynomial) for bit in range(8)]
        table = [0]
        for bit in bits:
            table += [one ^ bit for one in table]
        tables += table
    return tuple(tables)
