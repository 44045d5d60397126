"""The one runner of cases by number: a seed and a number give a case, the same in any process.

A suite opens a session once for many cases (a folder, a Java process); the session is a function that judges
the cases of some numbers and notes in a report what it has seen. That is so in `copies/`, `invariant/` and
`mutations/`; jobs of `fuzz/` may end their process, and have reports and numbers from here. Each has a module
`run`, by which a case is repeated: `python -m tests.copies.run --seed 0 --first 7 --count 1`.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from tests import forms

MEMORY = Path("/dev/shm")
AT_ONCE = 500
"""Cases that a session is given together."""


@dataclass
class Report:
    """What a run has seen.

    Attributes:
        num_cases: how many cases it went through.
        seconds: of this process' CPU that it took.
        faults: what is wrong, each with the case.
        counts: by table, how often something came.
    """

    num_cases: int = 0
    seconds: float = 0
    faults: list[str] = field(default_factory=list)
    counts: defaultdict[str, Counter[Any]] = field(default_factory=lambda: defaultdict(Counter))

    def add(self, other: Report) -> None:
        """Take in what another process has seen."""
        self.num_cases += other.num_cases
        self.seconds += other.seconds
        self.faults += other.faults
        for table, counts in other.counts.items():
            self.counts[table].update(counts)

    def lines(self) -> Iterator[str]:
        """The tables, and a summary."""
        for table, counts in sorted(self.counts.items()):
            yield f"{table}: " + ", ".join(f"{_word(name)} {counts[name]}" for name in sorted(counts))
        each = 1000 * self.seconds / max(1, self.num_cases)
        yield f"{self.num_cases} cases, {each:.1f} ms each, {len(self.faults)} faults"

    def check(self, num_cases: int) -> None:
        """Fail if something is wrong, or not all cases were gone through."""
        assert not self.faults, "\n".join([f"{len(self.faults)} faults", *self.faults[:10]])
        assert self.num_cases == num_cases


def _word(name: Any) -> str:
    return name if isinstance(name, str) else "/".join(name)


Judge = Callable[[Sequence[int], Report], None]
Session = AbstractContextManager[Judge]


def each(judge: Callable[[int, Report], None]) -> Judge:
    """A judge of many cases, which goes on if one cannot be judged at all."""

    def judge_all(numbers: Sequence[int], report: Report) -> None:
        for number in numbers:
            try:
                judge(number, report)
            except Exception as error:
                report.faults.append(f"{type(error).__name__}: {error}\n    --first {number} --count 1")

    return judge_all


def go_through(session: Session, numbers: Iterable[int]) -> Report:
    """Judge the cases of some numbers."""
    report, started = Report(), time.process_time()
    with session as judge:
        left = iter(numbers)
        while some := tuple(islice(left, AT_ONCE)):
            judge(some, report)
            report.num_cases += len(some)
    report.seconds = time.process_time() - started
    return report


def spread(opened: Callable[[], Session], numbers: range, processes: int, per_task: int) -> Report:
    """The same in several processes, each task with a session of its own."""
    report = Report()
    tasks = [numbers[at : at + per_task] for at in range(0, len(numbers), per_task)]
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        for part in pool.map(partial(_task, opened), tasks):
            report.add(part)
    return report


def _task(opened: Callable[[], Session], numbers: range) -> Report:
    return go_through(opened(), numbers)


def blocks(short: tuple[int, int], full: tuple[int, int]) -> list[range]:
    """The numbers of a test in blocks, which run beside each other: how many in all, and in each."""
    num_cases, len_block = forms.pick(short, full)
    return [range(first, first + len_block) for first in range(0, num_cases, len_block)]


@contextmanager
def folder(prefix: str) -> Iterator[Path]:
    """A temporary folder, in memory where there is some."""
    with tempfile.TemporaryDirectory(prefix=prefix, dir=MEMORY if MEMORY.is_dir() else None) as found:
        yield Path(found)


def parser(description: str | None) -> argparse.ArgumentParser:
    """What every `run` is given: the seed, and which numbers."""
    found = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    found.add_argument("--seed", type=int, default=0)
    found.add_argument("--first", type=int, default=0, help="number of the first case")
    found.add_argument("--count", type=int, default=100, help="how many cases")
    return found


def numbers_of(options: argparse.Namespace) -> range:
    """The numbers that were asked for."""
    return range(options.first, options.first + options.count)


def told(report: Report) -> int:
    """Print a report; returns the exit status."""
    print(*report.faults, *report.lines(), sep="\n")
    return 1 if report.faults else 0
