"""Plugin of pytest, for valgrind: an arena is blocks of the heap, freed when nothing refers to them."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Sequence

from kafka_segments.core.native import arena

LIBC = ctypes.CDLL(None)
LIBC.aligned_alloc.restype = ctypes.c_void_p
LIBC.aligned_alloc.argtypes = (ctypes.c_size_t, ctypes.c_size_t)
LIBC.free.argtypes = (ctypes.c_void_p,)


class HeapArena(arena.Arena):
    """An arena of which valgrind knows each array's end, and which bytes were set."""

    def __init__(self, sizes: Sequence[tuple[str, int]], **_options: bool) -> None:
        super().__init__([(name, 1) for name, _size in sizes])
        self.addresses = {name: LIBC.aligned_alloc(64, size) for name, size in sizes}
        for address in self.addresses.values():
            weakref.finalize(self, LIBC.free, address).atexit = False  # batches live longer


arena.Arena = HeapArena  # type: ignore[misc]
arena._MAX_FREE = 0
