"""The judge can tell: it passes the best that can be made of each case, and finds faults that are planted.

The ideal salvager knows the truth. It serves the partition's batches that some copy has where they belong,
and names the rest. A plant is what it does if a rule is taken out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from tests.copies.cases import Case, Truth, make_case
from tests.copies.evidence import Evidence
from tests.copies.judge import Judging, Verdict
from tests.copies.lawful import overused
from tests.copies.result import Result
from tests.made.sound_batches import Entry, keys_of

SEED = 0
NUM_CASES = 600

Salvager = Callable[[Case], Result]


def ideal(case: Case) -> Result:
    """The best result."""
    truth = Truth(case.sound)
    evidence = Evidence(truth, case.copies)
    served = [one for one in truth.entries if evidence.holders(one)]
    return Result(
        status=int(any(case.done)),
        served=served,
        missing=[(one.base, one.last) for one in truth.entries if not evidence.holders(one)],
        bounds=(truth.start, truth.end),
        epochs=truth.epochs,
        aborted=list(truth.aborted),
    )


def _with(result: Result, taken: list[Entry]) -> Result:
    """A result in which some batches are taken instead of those that have their offsets."""
    kept = [
        one
        for one in result.served
        if not any(other.base <= one.last and one.base <= other.last for other in taken)
    ]
    served = sorted([*kept, *taken], key=lambda one: one.base)
    end = max([result.bounds[1], *(one.last + 1 for one in served)])
    return replace(result, served=served, bounds=(result.bounds[0], end))


def believing(is_taken: Callable[[Truth, Entry], bool]) -> Salvager:
    """A salvager that takes a batch of some copy for true, whatever else there is."""

    def salvager(case: Case) -> Result:
        truth = Truth(case.sound)
        entries = [one for copy in Evidence(truth, case.copies).entries for one in copy]
        return _with(ideal(case), [one for one in entries if is_taken(truth, one)][:1])

    return salvager


def _is_misplaced(truth: Truth, one: Entry) -> bool:
    """Fault 1: a batch is where it says that it is."""
    places = truth.by_content.get(one.content, ())
    return bool(places) and all(place.base != one.base for place in places)


def _is_foreign(truth: Truth, one: Entry) -> bool:
    """Fault 2: what is in a file of the partition is the partition's."""
    return one.content not in truth.by_content and one.base not in truth.by_base


def _is_unreadable(_truth: Truth, one: Entry) -> bool:
    """Fault 3: a batch with a right checksum can be read."""
    return keys_of(one.data) is None


def _is_too_long(truth: Truth, one: Entry) -> bool:
    """Fault 4: offsets go up to where a header says, and what stands behind it is put aside."""
    true = truth.by_base.get(one.base)
    return true is not None and true.last < one.last


def _has_other_epoch(truth: Truth, one: Entry) -> bool:
    """Fault 6: leader epochs are those of any batch."""
    true = truth.by_base.get(one.base)
    return true is not None and true.content == one.content and true.epoch != one.epoch


def launders(case: Case) -> Result:
    """Fault 5: what is in no copy was never there."""
    return replace(ideal(case), status=0, missing=[])


def forgets_aborted(case: Case) -> Result:
    """Fault 7: without its marker a transaction is not aborted."""
    return replace(ideal(case), aborted=[])


def shortens_epochs(case: Case) -> Result:
    """Fault 6: the first epoch is that of all batches."""
    result = ideal(case)
    return replace(result, epochs=result.epochs[:1])


def doubles(case: Case) -> Result:
    """Batches come twice."""
    result = ideal(case)
    return replace(result, served=[*result.served, *result.served[:1]])


@cache
def cases() -> list[Case]:
    """The cases of all tests."""
    return [make_case(SEED, number) for number in range(NUM_CASES)]


def faults_of(salvager: Salvager) -> list[str]:
    """What the judge says of a salvager's results, with the limits that too many of them needed."""
    verdicts = [_judged(case, salvager) for case in cases()]
    counts = sum((one.lawful for one in verdicts), Counter[str]())
    return [fault for one in verdicts for fault in one.faults] + overused(counts, NUM_CASES)


def _judged(case: Case, salvager: Salvager) -> Verdict:
    roots = [Path(f"r{at}") for at in range(len(case.copies))]
    return Judging(case, roots, salvager(case)).run()


def test_the_best_result_passes() -> None:
    assert faults_of(ideal) == []


@pytest.mark.parametrize(
    ("salvager", "said"),
    [
        (believing(_is_misplaced), "misplaced served at"),
        (believing(_is_foreign), "several_damages"),
        (believing(_is_unreadable), "its records are not as its header says"),
        (believing(_is_too_long), "put_aside"),
        (launders, "is in no copy, which is not said"),
        (launders, "status 0, but"),
        (believing(_has_other_epoch), "epoch_is_told"),
        (shortens_epochs, "but the checkpoint"),
        (forgets_aborted, "is committed in the result"),
        (doubles, "stands behind"),
    ],
)
def test_planted_faults_are_found(salvager: Salvager, said: str) -> None:
    assert any(said in fault for fault in faults_of(salvager))


def test_cases_come_again() -> None:
    for one in cases()[::7]:
        other = make_case(SEED, one.number)
        assert (one.done, one.copies) == (other.done, other.copies)
