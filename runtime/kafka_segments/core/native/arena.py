"""Memory for columns, reused as soon as it is no longer referenced.

Strategy: new memory costs more than decoding into it, for the system clears every page that is touched first.
So an arena holds all arrays of one arrow batch, and every Arrow buffer that points into it holds its lease;
when the last of them is gone, wherever that happens, the arena can be filled again. What is handed out thus
never changes under its reader, and a reader that drops each batch before it takes the next one gets the same
warm memory. Pages that nothing was written to take no memory. An arena that was full and comes back is likely
to be full again: it is replaced by one in huge pages, of which the CPU knows more addresses, and which would
waste memory in arenas that are kept, or that hold little. Memory that will be filled, such as windows that
views point into, is in huge pages from the beginning.
"""

from __future__ import annotations

import ctypes
import mmap
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any

__all__ = ["Arena", "ArenaPool", "Lease", "Scratch", "pool_of"]

_PAGE, _HUGE_PAGE = mmap.PAGESIZE, 2 << 20
_MAX_FREE = 8  # arenas of a kind that wait for use, so that what lies about is bounded
_MAX_KINDS = 8


class Arena:
    """Arrays in one block of memory.

    Args:
        sizes: name and bytes of each array.
        in_huge_pages: have them where the system has any.

    Attributes:
        addresses: of each array, at the beginning of a page.
        dirty: names of arrays that must be reset before rows are appended; maintained by the arena's users.
        is_full: whether it has been full; set by its users.
        is_lasting: whether it is not replaced.
        form: of the Arrow batches for which `tree` is laid out; maintained by the arena's users.

    Raises:
        MemoryError: there is no memory.
    """

    def __init__(self, sizes: Sequence[tuple[str, int]], *, in_huge_pages: bool = False) -> None:
        self.dirty = frozenset(name for name, _size in sizes)
        places, size = {}, 0
        for name, length in sizes:
            places[name] = size
            size += -(-max(length, 1) // _PAGE) * _PAGE
        size = max(size, _PAGE)
        try:  # limits of the address space are lower than memory (`spark.executor.pyspark.memory`)
            self._memory = mmap.mmap(-1, size, flags=mmap.MAP_ANONYMOUS | mmap.MAP_PRIVATE)
        except OSError as error:
            raise MemoryError(f"cannot allocate {size} bytes: {error.strerror}") from error
        self.is_full, self.is_lasting = False, in_huge_pages or size < _HUGE_PAGE
        if in_huge_pages:
            with suppress(AttributeError, OSError):  # of Linux; and not of all its kernels
                self._memory.madvise(mmap.MADV_HUGEPAGE)
        # Holds the mapping open as long as the arena lives.
        self._hold = ctypes.c_char.from_buffer(self._memory)
        base = ctypes.addressof(self._hold)
        self.addresses = {name: base + place for name, place in places.items()}
        self.form: Any = None
        self.tree: Any = None

    def array(self, name: str, width: int, length: int) -> Any:
        """Return the first integers of an array, of `width` bytes, for as long as the arena lives."""
        import numpy as np  # not needed for headers alone

        kind: Any = {1: ctypes.c_int8, 4: ctypes.c_int32, 8: ctypes.c_int64}[width]
        return np.ctypeslib.as_array((kind * length).from_address(self.addresses[name])).view(f"i{width}")


class Lease:
    """An arena in use; when the lease goes, the arena goes back to its pool.

    Attributes:
        arena: it.
        held: what is to live as long.
    """

    __slots__ = ("_free", "arena", "held")

    def __init__(self, arena: Arena, free: deque[Arena]) -> None:
        self.arena = arena
        self.held: Any = None
        self._free = free

    def __del__(self) -> None:
        """Return the arena; runs in the thread that drops the last buffer, so it must not wait for a lock."""
        if hasattr(self, "_free"):  # else Ctrl-C came before it was made
            self._free.append(self.arena)


class ArenaPool:
    """Arenas of one kind; `pool_of` returns the shared pool.

    Args:
        sizes: name and bytes of each array.
    """

    def __init__(self, sizes: Sequence[tuple[str, int]]) -> None:
        self._sizes = sizes
        # Appending to a full one drops the oldest; both ends are safe to use from several threads.
        self._free: deque[Arena] = deque(maxlen=_MAX_FREE)

    def take(self, *, in_huge_pages: bool = False) -> Lease:
        """Return an unused arena, with the content of its last use, or a new one."""
        try:
            arena = self._free.pop()
        except IndexError:
            arena = Arena(self._sizes, in_huge_pages=in_huge_pages)
        else:
            if arena.is_full and not arena.is_lasting:
                arena = Arena(self._sizes, in_huge_pages=True)
        return Lease(arena, self._free)


@lru_cache(maxsize=_MAX_KINDS)
def pool_of(sizes: tuple[tuple[str, int], ...]) -> ArenaPool:
    """Return the pool for a kind of arenas; few pools are kept.

    All threads share it: the next one that reads finds the memory of one that has ended.
    """
    return ArenaPool(sizes)


class Scratch:
    """Memory for a reader's own use; its initial content is arbitrary.

    It is used again once neither this nor `view`, or any part of that, is referenced.

    Args:
        size: bytes.
        is_filled: whether all of it will be written to, so that huge pages waste nothing.

    Attributes:
        view: the memory.
        address: its address.
    """

    def __init__(self, size: int, *, is_filled: bool = False) -> None:
        lease = pool_of((("scratch", size),)).take(in_huge_pages=is_filled)
        self.address = lease.arena.addresses["scratch"]
        memory: Any = (ctypes.c_ubyte * size).from_address(self.address)
        memory.lease = lease
        self.view = memoryview(memory).cast("B")
