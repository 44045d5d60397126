"""The benchmark of `make bench`: corpora, decoders in rounds, processes; a table, JSON and a chart.

Writes `build/bench.json`, the goals as a table for docs/performance.md (`build/bench.md`), and a chart: of a
full run `docs/bench-KIND.png` by the kind of CPU, of a quick one `build/bench.png`. The status is 1 where a
decoder failed or read something else than the others, not where a goal was missed: the table says that.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.bench import chart, corpora, goals, processes, programs, report, rounds, searching  # noqa: E402  no package
from tests.bench.cpu import num_cores, this_cpu  # noqa: E402
from tests.bench.decoders import DECODERS, PROGRAMS, is_there  # noqa: E402


def say(text: str) -> None:
    """Print how far it is; standard output is for the table."""
    print(f"bench: {text}", file=sys.stderr, flush=True)


def machine() -> str:
    """The CPU, the cores that we may use, and the day."""
    return f"{this_cpu().name}, {num_cores()} cores, {datetime.date.today()}"


def busy() -> str:
    """A warning where others use the machine too: then nothing here is worth much."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    return (
        f"; the machine was BUSY before it began (load {load:.1f}): judge by another run" if load > 1 else ""
    )


def versions() -> str:
    """What the peers are, as far as they are here."""
    said = []
    for program in (build() for build in PROGRAMS.values()):
        said.append(program.reason if isinstance(program, programs.Missing) else program.versions)
    for module in ("aiokafka", "kafka", "confluent_kafka", "numba", "pyarrow"):
        if is_there(module):
            said.append(f"{module} {__import__(module).__version__}")
    return ", ".join([*said, f"Python {platform.python_version()}"])


def measure(quick: bool, only: Sequence[str]) -> tuple[list[goals.Row], list[str]]:
    """Everything, as rows; and what went wrong."""
    effort = rounds.QUICK if quick else rounds.FULL
    say("making the missing corpora")
    made = corpora.make(quick=quick)
    rate_goals, figure_goals = goals.load(this_cpu().kind)
    rows: list[goals.Row] = []
    problems = []
    for name in only or corpora.NAMES:
        corpus = made[name]
        say(f"{name} ({corpus.num_bytes / 1e6:.0f} MB, made by {corpus.made_by})")
        entries = rounds.measure(corpus, [one for one in DECODERS.values() if one.reads(corpus)], effort)
        rows += [goals.judge_rate(goal, entries, quick) for goal in rate_goals if goal.corpus == name]
        rows += goals.decoder_rows(entries)
        problems += [f"{name}: {one.decoder.title}: {one.problem}" for one in entries if one.failed]
    if not only:
        say("whole processes")
        figures = processes.measure(made, effort.rounds)
        say("find")
        figures += searching.measure(made)
        rows += goals.judge_figures(figures, figure_goals, quick)
        problems += [f"{figure.title}: {figure.note}" for figure in figures if figure.failed]
    return rows, problems


def main() -> int:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a thirty-second of every size, fewer rounds")
    parser.add_argument(
        "corpus", nargs="*", choices=[*corpora.NAMES, []], help="only these, and no whole processes"
    )
    options = parser.parse_args()
    processes.use_kernels_of_our_own()
    warning = busy()
    say(f"building the peers{warning}")
    on = machine()
    heading = f"{on}; {versions()}{warning}\n"
    rows, problems = measure(options.quick, options.corpus)
    # Goals first, then the raw figures of everybody.
    rows.sort(key=lambda row: row["goal"] is None)
    report.write([{**row, "machine": on} for row in rows], ROOT / "build" / "bench.json")
    (ROOT / "build" / "bench.md").write_text(report.markdown(rows, heading), encoding="utf-8")
    print(report.table(rows, heading), flush=True)
    partial = options.quick or options.corpus
    picture = ROOT / "build" / "bench.png" if partial else ROOT / "docs" / f"bench-{this_cpu().kind}.png"
    try:
        chart.draw(rows, picture, on)
        say(f"rows in build/bench.json, chart in {picture.relative_to(ROOT)}")
    except ImportError as error:
        say(f"rows in build/bench.json; no chart: {error}")
    for problem in problems:
        say(f"FAILED {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    raise SystemExit(main())
