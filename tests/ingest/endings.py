"""Ways in which a run ends before its time: a disk that is full, signals that its process heeds."""

from __future__ import annotations

import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager

# What is run under nohup has its children ignore SIGHUP, and what a shell puts into the background SIGINT.
HEEDING = """
import signal
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)
"""
"""The beginning of a program that signals end as they end one that a user has started."""


@contextmanager
def no_file_above(num_bytes: int) -> Iterator[None]:
    """Let the system refuse to write larger files, as a full disk does, down to what a buffer holds back."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (num_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
