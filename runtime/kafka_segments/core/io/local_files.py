"""Local files, including mounted file systems, read without changing the page cache, which a broker needs.

Strategy: before a part is read, `cachestat` (Linux 6.5 and newer) counts its cached pages, and where some are
and some are not, `mincore` shows which. The kernel reads as usual, with read-ahead; after the reader has
passed, pages that were not cached before are dropped (POSIX_FADV_DONTNEED). `mincore` works for the file's
owner, root and users who may write the file. For others, on Linux 6.14 and newer, reads drop their pages
themselves (RWF_DONTCACHE). Where neither is available, pages stay.
`preadv2` with RWF_NOWAIT is no alternative, as it starts reading missing pages (docs/stores.md).
"""

from __future__ import annotations

import ctypes
import mmap
import os
import stat
import sys
import threading
from functools import cache
from operator import attrgetter

from kafka_segments.core.io.file_source import FileSource, identity_of
from kafka_segments.core.io.filesystem import FileEntry, PlacedSource
from kafka_segments.core.io.loggers import get_logger
from kafka_segments.core.io.storage import open_source
from kafka_segments.errors import ReadError

__all__ = ["LocalFiles", "LocalSource", "is_locked", "resident_pages"]

_log = get_logger(__name__)

_CACHESTAT = 451  # number of the system call, which libraries do not name yet
_DONTCACHE = 0x80  # RWF_DONTCACHE of linux/fs.h; Python does not name it yet
_LEN_READ_AHEAD = 16 << 20  # more than the kernel reads ahead of a reader
_LEN_BLOCK = 16 << 20  # is asked about at once
_LEN_FOLIO = 4 << 20  # pages are dropped in whole folios only: some are dropped twice
_LARGEST = 1 << 34  # a byte a page is kept; segments are smaller than 2 GiB
_CACHED = bytes([True])
_LOWEST_BIT = bytes(value & 1 for value in range(256))  # other bits are reserved


class LocalFiles:
    """The `FileSystem` of this machine.

    Args:
        keep_cache: see `Places`.
    """

    def __init__(self, *, keep_cache: bool = True) -> None:
        self._keep_cache = keep_cache

    def entries(self, directory: str) -> list[FileEntry]:
        """List a directory, by name, without files that vanish meanwhile.

        An entry without a status, as a broken link, is a file of 0 bytes: opening it raises the reason.
        """
        try:
            with os.scandir(directory) as found:
                names = sorted(found, key=attrgetter("name"))
        except OSError as error:
            raise _cannot_list(directory, error) from error
        return [entry for entry in map(_listed, names) if entry is not None]

    def entry(self, path: str) -> FileEntry | None:
        """Look up a file or directory; None if it does not exist."""
        try:
            status = os.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise _cannot_list(path, error) from error
        return _entry_of(path, os.path.basename(os.path.normpath(path)), status)

    def open(self, path: str, end: int | None = None) -> PlacedSource:  # noqa: ARG002
        """Open a file for reading; the kernel reads ahead, and `end` is ignored."""
        source = open_source(path, only_files=True, kind=FileSource if self._keep_cache else LocalSource)
        assert isinstance(source, FileSource)
        return source


def is_locked(path: str) -> bool:
    """Whether another process has locked a file, as a broker its `.lock`, without taking a lock.

    Java's FileLock is a POSIX lock (LogManager.lockLogDirs: FileLock.tryLock), which lockf's F_TEST (F_GETLK)
    tests. A file that cannot be tested counts as locked, with a warning: ending early at a high watermark is
    less harmful than returning uncommitted records.
    """
    try:
        # Opening a pipe would wait for a writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        _log.warning("%s: %s; assuming a broker holds this log directory", path, error.strerror)
        return True
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            _log.warning("%s: not a regular file; assuming a broker holds this log directory", path)
            return True
        os.lockf(descriptor, os.F_TEST, 0)
    except OSError as error:
        if not isinstance(error, (PermissionError, BlockingIOError)):
            _log.warning("%s: %s; assuming a broker holds this log directory", path, error.strerror)
        return True
    finally:
        os.close(descriptor)
    return False


def _listed(found: os.DirEntry[str]) -> FileEntry | None:
    """Make the entry of a file; None if it has vanished."""
    try:
        return _entry_of(found.path, found.name, found.stat())
    except OSError as error:
        is_gone = isinstance(error, (FileNotFoundError, NotADirectoryError)) and not found.is_symlink()
        return None if is_gone else FileEntry(found.path, found.name, False, 0, 0, "")


def _entry_of(path: str, name: str, status: os.stat_result) -> FileEntry:
    is_directory = stat.S_ISDIR(status.st_mode)
    size = 0 if is_directory else status.st_size
    return FileEntry(path, name, is_directory, size, status.st_mtime_ns, identity_of(status))


def _cannot_list(path: str, error: OSError) -> ReadError:
    is_missing = isinstance(error, (FileNotFoundError, NotADirectoryError))
    remedy = "check the path" if is_missing else "is it readable for this user?"
    return ReadError(f"{error.strerror or error}: {remedy}", errno=error.errno, path=path)


