"""Parts of a file that hold data: all of it but the holes of a sparse file, and the zeros at its end.

A hole reads as zeros. No entry begins inside one, except for zeros that its first field begins with.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator

from kafka_segments.core.formats import LEN_PREFIX
from kafka_segments.core.io.storage import Source, Window
from kafka_segments.core.segment.scan.entry_check import Probe
from kafka_segments.errors import ReadError

__all__ = ["Extent", "extents_of"]

Extent = tuple[int, int]
"""Positions of the first byte and of the one after the last."""

_LEN_BLOCK, _MOST_ZEROS = 4 << 10, 256 << 10
_UNSUPPORTED = {errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP}


def extents_of(source: Source) -> list[Extent]:
    """List the parts of a source in which an entry may begin, in order.

    The zeros at the end are in none of them: a broker that is stopped in an orderly way has cut them off, the
    others preallocate segments (`preallocate`).

    Raises:
        ReadError: the file cannot be read.
    """
    end = Probe(source, Window(source)).zeros_position
    if source.size - end < LEN_PREFIX:  # zeros of the last record
        end = source.size
    found: list[Extent] = []
    for start, full_stop in _data(source, end):
        stop = full_stop if full_stop >= end else _without_zeros(source, start, full_stop)
        # The first bytes of an entry may be zeros, and lie in the hole before its other bytes.
        begin = max(start - LEN_PREFIX, found[-1][1] if found else 0)
        if found and found[-1][1] == begin:
            begin = found.pop()[0]
        found.append((begin, stop))
    return found


def _without_zeros(source: Source, start: int, stop: int) -> int:
    """Where the zeros before a hole begin: what a file system stores of a hole's first block is no data."""
    end = stop
    while end > start and stop - end < _MOST_ZEROS:
        size = min(_LEN_BLOCK, end - start)
        data = bytes(source.read(end - size, size)).rstrip(b"\0")
        end += len(data) - size
        if data:
            break
    return end


def _data(source: Source, end: int) -> Iterator[Extent]:
    position = 0
    while position < end:
        start, stop = position, end
        if source.descriptor >= 0 and hasattr(os, "SEEK_DATA"):
            try:
                start = os.lseek(source.descriptor, position, os.SEEK_DATA)
                stop = min(os.lseek(source.descriptor, start, os.SEEK_HOLE), end)
            except OSError as error:
                if error.errno not in _UNSUPPORTED:
                    detail = f"its holes cannot be found: {error.strerror}"
                    raise ReadError(detail, position=position, path=source.name) from error
        yield start, stop
        position = stop
