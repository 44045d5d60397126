"""How long `kafka_segments.scan` takes for a day of a year, in a new process."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.bench_spark.corpus import HOURS_A_TINY, RECORDS_A_TINY, ROOT, T0, Corpus

import kafka_segments as ks

DAY = 86_400_000


def measure(corpus: Corpus, day: int, skew: int | None) -> dict[str, float]:
    """Seconds of a scan of all segments and of the day's alone, and how much more CPU the first one takes."""
    task = {"path": str(corpus.path), "day": day, "skew": skew}
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench_spark.day_of"],
        input=json.dumps(task),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return dict(json.loads(done.stdout))


def scanned(paths: str | list[str], day: int, **more: Any) -> tuple[float, float, int]:
    """Wall and CPU seconds, and the rows."""
    wall, cpu = time.perf_counter(), time.process_time()
    since = T0 + day * DAY
    table = ks.scan(paths, since=since, until=since + DAY, on_damage="skip", **more).read_all()
    return time.perf_counter() - wall, time.process_time() - cpu, table.num_rows


def main() -> None:
    """One measure, by the task on standard input."""
    task = json.load(sys.stdin)
    a_day = 24 // HOURS_A_TINY * RECORDS_A_TINY
    first = task["day"] * a_day
    names = [f"{first + at:020}.log" for at in range(0, a_day, RECORDS_A_TINY)]
    partitions = sorted(Path(task["path"]).iterdir())
    paths = [str(partition / name) for partition in partitions for name in names]
    scanned(paths, task["day"])  # what is loaded once is no part of it
    alone = scanned(paths, task["day"])
    whole = scanned(task["path"], task["day"], max_timestamp_skew=task["skew"])
    if whole[2] != alone[2] or whole[2] != a_day * len(partitions):
        raise SystemExit(f"{whole[2]} and {alone[2]} rows instead of {a_day * len(partitions)}")
    print(json.dumps({"whole": whole[0], "alone": alone[0], "cpu": whole[1] - alone[1]}))


if __name__ == "__main__":
    main()
