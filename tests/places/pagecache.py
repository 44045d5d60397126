"""What of a file is in the page cache, and how to have it there or not."""

from __future__ import annotations

import os
from pathlib import Path

from kafka_segments.places.pages import resident_pages


def pages_of(path: Path) -> bytes:
    """A byte a page, 1 if it is in the cache."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        found = resident_pages(descriptor, 0, path.stat().st_size)
    finally:
        os.close(descriptor)
    assert found is not None
    return found


def drop(path: Path) -> None:
    """Have none of it in the cache, unless somebody has it mapped."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)


def warm(path: Path, start: int, end: int) -> None:
    """Have this part and nothing else in the cache."""
    drop(path)
    descriptor = os.open(path, os.O_RDONLY)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_RANDOM)
    for position in range(start, end, 1 << 20):
        os.pread(descriptor, min(1 << 20, end - position), position)
    os.close(descriptor)
