"""Queries of polars over log directories, in a new process that prints JSON:
`python -m tests.bench.frames HUGE KIB LARGE RECORDS FOLDER`.

`HUGE` is a segment of small batches, and `KIB` one of larger values. They are given indexes. Counting reads
nothing but headers, so it is measured with large batches: those of `LARGE`, a segment of so many records,
repeated until reading headers takes more than planning. All are CPU seconds of the fastest of several passes
in turns, with the files in the page cache.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.bench import corpora, ours, salvaging, verifying

PASSES = 3
NUM_COPIES = 8


def queries(huge: Path, kib: Path, large: Path) -> dict[str, Callable[[], Any]]:
    """What is measured, by its name in the answer: over three log directories."""
    import polars as pl

    everything, counted = ours.polars_frame(huge), ours.polars_frame(large)
    first, last = everything.select(pl.min("timestamp"), pl.max("timestamp").alias("last")).collect().row(0)
    middle, hundredth = first + (last - first) / 2, (last - first) / 100
    within = pl.col("timestamp").is_between(middle, middle + hundredth)
    return {
        "all": everything.collect,
        "one_column": everything.select("key").collect,
        "one_percent": ours.polars_frame(huge, max_timestamp_skew=0).filter(within).collect,
        "copies": lambda: ours.polars_frame_of_copies(kib),
        "views": ours.polars_frame(kib).collect,
        "large_all": counted.collect,
        "count": counted.select(pl.len()).collect,
    }


def log_directory(folder: Path, segment: Path) -> Path:
    """A log directory of one partition with one segment, with indexes, in the page cache."""
    source = folder / "source" / "orders-0"
    source.mkdir(parents=True)
    segment.rename(source / f"{0:020}.log")
    salvaging.salvaged(source.parent, folder / "salvaged")
    shutil.rmtree(source)
    log = folder / "salvaged" / "log"
    verifying.checksum_alone(log / "orders-0" / f"{0:020}.log")  # salvage leaves the cache as it was
    return log


def measured(huge: Path, kib: Path, large: Path, num_large: int, folder: Path) -> dict[str, Any]:
    """The figures."""
    segments = {name: folder / f"{name}.log" for name in ("huge", "kib", "large")}
    os.link(huge, segments["huge"])
    os.link(kib, segments["kib"])
    corpora.repeat(large, segments["large"], NUM_COPIES, num_large)
    works = queries(*(log_directory(folder / name, path) for name, path in segments.items()))
    num_rows = works["all"]().height
    return {"records": num_rows, **verifying.seconds_of(works, PASSES)}


if __name__ == "__main__":
    *paths, num_records, parent = sys.argv[1:]
    with tempfile.TemporaryDirectory(dir=parent) as name:
        print(json.dumps(measured(*map(Path, paths), int(num_records), Path(name))))
