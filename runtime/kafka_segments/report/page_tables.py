"""Tables of the page: rows of text, each table with a limit of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from kafka_segments.errors import DecompressionError
from kafka_segments.log.findings import LEFT_OUT_KINDS, Finding, Kind, lost_offsets, wrong_words
from kafka_segments.report.log_charts import shown_segments
from kafka_segments.report.log_dirs import disk_words, files_of_log
from kafka_segments.report.log_summary import DamagedPlace, LogSummary
from kafka_segments.report.next_steps import Step, dump_steps
from kafka_segments.report.report_totals import IN_DOUBT, LogRow, ReportTotals, label_of
from kafka_segments.report.spans import STATES
from kafka_segments.report.words import (
    bytes_words,
    content_words,
    duration_words,
    hex_lines,
    number_words,
    plural,
    time_words,
)

__all__ = [
    "PartitionCard",
    "TableRows",
    "epoch_rows",
    "headline",
    "horizon_facts",
    "log_facts",
    "message_rows",
    "not_read",
    "partition_cards",
    "partition_rows",
    "place_view",
    "producer_rows",
    "segment_rows",
    "tiles",
    "transaction_rows",
    "verdict",
]

_MAX_PARTITIONS = 1000
_MAX_ROWS = 60
_SAID = (Kind.DAMAGE, Kind.LOST, Kind.UNUSED)
"""Kinds of findings whose words say it all."""

Row = Sequence[str]


class TableRows(NamedTuple):
    """Rows of a table.

    Attributes:
        rows: cells.
        note: what was left out; empty if nothing was.
    """

    rows: Sequence[Any]
    note: str = ""


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


def tiles(totals: ReportTotals) -> list[tuple[str, str, str]]:
    """Return the figures at the top: a number, what it counts, and more about it."""
    rows = totals.rows
    size, num_batches = sum(row.size for row in rows), sum(row.num_batches for row in rows)
    topics = {row.topic for row in rows if row.topic}
    states = {state: sum(row.transactions[state] for row in rows) for state in STATES}
    eras = totals.times.eras()
    lost = sum(row.num_lost for row in rows)
    found = [
        (*_counted(len(rows), "partition"), f"of {plural(len(topics), 'topic')}"),
        (*_counted(sum(row.num_segments for row in rows), "segment"), bytes_words(size)),
        (*_counted(sum(row.num_records for row in rows), "record"), f"in {plural(num_batches, 'batch')}"),
        (
            number_words(sum(row.num_places for row in rows)),
            "damaged or missing",
            f"{lost:,} offsets known to be lost",
        ),
        (
            *_counted(sum(states.values()), "transaction"),
            ", ".join(f"{count:,} {state}" for state, count in states.items() if count) or "none",
        ),
    ]
    if eras:
        first = max(min(row.first_timestamp or 0 for row in rows), eras[0].start)
        last = min(max(row.last_timestamp or 0 for row in rows), eras[0].end)
        more = f"{time_words(first)} to {time_words(last)} UTC"
        more += f", and {plural(len(eras) - 1, 'time')} far from it" * (len(eras) > 1)
        found.append((duration_words(last - first), "of time", more))
    return found


def _counted(number: int, noun: str) -> tuple[str, str]:
    first, second = plural(number, noun).split(" ", 1)
    return first, second


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
    note = _note(len(totals.findings), totals.num_findings.total(), "finding")
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


def _offsets(first: int | None, last: int | None) -> str:
    if first is None and last is None:
        return "-"
    return f"{'?' if first is None else first} to {'?' if last is None else last}"


def partition_rows(totals: ReportTotals, anchors: set[str]) -> TableRows:
    """Return a row for each partition: its section's id (empty without one), and cells."""
    ordered = sorted(totals.rows, key=lambda row: (not row.is_wrong, -row.size))[:_MAX_PARTITIONS]
    rows = [
        (row.anchor if row.anchor in anchors else "", row.is_wrong, _partition_row(row))
        for row in sorted(ordered, key=lambda row: (not row.is_wrong, row.topic, row.partition, row.name))
    ]
    return TableRows(rows, _note(len(rows), len(totals.rows), "partition"))


def _partition_row(row: LogRow) -> Row:
    states = row.transactions
    return (
        row.name,
        number_words(row.num_segments),
        bytes_words(row.size),
        number_words(row.num_batches),
        number_words(row.num_records),
        str(row.first_offset),
        str(row.end_offset),
        number_words(row.num_places),
        number_words(row.num_lost),
        number_words(row.num_absent),
        " / ".join(f"{states[state]:,}" for state in ("committed", "aborted", "open")),
        " ".join(row.codecs) or "-",
        time_words(row.first_timestamp),
        time_words(row.last_timestamp),
    )


def log_facts(row: LogRow, summary: LogSummary) -> list[tuple[str, str]]:
    """Return facts of a log: name and value."""
    log, end = summary.log, summary.log.end
    facts = [
        ("directories", ", ".join(log.copies) or "-"),
        ("topic id", log.topic_id or "-"),
        ("log start offset", str(row.first_offset)),
        ("last stable offset", str(row.last_stable_offset)),
        ("end offset", str(row.end_offset)),
        ("high watermark by checkpoint", "-" if end.high_watermark is None else str(end.high_watermark)),
        ("cleaned up to offset", "-" if log.cleaned_up_to is None else str(log.cleaned_up_to)),
        (
            "offsets without a record",
            f"{number_words(row.num_absent)} absent, {number_words(row.num_lost)} known to be lost",
        ),
    ]
    if end.is_live:
        facts.append(("broker", "a running broker has it open"))
    facts.append(("segments", f"{number_words(row.num_segments)}, {bytes_words(row.size)}"))
    return [*facts, ("on disk", disk_words(files_of_log(log)))]


