"""Charts of one log: offsets, transactions by producer, damage by position in the files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from kafka_segments.log.findings import Finding, Kind
from kafka_segments.report.charts import Chart, Track, Value, track_chart
from kafka_segments.report.log_summary import LogSummary
from kafka_segments.report.segment_totals import SegmentTotals
from kafka_segments.report.spans import ProducerSpan, TransactionSpan
from kafka_segments.report.words import bytes_words, duration_words, number_words, plural, time_words, unit_of

__all__ = ["STATE_COLOURS", "damage_chart", "log_charts", "shown_segments"]

STATE_COLOURS = {"committed": "good", "aborted": "warn", "open": "c0", "in doubt": "bad"}
_MAX_PRODUCERS = 24
_MAX_LOST = 200
MAX_SEGMENTS = 40
_PRESENT = ((1, "a", "all offsets"), (0.5, "b", "half or more"), (0, "c", "fewer"))
_LABEL_SHARE = 0.04  # of the axis, from which a bar has room for a label


def log_charts(summary: LogSummary) -> list[Chart]:
    """Return the charts over a log's offsets."""
    charts = [_offsets(summary)]
    if len(summary.producers) or summary.transactions.counts:
        charts.append(_producers(summary))
    return charts


def _offsets(summary: LogSummary) -> Chart:
    """Draw segments, present and lost offsets, and leader epochs."""
    domain = summary.offsets.start, summary.offsets.end
    tracks: list[Track] = [
        ("segments", list(_segments(summary))),
        ("records present", list(_present(summary))),
        ("lost or damaged", list(_lost(summary))),
    ]
    if any(run.key >= 0 for run in summary.epochs.runs):
        tracks.append(("leader epochs", list(_epochs(summary))))
    legend = (
        ("c0-a", "segments, leader epochs"),
        ("c0-b", "every second one"),
        *((f"good-{name}", f"{words} have a record") for _share, name, words in _PRESENT),
        ("bad", "lost or damaged"),
    )
    notes = []
    if summary.epochs.num_left_out:
        notes.append(f"{plural(summary.epochs.num_left_out, 'later epoch')} drawn as one")
    if len(summary.lost) > _MAX_LOST:
        notes.append(f"only the first {_MAX_LOST} lost ranges are drawn")
    chart = track_chart("Offsets", "offset", domain, tracks)
    return replace(chart, legend=legend, note="; ".join(notes))


