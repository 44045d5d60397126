"""The plan of the fuzzing: which job, in a process of its own, goes through how many inputs."""

from __future__ import annotations

import json
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.fuzz import targets
from tests.fuzz.run import NUMBER
from tests.python import run_python

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Job:
    """A call of `run`, and the environment that it needs.

    Attributes:
        part: of the plan.
        name: of the job in its part.
        arguments: of `run`.
    """

    part: str
    name: str
    arguments: tuple[str, ...]
    environment: tuple[tuple[str, str], ...] = ()


CHECKED = (("KAFKA_SEGMENTS_CHECK_BOUNDS", "1"),)


def _job(part: str, name: str, words: str, environment: Any = ()) -> Job:
    return Job(part, name, tuple(words.split()), environment)


def _short() -> Iterator[Job]:
    """A little of everything, in few processes: each takes seconds to start."""
    names = " ".join(name for name in targets.all_targets() if name != "columnar")
    yield _job("columnar", "few", "kernels columnar --count 800 --factor 100")
    checked = "kernels columnar --count 500 --factor 40 --seed 2 --small-windows"
    yield _job("columnar", "every access checked", checked, CHECKED)
    yield _job("others", "few", f"{names} --count 30")
    yield _job("memory", "few", "events records --count 400 --trace-memory")


def _kernels() -> Iterator[Job]:
    """The compiled kernels themselves; again with every access checked, and as plain Python."""
    for way, share in (("verified", 5), ("unverified", 4), ("headers", 1)):
        for seed in range(share):
            yield _job("kernels", f"{way} {seed}", f"kernels --seed {seed} --count 1000000 --ways {way}")
    yield _job("kernels", "every access checked", "kernels --seed 50 --count 500000", CHECKED)
    yield _job("kernels", "plain Python", "kernels --seed 60 --count 5000 --plain")


def _columnar() -> Iterator[Job]:
    """`read_batches`, half of it in small windows; again as above."""
    for seed in range(4):
        small = "--small-windows" if seed % 2 else ""
        yield _job("columnar", f"{small[2:]} {seed}".strip(), f"columnar --seed {seed} --count 50000 {small}")
    few = "columnar --seed 50 --small-windows --count"
    yield _job("columnar", "every access checked", f"{few} 20000", CHECKED)
    yield _job("columnar", "no instructions for checksums", f"{few} 20000 --slow-cpu")
    yield _job("columnar", "plain Python", f"{few} 5000 --plain")


def _others() -> Iterator[Job]:
    """Everything else."""
    for family, thousands in SHARES.items():
        names = " ".join(name for name in targets.all_targets() if name.partition(":")[0] == family)
        rounds = max(1, thousands // 20)
        for seed in range(rounds):
            count = thousands * 1000 // rounds
            yield _job("others", f"{family} {seed}", f"{names} --seed {seed} --count {count}")


def _memory() -> Iterator[Job]:
    """The slow way with its objects' memory traced."""
    names = " ".join(
        name
        for name in targets.all_targets()
        if name not in ("columnar", "headers", "unreadable", "entry_records")
    )
    yield _job("memory", "traced", f"{names} --seed 70 --count 600 --trace-memory")


def _lines() -> Iterator[Job]:
    """Which lines run."""
    yield _job("lines", "counted", "all --lines --seed 80 --count 1500")


SHARES = {
    "events": 60,
    "steps": 15,
    "unreadable": 15,
    "ranges": 10,
    "stretches": 10,
    "walks": 10,
    "entry_records": 8,
    "search": 10,
    "verify": 5,
    "like_kafka": 10,
    "salvage": 5,
    "split": 4,
    "names": 10,
    "frames": 20,
    "manifest": 10,
    "messages": 20,
    "meta_properties": 20,
    "headers": 20,
    "kaitai": 10,
    "construct": 5,
    "codec": 20,
    "records": 60,
    "control": 40,
    "magic3": 10,
    "foreign": 15,
    "beside": 15,
    "partition": 3,
    "varint": 10,
}
"""Thousands of inputs for each member of a family, where the whole plan is run."""


PARTS = {"kernels": _kernels, "columnar": _columnar, "others": _others, "memory": _memory, "lines": _lines}


def jobs(part: str, *, full: bool) -> list[Job]:
    """The jobs of a part of the plan."""
    return list(PARTS[part]()) if full else [job for job in _short() if job.part == part]


class FoundError(AssertionError):
    """A job has found something; the text says what, and how to see it again."""


def run(job: Job) -> dict[str, Any]:
    """Run a job; returns what it told.

    Raises:
        FoundError: it ended in another way than it should.
    """
    with tempfile.NamedTemporaryFile() as progress:
        progress.truncate(4096)
        words = ["-m", "tests.fuzz.run", *job.arguments, "--progress", progress.name]
        done = run_python(*words, status=None, cwd=ROOT, env=dict(job.environment))
        if done.returncode != 0:
            raise FoundError(_found(job, done, Path(progress.name)))
    return dict(json.loads(done.stdout.splitlines()[-1]))


def _found(job: Job, done: subprocess.CompletedProcess[str], progress: Path) -> str:
    """What a job has found, in words."""
    target, number = NUMBER.unpack(progress.read_bytes()[: NUMBER.size])
    how = f"exit status {done.returncode}"
    if done.returncode < 0:
        how = f"killed by {signal.Signals(-done.returncode).name}"
    again = " ".join(["python -m tests.fuzz.run", *job.arguments])
    return f"{how} at target {target}, input {number} of: {again}\n{done.stderr[-4000:]}"
