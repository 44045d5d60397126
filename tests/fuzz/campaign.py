"""The plan of the fuzzing: which job, in a process of its own, goes through how many inputs; and the report.

    python -m tests.fuzz.campaign --full --parallel 2 --resume build/fuzz

runs all of it outside of pytest; with `--resume`, jobs that were done before with the same code are not done
again. The tests in `test_fuzz` run the same jobs, part by part.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.fuzz import targets
from tests.fuzz.run import NUMBER

ROOT = Path(__file__).resolve().parents[2]
PATHS = os.pathsep.join(str(ROOT / name) for name in ("runtime", "generated", "."))
FOUND = ROOT / "build" / "fuzz"
"""Where inputs are kept that have broken something."""

CHECKS, PLAIN, LINES = "every access checked", "plain Python", "plain Python, lines counted"


@dataclass(frozen=True)
class Job:
    """A call of `run`, and the environment that it needs.

    Attributes:
        part: of the plan.
        arguments: of `run`.
        note: what is special about it, for the report.
    """

    part: str
    arguments: tuple[str, ...]
    note: str = ""
    environment: tuple[tuple[str, str], ...] = ()

    @property
    def name(self) -> str:
        """A name for its result's file."""
        words = "-".join((*self.arguments, *(name for name, _ in self.environment)))
        return hashlib.sha256(words.encode()).hexdigest()[:16]


CHECKED = (("KAFKA_SEGMENTS_CHECK_BOUNDS", "1"),)


def _job(part: str, words: str, note: str = "", environment: Any = ()) -> Job:
    return Job(part, tuple(words.split()), note, environment)


def _short() -> Iterator[Job]:
    """A little of everything, in few processes: each takes seconds to start."""
    names = " ".join(name for name in targets.all_targets() if name != "columnar")
    yield _job("columnar", "kernels columnar --count 800 --factor 100")
    yield _job(
        "columnar", "kernels columnar --count 500 --factor 40 --seed 2 --small-windows", CHECKS, CHECKED
    )
    yield _job("others", f"{names} --count 30")
    yield _job("memory", "events records --count 600 --trace-memory")
    yield _job("lines", "all --lines --seed 2 --count 27", LINES)


def _kernels() -> Iterator[Job]:
    """The compiled kernels themselves; again with every access checked, and as plain Python."""
    for way, share in (("verified", 5), ("unverified", 4), ("headers", 1)):
        for seed in range(share):
            yield _job("kernels", f"kernels --seed {seed} --count 1000000 --ways {way}")
    yield _job("kernels", "kernels --seed 50 --count 500000", CHECKS, CHECKED)
    yield _job("kernels", "kernels --seed 60 --count 10000 --plain", PLAIN)


def _columnar() -> Iterator[Job]:
    """`read_batches`, half of it in small windows; again as above."""
    for seed in range(20):
        small = "--small-windows" if seed % 2 else ""
        yield _job(
            "columnar", f"columnar --seed {seed} --count 50000 {small}", "small windows" if small else ""
        )
    few = "columnar --seed 50 --small-windows --count"
    yield _job("columnar", f"{few} 50000", CHECKS, CHECKED)
    yield _job("columnar", f"{few} 50000 --slow-cpu", "no instructions for checksums")
    yield _job("columnar", f"{few} 10000 --plain", PLAIN)


