"""Has Kafka and us read cases, compares, and counts what came of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from tests.mutations import verdicts
from tests.mutations.cases import Case
from tests.mutations.explained import EXPLAINED, explanation
from tests.mutations.judge import Judge

AT_ONCE = 500
MAX_SHOWN = 20


def all_differences(data: bytes, answer: dict[str, Any]) -> list[str]:
    """How the two sides differ on these bytes, or our two ways; with checksums looked at and without."""
    found: list[str] = []
    for check_crc in (True, False) if has_invalid(answer) else (True,):
        ours = verdicts.by_rows(data, check_crc=check_crc)
        found += verdicts.differences(verdicts.of_kafka(answer, check_crc=check_crc), ours)
        # Where our two ways differ, no word of Kafka's explains it.
        inside = verdicts.row_differences(ours, verdicts.by_columns(data, check_crc=check_crc))
        found += [f"{OURS}{text}" for text in inside]
    return found


OURS = "among our own: "


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
            for case, answer in zip(some, judge.answers([case.data for case in some]), strict=True):
                self.add(case, answer)

    def add(self, case: Case, answer: dict[str, Any]) -> None:
        """Compare one."""
        self.cases[case.field] += 1
        self.passed[case.field] += passes(answer)
        self.files += case.is_file
        found = all_differences(case.data, answer)
        if not found:
            self.sound[case.field] += verdicts.of_kafka(answer, check_crc=True).word == verdicts.SOUND
            return
        reason = explanation(case.data)
        if reason is None or any(text.startswith(OURS) or is_of_records(text) for text in found):
            self.unexplained.append(f"{case.field}: {found}; {case.data.hex()}")
        else:
            self.explained[reason.name] += 1

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


def is_of_records(text: str) -> bool:
    """Whether it says that records differ where both have some: no explanation covers that."""
    return text.startswith("record: ")


def chunks(cases: Iterable[Case]) -> Iterator[Sequence[Case]]:
    """So many at once as are worth a thread."""
    left = iter(cases)
    while some := list(islice(left, AT_ONCE)):
        yield some
