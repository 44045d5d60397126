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
from tests.copies.run import DONE, LAWFUL, OF_CASES, PLAIN, session
from tests.made.damage_of_batches import KINDS
from tests.numbered import blocks, go_through

SEED = forms.pick(0, 739_943)
"""The same cases in every run. Others: `python -m tests.copies.run` with another seed."""


@pytest.mark.long
@pytest.mark.parametrize("block", blocks((2_000, 500), (50_000, 2_500)), ids=str)
def test_copies_make_the_partition(block: range, tell: Callable[[str, Counter[str]], None]) -> None:
    numbers = [one for one in block if one not in OPEN or not forms.IS_FULL]
    report = go_through(session(SEED), numbers)
    lawful, plain = report.counts[LAWFUL], report.counts[OF_CASES][PLAIN]
    counts = Counter({f"cases of seed {SEED}": report.num_cases, "without a rule": plain})
    counts["seconds"] = round(report.seconds)
    tell("damaged copies, salvaged", counts + lawful)
    report.check(len(numbers))
    assert plain > len(block) / 2, "most cases need no rule that lets something pass"
    assert overused(lawful, len(block)) == [], "salvage sees less of the truth than it did"
    assert report.counts[DONE].keys() == KINDS.keys(), "each kind of operation was done"


@pytest.mark.long(short=False)
def test_open_faults_are_still_there() -> None:
    mended = [number for number in OPEN if not go_through(session(SEED), [number]).faults]
    assert mended == [], "take them out of tests/copies/open_faults.py"
