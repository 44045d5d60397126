"""Sequential reading of an object in a store, with read-ahead.

Strategy: the first request gets little more than it asks for, as it may be for a header or an index. Each
further sequential request gets more, up to pieces of 8 MiB; from 1 MiB on the next two pieces are requested
while the reader works on the current one. A jump starts over. So there are never more than five pieces, 40
MiB, and stopping early costs little. Their memory is reused for the next source, as mapping memory costs more
than filling it. Without more threads (Spark limits the address space of workers), pieces are read in the
reader's own; without more memory, there is no read-ahead.
"""

from __future__ import annotations

import mmap
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Protocol

from kafka_segments.core.io.memory import new_pages
from kafka_segments.errors import StoreError

__all__ = ["LEN_PIECE", "NUM_AHEAD", "AheadSource"]

LEN_PIECE = 8 << 20
NUM_AHEAD = 2
_MOST_PIECES = NUM_AHEAD + 3
_LEN_FIRST = 64 << 10
_LEN_AHEAD_FROM = 1 << 20
_GROWTH = 4

# Memory of released pieces, for reuse.
_spare: list[mmap.mmap] = []


class Ranges(Protocol):
    """Source of pieces."""

    address: str

    @property
    def size(self) -> int:
        """Size in bytes."""
        ...

    @property
    def identity(self) -> str:
        """Identity of the object, see `FileEntry`."""
        ...

    def fetch(self, position: int, view: memoryview) -> None:
        """Fill `view` from a position on; called from several threads at the same time."""
        ...

    def close(self) -> None:
        """Release resources."""
        ...


class AheadSource:
    """A `PlacedSource` that reads ahead; threads take turns.

    Args:
        ranges: the object; closed with this.
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
                data = self._wait(piece)[at - piece.position :][: position + size - at]
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
        is_whole = end - position > LEN_PIECE // 2
        memory = self._spare_memory() if is_whole else new_pages(end - position)
        piece = _Piece(self._ranges, (position, end), memory)
        self._pieces.append(piece)
        self._bound()
        self._pieces.sort(key=lambda one: one.position)
        return piece

    def _spare_memory(self) -> mmap.mmap:
        try:
            return _spare.pop()
        except IndexError:  # another source has taken the last one
            return new_pages(LEN_PIECE)

    def _give_back(self, pieces: Sequence[_Piece]) -> None:
        """Keep the memory of pieces that are no longer read or filled."""
        for piece in pieces:
            if len(piece.memory) == LEN_PIECE and piece.is_sound:
                _spare.append(piece.memory)
        self._bound()

    def _bound(self) -> None:
        """Free spare memory above the bound, together with the current pieces."""
        del _spare[max(0, _MOST_PIECES - len(self._pieces)) :]

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

    def _wait(self, piece: _Piece) -> memoryview:
        try:
            return piece.wait()
        except StoreError:
            self._pieces.remove(piece)
            raise

    def _forget(self, position: int) -> None:
        """Release pieces before a position, but for the last one, in which the next window may begin."""
        before = [piece for piece in self._pieces if piece.end <= position]
        ahead = [piece for piece in self._pieces if piece.end > position]
        near = [piece for piece in ahead if piece.position <= position + NUM_AHEAD * LEN_PIECE]
        self._pieces = before[-1:] + near[: NUM_AHEAD + 2]
        self._give_back(before[:-1])

    def close(self) -> None:
        """Release everything; running requests end by themselves."""
        with self._lock:
            if not self._is_closed:
                self._is_closed = True
                pieces, self._pieces = self._pieces, []
                self._give_back(pieces)
                self._ranges.close()


class _Piece:
    """A range being read into memory, in its own thread if possible."""

    def __init__(self, ranges: Ranges, span: tuple[int, int], memory: mmap.mmap) -> None:
        self.position, self.end = span
        self.memory = memory
        self.is_sound = False
        self._view = memoryview(memory)[: self.end - self.position]
        self._ranges = ranges
        self._error: StoreError | None = None
        self._done = threading.Event()
        thread = threading.Thread(target=self._run, name="kafka-segments-ahead", daemon=True)
        try:
            thread.start()
        except (RuntimeError, MemoryError):
            self._run()

    def _run(self) -> None:
        try:
            self._ranges.fetch(self.position, self._view)
            self.is_sound = True
        except StoreError as error:
            self._error = error
        except BaseException as error:
            self._error = StoreError(f"reading failed: {type(error).__name__}", path=self._ranges.address)
        finally:
            self._done.set()

    def wait(self) -> memoryview:
        """Wait for its bytes, as long as the ranges' own time limit."""
        self._done.wait()
        if self._error is not None:
            raise self._error
        return self._view
