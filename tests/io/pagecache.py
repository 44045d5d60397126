"""What of a file is in the page cache, and how to have it there or not."""

from __future__ import annotations

import os
from pathlib import Path

from kafka_segments.core.io.local_files import resident_pages


def pages_of(path: Path) -> bytes:
    """A byte a page, 1 if it is in the cache."""
    with path.open("rb") as file:
        found = resident_pages(file.fileno(), 0, path.stat().st_size)
    assert found is not None
    return found


def drop(path: Path) -> None:
    """Have none of it in the cache, unless somebody has it mapped."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def warm(path: Path, start: int, end: int) -> None:
    """Have this part and nothing else in the cache."""
    drop(path)
    with path.open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
        for position in range(start, end, 1 << 20):
            os.pread(file.fileno(), min(1 << 20, end - position), position)
