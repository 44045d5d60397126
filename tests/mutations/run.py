"""Have Kafka and us read cases: `python -m tests.mutations.run --seed 0 --first 7 --count 1`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tests import numbered
from tests.mutations import verdicts
from tests.mutations.cases import Case, case
from tests.mutations.explained import EXPLAINED, explanation
from tests.mutations.judge import Judge
from tests.numbered import Report

CASES, PASSED, SOUND, EXPLANATIONS, FILES = "cases", "passed the checksum", "sound", "explained", "files"


@contextmanager
def session(seed: str) -> Iterator[numbered.Judge]:
    """Compare what a Java process says of cases with what we do."""
    with Judge() as judge:

        def judge_all(numbers: Sequence[int], report: Report) -> None:
            compare(judge, [case(f"{seed}:{number}") for number in numbers], report)

        yield judge_all


def compare(judge: Judge, cases: Sequence[Case], report: Report) -> None:
    """Count these cases, and note what nothing explains."""
    for one, answer in zip(cases, judge.answers([one.data for one in cases]), strict=True):
        counts = report.counts
        counts[CASES][one.field] += 1
        counts[PASSED][one.field] += passes(answer)
        counts[FILES]["whole"] += one.is_file
        found = all_differences(one.data, answer)
        if not found:
            is_sound = verdicts.of_kafka(answer, check_crc=True).word == verdicts.SOUND
            counts[SOUND][one.field] += is_sound
            continue
        reason = explanation(one.data)
        # Nothing explains that headers or records differ, or that our two ways do.
        if reason is None or not all(text.startswith(verdicts.WORDS) for text in found):
            report.faults.append(f"{one.field}: {found}; {one.data.hex()}")
        else:
            counts[EXPLANATIONS][reason.name] += 1


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


def lines(report: Report) -> Iterable[str]:
    """The tables that a run prints."""
    counts, total = report.counts, report.num_cases
    passed, explained = counts[PASSED].total(), counts[EXPLANATIONS].total()
    yield f"{total:,} cases, {len(report.faults)} unexplained differences"
    yield f"{passed:,} ({passed / total:.1%}) passed the checksum; {counts[FILES].total():,} were whole files"
    yield f"{explained:,} ({explained / total:.2%}) explained:"
    for entry in EXPLAINED:
        yield f"{counts[EXPLANATIONS][entry.name]:9,} {entry.name} ({entry.line}): {entry.why}"
    yield ""
    yield f"{'cases':>9} {'passed':>9} {'sound':>9} field"
    for name, count in sorted(counts[CASES].items()):
        yield f"{count:9,} {counts[PASSED][name]:9,} {counts[SOUND][name]:9,} {name}"


def _main() -> int:
    options = numbered.parser(__doc__).parse_args()
    return numbered.told(numbered.go_through(session(str(options.seed)), numbered.numbers_of(options)))


if __name__ == "__main__":
    sys.exit(_main())
