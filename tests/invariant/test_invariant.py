"""Nothing is lost in silence: sound records are delivered or named, missing offsets too; so the page says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from tests import forms
from tests.invariant.page import PAGE, kafka_table, table_in, verbs_table
from tests.invariant.run import PAIRS, SPENT, session
from tests.invariant.verbs import VERBS
from tests.made.damage import KINDS
from tests.numbered import blocks, go_through

SEED = forms.pick(0, 739_943)
"""The same cases in every run. Others: `python -m tests.invariant.run` with another seed."""

TITLE = "damaged directories, each read by the verbs"


@pytest.mark.long
@pytest.mark.parametrize("numbers", blocks((120, 120), (6_000, 1_000)), ids=str)
def test_nothing_is_lost_in_silence(numbers: range, tell: Callable[[str, Counter[str]], None]) -> None:
    report = go_through(session(SEED), numbers)
    counts, pairs = Counter({f"cases of seed {SEED}": report.num_cases}), report.counts[PAIRS]
    for verb in VERBS:
        counts[f"by {verb}"] = sum(pairs[kind, verb] for kind in KINDS)
        counts[f"milliseconds in {verb}"] = report.counts[SPENT][verb]
    tell(TITLE, counts)
    report.check(len(numbers))
    missing = {(kind, verb) for kind in KINDS for verb in VERBS if not pairs[kind, verb]}
    # Of what is no file `dump` is given links alone (`Directory.is_for_dump`): not in every block.
    missing -= {("special", "dump"), ("special", "dump_committed")}
    assert not missing, "no case of this kind was read by this verb"


HOW = "python -m tests.invariant.page writes the tables anew"


@pytest.mark.oracle
def test_what_kafka_does(tmp_path: Path) -> None:
    assert table_in(PAGE.read_text(), "kafka") == kafka_table(tmp_path), HOW


def test_what_the_verbs_say(tmp_path: Path) -> None:
    assert table_in(PAGE.read_text(), "verbs") == verbs_table(tmp_path), HOW
