"""Checksums of arbitrary spans of a file, each at the cost of a few KiB.

Strategy: the search for the next entry meets many positions that look like one, and each is checked by a
checksum over the length it claims, be it half of the file. CRCs are linear: with the checksum of all bytes up
to each grid line known, that of the bytes between two lines is `line[j] ^ shift(line[i], distance)`, where
`shift` is a multiplication by a power of x modulo the polynomial (as in zlib's crc32_combine). The lines are
computed once, as far as needed, so a whole search is linear in the size of the file.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable
from functools import cache

from kafka_segments.core.io.storage import BLOCK_SIZE, Source
from kafka_segments.errors import ReadError

__all__ = ["CRC32C_POLYNOMIAL", "CRC32_POLYNOMIAL", "Checksum", "SpanChecksums", "multiply", "power_of_x"]

# Bit-reversed, as the checksums process bits: x^0 is the highest bit.
CRC32_POLYNOMIAL = 0xEDB88320
CRC32C_POLYNOMIAL = 0x82F63B78

_ONE = 1 << 31
_GRID = 4 * BLOCK_SIZE
_STEP = 1 << 20

Checksum = Callable[[bytes | memoryview, int], int]


class SpanChecksums:
    """Checksums of spans of one source.

    Args:
        source: the bytes.
        checksum: the function, `checksum(data, value_so_far)`.
        polynomial: its polynomial, bit-reversed.
    """

    def __init__(self, source: Source, checksum: Checksum, polynomial: int) -> None:
        self._source = source
        self._checksum = checksum
        self._polynomial = polynomial
        self._lines = array("L", [0])  # the checksum of [0, i * _GRID)
        self._unreadable: list[int] = []  # cells of the grid, ascending
        self._powers = [power_of_x(8 * _GRID, polynomial)]  # x to 8 * _GRID * 2^i

    def checksum(self, start: int, end: int) -> int:
        """Return the checksum of `[start, end)`.

        Raises:
            ReadError: some of it cannot be read.
        """
        first, last = -(-start // _GRID), end // _GRID
        if first >= last:
            return self._checksum(self._source.read(start, end - start), 0)
        value = self._checksum(self._source.read(start, first * _GRID - start), 0)
        value = self._shift(value, last - first) ^ self._cells(first, last)
        return self._checksum(self._source.read(last * _GRID, end - last * _GRID), value)

    def _cells(self, first: int, last: int) -> int:
        """Return the checksum of whole cells of the grid."""
        while len(self._lines) <= last:
            self._extend()
        bad = bisect_left(self._unreadable, first)
        if bad < len(self._unreadable) and self._unreadable[bad] < last:
            position = self._unreadable[bad] * _GRID
            raise ReadError("a part of this entry cannot be read", position=position, path=self._source.name)
        return self._shift(self._lines[first], last - first) ^ self._lines[last]

    def _extend(self) -> None:
        start = (len(self._lines) - 1) * _GRID
        size = min(_STEP, (self._source.size - start) // _GRID * _GRID)
        try:
            data = memoryview(self._source.read(start, size))
        except ReadError:
            # Cell by cell: an unreadable one counts as zeros, and a span across it raises.
            self._append_cell(start)
            return
        for at in range(0, size, _GRID):
            self._lines.append(self._checksum(data[at : at + _GRID], self._lines[-1]))

    def _append_cell(self, start: int) -> None:
        try:
            data = self._source.read(start, _GRID)
        except ReadError:
            self._unreadable.append(start // _GRID)
            data = bytes(_GRID)
        self._lines.append(self._checksum(data, self._lines[-1]))

    def _shift(self, value: int, num_cells: int) -> int:
        """Return `value` after `num_cells` cells of zeros, without the checksum's inversions."""
        bit = 0
        while num_cells >> bit:
            if len(self._powers) == bit:
                self._powers.append(multiply(self._powers[-1], self._powers[-1], self._polynomial))
            if num_cells >> bit & 1:
                value = multiply(self._powers[bit], value, self._polynomial)
            bit += 1
        return value


def multiply(one: int, other: int, polynomial: int) -> int:
    """Multiply two polynomials modulo a third."""
    product = 0
    while one:
        if one & _ONE:
            product ^= other
        one = one << 1 & 0xFFFFFFFF
        other = other >> 1 ^ (polynomial if other & 1 else 0)
    return product


@cache
def power_of_x(exponent: int, polynomial: int) -> int:
    """Raise x to a power, modulo the polynomial."""
    power, square = _ONE, _ONE >> 1
    while exponent:
        if exponent & 1:
            power = multiply(power, square, polynomial)
        square = multiply(square, square, polynomial)
        exponent >>= 1
    return power
