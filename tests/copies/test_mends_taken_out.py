"""Each mend is needed: without it the judge finds again what it mended, in cases that pass with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any
from unittest import mock

import pytest
from tests.copies.cases import make_case
from tests.copies.lawful import overused
from tests.copies.run import LAWFUL, session
from tests.numbered import Report, go_through

from kafka_segments.core.formats.entries import Damage
from kafka_segments.core.formats.file_names import NO_END
from kafka_segments.core.segment.evidence import FileOrder
from kafka_segments.core.segment.verified import sound_runs
from kafka_segments.core.segment.verified.verified_entries import VerifiedTable
from kafka_segments.log.log_end import NamedOffsets
from kafka_segments.salvage import partition_plan
from kafka_segments.salvage.confirmation import OtherPlaces
from kafka_segments.salvage.survey import FileSurvey

SEED = 0

Patch = tuple[Any, str, Callable[..., Any]]


def without_votes(*arguments: Any, real: Callable[..., Any] = partition_plan.compare_covered) -> set[Any]:
    """Compare the copies, and let none be outvoted."""
    real(*arguments)
    return set()


def unread(
    *arguments: Any, real: Callable[..., Any] = sound_runs.iter_verified, **more: Any
) -> Iterator[Any]:
    """Entries with right checksums, whether or not their records can be read."""
    before = None
    for event in real(*arguments, **more):
        if not (isinstance(event, Damage) and event.position == before):
            yield event
        is_table = isinstance(event, VerifiedTable)
        before = event.entries.value(len(event) - 1, "position") if is_table else None


def of_kinds(*kinds: str) -> list[int]:
    """The first cases to which such things were done, and little else."""
    cases = (make_case(SEED, number) for number in range(400))
    done = ((case.number, [kind for copy in case.done for kind in copy]) for case in cases)
    return [number for number, found in done if len(found) <= 2 and set(found) & set(kinds)]


PLACES: list[Patch] = [
    (FileOrder, "_doubt", lambda *_: ("", True)),
    (FileOrder, "_is_misplaced", lambda *_: False),
    (FileSurvey, "_doubt_by_index", lambda *_: ""),
    (FileSurvey, "_doubt_by_bounds", lambda *_: ""),
    (OtherPlaces, "doubt", lambda *_: ""),
]
ENDS: list[Patch] = [
    (partition_plan, "_limit_of", lambda _places, copy: (copy.limit, copy.reason)),
    (partition_plan, "_known_end", lambda *_: NO_END),
]
VOTES: list[Patch] = [(partition_plan, "compare_covered", without_votes)]
RECORDS: list[Patch] = [(sound_runs, "iter_verified", unread)]
LOSSES: list[Patch] = [
    (NamedOffsets, "any_in", lambda *_: False),
    (NamedOffsets, "last", lambda *_: -1),
    (partition_plan, "_note_ends", lambda *_: None),
]
EPOCHS: list[Patch] = [(FileOrder, "_is_epoch_wrong", lambda *_: False)]


def judged(numbers: list[int], patches: list[Patch]) -> Report:
    """Go through cases with something taken out."""
    with ExitStack() as stack:
        for where, name, taken_out in patches:
            stack.enter_context(mock.patch.object(where, name, taken_out))
        return go_through(session(SEED), numbers)


@pytest.mark.parametrize(
    ("patches", "numbers"),
    [
        pytest.param(PLACES, [42, 123, 206], id="offsets that are contradicted"),
        pytest.param(PLACES + ENDS + VOTES, [961, 962, 1084, 1372], id="batches of another topic"),
        pytest.param(VOTES, [11], id="two copies against one"),
        pytest.param(RECORDS, [259, 268, 383], id="records that cannot be read"),
        pytest.param(PLACES + ENDS + VOTES, [1106, 1318], id="a last offset that is too high"),
        pytest.param(LOSSES, [1, 69, 86], id="batches that are in no copy"),
    ],
)
def test_without_a_mend_its_faults_are_found(patches: list[Patch], numbers: list[int]) -> None:
    assert judged(numbers, []).faults == []
    for number in numbers:
        assert judged([number], patches).faults != [], number


def test_without_their_mend_wrong_epochs_are_more_than_may_be() -> None:
    numbers = of_kinds("leader_epoch", "other_epochs", "false_epochs")
    assert overused(judged(numbers, []).counts[LAWFUL], len(numbers)) == []
    assert overused(judged(numbers, EPOCHS).counts[LAWFUL], len(numbers)) == ["epoch_is_told"]
