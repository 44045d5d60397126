"""Memory in whole pages, mapped from the system."""

from __future__ import annotations

import mmap

__all__ = ["new_pages"]


def new_pages(size: int) -> mmap.mmap:
    """Map zeroed pages, which use memory once they are written.

    Args:
        size: bytes.

    Raises:
        MemoryError: no memory, or a limit of the address space (`spark.executor.pyspark.memory`).
    """
    try:
        return mmap.mmap(-1, size, flags=mmap.MAP_ANONYMOUS | mmap.MAP_PRIVATE)
    except OSError as error:
        raise MemoryError(f"cannot allocate {size} bytes: {error.strerror}") from error
