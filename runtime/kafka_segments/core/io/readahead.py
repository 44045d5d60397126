"""Sequential reading of an object in a store, with read-ahead.

Strategy: the first request gets little more than it asks for, as it may be for a header or an index. Each
further sequential request gets more, up to pieces of 8 MiB; from 1 MiB on the next two pieces are requested
while the reader works on the current one. A jump starts over. So there are never more than five pieces, 40
MiB, and stopping early costs little. Without more memory, there is no read-ahead.
"""

from __future__ import annotations

import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, Protocol

from kafka_segments.core.io.store_requests import start, wait_for
from kafka_segments.errors import KafkaFormatError, StoreError

__all__ = ["LEN_PIECE", "NUM_AHEAD", "AheadSource"]

LEN_PIECE = 8 << 20
NUM_AHEAD = 2
_LEN_FIRST = 64 << 10
_LEN_AHEAD_FROM = 1 << 20
_GROWTH = 4


class Ranges(Protocol):
    """Source of pieces: a file with its address, size, and identity as in `FileEntry`."""

    address: str
    size: int
    identity: str

    def fetch(self, position: int, view: memoryview) -> Coroutine[Any, Any, None]:
        """Fill `view` from a position on; several may be under way, and some are given up."""
        ...


class _Piece:
    """A range that is being read into memory."""

    def __init__(self, ranges: Ranges, position: int, end: int) -> None:
        self.position, self.end = position, end
        self.data = memoryview(bytearray(end - position))
        self.future: Future[None] = start(ranges.fetch(position, self.data))


class AheadSource:
    """A `PlacedSource` that reads ahead; threads take turns.

    Args:
        ranges: the object, of which nothing needs to be closed.
        end: position where read-ahead stops; None is the object's end.
    """

    descriptor = -1
    is_memory = False

    def __init__(self, ranges: Ranges, end: int | None = None) -> None:
        self._ranges = ranges
        self.name, self.size, self.identity = ranges.address, ranges.size, ranges.identity
        self._end = self.size if end is None else min(end, self.size)
        self._lock = threading.Lock()
        self._pieces: list[_Piece] = []  # by position
        self._last = (0, 0)  # the previous request
        self._len_next = _LEN_FIRST
        self._is_closed = False

    def read(self, position: int, size: int) -> bytes | memoryview:
        """Read exactly `size` bytes."""
        return self.window(position, size, memoryview(bytearray(size)))

    def window(self, position: int, size: int, buffer: memoryview) -> bytes | memoryview:
        """Read exactly `size` bytes into the buffer."""
        view = buffer[:size]
        with self._lock:
            if self._is_closed:
                raise StoreError("it was closed", path=self.name)
            if position + size > self.size:
                detail = f"{size} bytes at position {position} were requested, but it has {self.size}"
                raise StoreError(detail, path=self.name)
            if not self._last[0] <= position <= self._last[1]:
                self._len_next = _LEN_FIRST
            self._last = (position, position + size)
            at = position
            while at < position + size:
                piece = self._piece_at(at) or self._begin(at, position + size - at)
                self._go_ahead(piece)
                self._wait(piece)
                data = piece.data[at - piece.position :][: position + size - at]
                view[at - position : at - position + len(data)] = data
                at += len(data)
                self._forget(at)
        return view

    def _piece_at(self, position: int) -> _Piece | None:
        return next((piece for piece in self._pieces if piece.position <= position < piece.end), None)

    def _begin(self, position: int, needed: int) -> _Piece:
        """Request a piece that was not read ahead."""
        self._len_next = min(max(self._len_next, needed), LEN_PIECE)
        piece = self._ask(position, max(min(needed, LEN_PIECE), min(self._len_next, self._end - position)))
        self._len_next = min(_GROWTH * self._len_next, LEN_PIECE)
        return piece

    def _ask(self, position: int, size: int) -> _Piece:
        """Request a piece up to a size, or up to the next piece."""
        end = min(position + size, self.size)
        end = min([end, *(piece.position for piece in self._pieces if piece.position > position)])
        piece = _Piece(self._ranges, position, end)
        self._pieces = sorted([*self._pieces, piece], key=lambda one: one.position)
        return piece

    def _go_ahead(self, piece: _Piece) -> None:
        """Request the next pieces, if the reading is sequential."""
        if piece.end - piece.position < _LEN_AHEAD_FROM:
            return
        end = piece.end
        with suppress(MemoryError):
            for _ in range(NUM_AHEAD):
                if end >= self._end:
                    break
                following = self._piece_at(end) or self._ask(end, min(LEN_PIECE, self._end - end))
                end = following.end

    def _wait(self, piece: _Piece) -> None:
        try:
            wait_for(piece.future)
        except BaseException as error:
            self._pieces.remove(piece)
            if isinstance(error, KafkaFormatError) or not isinstance(error, Exception):
                raise
            raise StoreError(f"reading failed: {type(error).__name__}", path=self.name) from None

    def _forget(self, position: int) -> None:
        """Release pieces before a position, but for the last one, in which the next window may begin."""
        before = [piece for piece in self._pieces if piece.end <= position]
        ahead = [piece for piece in self._pieces if piece.end > position]
        near = [piece for piece in ahead if piece.position <= position + NUM_AHEAD * LEN_PIECE]
        self._keep(before[-1:] + near[: NUM_AHEAD + 2])

    def _keep(self, pieces: list[_Piece]) -> None:
        """Keep some of the pieces, and give up the others."""
        for piece in self._pieces:
            if piece not in pieces:
                piece.future.cancel()
        self._pieces = pieces

    def close(self) -> None:
        """Release everything, and give up what is under way."""
        with self._lock:
            if not self._is_closed:
                self._is_closed = True
                self._keep([])
