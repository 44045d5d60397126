"""The tables of rules cover every field, and the document shows them as they are."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from kafka_segments import Batch
from kafka_segments.write.convert import LOSSES, rules

PAGE = Path(__file__).resolve().parents[2] / "docs" / "conversions.md"
TABLES = ("CLEANED", "EMPTIED", "CLEANED_AS_V2", "CLEANED_LEGACY", "CONVERTED_UP", "CONVERTED_DOWN")
# Of the bytes, of the reader, or following from other fields.
DERIVED = {
    "path",
    "position",
    "size",
    "crc",
    "crc_valid",
    "compression_id",
    "last_sequence",
    "previous_offset",
    "num_left",
}
# What messages of magic 0 and 1 have of a batch's fields.
OF_MESSAGES = {
    "magic",
    "base_offset",
    "last_offset",
    "compression",
    "timestamp_type",
    "max_timestamp",
    "num_records",
}


def table_of(name: str) -> rules.Table:
    table: rules.Table = getattr(rules, name)
    return table


@pytest.mark.parametrize("name", TABLES)
def test_a_table_has_a_rule_for_every_field(name: str) -> None:
    named = [rule.field for rule in table_of(name)]
    every = {field.name for field in fields(Batch)} - DERIVED
    assert len(set(named)) == len(named)
    assert set(named) == (OF_MESSAGES if name == "CLEANED_LEGACY" else every)


@pytest.mark.parametrize("name", TABLES)
def test_the_document_shows_the_table(name: str) -> None:
    """Whoever changes a rule copies these lines into the page."""
    lines = [f"| {rule.field} | {rule.action} | {rule.how} |" for rule in table_of(name)]
    if name == "CLEANED_AS_V2":  # as CONVERTED_UP but for one line
        shown = {f"| {rule.field} | {rule.action} | {rule.how} |" for rule in rules.CONVERTED_UP}
        lines = [line for line in lines if line not in shown]
        assert len(lines) == 1
    assert "\n".join(lines) in PAGE.read_text(encoding="utf-8")


def test_the_document_lists_the_losses() -> None:
    lines = [f"| {name} | {meaning} |" for name, meaning in LOSSES.items()]
    assert "\n".join(lines) in PAGE.read_text(encoding="utf-8")
