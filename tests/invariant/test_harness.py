"""The property test can fail: faults that are planted are found, and a case is the same each time."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.invariant import verbs
from tests.invariant.answers import Answer, Named
from tests.invariant.cases import make_case
from tests.invariant.run import session
from tests.invariant.verbs import VERBS
from tests.numbered import go_through

SEED = 0


def _without_last_segment(partition: Path) -> Answer:
    """A reader that passes over the newest segment."""
    names = sorted(partition.glob("*.log"))
    names[-1].unlink()
    return verbs.partition_events(partition)


def _without_status(partition: Path) -> Answer:
    return dataclasses.replace(verbs.dump(partition), status=0)


def _without_names(partition: Path) -> Answer:
    return dataclasses.replace(verbs.dump(partition), named=[])


def _without_a_record(partition: Path) -> Answer:
    answer = verbs.dump(partition)
    if answer.rows:
        answer.rows.remove(max(answer.rows, key=lambda row: row.offset))
    return answer


def _always_told(partition: Path) -> Answer:
    answer = verbs.dump(partition)
    answer.tell(Named("everything is lost", is_all=True))
    return answer


def _without_damage(partition: Path) -> Answer:
    """A verb that names missing offsets, and no damaged bytes."""
    answer = verbs.verify(partition)
    kept = [one for one in answer.named if one.end_position is None or one.end_position == one.position]
    return dataclasses.replace(answer, named=kept)


def test_damage_that_is_not_named_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(VERBS, "verify", _without_damage)
    report = go_through(session(SEED, ["verify"]), range(30))
    assert any("damaged bytes that were not named" in fault for fault in report.faults)


@pytest.mark.parametrize(
    ("planted", "said"),
    [
        (_without_last_segment, "sound records neither delivered nor named"),
        (_without_status, "status 0, but "),
        (_without_names, "offsets that are nowhere and were not named"),
        (_without_a_record, "sound records neither delivered nor named"),
        (_always_told, "nothing is wrong, but status 1"),
    ],
)
def test_planted_faults_are_found(
    planted: Callable[[Path], Answer], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(VERBS, "planted", planted)
    report = go_through(session(SEED, ["planted"]), range(60))
    assert any(fault.startswith(f"planted: {said}") for fault in report.faults)


def test_cases_come_again() -> None:
    for number in range(0, 200, 7):
        one, other = make_case(SEED, number), make_case(SEED, number)
        assert one.kinds == other.kinds
        assert one.directory.files == other.directory.files
        assert one.directory.noted == other.directory.noted
