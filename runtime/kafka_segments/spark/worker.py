"""What Spark's Python worker does around each task, made cheap: it is most of what a small task costs.

Nothing that a user's own code could see is changed.
"""

from __future__ import annotations

import ctypes
import gc
import os
import resource
import sys
from contextlib import suppress
from zipimport import zipimporter

__all__ = ["tune_worker"]

_M_ARENA_MAX = -8  # of malloc.h

_is_settled = False


def tune_worker() -> None:
    """Once in a worker, which goes on to other tasks.

    Spark collects garbage after each task; over pyspark and pyarrow that takes 30 ms. What is loaded now
    stays, and need not be looked at again.

    Spark 4.0 and 4.1 have Python look for modules anew before each task, for which it reads the tables of
    contents of Spark's own zip files again (60 ms; PythonRunner sends the files of a job with every task).
    That is put off until one of these files has changed.

    Under `spark.executor.pyspark.memory` addresses count, used or not, and the C library reserves 64 MiB of
    them for each thread that allocates anything: threads then share what there is.
    """
    global _is_settled  # noqa: PLW0603
    if not _is_settled:
        if resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY:
            _share_arena()
        gc.freeze()
        for finder in sys.path_importer_cache.values():
            if isinstance(finder, zipimporter):
                _read_when_changed(finder)
        _is_settled = True


def _share_arena() -> None:
    with suppress(AttributeError, OSError):  # another C library than glibc
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)


def _read_when_changed(finder: zipimporter) -> None:
    """Have a finder read its archive again only if that is not the same any more."""
    invalidate, known = finder.invalidate_caches, _stamp(finder.archive)

    def invalidate_if_changed() -> None:
        nonlocal known
        stamp = _stamp(finder.archive)
        if stamp is None or stamp != known:
            invalidate()
            known = stamp

    # Of a zipimporter that is written in C it could not be set; then it is slow as before.
    with suppress(AttributeError):
        finder.invalidate_caches = invalidate_if_changed  # type: ignore[method-assign]


def _stamp(path: str) -> tuple[int, int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns
