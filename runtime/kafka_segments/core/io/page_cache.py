"""Reading of local files without changing the page cache, which the broker needs.

Strategy: before a part of a file is read, `mincore` shows which of its pages are cached. The kernel reads as
usual, with read-ahead; after the reader has passed, pages that were not cached before are dropped
(POSIX_FADV_DONTNEED). `mincore` works for the file's owner, root and users who may write the file. For
others, on Linux 6.14 and newer, reads drop their pages themselves (RWF_DONTCACHE); pages read ahead of a
reader that stops early then stay. Where neither is available, pages stay.

`preadv2` with RWF_NOWAIT is no alternative, as it starts reading missing pages (docs/stores.md).
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import platform
import sys
import threading
from functools import cache
from typing import Any

from kafka_segments.core.io.storage import Source

__all__ = ["TidySource", "read_tidily", "resident_pages", "tidy_source"]

_DONTCACHE = 0x80  # RWF_DONTCACHE of linux/fs.h; Python does not name it yet
_NOT_KNOWN = (errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)
_CACHESTAT = 451  # on all architectures but Alpha
_Part = ctypes.c_uint64 * 2
_Counts = ctypes.c_uint64 * 5  # cached, dirty, under writeback, evicted, recently evicted
_MACHINE = platform.machine()
_MACHINES = ("x86_64", "aarch64", "riscv64", "ppc64le", "s390x")
_LOWEST_BIT = bytes(value & 1 for value in range(256))  # other bits are reserved
_LEN_READ_AHEAD = 16 << 20  # more than the kernel reads ahead of a reader
_LEN_BLOCK = 32 << 20
_LARGEST = 1 << 40  # largest file whose pages are queried at once
_LEN_FOLIO = 4 << 20  # pages are dropped in whole folios only: some are dropped twice


def resident_pages(descriptor: int, position: int, size: int) -> bytes | None:
    """One byte for each page of a part of a file, 1 if it is cached; None if unsupported.

    Nothing is read. Users who neither own the file nor may write it get 1 for each page.

    Args:
        descriptor: of the file.
        position: of the start of a page.
        size: bytes.
    """
    libc = _libc()
    if libc is None:
        return None
    num_pages = -(-size // mmap.PAGESIZE)
    # Since Linux 6.5 counting is 100 times faster than listing, and mostly all or no pages are cached.
    if _MACHINE in _MACHINES:
        part, counts = _Part(position, size), _Counts()
        failed = libc.syscall(_CACHESTAT, descriptor, part, counts, 0)
        if not failed and counts[0] in (0, num_pages):
            return bytes([counts[0] > 0]) * num_pages
    states = ctypes.create_string_buffer(num_pages)
    try:
        # The map is never accessed, so that a bad sector cannot end the process.
        with mmap.mmap(descriptor, size, access=mmap.ACCESS_COPY, offset=position) as part_of_file:
            address = ctypes.addressof(ctypes.c_char.from_buffer(part_of_file))
            failed = libc.mincore(address, size, states)
    except (OSError, ValueError):  # no memory for the map, or the file has shrunk
        return None
    return None if failed else states.raw.translate(_LOWEST_BIT)


@cache
def _libc() -> Any:
    try:
        libc = ctypes.CDLL(None)
        libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
        libc.syscall.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int]
        libc.syscall.restype = ctypes.c_long
    except (OSError, AttributeError):
        return None
    return libc


def tidy_source(source: Source, identity: str, status: os.stat_result) -> TidySource | None:
    """Wrap a file to keep the page cache unchanged; None if unsupported.

    Args:
        source: a file, closed with the returned source.
        identity: of the file, see `FileEntry`.
        status: of the file.
    """
    if source.descriptor < 0 or source.size == 0:
        return None
    flags = _tidy_flags(source.descriptor, status)
    return None if flags is None else TidySource(source, identity, flags)


def read_tidily(descriptor: int, status: os.stat_result, view: memoryview) -> bool:
    """Read a file of a few pages from its beginning, with the page cache as it was where that is supported.

    Args:
        descriptor: of the file.
        status: of the file.
        view: as large as the file, which receives it.

    Returns:
        Whether all of it was read.

    Raises:
        OSError: a part cannot be read.
    """
    flags = _tidy_flags(descriptor, status)
    pages = resident_pages(descriptor, 0, len(view)) if flags == 0 else None
    size = os.preadv(descriptor, [view], 0, flags or 0)
    _drop_new(descriptor, 0, pages or b"")
    return size == len(view)


def _tidy_flags(descriptor: int, status: os.stat_result) -> int | None:
    """Flags of `preadv`; 0 if `resident_pages` works for this user. None if nothing keeps the cache."""
    if sys.platform != "linux" or not hasattr(os, "posix_fadvise"):
        return None
    if _may_know(descriptor, status) and _libc() is not None:
        return 0
    return _DONTCACHE if _knows_dontcache(descriptor) else None


def _may_know(descriptor: int, status: os.stat_result) -> bool:
    """Whether `mincore` works for this user, by the kernel's `can_do_mincore`; else it reports all pages."""
    is_owner = os.geteuid() in (0, status.st_uid)
    return is_owner or os.access(f"/proc/self/fd/{descriptor}", os.W_OK, effective_ids=True)


