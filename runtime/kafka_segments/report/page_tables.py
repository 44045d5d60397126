"""Tables of the page: rows of text, each table with a limit of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from kafka_segments.log.findings import LEFT_OUT_KINDS, Finding, Kind
from kafka_segments.report.log_charts import shown_segments
from kafka_segments.report.log_summary import DamagedPlace, LogSummary
from kafka_segments.report.report_totals import IN_DOUBT, LogRow, ReportTotals, label_of
from kafka_segments.report.transaction_spans import STATES
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
    "TableRows",
    "epoch_rows",
    "finding_rows",
    "horizon_facts",
    "log_facts",
    "message_rows",
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

Row = Sequence[str]


class TableRows(NamedTuple):
    """Rows of a table.

    Attributes:
        rows: cells.
        note: what was left out; empty if nothing was.
    """

    rows: Sequence[Any]
    note: str = ""


def tiles(totals: ReportTotals) -> list[tuple[str, str, str]]:
    """Return the figures at the top: a number, what it counts, and more about it."""
    rows = totals.rows
    size, num_batches = sum(row.size for row in rows), sum(row.num_batches for row in rows)
    topics = {row.topic for row in rows if row.topic}
    states = {state: sum(row.transactions[state] for row in rows) for state in STATES}
    span = totals.times.window()
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
    if span is not None:  # without outliers
        end = span.start + span.num_bins * span.width
        first = max(min(row.first_timestamp or 0 for row in rows), span.start)
        last = min(max(row.last_timestamp or 0 for row in rows), end)
        found.append(
            (duration_words(last - first), "of time", f"{time_words(first)} to {time_words(last)} UTC")
        )
    return found


def _counted(number: int, noun: str) -> tuple[str, str]:
    first, second = plural(number, noun).split(" ", 1)
    return first, second


def verdict(totals: ReportTotals, skipped: Sequence[str]) -> tuple[str, str]:
    """Return a class of the style sheet and sentences: whether something is wrong, and what was not read."""
    counts = totals.num_findings
    parts = [
        ("damaged place", "", counts[Kind.DAMAGE.value]),
        ("range", " of lost offsets", counts[Kind.LOST.value]),
        ("segment", " that cannot be opened", counts[Kind.NOT_OPENED.value]),
        ("index or checkpoint file", " with an error", counts[Kind.UNUSED.value]),
        ("transaction", " in doubt", counts[IN_DOUBT]),
        ("log", " that could not be read", len(totals.failures)),
    ]
    wrong = [plural(count, noun) + more for noun, more, count in parts if count]
    not_read = [f"{counts[kind.value]:,} {kind.value}" for kind in LEFT_OUT_KINDS if counts[kind.value]]
    not_read = [*skipped, *not_read]
    rest = f" Not read: {'. '.join(not_read)}." if not_read else ""
    if wrong:
        return "bad", f"Something is wrong: {', '.join(wrong)}.{rest}"
    return "good", f"Nothing is damaged or missing{' in what was read' if rest else ''}.{rest}"


def finding_rows(totals: ReportTotals, anchors: dict[int, str]) -> TableRows:
    """Return all findings: id of details, kind, partition, offsets, what is wrong; what is wrong first.

    Args:
        totals: of the report.
        anchors: ids of details in the page, by the `id()` of a finding.
    """
    failed = [("", "not read", name, "-", str(error)) for name, error in totals.failures[:_MAX_ROWS]]
    rows = [*failed, *((anchors.get(id(one), ""), *_finding_row(one)) for one in totals.findings)]
    num_all = totals.num_findings.total() + len(totals.failures)
    return TableRows(rows, _note(len(rows), num_all, "finding"))


def _finding_row(one: Finding) -> Row:
    name = f"{one.topic}-{one.partition}" if one.topic else (one.path or "").rpartition("/")[2]
    return label_of(one), name, _offsets(one.first_offset, one.last_offset), one.message


def _offsets(first: int | None, last: int | None) -> str:
    if first is None and last is None:
        return "-"
    return f"{'?' if first is None else first} to {'?' if last is None else last}"


def partition_rows(totals: ReportTotals, anchors: set[str]) -> TableRows:
    """Return a row for each partition: its section's id (empty without one), and cells."""
    ordered = sorted(totals.rows, key=lambda row: (not row.is_wrong, -row.size))[:_MAX_PARTITIONS]
    rows = [
        (row.anchor if row.anchor in anchors else "", row.is_wrong, _partition_row(row))
        for row in sorted(ordered, key=lambda row: (row.topic, row.partition, row.name))
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
    return [*facts, ("segments", f"{number_words(row.num_segments)}, {bytes_words(row.size)}")]


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
            str(one.producer_id),
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
            str(one.producer_id),
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
            str(one.epoch) if one.epoch >= 0 else "none",
            f"{one.first_offset} to {one.last_offset}",
            str(noted.get(one.epoch, "-")),
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
    for one in summary.messages:
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
