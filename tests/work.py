"""What work costs, on slow and busy machines too: what is done is counted, or two times are compared."""

from __future__ import annotations

import math
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

HANGS = 300.0
"""Seconds after which something hangs, on any machine: for what has to end, however long it takes."""


@contextmanager
def at_most(num_calls: int) -> Iterator[None]:
    """Fail at once when more functions are called, of Python or C, here or in threads that begin within."""
    count = 0

    def note(_frame: Any, event: str, _arg: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")
        assert count <= num_calls, f"more than {num_calls:,} calls"

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    assert count <= num_calls, f"more than {num_calls:,} calls"


@contextmanager
def reads_at_most(num_bytes: int) -> Iterator[None]:
    """Fail if more bytes are read of segments in memory; those that are read again count again."""
    from kafka_segments.core.io.storage import _Bytes

    sizes, read = list[int](), _Bytes.read

    def noted(self: _Bytes, position: int, size: int) -> bytes | memoryview:
        sizes.append(size)
        return read(self, position, size)

    with mock.patch.object(_Bytes, "read", noted):
        yield
    assert sum(sizes) <= num_bytes


def check_linear(prepare: Callable[[int], Callable[[], object]], size: int) -> None:
    """See that CPU time does not grow with the square of a size: for machine code, which calls nothing.

    Work of that size, some hundredths of a second, and of four times the size is done in turn, until the
    fastest times differ by less than a factor of ten; it is 16 for the square.
    """
    least = [math.inf, math.inf]
    for number in range(8):
        for at, each in enumerate((size, 4 * size)):
            work = prepare(each)
            started = time.process_time()
            work()
            least[at] = min(least[at], time.process_time() - started)
        if number > 1 and least[1] < 10 * least[0]:
            return
    raise AssertionError(f"seconds for a size and for four times the size: {least}")


def slowness() -> float:
    """How many times as long as on a usual machine that is idle something simple takes now; at least 1."""
    started = time.process_time()
    assert sum(zlib.crc32(b"%d" % number) for number in range(200_000))
    return max(1.0, (time.process_time() - started) / 0.025)
