"""Bytes to parse from: parts of one buffer that are read like files, down to single bits.

Nothing is copied when a part is cut into parts; only what `read` hands out is.
"""

from __future__ import annotations

from io import BytesIO
from typing import Any

from construct import StreamError


class Window:
    """A part of a buffer, with a place of its own where reading goes on."""

    __slots__ = ("_begin", "_bits", "_data", "_end", "_next", "_num_bits")

    def __init__(self, data: bytes, begin: int = 0, end: int | None = None) -> None:
        self._data = data
        self._begin = self._next = begin
        self._end = len(data) if end is None else end
        self._bits = self._num_bits = 0

    @classmethod
    def over(cls, stream: Any, path: str) -> Window:
        """All that is left of a stream, which may be a window already."""
        if isinstance(stream, Window):
            return stream
        try:
            if isinstance(stream, BytesIO):
                return cls(stream.getvalue(), stream.tell())  # shares the bytes that it was made of
            return cls(stream.read())
        except Exception as error:
            raise StreamError(f"the stream cannot be read: {error}", path=path) from error

    @property
    def size(self) -> int:
        """Bytes from beginning to end."""
        return self._end - self._begin

    @property
    def pos(self) -> int:
        """Where reading goes on, from the beginning."""
        return self._next - self._begin

    @property
    def eof(self) -> bool:
        """Whether nothing is left."""
        return self._next >= self._end and not self._num_bits

    @property
    def num_left(self) -> int:
        """Bytes that are left."""
        return max(self._end - self._next, 0)

    def tell(self) -> int:
        """The same as `pos`, as files call it."""
        return self._next - self._begin

    def seek(self, pos: int) -> None:
        """Continue reading elsewhere, counted from the beginning; after the end there is nothing to read."""
        if pos < 0:
            raise StreamError(f"position {pos} is before the beginning")
        self._num_bits = 0
        self._next = self._begin + pos

    def read(self, size: int = -1) -> bytes:
        """As many bytes, fewer at the end; all that are left by default."""
        self._num_bits = 0
        begin = self._next
        stop = max(begin, self._end) if size < 0 else max(begin, min(begin + size, self._end))
        self._next = stop
        return bytes(self._data[begin:stop])

    def take(self, size: int, path: str) -> bytes:
        """Exactly as many bytes."""
        self._need(size, path)
        return self.read(size)

    def cut(self, size: int, path: str) -> Window:
        """The next bytes as a window of their own; reading continues after them."""
        self._need(size, path)
        self._num_bits = 0
        begin = self._next
        self._next += size
        return Window(self._data, begin, self._next)

    def since(self, begin: int) -> bytes:
        """The bytes from a position up to here."""
        return bytes(self._data[self._begin + begin : self._next])

    def cut_at(self, terminator: int, required: bool, path: str) -> Window:
        """The bytes before a terminator, which is skipped; all that are left if there is none."""
        begin = self._next
        at = self._data.find(bytes([terminator]), begin, self._end)
        if at < 0 and required:
            raise StreamError(f"there is no byte {terminator:#04x} in what is left", path=path)
        part = self.cut((at if at >= 0 else max(self._end, begin)) - begin, path)
        self._next += at >= 0
        return part

    def _need(self, size: int, path: str) -> None:
        if size < 0:
            raise StreamError(f"length must be non-negative, found {size}", path=path)
        if size > self._end - self._next:
            raise StreamError(f"{size} bytes are wanted, {self.num_left} are left", path=path)

    def read_bits(self, width: int, big_endian: bool, path: str) -> int:
        """The next bits as a number; whole bytes are taken as they are needed."""
        bits, have = (self._bits, self._num_bits) if self._num_bits else (0, 0)
        num_bytes = max(0, (width - have + 7) // 8)
        fresh = self.take(num_bytes, path)
        left = have + 8 * num_bytes - width
        if big_endian:
            bits = bits << 8 * num_bytes | int.from_bytes(fresh, "big")
            value, rest = bits >> left, bits & ((1 << left) - 1)
        else:
            bits |= int.from_bytes(fresh, "little") << have
            value, rest = bits & ((1 << width) - 1), bits >> width
        self._bits, self._num_bits = rest, left
        return value


class BitSink:
    """Collects bit fields that lie side by side, and makes whole bytes of them."""

    def __init__(self) -> None:
        self._fields: list[tuple[int, int, bool]] = []

    def write_bits(self, value: int, width: int, big_endian: bool) -> None:
        """Append a field."""
        self._fields.append((value, width, big_endian))

    def getvalue(self) -> bytes:
        """The bytes; bits that nothing fills are 0."""
        total = width_done = 0
        big_endian = True
        for value, width, big_endian in self._fields:
            total = total << width | value if big_endian else total | value << width_done
            width_done += width
        num_bytes = (width_done + 7) // 8
        if big_endian:
            return (total << num_bytes * 8 - width_done).to_bytes(num_bytes, "big")
        return total.to_bytes(num_bytes, "little")


class Endless:
    """The stream of something that is being built, as far as conditions ask how much is left: enough."""

    size = 1 << 62
    pos = 0
    eof = False