def resident_pages(descriptor: int, position: int, size: int) -> bytes:
    """Return one byte for each page of a part of a file, 1 if it is cached; 1 for all if that is not known.

    Nothing is read. Users who neither own the file nor may write it get 1 for each page.

    Args:
        descriptor: of the file.
        position: of the start of a page.
        size: bytes.
    """
    num_pages = -(-size // mmap.PAGESIZE)
    num_cached = _num_cached(descriptor, position, size)
    if num_cached in (0, num_pages):
        return bytes([num_cached > 0]) * num_pages
    states = ctypes.create_string_buffer(num_pages)
    try:
        # The map is never accessed, so that a bad sector cannot end the process.
        with mmap.mmap(descriptor, size, access=mmap.ACCESS_COPY, offset=position) as part:
            address = ctypes.addressof(ctypes.c_char.from_buffer(part))
            failed = _libc().mincore(ctypes.c_void_p(address), ctypes.c_size_t(size), states)
    except (OSError, ValueError):  # no memory for the map, or the file has shrunk
        failed = -1
    return _CACHED * len(states) if failed else states.raw.translate(_LOWEST_BIT)


def _num_cached(descriptor: int, position: int, size: int) -> int:
    """Count the cached pages of a part of a file, faster than `mincore` lists them; -1 if it cannot."""
    part, counts = (ctypes.c_uint64 * 2)(position, size), (ctypes.c_uint64 * 5)()
    failed = _libc().syscall(ctypes.c_long(_CACHESTAT), descriptor, part, counts, 0)
    return -1 if failed else counts[0]


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None)


def _tidy_flags(descriptor: int, status: os.stat_result) -> int | None:
    """Flags of `preadv`; 0 if `resident_pages` works for this user. None if nothing keeps the cache."""
    if sys.platform != "linux":
        return None
    if _may_know(descriptor, status):
        return 0
    try:
        # The kernel does not look at the flags of an empty read.
        os.preadv(descriptor, [bytearray(mmap.PAGESIZE)], 0, _DONTCACHE)
    except OSError:
        return None
    return _DONTCACHE


def _may_know(descriptor: int, status: os.stat_result) -> bool:
    """Whether `mincore` works for this user, by the kernel's `can_do_mincore`; else it reports all pages."""
    is_owner = os.geteuid() in (0, status.st_uid)
    return is_owner or os.access(f"/proc/self/fd/{descriptor}", os.W_OK, effective_ids=True)


class LocalSource(FileSource):
    """A local file whose pages that are brought into the page cache are dropped, where that is possible."""

    def __init__(self, name: str, descriptor: int, status: os.stat_result) -> None:
        super().__init__(name, descriptor, status)
        self._flags = _tidy_flags(descriptor, status) if 0 < self.size <= _LARGEST else None
        # A byte a page: 0 if it was not cached before; 1 if it was, or is not known.
        self._pages = bytearray(_CACHED) * (-(-self.size // mmap.PAGESIZE) if self._flags == 0 else 0)
        self._asked: set[int] = set()  # numbers of blocks
        self._last = 0  # position of the last window
        self._lock = threading.Lock()

    @property
    def descriptor(self) -> int:
        """Descriptor of the file; -1 if pages that are read by it could not be dropped."""
        return -1 if self._flags else self._descriptor

    def read(self, position: int, size: int) -> bytes | memoryview:
        """Read exactly `size` bytes."""
        return self.window(position, size, memoryview(bytearray(size)))

    def window(self, position: int, size: int, buffer: memoryview) -> bytes | memoryview:
        """Read exactly `size` bytes, into the buffer if all can be read at once."""
        self._begin(position, size)
        return super().window(position, size, buffer)

    def lend(self, position: int, size: int) -> int:
        """Return a descriptor for reading a part next, in order, by `pread`; -1 if pages would stay."""
        self._begin(position, size)
        return -1 if self._flags else self._descriptor

    def _begin(self, position: int, size: int) -> None:
        """Prepare reading of a part, from its beginning to its end, and drop pages before it."""
        if self._flags == 0 and self._descriptor >= 0:
            self._ask(position, position + size + _LEN_READ_AHEAD)
            self._drop(self._last - _LEN_FOLIO, position // mmap.PAGESIZE)
            self._last = position

    def _ask(self, position: int, end: int) -> None:
        """Query the cached pages of a part before it is read."""
        with self._lock:
            for block in range(position // _LEN_BLOCK, -(-min(end, self.size) // _LEN_BLOCK)):
                if block not in self._asked:
                    self._asked.add(block)
                    start = block * _LEN_BLOCK
                    found = resident_pages(self._descriptor, start, min(_LEN_BLOCK, self.size - start))
                    page = start // mmap.PAGESIZE
                    self._pages[page : page + len(found)] = found

    def _drop(self, position: int, last: int) -> None:
        """Drop the pages from a position to before another page that were not cached before."""
        page = max(0, position) // mmap.PAGESIZE
        while (start := self._pages.find(0, page, last)) >= 0:
            page = self._pages.find(1, start, last)
            page = last if page < 0 else page
            first, size = start * mmap.PAGESIZE, (page - start) * mmap.PAGESIZE
            os.posix_fadvise(self._descriptor, first, size, os.POSIX_FADV_DONTNEED)

    def close(self) -> None:
        """Drop all pages, also those that the kernel has read ahead."""
        if self._descriptor >= 0:
            self._drop(0, len(self._pages))
        super().close()

    def __del__(self) -> None:
        if getattr(self, "_flags", None) is None:
            super().__del__()
        else:
            self.close()
