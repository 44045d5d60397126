"""What the page says in words: what is wrong, where, and what is left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kafka_segments.errors import DecompressionError
from kafka_segments.log.findings import LEFT_OUT_KINDS, Finding, Kind, lost_offsets, wrong_words
from kafka_segments.report.next_steps import Step, dump_steps
from kafka_segments.report.report_totals import IN_DOUBT, LogRow, ReportTotals, label_of
from kafka_segments.report.words import plural

__all__ = [
    "PartitionCard",
    "headline",
    "left_out",
    "not_read",
    "offset_words",
    "partition_cards",
    "shown_rows",
    "verdict",
]

_MAX_PARTITIONS = 1000
_SAID = (Kind.DAMAGE, Kind.LOST, Kind.UNUSED)
"""Kinds of findings whose words say it all."""


class PartitionCard(NamedTuple):
    """What was found in a partition.

    Attributes:
        row: of it.
        findings: id of details in the page, kind (either may be empty), what is wrong, where.
        steps: what to type to see it.
    """

    row: LogRow
    findings: list[tuple[str, str, str, str]]
    steps: list[Step]


def verdict(totals: ReportTotals, rest: Sequence[str]) -> tuple[str, str]:
    """Return a class of the style sheet and a sentence: whether something is wrong.

    Args:
        totals: of the report.
        rest: what was not read.
    """
    counts = totals.num_findings
    parts = [
        ("damaged place", "", counts[Kind.DAMAGE.value]),
        ("range", " of lost offsets", counts[Kind.LOST.value]),
        ("segment", " that cannot be opened", counts[Kind.NOT_OPENED.value]),
        ("index or checkpoint file", " with an error", counts[Kind.UNUSED.value]),
        ("transaction", " in doubt", counts[IN_DOUBT]),
        ("log", " that could not be read", len(totals.failures)),
        ("partition", " missing", len(totals.gone)),
    ]
    wrong = [plural(count, noun) + more for noun, more, count in parts if count]
    if wrong:
        return "bad", f"Something is wrong: {', '.join(wrong)}."
    return "good", f"Nothing is damaged or missing{' in what was read' if rest else ''}."


def not_read(totals: ReportTotals, skipped: Sequence[str]) -> list[str]:
    """Return what was not read, in words."""
    counts = totals.num_findings
    return [*skipped, *(f"{counts[one.value]:,} {one.value}" for one in LEFT_OUT_KINDS if counts[one.value])]


def headline(totals: ReportTotals) -> str:
    """Return a sentence on what is lost; empty if nothing is wrong."""
    num_lost, num_wrong = sum(row.num_lost for row in totals.rows), sum(row.is_wrong for row in totals.rows)
    if not num_wrong:
        return ""
    lost = f"{plural(num_lost, 'record')} lost in {sum(row.num_lost > 0 for row in totals.rows):,}"
    first = lost if num_lost else f"No record is known to be lost; findings in {num_wrong:,}"
    return f"{first} of {plural(len(totals.rows), 'partition')}."


def partition_cards(totals: ReportTotals, anchors: dict[int, str]) -> tuple[list[PartitionCard], str]:
    """Return the findings by partition, those that have lost the most first; and what was left out.

    Args:
        totals: of the report.
        anchors: ids of details in the page, by the `id()` of a finding.
    """
    cards: dict[str, PartitionCard] = {}
    for row, one in totals.findings:
        card = cards.setdefault(row.anchor, PartitionCard(row, [], _dumps(row, one)))
        kind = "" if one.kind in _SAID else label_of(one)
        card.findings.append((anchors.get(id(one), ""), kind, _words(one), _where(row, one)))
    note = left_out(len(totals.findings), totals.num_findings.total(), "finding")
    return sorted(cards.values(), key=lambda one: (not one.row.is_wrong, -one.row.num_lost)), note


def _dumps(row: LogRow, worst: Finding) -> list[Step]:
    """Return commands that show a partition's damage, in the copy of its worst finding."""
    place = next((one for one in row.places if f"{worst.path}/".startswith(f"{one}/")), row.places[0])
    if row.lost or worst.damage is None or worst.last_offset is None:
        return dump_steps(place, row.lost)
    return dump_steps(place, [(0, worst.last_offset + 1)])


def _words(one: Finding) -> str:
    """Return what is wrong, without the path."""
    if one.kind in LEFT_OUT_KINDS:
        return one.message
    if one.damage is None or one.error is None:
        return one.detail
    what = "missing" if one.kind is Kind.LOST else wrong_words(one.error)
    first, last = one.first_offset, one.last_offset
    if first is None or last is None or isinstance(one.error, DecompressionError):
        return f"{what}; {lost_offsets(one.damage)}"
    return f"{what}, {plural(last - first + 1, 'record')}, offsets {first} to {last}"


def _where(row: LogRow, one: Finding) -> str:
    """Return the file, by its name where the partition has one directory, and the position."""
    path = one.path or ""
    if len(row.places) == 1:
        path = path.removeprefix(row.places[0]).lstrip("/")
    position = "" if one.position is None else f"position {one.position}"
    end = "" if one.end_position in (None, one.position) else f" to {one.end_position}"
    return ", ".join(filter(None, (path, position + end)))


def offset_words(first: int | None, last: int | None) -> str:
    """Return a range of offsets; unknown ones are marked."""
    if first is None and last is None:
        return "-"
    return f"{'?' if first is None else first} to {'?' if last is None else last}"


def shown_rows(totals: ReportTotals) -> list[LogRow]:
    """Return the partitions to list: those with something wrong first, then the largest; by name."""
    ordered = sorted(totals.rows, key=lambda row: (not row.is_wrong, -row.size))[:_MAX_PARTITIONS]
    return sorted(ordered, key=lambda row: (not row.is_wrong, row.log.topic, row.log.partition, row.name))


def left_out(num_shown: int, num_all: int, noun: str) -> str:
    """Return how many of all are shown; empty if these are all."""
    return f"{num_shown:,} of {plural(num_all, noun)} are shown" if num_shown < num_all else ""
