"""Reads files in a process of its own, and says what each took: `python -m tests.bounds.measured PATHS WAY`.

With `--without-numba` in front of the rest, as where the extra `arrow` is not installed.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import resource
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias
from unittest import mock

from tests import work

import kafka_segments
from kafka_segments.cli.main import main
from kafka_segments.core.segment.segment import fast_rows

__all__ = ["DISK_VERBS", "READING", "VERBS", "WITHOUT_NUMBA"]

_LARGEST_ADDRESS_SPACE = 6 << 30  # a process that would take more is stopped before the machine is short
_Way: TypeAlias = Callable[[str, Counter[str]], None]
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


def _verb(*arguments: str) -> _Way:
    """A way by a verb of the command line, its output thrown away."""

    def run(path: str, told: Counter[str]) -> None:
        with tempfile.TemporaryDirectory(dir=Path(path).parents[1]) as folder:
            places = {"PATH": path, "MADE": str(Path(folder) / "made.log")}
            with open(os.devnull, "w", encoding="utf-8") as nowhere, contextlib.redirect_stdout(nowhere):
                told["status"] = main([places.get(one, one) for one in arguments])

    return run


def _report(path: str, told: Counter[str]) -> None:
    """A page without charts: the renderer reserves more addresses than the bound, and gets bounded data."""
    from kafka_segments.report import chart_svg, page  # the renderer's library is large

    with mock.patch.object(chart_svg, "check_addresses"), mock.patch.object(page, "svg_of", _drawn):
        _verb("report", "PATH", "-o", "MADE", "--with-payload")(path, told)


def _drawn(chart: Any) -> str:
    """The size of a chart in place of it."""
    return f"a chart of {len(json.dumps(chart.spec))} bytes"


READING: dict[str, _Way] = {
    "iter_events": _events,
    "iter_events with fast rows": _fast_events,
    "read_batches": _batches,
    "read_headers": _headers,
    "dump": _verb("dump", "PATH", "--format", "jsonl"),
}
VERBS: dict[str, _Way] = {
    "aborted": _verb("aborted", "PATH"),
    "convert up": _verb("convert", "PATH", "MADE", "--to-magic", "2"),
    "convert down": _verb("convert", "PATH", "MADE", "--to-magic", "0"),
    "sizes": _verb("sizes", "PATH", "--whole", "--compression", "none", "--compression", "lz4"),
    "report": _report,
}
DISK_VERBS: dict[str, _Way] = {
    "find bytes": _verb("find", "--bytes", "cafe00ff", "PATH"),
    "find regex": _verb("find", "--regex", "[0-9a-f]{9}x?", "--format", "jsonl", "PATH"),
    "find json": _verb("find", "--json", "$.a[*].b >= 1", "--count", "PATH"),
    "find header": _verb("find", "--header", "source", "--format", "arrow", "PATH"),
    "cat": _verb("cat", "--base64", "--template", "{offset} {key} {value} {headers}", "PATH"),
    "verify": _verb("verify", "PATH"),
    "ls": _verb("ls", "-l", "--headers", "PATH"),
    "like-kafka": _verb("dump", "--like-kafka", "--files", "PATH", "--print-data-log"),
    "slice": _verb("slice", "PATH", "MADE", "--offsets", "0:"),
    "salvage": _verb("salvage", "PATH", "MADE"),
}
"""The verbs for damaged disks."""
WITHOUT_NUMBA = ("iter_events", "dump", "aborted")


def _cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def _peak() -> float:
    """MiB; `ru_maxrss` would begin with what the parent had when it made this process."""
    lines = Path("/proc/self/status").read_text("ascii").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:"))


def measure(paths: list[str], ways: list[str]) -> None:
    """Read files in some ways; print for each the seconds of CPU, the peak in MiB so far, and what came.

    The seconds are those that a usual machine takes: see `work.slowness`.
    """
    slow = work.slowness()
    resource.setrlimit(resource.RLIMIT_AS, (_LARGEST_ADDRESS_SPACE, _LARGEST_ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_CPU, (int(_MOST_CPU * slow),) * 2)
    for path, way in itertools.product(paths, ways):
        before, told = _cpu(), Counter[str]()
        (READING | VERBS | DISK_VERBS)[way](path, told)
        taken, before_it, slow = _cpu() - before, slow, work.slowness()
        cpu = taken / max(before_it, slow)
        found = {"path": path, "way": way, "cpu": cpu, "peak": _peak(), "told": told}
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "--without-numba":
        sys.modules |= dict.fromkeys(("numba", "llvmlite", "pyarrow"))
        del sys.argv[1]
    measure(sys.argv[1].split(os.pathsep), sys.argv[2:])
