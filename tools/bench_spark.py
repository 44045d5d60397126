"""The benchmark of `make bench-spark`: our source, Spark's own `kafka` source with a broker, and a stub.

Two cores, Spark 4.0.0 on all sides, the same records: the table of goals, the raw figures of every run, and
`build/bench-spark.json`. The status is 1 where a run failed, not where a goal was missed: the table says it.
A goal that needs what our source cannot do yet counts as missed, with `not yet` beside it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.bench import report  # noqa: E402  the root is no package
from tests.bench_spark import broker, corpus  # noqa: E402
from tests.bench_spark.judge import Row  # noqa: E402
from tests.bench_spark.measures import PARTS, Bench  # noqa: E402
from tests.bench_spark.runs import Runner  # noqa: E402
from tools import bench  # noqa: E402

RESULT = ROOT / "build" / "bench-spark.json"
NUM_RECORDS, NUM_QUICK = 20_000_000, 1_000_000
RAW = ("mrps", "mrp_cpu_second", "wall_seconds", "jvm_seconds", "python_seconds", "planning_seconds")
TITLES = (
    "M records/s",
    "M records/CPU-s",
    "seconds",
    "CPU: JVM",
    "Python",
    "planning",
    "broker",
    "tasks",
)


def raw_lines(rows: Sequence[Row]) -> Iterator[str]:
    """What every run took; CPU time in seconds."""
    lines = [["topic", "source", "query", *TITLES, ""]]
    for row in rows:
        figures = [report.significant(row[name]) for name in (*RAW, "broker_seconds")]
        said = ", ".join(f"{name}={value}" for name, value in row["options"].items())
        note = row["note"] or (said if len(said) < 100 else f"{said[:97]}...")
        note = "; ".join(filter(None, ["from the disk" if row["from_disk"] else "", note]))
        lines.append([row["corpus"], row["side"], row["query"], *figures, str(row["num_tasks"]), note])
    yield from report.aligned(lines, 3)


def table(rows: Sequence[Row], heading: str) -> str:
    """The raw figures, then the goals."""
    goals = [row for row in rows if row["goal"] is not None]
    counts = {
        said: sum(report.word(row) == said for row in goals) for said in ("met", "MISSED", "not judged")
    }
    figures = [row for row in rows if row["goal"] is None and "side" not in row]
    parts = [heading, *raw_lines([row for row in rows if "side" in row]), ""]
    parts += [*(report.figure_lines(figures) if figures else ()), "", *report.goal_lines(goals), ""]
    return "\n".join([*parts, ", ".join(f"{count} {said}" for said, count in counts.items())])


def main() -> int:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a twentieth of the records, one round")
    parser.add_argument("--rounds", type=int, help="how often rivals are measured in turns")
    parser.add_argument("part", nargs="*", choices=[*PARTS, []], help="only these")
    options = parser.parse_args()
    RESULT.unlink(missing_ok=True)
    warning = bench.busy()
    num_records = NUM_QUICK if options.quick else NUM_RECORDS
    print(f"bench-spark: {num_records:,} records a topic{warning}", file=sys.stderr, flush=True)
    corpora = corpus.topics(num_records)
    corpus.FOLDER.mkdir(parents=True, exist_ok=True)
    parts = options.part or PARTS
    with tempfile.TemporaryDirectory(dir=corpus.FOLDER) as work, ExitStack() as stack:
        serving = None
        if {"scans", "ingest"} & set(parts):
            large = [corpus.made(corpora[topic]) for topic in corpus.CODECS]
            serving = stack.enter_context(broker.serving(large, Path(work) / "broker"))
        rounds = options.rounds or (1 if options.quick else 2)
        measures = Bench(Runner(serving, Path(work)), corpora, rounds, options.quick)
        rows = measures.everything(parts)
    rows.sort(key=lambda row: row["goal"] is None)
    report.write(rows, RESULT)
    heading = f"{bench.machine()}; Spark 4.0.0, broker 4.3.1; {num_records:,} records a topic{warning}\n"
    print(table(rows, heading), flush=True)
    failed = [run for run in measures.runs if run.error and run.read.side != "ours"]
    for run in failed:
        print(f"bench-spark: FAILED {run.read.side} {run.read.query}: {run.error}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