def place_view(place: DamagedPlace, anchor: str) -> dict[str, Any]:
    """Return what is shown of a damaged place."""
    found = place.finding
    start = found.position or 0
    length = (found.end_position or start) - start
    return {
        "anchor": anchor,
        "title": f"{found.kind.value}: {(found.path or '').rpartition('/')[2]}, position {start}",
        "facts": [
            ("file", found.path or "-"),
            ("bytes", f"{start} to {start + length} ({bytes_words(length)})"),
            ("error", "-" if found.error is None else type(found.error).__name__),
            ("detail", found.detail),
            ("offsets lost", _offsets(found.first_offset, found.last_offset)),
        ],
        "hex": hex_lines(place.content, start) if place.content else None,
        "rest": max(0, length - len(place.content or b"")),
    }


def segment_rows(summary: LogSummary) -> TableRows:
    """Return a row for each segment."""
    segments = shown_segments(summary)
    rows = [
        (
            one.path.rpartition("/")[2],
            bytes_words(one.size),
            number_words(one.num_batches),
            number_words(one.num_records),
            _offsets(one.first_offset, one.last_offset),
            time_words(one.first_timestamp),
            time_words(one.last_timestamp),
            " ".join(sorted(one.codecs)) or "-",
            " ".join(map(str, sorted(one.magics))) or "-",
            bytes_words(one.largest),
            number_words(one.num_absent),
            bytes_words(one.other_bytes),
            bytes_words(one.damaged_bytes),
        )
        for one in segments
    ]
    return TableRows(rows, _note(len(rows), len(summary.segments), "segment"))


def transaction_rows(summary: LogSummary) -> TableRows:
    """Return a row for each transaction: first those that are not committed, then by duration."""
    spans = sorted(
        summary.transactions.kept, key=lambda one: (-STATES.index(one.state), -(one.duration_ms or 0))
    )[:_MAX_ROWS]
    rows = [
        (
            one.state,
            str(one.key),
            f"{one.first_offset} to {one.last_offset}",
            time_words(one.first_timestamp),
            duration_words(one.duration_ms),
            number_words(one.num_batches),
            number_words(one.num_records),
            bytes_words(one.num_bytes),
        )
        for one in spans
    ]
    return TableRows(rows, _note(len(rows), summary.transactions.counts.total(), "transaction"))


def producer_rows(summary: LogSummary) -> TableRows:
    """Return a row for each producer, those with the most records first."""
    producers = summary.producers
    rows = [
        (
            str(one.key),
            f"{one.lowest_epoch} to {one.highest_epoch}",
            number_words(one.num_batches),
            number_words(one.num_transactional),
            number_words(one.num_records),
            bytes_words(one.num_bytes),
            f"{one.first_offset} to {one.last_offset}",
            time_words(one.first_timestamp),
            time_words(one.last_timestamp),
        )
        for one in producers.top(_MAX_ROWS)
    ]
    return TableRows(rows, _note(len(rows), len(producers) + producers.num_dropped, "producer"))


def epoch_rows(summary: LogSummary) -> TableRows:
    """Return a row for each run of a leader epoch, with the start that the checkpoint notes."""
    noted = {one.epoch: one.start_offset for one in summary.log.leader_epochs}
    runs = summary.epochs.runs[:_MAX_ROWS]
    rows = [
        (
            str(one.key) if one.key >= 0 else "none",
            f"{one.first_offset} to {one.last_offset}",
            str(noted.get(one.key, "-")),
            time_words(one.first_timestamp),
            number_words(one.num_batches),
            number_words(one.num_records),
            bytes_words(one.num_bytes),
        )
        for one in runs
    ]
    num_all = len(summary.epochs.runs) + summary.epochs.num_left_out
    return TableRows(rows, _note(len(rows), num_all, "run of an epoch"))


def horizon_facts(summary: LogSummary, made_at: int) -> str:
    """Return a sentence on the delete horizons (KIP-534); empty without any."""
    window, found = summary.horizons.window(), summary.horizons.range()
    if window is None or found is None:
        return ""
    num_batches = window.num_outside + sum(count for (count,) in summary.horizons.counts_in(window))
    first, last = found
    state = "all of these times are over" if last <= made_at else "some of these times are to come"
    return (
        f"{plural(num_batches, 'batch')} with a delete horizon from {time_words(first)} to "
        f"{time_words(last)} UTC (to {duration_words(summary.horizons.width)}): from then on the cleaner may "
        f"remove their tombstones and markers; when this page was made, {state}."
    )


def message_rows(summary: LogSummary) -> list[Any]:
    """Return a row for each message that is shown: offset, time, key, value, headers."""
    rows = []
    for one in summary.messages.found:
        headers = [
            f"{content_words(key, len(key))}: {content_words(value, len(value or b''))}"
            for key, value in one.headers
        ]
        if one.num_headers > len(one.headers):
            headers.append(f"and {one.num_headers - len(one.headers)} more")
        value = f"control record {one.control}" if one.control else content_words(one.value, one.len_value)
        key = "-" if one.control else content_words(one.key, one.len_key)
        rows.append((str(one.offset), time_words(one.timestamp), key, value, headers))
    return rows


def _note(num_shown: int, num_all: int, noun: str) -> str:
    return f"{num_shown:,} of {plural(num_all, noun)} are shown" if num_shown < num_all else ""
