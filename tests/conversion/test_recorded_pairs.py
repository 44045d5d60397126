"""Logs before and after real brokers cleaned them: every field is as the tables of the rules say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.conversion.compare import Stored, as_consumed, stored
from tests.recording.sets import RECORDED

from kafka_segments.core.formats.entries import Batch
from kafka_segments.write.convert.rules import CLEANED, CLEANED_LEGACY, EMPTIED, Case, Table


def violations(table: Table, case: Case, after: Batch) -> list[str]:
    """What in a batch that was written anew is not as the table says; a sentence each."""
    found = []
    for rule in table:
        expected, stored = rule.value(case), getattr(after, rule.field)
        if expected != stored:
            found.append(f"{rule.field} is {stored!r}, not {expected!r} ({rule.action}: {rule.how})")
    return found


# How many of the entries that a cleaner left are of each sort: as they were, some records gone, emptied.
EXPECTED = {
    "kafka-0.9": {"untouched": 58, "rewritten": 18},
    "kafka-0.10.2": {"untouched": 45, "rewritten": 21},
    "kafka-2.8": {"untouched": 124, "rewritten": 51},
    "kafka-4.3": {"untouched": 20, "rewritten": 12, "with a horizon": 7, "emptied": 10},
}


def partition(directory: Path) -> Iterator[Stored]:
    for file in sorted(directory.glob("*.log")):
        yield from stored(file.read_bytes())


def pairs(release: str) -> Iterator[tuple[str, Stored, Stored]]:
    """Topic, entry before and entry after, of all that both recordings have."""
    for directory in sorted((RECORDED / release / "before-cleaning").glob("*-0")):
        by_offset = {
            offset: entry
            for entry in partition(directory)
            for offset in range(entry.batch.base_offset or 0, entry.batch.last_offset + 1)
        }
        for after in partition(RECORDED / release / "clean" / directory.name):
            if (before := by_offset.get(after.batch.last_offset)) is not None:
                yield directory.name, before, after


def case_of(before: Stored, after: Stored) -> tuple[str, Table, Case]:
    """What happened to an entry, and the rules for it."""
    offsets = {record.offset for record in after.records}
    stay = [record for record in before.records if record.offset in offsets]
    if before.batch.magic < 2:
        return "rewritten", CLEANED_LEGACY, Case(before.batch, stay, before.batch.magic)
    if not after.records:
        return "emptied", EMPTIED, Case(before.batch, (), before.batch.magic)
    horizon = after.batch.delete_horizon_ms
    kind = "rewritten" if horizon is None else "with a horizon"
    return kind, CLEANED, Case(before.batch, stay, before.batch.magic, delete_horizon_ms=horizon)


@pytest.mark.parametrize("release", EXPECTED)
def test_what_cleaners_left_is_as_the_rules_say(release: str) -> None:
    found: Counter[str] = Counter()
    for topic, before, after in pairs(release):
        if before.data == after.data:
            found["untouched"] += 1
            continue
        kind, table, case = case_of(before, after)
        assert violations(table, case, after.batch) == [], (topic, after.batch)
        assert as_consumed(after.records) == as_consumed(case.records), (topic, after.batch)
        assert [record.sequence for record in after.records] == [record.sequence for record in case.records]
        found[kind] += 1
    assert found == EXPECTED[release]


def test_a_horizon_comes_with_a_tombstone_or_a_marker_and_stays() -> None:
    """The markers recorded have lost their transactions' records. Rounds of cleaning may lie in between."""
    for topic, before, after in pairs("kafka-4.3"):
        if before.data == after.data or not after.records:
            continue
        had, has = (any(record.value is None for record in entry.records) for entry in (before, after))
        if has or after.batch.is_control:
            assert after.batch.delete_horizon_ms is not None, (topic, after.batch)
        if after.batch.delete_horizon_ms is not None:
            assert had or after.batch.is_control, (topic, after.batch)


def test_the_check_sees_every_field() -> None:
    """A batch of other values in each field, one at a time, is a violation."""
    _topic, before, after = next(pair for pair in pairs("kafka-4.3") if pair[1].data != pair[2].data)
    _kind, table, case = case_of(before, after)
    for rule in table:
        other = "other" if isinstance(getattr(after.batch, rule.field), str) else 12345
        changed = replace(after.batch, **{rule.field: other})
        (sentence,) = violations(table, case, changed)
        assert sentence.startswith(f"{rule.field} is {other!r}, not ")
