"""Whether a topic's files are in the page cache while it is read: a disk is slower than what is compared."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
from tests.bench_spark.corpus import Corpus


def segments_of(corpus: Corpus) -> list[Path]:
    """Its segments."""
    return sorted(corpus.path.glob("*/*.log"))


@contextmanager
def held(corpus: Corpus) -> Iterator[None]:
    """Have a topic's segments in the cache, for whoever reads them.

    Read once would not be enough: there are machines that take pages out again after seconds (Linux' DAMON),
    though not those that somebody has mapped.
    """
    with ExitStack() as stack:
        for path in segments_of(corpus):
            with open(path, "rb") as file:
                mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            stack.callback(mapped.close)
            touch(mapped)
        yield


def touch(mapped: mmap.mmap) -> None:
    """Read a byte of each page."""
    np.frombuffer(mapped, np.uint8)[:: mmap.PAGESIZE].sum()
