"""Of damaged copies `salvage` makes the partition: nothing foreign, nothing twice, what is lost is said.

Cases are copies by number (`cases.py`); the partition before the damage is known, and `judge.py` holds the
result against it. One case again: `python -m tests.copies.run --seed 0 --first 7 --count 1`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from tests import forms
from tests.copies.lawful import overused
from tests.copies.open_faults import OPEN
from tests.copies.operations import KINDS
from tests.copies.run import go_through

NUM_CASES = forms.pick(2_000, 50_000)
LEN_BLOCK = forms.pick(500, 2_500)
"""Cases of one test: those that run beside each other take the next."""
SEED = forms.pick(0, 739_943)
"""The same cases in every run. Others: `python -m tests.copies.run` with another seed."""


@pytest.mark.long
@pytest.mark.parametrize("first", range(0, NUM_CASES, LEN_BLOCK))
def test_copies_make_the_partition(first: int, tell: Callable[[str, Counter[str]], None]) -> None:
    numbers = [one for one in range(first, first + LEN_BLOCK) if one not in OPEN or not forms.IS_FULL]
    report = go_through(SEED, numbers)
    counts = Counter({f"cases of seed {SEED}": report.num_cases, "without a rule": report.num_plain})
    counts["seconds"] = round(report.seconds)
    tell("damaged copies, salvaged", counts + report.lawful)
    assert not report.faults, "\n".join([f"{len(report.faults)} faults", *report.faults[:10]])
    assert report.num_cases == len(numbers)
    assert report.num_plain > LEN_BLOCK / 2, "most cases need no rule that lets something pass"
    assert overused(report.lawful, LEN_BLOCK) == [], "salvage sees less of the truth than it did"
    assert report.kinds.keys() == KINDS.keys(), "each kind of operation was done"


@pytest.mark.long(short=False)
def test_open_faults_are_still_there() -> None:
    mended = [number for number in OPEN if not go_through(SEED, [number]).faults]
    assert mended == [], "take them out of tests/copies/open_faults.py"