def _segments(summary: LogSummary) -> Iterator[Value]:
    pieces = summary.log.pieces
    start, end = summary.offsets.start, summary.offsets.end
    many = max(1, -(-len(pieces) // 400))  # of many segments, some share a bar
    for at in range(0, len(pieces), many):
        group = summary.segments[at : at + many]
        first = pieces[at].start
        stop = pieces[at + many].start if at + many < len(pieces) else end
        size = sum(one.size for one in group)
        num_records = sum(one.num_records for one in group)
        words = f"{plural(len(group), 'segment')} from offset {first}: " if many > 1 else f"segment {first}: "
        words += f"{bytes_words(size)}, {plural(num_records, 'record')}"
        label = str(first) if stop - first > _LABEL_SHARE * 2 * (end - start) else ""
        yield Value(first, stop, words, ("c0-a", "c0-b")[at // many % 2], label=label)


def _present(summary: LogSummary) -> Iterator[Value]:
    for first, end, share in summary.offsets.shares():
        if share:
            words = f"offsets {first} to {end - 1}: {share:.1%} present"
            name = next(name for least, name, _words in _PRESENT if share >= least)
            yield Value(first, end, words, f"good-{name}")


def _lost(summary: LogSummary) -> Iterator[Value]:
    for first, end in summary.lost[:_MAX_LOST]:
        words = f"lost: offsets {first} to {end - 1}"
        yield Value(first, end, words, "bad", is_outlined=True)


def _epochs(summary: LogSummary) -> Iterator[Value]:
    length = max(1, summary.offsets.end - summary.offsets.start)
    for number, run in enumerate(summary.epochs.runs):
        words = f"leader epoch {run.key}: offsets {run.first_offset} to {run.last_offset}, "
        words += plural(run.num_records, "record")
        label = str(run.key) if run.last_offset - run.first_offset > _LABEL_SHARE * length else ""
        end = run.last_offset + 1
        yield Value(run.first_offset, end, words, ("c0-a", "c0-b")[number % 2], True, label=label)


def _producers(summary: LogSummary) -> Chart:
    """Draw where each producer wrote, and its transactions."""
    spans: dict[int, list[TransactionSpan]] = {}
    for one in summary.transactions.kept:
        spans.setdefault(one.key, []).append(one)
    notable = {span.key for own in spans.values() for span in own if span.state != "committed"}
    known = {one.key: one for one in summary.producers.top(_MAX_PRODUCERS)}
    order = [*sorted(notable), *(one for one in known if one not in notable)]
    order += [one for one in spans if one not in notable and one not in known]
    shown = sorted(order[:_MAX_PRODUCERS])
    tracks = [
        (f"producer {one}", list(_of_producer(summary.producers.get(one), spans.get(one, ()))))
        for one in shown
    ]
    domain = summary.offsets.start, summary.offsets.end
    chart = track_chart("Producers and their transactions", "offset", domain, tracks)
    legend = [("muted", "first to last batch of the producer")]
    legend += [
        (STATE_COLOURS[state], f"{state}: {number_words(count)}")
        for state, count in sorted(summary.transactions.counts.items())
    ]
    notes = []
    num_producers = len(summary.producers) + summary.producers.num_dropped
    if num_producers > len(shown):
        notes.append(f"{len(shown)} of {plural(num_producers, 'producer')} are drawn")
    if summary.transactions.num_left_out:
        left = plural(summary.transactions.num_left_out, "transaction")
        notes.append(f"{left} not drawn: the shortest committed ones, unless there are too many others")
    return replace(chart, legend=tuple(legend), note="; ".join(notes))


def _of_producer(producer: ProducerSpan | None, spans: Sequence[TransactionSpan]) -> Iterator[Value]:
    if producer is not None:
        words = f"producer {producer.key}: {plural(producer.num_records, 'record')}, offsets "
        words += f"{producer.first_offset} to {producer.last_offset}"
        yield Value(producer.first_offset, producer.last_offset + 1, words, "muted", height=0.25)
    for span in spans:
        words = f"{span.state}: producer {span.key}, offsets {span.first_offset} to "
        words += f"{span.last_offset}, {plural(span.num_records, 'record')}, from "
        words += f"{time_words(span.first_timestamp)} UTC, {duration_words(span.duration_ms)}"
        yield Value(
            span.first_offset, span.last_offset + 1, words, STATE_COLOURS[span.state], True, height=0.6
        )


def shown_segments(summary: LogSummary) -> list[SegmentTotals]:
    """The segments that are drawn and listed: damaged ones first, if there are too many; by offset."""
    ordered = sorted(summary.segments, key=lambda one: (not one.damages, one.base_offset))
    return sorted(ordered[:MAX_SEGMENTS], key=lambda one: one.base_offset)


def damage_chart(summary: LogSummary, anchors: Sequence[tuple[Finding, str]]) -> Chart:
    """Draw which bytes of each segment are sound, damaged or padding.

    Args:
        summary: of the log.
        anchors: damaged places with the ids of their details in the page.
    """
    segments = shown_segments(summary)
    highest = max((one.size for one in segments), default=1)
    divisor, unit = unit_of(highest)
    tracks = [(_name(one), list(_bytes_of(one, anchors))) for one in segments]
    chart = track_chart(
        "Damage map", f"position in the segment, {unit}", (0, highest), tracks, divisor=divisor, step=20
    )
    legend = (("good", "sound"), ("bad", "damaged: select it for details"), ("muted", "padding (zeros)"))
    num_more = len(summary.segments) - len(segments)
    note = f"{plural(num_more, 'segment')} not drawn; those with damage come first" if num_more else ""
    return replace(chart, legend=legend, note=note)


def _name(one: SegmentTotals) -> str:
    return f"{one.path.rpartition('/')[2].removesuffix('.log').lstrip('0') or '0'}.log"


def _bytes_of(one: SegmentTotals, anchors: Sequence[tuple[Finding, str]]) -> Iterator[Value]:
    sound_end = one.size - one.other_bytes
    if sound_end:
        yield Value(0, sound_end, f"{_name(one)}: {bytes_words(one.sound_bytes)} sound", "good")
    if one.other_bytes:
        words = f"{_name(one)}: {bytes_words(one.other_bytes)} of padding"
        yield Value(sound_end, one.size, words, "muted")
    for found, anchor in anchors:
        if found.path != one.path or found.position is None or found.kind is Kind.LOST:
            continue
        end = found.position if found.end_position is None else found.end_position
        words = f"{_name(one)}: damage at {found.position} to {end}: {found.detail}"
        yield Value(found.position, end, words, "bad", is_outlined=True, target=f"{anchor}-bytes")
