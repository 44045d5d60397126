"""`salvage` beside `cp` on the same disk, in a new process: `python -m tests.bench.salvaging PATH FOLDER`.

Both copy a log directory with one partition, whose segment is in the page cache, and fsync what they wrote.
Salvage reads it twice: for checksums, then to write, hash and index it. Wall time, of both the best
of some pairs in turns, without the start of this process; cp's own start takes a millisecond.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kafka_segments.core.io.filesystems import Places
from kafka_segments.salvage.salvaging import salvage

NUM_PAIRS = 5


def copied(source: Path, target: Path) -> None:
    """Copy a directory with cp, and fsync its files."""
    subprocess.run(["cp", "-r", str(source), str(target)], check=True)
    for path in sorted(target.rglob("*")):
        descriptor = os.open(path, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)


def salvaged(source: Path, target: Path) -> None:
    """Salvage a directory, which is sound."""
    (partition,) = salvage([str(source)], str(target), places=Places(keep_cache=True)).partitions
    assert partition.error is None and not partition.has_findings


def seconds_of(work: Callable[[Path, Path], None], source: Path, target: Path) -> float:
    """Wall seconds of one pass; what was written is removed, and the disk at rest before and after."""
    os.sync()
    started = time.perf_counter()
    work(source, target)
    seconds = time.perf_counter() - started
    shutil.rmtree(target)
    return seconds


def measured(path: Path, folder: Path) -> dict[str, Any]:
    """The figures of a segment."""
    source = folder / "source"
    (source / "orders-0").mkdir(parents=True)
    os.link(path, source / "orders-0" / f"{0:020}.log")
    pairs = [
        (seconds_of(copied, source, folder / "cp"), seconds_of(salvaged, source, folder / "salvage"))
        for _ in range(NUM_PAIRS + 1)
    ][1:]  # the first one loads machine code
    best = [min(times) for times in zip(*pairs, strict=True)]
    return {"bytes": path.stat().st_size, "cp": best[0], "salvage": best[1]}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir=sys.argv[2]) as name:
        print(json.dumps(measured(Path(sys.argv[1]), Path(name))))
