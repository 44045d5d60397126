"""The judge can tell: it passes the best that can be made of each case, and finds faults that are planted.

The ideal salvager knows the truth. It serves the partition's batches that some copy has where they belong,
and names the rest. A plant is what it does if a rule is taken out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from tests.copies.cases import Case, Truth, make_case
from tests.copies.entries import Entry, keys_of
from tests.copies.evidence import Evidence
from tests.copies.judge import Judging
from tests.copies.result import Result

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


def _taken(case: Case, is_taken: Callable[[Truth, Entry], bool]) -> list[Entry]:
    """The first of the batches in copies that a salvager takes for true."""
    truth = Truth(case.sound)
    entries = [one for copy in Evidence(truth, case.copies).entries for _name, one in copy]
    return [one for one in entries if is_taken(truth, one)][:1]


def believes_offsets(case: Case) -> Result:
    """Fault 1: a batch is where it says that it is."""
    return _with(ideal(case), _taken(case, _is_misplaced))


def _is_misplaced(truth: Truth, one: Entry) -> bool:
    places = truth.by_content.get(one.content, ())
    return bool(places) and all(place.base != one.base for place in places)


def believes_names(case: Case) -> Result:
    """Fault 2: what is in a file of the partition is the partition's."""
    return _with(ideal(case), _taken(case, _is_foreign))


def _is_foreign(truth: Truth, one: Entry) -> bool:
    return one.content not in truth.by_content and one.base not in truth.by_base


def believes_checksums(case: Case) -> Result:
    """Fault 3: a batch with a right checksum can be read."""
    return _with(ideal(case), _taken(case, lambda _truth, one: keys_of(one.data) is None))


def believes_deltas(case: Case) -> Result:
    """Fault 4: offsets go up to where a header says, and what stands behind it is put aside."""
    return _with(ideal(case), _taken(case, _is_beyond))


def _is_beyond(truth: Truth, one: Entry) -> bool:
    true = truth.by_base.get(one.base)
    return true is not None and true.last < one.last


def launders(case: Case) -> Result:
    """Fault 5: what is in no copy was never there."""
    return replace(ideal(case), status=0, missing=[])


def believes_epochs(case: Case) -> Result:
    """Fault 6: leader epochs are those of the first copy's batches."""
    taken = _taken(case, _has_other_epoch)
    result = _with(ideal(case), taken)
    return replace(result, epochs=[(one.epoch, one.base) for one in taken] or result.epochs)


def _has_other_epoch(truth: Truth, one: Entry) -> bool:
    true = truth.by_base.get(one.base)
    return true is not None and true.content == one.content and true.epoch != one.epoch


def forgets_aborted(case: Case) -> Result:
    """Fault 7: without its marker a transaction is not aborted."""
    return replace(ideal(case), aborted=[])


def doubles(case: Case) -> Result:
    """Batches come twice."""
    result = ideal(case)
    return replace(result, served=[*result.served, *result.served[:1]])


@cache
def cases() -> list[Case]:
    """The cases of all tests."""
    return [make_case(SEED, number) for number in range(NUM_CASES)]


def faults_of(salvager: Salvager) -> list[str]:
    """What the judge says of a salvager's results."""
    return [f"{fault}\n    {case}" for case in cases() for fault in _judged(case, salvager)]


def _judged(case: Case, salvager: Salvager) -> list[str]:
    roots = [Path(f"r{at}") for at in range(len(case.copies))]
    return Judging(case, roots, salvager(case)).run().faults


def test_the_best_result_passes() -> None:
    assert faults_of(ideal) == []


@pytest.mark.parametrize(
    ("salvager", "said"),
    [
        (believes_offsets, "misplaced served at"),
        (believes_names, "foreign batch served at"),
        (believes_checksums, "its records are not as its header says"),
        (believes_deltas, "is not in the result"),
        (launders, "is in no copy, which is not said"),
        (launders, "status 0, but"),
        (believes_epochs, "other epoch served at"),
        (believes_epochs, "but the checkpoint"),
        (forgets_aborted, "is committed in the result"),
        (doubles, "stands behind"),
    ],
)
def test_planted_faults_are_found(salvager: Salvager, said: str) -> None:
    assert any(said in fault.split("\n")[0] for fault in faults_of(salvager))


def test_cases_come_again() -> None:
    for one in cases()[::7]:
        other = make_case(SEED, one.number)
        assert (one.done, one.copies) == (other.done, other.copies)