def _knows_dontcache(descriptor: int) -> bool:
    try:
        os.preadv(descriptor, [bytearray(0)], 0, _DONTCACHE)
    except OSError as error:
        if error.errno in _NOT_KNOWN:
            return False
        raise
    return True


def _drop_new(descriptor: int, base: int, pages: bytes, page: int = 0, last: int | None = None) -> None:
    """Drop the pages that were not cached before.

    Args:
        descriptor: of the file.
        base: position of the first of `pages`.
        pages: a byte a page, 1 if it was cached.
        page: the first page to drop.
        last: the page after the last one; None is the end.
    """
    last = len(pages) if last is None else last
    while (start := pages.find(0, page, last)) >= 0:
        page = pages.find(1, start, last)
        page = last if page < 0 else page
        first, length = base + start * mmap.PAGESIZE, (page - start) * mmap.PAGESIZE
        os.posix_fadvise(descriptor, first, length, os.POSIX_FADV_DONTNEED)


def _blocks(position: int, end: int) -> range:
    """Numbers of the blocks of `_LEN_BLOCK` that a part of a file touches."""
    return range(position // _LEN_BLOCK, -(-end // _LEN_BLOCK))


class TidySource:
    """A `PlacedSource` that drops the pages that it brought into the page cache.

    Args:
        source: the open file, closed with this.
        identity: of the file, see `FileEntry`.
        flags: of `preadv`; 0 if `resident_pages` works for this user.
    """

    is_memory = False

    def __init__(self, source: Source, identity: str, flags: int) -> None:
        self._source = source
        self.name, self.size, self.identity = source.name, source.size, identity
        self._descriptor = source.descriptor
        self._flags = flags
        # By number of a `_LEN_BLOCK`: a byte a page, 1 if it was cached before; empty if unknown.
        self._pages: dict[int, bytes] = {}
        self._lock = threading.Lock()
        self._span = (self.size, 0)  # where our pages may be
        self._last = 0  # position of the last window

    @property
    def descriptor(self) -> int:
        """Descriptor for reads anywhere in the file; -1 if their pages could not be dropped."""
        if self._flags or self.size > _LARGEST:
            return -1
        with self._lock:
            self._learn(0, self.size)
            self._span = (0, self.size)
        return self._descriptor

    def read(self, position: int, size: int) -> bytes | memoryview:
        """Read exactly `size` bytes."""
        return self.window(position, size, memoryview(bytearray(size)))

    def window(self, position: int, size: int, buffer: memoryview) -> bytes | memoryview:
        """Read exactly `size` bytes, into the buffer if all can be read at once."""
        view = buffer[:size]
        self._begin(position, size)
        try:
            if os.preadv(self._descriptor, [view], position, self._flags) == size:
                return view
        except OSError:
            pass  # the plain file finds the unreadable block
        return self._source.read(position, size)

    def lend(self, position: int, size: int) -> int:
        """Return a descriptor for reading a part next, in order, by `pread`; -1 if pages would stay."""
        if self._flags:
            return -1
        self._begin(position, size)
        return self._descriptor

    def _begin(self, position: int, size: int) -> None:
        """Prepare reading of a part, from its beginning to its end."""
        with self._lock:
            self._learn(position, position + size + _LEN_READ_AHEAD)
            self._pass(position, size)

    def _pass(self, position: int, size: int) -> None:
        """Record the next window, and drop pages before it."""
        start, end = self._span
        self._span = (min(start, position), max(end, position + size))
        if start < position <= end:
            self._give_back(max(start, self._last - _LEN_FOLIO), position)
        self._last = position

    def _learn(self, position: int, end: int) -> None:
        """Query the cached pages of a part before it is read."""
        if self._flags:
            return
        for block in _blocks(position, min(end, self.size)):
            if block not in self._pages:
                start = block * _LEN_BLOCK
                pages = resident_pages(self._descriptor, start, min(_LEN_BLOCK, self.size - start))
                self._pages[block] = pages or b""

    def _give_back(self, position: int, end: int) -> None:
        """Drop the pages in a span that were not cached before."""
        for block in _blocks(position, min(end, self.size)):
            pages, base = self._pages.get(block, b""), block * _LEN_BLOCK
            page = max(0, -(-(position - base) // mmap.PAGESIZE))
            last = min(len(pages), (end - base) // mmap.PAGESIZE)
            _drop_new(self._descriptor, base, pages, page, last)

    def close(self) -> None:
        """Drop all pages, also those that the kernel has read ahead."""
        with self._lock:
            if self._descriptor >= 0:
                start, end = self._span
                if start < end:
                    start = start // mmap.PAGESIZE * mmap.PAGESIZE
                    self._give_back(start, min(end, self.size) + _LEN_READ_AHEAD)
                self._descriptor = -1
                self._source.close()

    def __del__(self) -> None:
        try:  # noqa: SIM105 (at interpreter shutdown, contextlib is gone)
            self.close()
        except AttributeError:
            pass  # it was never opened
