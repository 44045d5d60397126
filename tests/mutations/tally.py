"""Has Kafka and us read cases, compares, and counts what came of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from multiprocessing import get_context
from typing import Any

from tests.mutations import verdicts
from tests.mutations.cases import Case, case
from tests.mutations.explained import EXPLAINED, explanation
from tests.mutations.judge import Judge

AT_ONCE = 500
PER_TASK = 10_000


def all_differences(data: bytes, answer: dict[str, Any]) -> list[str]:
    """How the two sides differ on these bytes, or our two ways; with checksums looked at and without."""
    found: list[str] = []
    for check_crc in (True, False) if has_invalid(answer) else (True,):
        ours = verdicts.by_rows(data, check_crc=check_crc)
        found += verdicts.differences(verdicts.of_kafka(answer, check_crc=check_crc), ours)
        found += verdicts.row_differences(ours, verdicts.by_columns(data, check_crc=check_crc))
    return found


def has_invalid(answer: dict[str, Any]) -> bool:
    """Whether Kafka finds any checksum wrong: then reading without them is another reading."""
    return not passes(answer) or any(
        record["invalid"] for batch in answer["batches"] for record in batch["records"]
    )


def passes(answer: dict[str, Any]) -> bool:
    """Whether every entry passes Kafka's ensureValid, so that what is inside is looked at."""
    return bool(answer["batches"]) and not any(batch["invalid"] for batch in answer["batches"])


@dataclass
class Tally:
    """Counts of a run, and what nothing explains."""

    cases: Counter[str] = field(default_factory=Counter)
    passed: Counter[str] = field(default_factory=Counter)
    sound: Counter[str] = field(default_factory=Counter)
    explained: Counter[str] = field(default_factory=Counter)
    files: int = 0
    unexplained: list[str] = field(default_factory=list)

    def run(self, judge: Judge, cases: Iterable[Case]) -> None:
        """Count these too."""
        for some in chunks(cases):
            for one, answer in zip(some, judge.answers([one.data for one in some]), strict=True):
                self.add(one, answer)

    def add(self, one: Case, answer: dict[str, Any]) -> None:
        """Compare one."""
        self.cases[one.field] += 1
        self.passed[one.field] += passes(answer)
        self.files += one.is_file
        found = all_differences(one.data, answer)
        if not found:
            self.sound[one.field] += verdicts.of_kafka(answer, check_crc=True).word == verdicts.SOUND
            return
        reason = explanation(one.data)
        # Nothing explains that headers or records differ, or that our two ways do.
        if reason is None or not all(text.startswith(verdicts.WORDS) for text in found):
            self.unexplained.append(f"{one.field}: {found}; {one.data.hex()}")
        else:
            self.explained[reason.name] += 1

    def update(self, other: Tally) -> None:
        """Count in what another has counted."""
        for mine, theirs in zip(self._counters(), other._counters(), strict=True):
            mine.update(theirs)
        self.files += other.files
        self.unexplained += other.unexplained

    def _counters(self) -> list[Counter[str]]:
        return [self.cases, self.passed, self.sound, self.explained]

    def lines(self) -> Iterator[str]:
        """The tables that a run prints."""
        total = self.cases.total()
        passed, explained = self.passed.total(), self.explained.total()
        yield f"{total:,} cases, {len(self.unexplained)} unexplained differences"
        yield f"{passed:,} ({passed / total:.1%}) passed the checksum; {self.files:,} were whole files"
        yield f"{explained:,} ({explained / total:.2%}) explained:"
        for entry in EXPLAINED:
            yield f"{self.explained[entry.name]:9,} {entry.name} ({entry.line}): {entry.why}"
        yield ""
        yield f"{'cases':>9} {'passed':>9} {'sound':>9} field"
        for name in sorted(self.cases):
            yield f"{self.cases[name]:9,} {self.passed[name]:9,} {self.sound[name]:9,} {name}"


def chunks(cases: Iterable[Case]) -> Iterator[Sequence[Case]]:
    """So many at once as are worth a thread."""
    left = iter(cases)
    while some := list(islice(left, AT_ONCE)):
        yield some


def run_seeds(seed: str, count: int, processes: int) -> Tally:
    """The cases of `seed:0` and so on, in several processes with a judge each."""
    tally = Tally()
    starts = range(0, count, PER_TASK)
    tasks = [(seed, start, min(count, start + PER_TASK)) for start in starts]
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        for part in pool.map(run_task, tasks):
            tally.update(part)
    return tally


def run_task(task: tuple[str, int, int]) -> Tally:
    """Some of them."""
    seed, start, end = task
    tally = Tally()
    with Judge() as judge:
        tally.run(judge, (case(f"{seed}:{index}") for index in range(start, end)))
    return tally
