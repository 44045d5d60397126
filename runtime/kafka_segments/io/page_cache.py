"""Reading local files without leaving them in the page cache, which is the broker's.

Strategy: before a part of a file is read, `mincore` says which of its pages are in the cache. Where none is,
the disk is read past the cache (see `direct`). Where some are, or past it is no way, the cache is read
through; what is there beside these when the reader has passed is given up (POSIX_FADV_DONTNEED), and at the
end what the kernel has read ahead, too. `mincore` tells the truth to the file's owner, to root and to who may
write the file. For others Linux 6.14 and newer are asked with each read to keep no page that was not there
(RWF_DONTCACHE); what was read ahead of a reader that stops early is then left, and it is half as fast. Where
neither can be had, nothing is done.

`preadv2` with RWF_NOWAIT would tell everybody what is in the cache, but not truly: a page that another reader
has marked for read-ahead sets off that of our descriptor, whatever it was advised, and what comes looks as
if it had been there.
"""

from __future__ import annotations

import errno
import os
import sys
import threading

from kafka_segments.errors import StoreError
from kafka_segments.io.cached_pages import can_tell, resident_pages
from kafka_segments.io.direct_reads import open_direct
from kafka_segments.io.readahead import AheadSource
from kafka_segments.io.storage import Source

__all__ = ["TidySource", "tidy_source"]

_DONTCACHE = 0x80  # RWF_DONTCACHE of linux/fs.h; Python does not name it yet
_NOT_KNOWN = (errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)
_LEN_READ_AHEAD = 16 << 20  # more than the kernel reads ahead of a reader
_LEN_STRETCH = 32 << 20
_LARGEST = 1 << 40  # who reads past us leaves pages anywhere, so that all of them are asked for before
_SMALL = 64 << 10  # bytes of a file that is sooner read through the cache than past it
_LEN_FOLIO = 4 << 20  # pages come in groups, and a group goes only as a whole: some are given up twice


def tidy_source(
    source: Source, identity: str, status: os.stat_result, end: int | None = None
) -> TidySource | None:
    """The same file, read so; None if that cannot be had here.

    Args:
        source: a file; it is closed with what is returned.
        identity: see `Entry`.
        status: of the file.
        end: see `FileSystem.open`.
    """
    is_linux = sys.platform == "linux" and hasattr(os, "posix_fadvise")
    if not is_linux or source.descriptor < 0 or source.size == 0:
        return None
    if _may_know(source, status) and can_tell():
        return TidySource(source, identity, 0, end)
    return TidySource(source, identity, _DONTCACHE, end) if _knows_dontcache(source.descriptor) else None


def _may_know(source: Source, status: os.stat_result) -> bool:
    """As `can_do_mincore` of the kernel decides; others are told that every page is there."""
    is_owner = os.geteuid() in (0, status.st_uid)
    return is_owner or os.access(f"/proc/self/fd/{source.descriptor}", os.W_OK, effective_ids=True)


def _knows_dontcache(descriptor: int) -> bool:
    try:
        os.preadv(descriptor, [bytearray(0)], 0, _DONTCACHE)
    except OSError as error:
        if error.errno in _NOT_KNOWN:
            return False
        raise
    return True


