"""Addresses that a process takes, and a bound on them, as `spark.executor.pyspark.memory` sets one."""

from __future__ import annotations

import resource
from pathlib import Path


def taken() -> int:
    """Bytes of addresses that this process has taken, used or not."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def bound(beyond: int) -> None:
    """Have the system refuse more than so many bytes beyond what is taken."""
    resource.setrlimit(resource.RLIMIT_AS, (taken() + beyond, resource.RLIM_INFINITY))
