"""Memory in whole pages, from the system itself."""

from __future__ import annotations

import mmap

__all__ = ["new_pages"]


def new_pages(size: int, *, is_shared: bool = False) -> mmap.mmap:
    """Pages full of zeros, which take memory as soon as something is written to them.

    Args:
        size: bytes.
        is_shared: with processes that are forked; what a disk is writing to must not be copied by a fork.

    Raises:
        MemoryError: there are no more, or there is a bound on addresses (`spark.executor.pyspark.memory`).
    """
    flags = mmap.MAP_ANONYMOUS | (mmap.MAP_SHARED if is_shared else mmap.MAP_PRIVATE)
    try:
        return mmap.mmap(-1, size, flags=flags)
    except OSError as error:
        raise MemoryError(f"no {size} bytes: {error.strerror}") from error
