"""What of a file is in Linux's page cache."""

from __future__ import annotations

import ctypes
import os
from functools import cache
from typing import Any

__all__ = ["can_tell", "resident_pages"]

_PROT_READ, _MAP_SHARED, _MAP_FAILED = 1, 1, 2**64 - 1
_CACHESTAT = 451  # the same on all machines but Alpha
_NUM_COUNTS = 5  # cached, dirty, under writeback, evicted, recently evicted
_MACHINES = ("x86_64", "aarch64", "riscv64", "ppc64le", "s390x")
_LOWEST_BIT = bytes(value & 1 for value in range(256))  # the others are reserved


def can_tell() -> bool:
    """Whether the system's library has the calls for it."""
    return _libc() is not None


def resident_pages(descriptor: int, position: int, size: int) -> bytes | None:
    """A byte a page of a part of a file, 1 if it is in the page cache; None if the system does not say.

    Nothing is read, or brought in. Who neither owns the file nor may write it is told that all of it is there
    (`can_do_mincore` of the kernel).

    Args:
        descriptor: of the file.
        position: where a page begins.
        size: bytes.
    """
    libc = _libc()
    if libc is None:
        return None
    num_pages = -(-size // os.sysconf("SC_PAGE_SIZE"))
    # Linux 6.5 counts a hundred times as fast as it lists, and mostly all or nothing is there.
    num_cached = _num_cached(libc, descriptor, position, size)
    if num_cached in (0, num_pages):
        return bytes([num_cached > 0]) * num_pages
    # The part is mapped, and the map not looked at: so no bad sector can end the process.
    address = libc.mmap(None, size, _PROT_READ, _MAP_SHARED, descriptor, position)
    if address in (None, _MAP_FAILED):
        return None
    states = ctypes.create_string_buffer(num_pages)
    try:
        if libc.mincore(address, size, states) != 0:
            return None
    finally:
        libc.munmap(address, size)
    return states.raw.translate(_LOWEST_BIT)


def _num_cached(libc: Any, descriptor: int, position: int, size: int) -> int:
    """-1 if the system does not say."""
    if not _has_cachestat():
        return -1
    part, counts = (ctypes.c_uint64 * 2)(position, size), (ctypes.c_uint64 * _NUM_COUNTS)()
    failed = libc.syscall(_CACHESTAT, descriptor, part, counts, 0)
    return -1 if failed else int(counts[0])


@cache
def _has_cachestat() -> bool:
    return os.uname().machine in _MACHINES


@cache
def _libc() -> Any:
    try:
        libc = ctypes.CDLL(None)
        libc.mmap.restype = ctypes.c_void_p
        long, pointer, int_ = ctypes.c_size_t, ctypes.c_void_p, ctypes.c_int
        libc.mmap.argtypes = [pointer, long, int_, int_, int_, ctypes.c_long]
        libc.mincore.argtypes = [pointer, long, pointer]
        libc.munmap.argtypes = [pointer, long]
        libc.syscall.restype = ctypes.c_long
        libc.syscall.argtypes = [ctypes.c_long, int_, pointer, pointer, int_]
    except (OSError, AttributeError):
        return None
    return libc
