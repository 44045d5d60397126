"""Memory in whole pages, from the system itself."""

from __future__ import annotations

import mmap

__all__ = ["new_pages"]


def new_pages(size: int) -> mmap.mmap:
    """Pages full of zeros, which take memory as soon as something is written to them.

    Args:
        size: bytes.

    Raises:
        MemoryError: there are no more, or there is a bound on addresses (`spark.executor.pyspark.memory`).
    """
    try:
        return mmap.mmap(-1, size, flags=mmap.MAP_ANONYMOUS | mmap.MAP_PRIVATE)
    except OSError as error:
        raise MemoryError(f"no {size} bytes: {error.strerror}") from error
