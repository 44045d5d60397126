"""Holes of a file, which are read as zeros: the file system knows of them, so nobody has to read."""

from __future__ import annotations

import errno
import os

from kafka_segments.io.storage import Source

__all__ = ["hole_before"]

_SEEK_DATA: int | None = getattr(os, "SEEK_DATA", None)


def hole_before(source: Source, end: int) -> int:
    """Where the hole begins that reaches up to `end`; `end` itself if none is known of.

    Only of a file that is open here something is known, and of one that is none the file system says so.
    """
    if source.descriptor < 0 or _SEEK_DATA is None:
        return end
    low, high = 0, end
    try:
        if os.fstat(source.descriptor).st_size < end:  # it shrank, and there is no hole behind its end
            return end
        place = os.lseek(source.descriptor, 0, os.SEEK_CUR)  # of standard input, which is not ours alone
        while low < high:
            middle = (low + high) // 2
            data = _next_data(source.descriptor, middle, _SEEK_DATA)
            low, high = (low, middle) if data is None or data >= end else (data + 1, high)
        os.lseek(source.descriptor, place, os.SEEK_SET)
    except OSError:
        return end
    return high


def _next_data(descriptor: int, position: int, seek_data: int) -> int | None:
    """Where the first byte from a position on is that is in no hole; None if there is none."""
    try:
        return os.lseek(descriptor, position, seek_data)
    except OSError as error:
        if error.errno == errno.ENXIO:
            return None
        raise