def _stretches(position: int, end: int) -> range:
    """The stretches that a part of a file touches."""
    return range(position // _LEN_STRETCH, -(-end // _LEN_STRETCH))


class TidySource:
    """See `PlacedSource`.

    Args:
        source: the open file, closed with this.
        identity: see `Entry`.
        flags: to read with; 0 is for who may know what is in the cache.
        end: see `FileSystem.open`.
    """

    is_memory = False

    def __init__(self, source: Source, identity: str, flags: int, end: int | None) -> None:
        self._source = source
        self.name, self.size, self.identity = source.name, source.size, identity
        self._descriptor = source.descriptor
        self._flags = flags
        self._page = os.sysconf("SC_PAGE_SIZE")
        # By stretches of `_LEN_STRETCH`, a byte a page, 1 if it was in the cache; none if nobody knows.
        self._pages: dict[int, bytes] = {}
        self._lock = threading.Lock()
        self._span = (self.size, 0)  # where pages of ours may be
        self._last = 0  # the last window's position
        self._end = end
        self._direct: AheadSource | None = None
        self._may_go_direct = True  # until it is seen that it cannot

    @property
    def descriptor(self) -> int:
        """For those who read past us, if it can be known afterwards what they have left behind."""
        if self._flags or self.size > _LARGEST:
            return -1
        with self._lock:
            self._learn(0, self.size)
            self._span = (0, self.size)
        return self._descriptor

    def read(self, position: int, size: int) -> bytes | memoryview:
        """See `Source`."""
        return self.window(position, size, memoryview(bytearray(size)))

    def window(self, position: int, size: int, buffer: memoryview) -> bytes | memoryview:
        """See `Source`."""
        view = buffer[:size]
        with self._lock:
            self._learn(position, position + size + _LEN_READ_AHEAD)
            is_cold = self.size > _SMALL and self._is_cold(position, position + size)
            direct = self._past_cache() if is_cold else None
            if direct is None:
                self._pass(position, size)
        if direct is not None:
            try:
                return direct.window(position, size, buffer)
            except (StoreError, MemoryError):
                self._may_go_direct = False
                return self.window(position, size, buffer)
        try:
            if os.preadv(self._descriptor, [view], position, self._flags) == size:
                return view
        except OSError:
            pass  # the plain file finds out which block it is, and words it
        return self._source.read(position, size)

    def _past_cache(self) -> AheadSource | None:
        if self._direct is None and self._may_go_direct:
            self._direct = open_direct(self._descriptor, self.name, self.size, self._end)
            self._may_go_direct = self._direct is not None
        return self._direct if self._may_go_direct else None

    def _is_cold(self, position: int, end: int) -> bool:
        """Whether no page of a part is in the cache, as far as that is known."""
        for stretch in _stretches(position, end):
            pages, base = self._pages.get(stretch, b""), stretch * _LEN_STRETCH
            first, behind = max(0, position - base) // self._page, -(-(end - base) // self._page)
            if not pages or pages.find(1, first, behind) >= 0:
                return False
        return position < end <= self.size

    def _pass(self, position: int, size: int) -> None:
        """Take note of what will be read through the cache, and let go of what lies behind it."""
        start, end = self._span
        self._span = (min(start, position), max(end, position + size))
        if start < position <= end:
            self._give_up(max(start, self._last - _LEN_FOLIO), position)
        self._last = position

    def _learn(self, position: int, end: int) -> None:
        """Find out what is in the cache, before anything is read there."""
        if self._flags:
            return
        for stretch in _stretches(position, min(end, self.size)):
            if stretch not in self._pages:
                start = stretch * _LEN_STRETCH
                pages = resident_pages(self._descriptor, start, min(_LEN_STRETCH, self.size - start))
                self._pages[stretch] = pages or b""

    def _give_up(self, position: int, end: int) -> None:
        """Let go of the pages that lie wholly in a span and were not there before."""
        for stretch in _stretches(position, min(end, self.size)):
            pages, base = self._pages.get(stretch, b""), stretch * _LEN_STRETCH
            page = max(0, -(-(position - base) // self._page))
            last = min(len(pages), (end - base) // self._page)
            while (start := pages.find(0, page, last)) >= 0:
                page = pages.find(1, start, last)
                page = last if page < 0 else page
                length = (page - start) * self._page
                os.posix_fadvise(self._descriptor, base + start * self._page, length, os.POSIX_FADV_DONTNEED)

    def close(self) -> None:
        """Let go of everything, what the kernel has read ahead too."""
        with self._lock:
            if self._descriptor >= 0:
                start, end = self._span
                if start < end:
                    start = start // self._page * self._page
                    self._give_up(start, min(end, self.size) + _LEN_READ_AHEAD)
                self._descriptor = -1
                self._source.close()
                if self._direct is not None:
                    self._direct.close()
                    self._direct = None

    def __del__(self) -> None:
        try:  # noqa: SIM105 (when Python is being taken apart, contextlib is gone)
            self.close()
        except AttributeError:
            pass  # it was never opened