def _others() -> Iterator[Job]:
    """Everything else."""
    for family, thousands in SHARES.items():
        names = " ".join(name for name in targets.all_targets() if name.partition(":")[0] == family)
        rounds = max(1, thousands // 20)
        for seed in range(rounds):
            yield _job("others", f"{names} --seed {seed} --count {thousands * 1000 // rounds}")


def _memory() -> Iterator[Job]:
    """The slow way with its objects' memory traced."""
    names = " ".join(
        name
        for name in targets.all_targets()
        if name not in ("columnar", "headers", "unreadable", "entry_records")
    )
    yield _job("memory", f"{names} --seed 70 --count 1500 --trace-memory", "memory traced")


def _lines() -> Iterator[Job]:
    """Which lines run."""
    yield _job("lines", "all --lines --seed 80 --count 1500", LINES)


SHARES = {
    "events": 130,
    "steps": 30,
    "unreadable": 40,
    "ranges": 30,
    "stretches": 30,
    "walks": 30,
    "entry_records": 20,
    "search": 20,
    "verify": 5,
    "like_kafka": 10,
    "salvage": 5,
    "split": 10,
    "small": 20,
    "times": 20,
    "names": 10,
    "frames": 20,
    "manifest": 10,
    "messages": 20,
    "meta_properties": 20,
    "headers": 60,
    "kaitai": 15,
    "construct": 10,
    "codec": 40,
    "records": 120,
    "control": 40,
    "magic3": 20,
    "foreign": 15,
    "beside": 15,
    "partition": 5,
    "varint": 10,
}
"""Thousands of inputs for each member of a family, where the whole plan is run."""


PARTS = {"kernels": _kernels, "columnar": _columnar, "others": _others, "memory": _memory, "lines": _lines}


def jobs(part: str, *, full: bool) -> list[Job]:
    """The jobs of a part of the plan."""
    return list(PARTS[part]()) if full else [job for job in _short() if job.part == part]


class FoundError(AssertionError):
    """A job has found something; the text says what, and how to see it again."""


def run(job: Job, kept: Path | None = None) -> dict[str, Any]:
    """Run a job; returns what it told.

    Args:
        job: which.
        kept: a folder for its result; one that is there already is taken.

    Raises:
        FoundError: it ended in another way than it should.
    """
    result = None if kept is None else kept / f"{job.name}-{_code()}.json"
    if result is not None and result.exists():
        return dict(json.loads(result.read_text()))
    with tempfile.NamedTemporaryFile() as progress:
        progress.truncate(4096)
        command = [sys.executable, "-m", "tests.fuzz.run", *job.arguments, "--progress", progress.name]
        environment = {**os.environ, "PYTHONPATH": PATHS, **dict(job.environment)}
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
        if done.returncode != 0:
            raise FoundError(_found(job, done, Path(progress.name)))
    told = dict(json.loads(done.stdout.splitlines()[-1]))
    if result is not None:
        result.parent.mkdir(parents=True, exist_ok=True)
        result.write_text(json.dumps(told))
    return told


def _found(job: Job, done: subprocess.CompletedProcess[str], progress: Path) -> str:
    """What a job has found, in words."""
    target, number = NUMBER.unpack(progress.read_bytes()[: NUMBER.size])
    how = f"exit status {done.returncode}"
    if done.returncode < 0:
        how = f"killed by {signal.Signals(-done.returncode).name}"
    again = " ".join(["python -m tests.fuzz.run", *job.arguments])
    return f"{how} at target {target}, input {number} of: {again}\n{done.stderr[-4000:]}"


def _code() -> str:
    """A digest of all code that a result depends on."""
    digest = hashlib.sha256()
    for folder in ("runtime", "generated", "tests/fuzz"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


@dataclass
class Report:
    """The sum of jobs."""

    inputs: Counter[str] = field(default_factory=Counter)
    sealed: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    compared: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    slowest: float = 0.0
    peak: int = 0
    grown: int = 0
    traced: int = 0
    lines: dict[str, Any] = field(default_factory=dict)

    def add(self, job: Job, told: dict[str, Any]) -> None:
        """Count a job in."""
        family = {name: _family(name) for name in told["inputs"]}
        label = f", {job.note}" if job.note else ""
        for name, count in told["inputs"].items():
            self.inputs[f"{family[name]}{label}"] += count
        for name, count in told["sealed"].items():
            self.sealed[f"{family[name]}{label}"] += count
        for name, count in told["outcomes"].items():
            target, _, outcome = name.partition(" ")
            self.outcomes[f"{_family(target)} {outcome}"] += count
        self.compared.update(told["compared"])
        self.seconds += told["seconds"]
        for name in ("slowest", "peak", "grown", "traced"):
            setattr(self, name, max(getattr(self, name), told[name]))
        self.lines = told["lines"] or self.lines

    def text(self) -> list[str]:
        """For people."""
        found = [f"{sum(self.inputs.values()):12,} inputs in {self.seconds:,.0f} s of all processes"]
        for name, count in self.inputs.items():
            sealed = self.sealed[name]
            share = f", {sealed:,} of them damaged under a right checksum" if sealed else ""
            found.append(f"{count:12,} {name}{share}")
        found.append("by outcome:")
        found += [f"{count:12,} {name}" for name, count in sorted(self.outcomes.items())]
        same = self.compared["inputs"], self.compared["records"]
        found.append(f"{same[0]:,} inputs read in both ways, {same[1]:,} records the same")
        found.append(
            f"slowest input {self.slowest:.2f} s; peak of a process {self.peak >> 20} MiB, which grew by "
            f"{self.grown >> 20} MiB; traced objects of one input {self.traced >> 10} KiB at most"
        )
        return found + self.line_text()

    def line_text(self) -> list[str]:
        """Which lines of decoders have not run."""
        if not self.lines:
            return []
        seen, total = self.coverage()
        found = [f"lines of decoders that ran: {seen:,} of {total:,}, {100 * seen / total:.1f} %; not:"]
        found += [f"  {name}: {_ranges(lines)}" for name, lines in self.lines["missed"].items()]
        return found

    def coverage(self) -> tuple[int, int]:
        """How many lines have run, and how many there are."""
        counts = self.lines["counts"].values()
        return sum(seen for seen, _ in counts), sum(total for _, total in counts)


def _family(name: str) -> str:
    return name.partition(":")[0]


def _ranges(lines: list[int]) -> str:
    """`3, 5-7` and so on."""
    found: list[list[int]] = []
    for line in lines:
        if found and line == found[-1][-1] + 1:
            found[-1][1:] = [line]
        else:
            found.append([line])
    return ", ".join("-".join(map(str, each)) for each in found)


def main() -> int:
    """Run the plan."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--parallel", type=int, default=1)
    parser.add_argument("--resume", type=Path, help="a folder for results")
    parser.add_argument("parts", nargs="*", default=PARTS)
    options = parser.parse_args()
    plan = [job for part in options.parts for job in jobs(part, full=options.full)]
    report, findings = Report(), 0
    with ThreadPoolExecutor(options.parallel) as pool:
        pending = [(job, pool.submit(run, job, options.resume)) for job in plan]
        for job, future in pending:
            try:
                report.add(job, future.result())
            except FoundError as error:
                findings += 1
                print(f"FOUND: {error}", flush=True)
    print("\n".join(report.text()))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
