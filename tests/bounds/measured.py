"""Reads a file in a process of its own, and says what that took: `python -m tests.bounds.measured`."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import kafka_segments
from kafka_segments.cli.main import main
from kafka_segments.segment import fast_rows

__all__ = ["WAYS"]

_LARGEST_ADDRESS_SPACE = 6 << 30  # a process that would take more is stopped before the machine is short
_MOST_CPU = 300  # seconds: more than any test allows, so that it can tell what was taken


def _events(path: str, told: Counter[str]) -> None:
    with kafka_segments.open_segment(path) as segment:
        told.update(type(event).__name__ for event in segment.iter_events(on_damage="skip"))


def _fast_events(path: str, told: Counter[str]) -> None:
    with kafka_segments.open_segment(path) as segment:
        told.update(type(event).__name__ for event in segment.iter_events(on_damage="skip", rows=fast_rows()))


def _batches(path: str, told: Counter[str]) -> None:
    damage: list[str] = []
    with kafka_segments.open_segment(path) as segment:
        for batch in segment.read_batches(on_damage=lambda one: damage.append(str(one.error))):
            told["Record"] += batch.num_rows
    told["Damage"] = len(damage)


def _headers(path: str, told: Counter[str]) -> None:
    with kafka_segments.open_segment(path) as segment:
        told["Batch"] = segment.read_headers(on_damage="skip").num_rows


def _dump(path: str, told: Counter[str]) -> None:
    with open(os.devnull, "w", encoding="utf-8") as nowhere, contextlib.redirect_stdout(nowhere):
        told["status"] = main(["dump", path, "--format", "jsonl"])


WAYS: dict[str, Callable[[str, Counter[str]], None]] = {
    "iter_events": _events,
    "iter_events with fast rows": _fast_events,
    "read_batches": _batches,
    "read_headers": _headers,
    "dump": _dump,
}


def _cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def _peak() -> float:
    """MiB; `ru_maxrss` would begin with what the parent had when it made this process."""
    lines = Path("/proc/self/status").read_text("ascii").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:"))


def measure(path: str, ways: list[str]) -> None:
    """Read a file in some ways; print for each the seconds of CPU, the peak in MiB so far, and what came."""
    resource.setrlimit(resource.RLIMIT_AS, (_LARGEST_ADDRESS_SPACE, _LARGEST_ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_CPU, (_MOST_CPU, _MOST_CPU))
    for way in ways:
        before, told = _cpu(), Counter[str]()
        WAYS[way](path, told)
        print(json.dumps({"way": way, "cpu": _cpu() - before, "peak": _peak(), "told": told}), flush=True)


if __name__ == "__main__":
    measure(sys.argv[1], sys.argv[2:])
