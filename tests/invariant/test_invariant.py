"""Nothing is lost in silence: sound records are delivered or named, missing offsets named, the status tells.

Cases are damaged log directories by number (`cases.py`); `truth.py` says what lies where, `verbs.py` what
every verb makes of it, `lawful.py` what may be missing without a word. One case again:
`python -m tests.invariant.run --seed 0 --first 7 --count 1`.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.invariant.run import go_through

SEED, NUM_CASES = 0, 150
# `dump` and `open_partition` still say nothing of zeros in a cleaned log: they follow when they do.
HELD = ("aborted", "plan", "ingest", "source", "source_strict", "source_split", "source_damage")


def test_nothing_is_lost_in_silence(print_at_end: Callable[[str, list[str]], None]) -> None:
    report = go_through(SEED, range(NUM_CASES), HELD)
    print_at_end(f"damaged directories: {report.num_cases}", report.table().splitlines())
    assert not report.faults, "\n".join([f"{len(report.faults)} faults", *report.faults[:10]])
