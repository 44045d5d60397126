"""The page: totals and charts as one HTML file without scripts.

Strategy: all text goes through the template's escaping, after unprintable characters and marks of writing
direction were made visible. The policy in the page forbids scripts, and everything that is not in the file.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jinja2
from markupsafe import Markup

from kafka_segments.errors.escaping import shown
from kafka_segments.log.segment_figures import codec_name
from kafka_segments.report import page_tables, words
from kafka_segments.report.bins import SizeBins, TimeBins, TimeWindow
from kafka_segments.report.chart_svg import svg_of
from kafka_segments.report.charts import Chart, bar_chart, codec_chart, time_chart
from kafka_segments.report.log_charts import damage_chart, log_charts, shown_segments
from kafka_segments.report.log_dirs import disk_words, files_of_log
from kafka_segments.report.log_summary import MAX_PLACES, LogSummary
from kafka_segments.report.next_steps import next_steps
from kafka_segments.report.report_totals import LogRow, ReportTotals
from kafka_segments.report.spans import STATES

__all__ = ["PageFacts", "page_of"]

_NUM_TOPICS = 7
_REST = "(the rest)"
_MAX_ROWS = 60  # of a table of one log


@dataclass(frozen=True, slots=True)
class PageFacts:
    """What the page says of itself.

    Attributes:
        paths: what was read, as it was given.
        version: of kafka-segments.
        made_at: time in milliseconds.
        is_checked: whether checksums were verified.
        with_payload: whether it has message content.
        skipped: files that were left out, in words.
        log_dirs: the directories that it is in: path, whose it is, what is on disk.
    """

    paths: Sequence[str]
    version: str
    made_at: int
    is_checked: bool
    with_payload: bool
    skipped: Sequence[str] = ()
    log_dirs: Sequence[tuple[str, str, str]] = ()


def page_of(totals: ReportTotals, facts: PageFacts) -> str:
    """Return the page."""
    environment = _environment()
    style = environment.get_template("style.css").render()
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode("ascii")
    is_one, rest = len(totals.rows) == 1, page_tables.not_read(totals, facts.skipped)
    details = [_log_view(row, summary, facts, with_times=not is_one) for row, summary in totals.details]
    anchors = {id(one): anchor for view in details for one, anchor in view["anchors"]}
    return environment.get_template("page.html").render(
        style=Markup(style),
        style_digest=digest,
        facts=facts,
        totals=totals,
        rows=page_tables.shown_rows(totals),
        verdict=page_tables.verdict(totals, rest),
        headline=page_tables.headline(totals),
        not_read=rest,
        steps=next_steps(
            facts.paths,
            is_damaged=bool(totals.gone) or any(row.num_places for row in totals.rows),
            is_live=any(row.log.end.is_live for row in totals.rows),
        ),
        cards=page_tables.partition_cards(totals, anchors),
        over_time=_over_time(totals.times, _topics(totals)),
        codecs=_codecs(totals),
        sizes=_sizes(totals.batch_bytes, totals.batch_records),
        details=details,
    )


def _environment() -> jinja2.Environment:
    """Make the template's environment: everything is escaped, and nothing undefined passes in silence."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("kafka_segments.report", "page_files"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "number": words.number_words,
        "size": words.bytes_words,
        "time": words.time_words,
        "duration": words.duration_words,
        "content": words.content_words,
        "hex": words.hex_lines,
        "svg": svg_of,
    }
    environment.globals |= {
        "plural": words.plural,
        "left_out": page_tables.left_out,
        "offsets": page_tables.offset_words,
        "max_rows": _MAX_ROWS,
        "states": STATES,
    }
    return environment


def _visible(value: Any) -> Any:
    """Escape unprintable characters of text, and mask secrets in addresses; lines stay lines."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return "\n".join(map(shown, value.split("\n")))


def _topics(totals: ReportTotals) -> dict[str, TimeBins]:
    """The largest topics, and the rest together."""
    top = totals.top_topics
    found = {topic: totals.topics[topic] for topic in top[:_NUM_TOPICS]}
    if len(top) > _NUM_TOPICS:
        rest = found[_REST] = TimeBins(2)
        for topic in top[_NUM_TOPICS:]:
            rest.add_all(totals.topics[topic])
    return found


def _over_time(times: TimeBins, topics: dict[str, TimeBins]) -> dict[str, Any]:
    """Charts of each era, that with the most records first, and a table of records and bytes over time."""
    eras: list[tuple[TimeWindow, int, list[str], list[Chart]]] = []
    rows: list[tuple[int, ...]] = []
    for window in times.eras():
        counts = {topic: own.counts_in(window) for topic, own in topics.items()}
        colours = [f"c{number}" for number in range(len(counts))]
        units = ("records", "bytes") if not eras else () if window.is_moment else ("records",)
        charts: list[Chart] = []
        for number, unit in enumerate(units):
            series = {topic: [sums[number] for sums in own] for topic, own in counts.items()}
            charts.append(time_chart(f"{unit.capitalize()} over time", unit, window, series, colours))
        found = times.counts_in(window)
        starts = (window.start + number * window.width for number in range(window.num_bins))
        rows += [(start, *sums) for start, sums in zip(starts, found, strict=True) if any(sums)]
        names = [topic for topic, own in counts.items() if any(records for records, _size in own)]
        eras.append((window, sum(records for records, _size in found), names, charts))
    return {"eras": eras, "rows": sorted(rows), "num_without": times.num_without}


def _codecs(totals: ReportTotals) -> dict[str, Any]:
    """Return the name, the totals and the estimated decompressed bytes of each codec, and a chart of them."""
    rows = []
    for codec, one in sorted(totals.codecs.items()):
        more = None if one.ratio is None else round(one.num_payload_bytes * (one.ratio - 1))
        rows.append((codec_name(codec), one, None if more is None else one.num_bytes + more))
    bars = [(name, one.num_bytes, whole) for name, one, whole in rows]
    return {"rows": rows, "chart": codec_chart("Bytes by codec", bars) if bars else None}


def _sizes(sizes: SizeBins, records: SizeBins) -> dict[str, Any]:
    charts, rows = [], []
    for title, axes, bins, is_bytes in (
        ("Bytes of batches", "batches by bytes of a batch, from", sizes, True),
        ("Records of batches", "batches by records of a batch, from", records, False),
    ):
        bars = []
        for low, count in bins.bins():
            label = words.bytes_words(low).replace(".0 ", " ") if is_bytes else words.number_words(low)
            bars.append((label, count, f"{label} or more, below twice that: {words.plural(count, 'batch')}"))
        charts.append(bar_chart(title, axes, bars))
        mean = bins.sum_all / bins.num_all if bins.num_all else 0
        show = words.bytes_words if is_bytes else (lambda value: f"{value:,.4g}")
        rows.append((title, words.number_words(bins.num_all), show(mean), show(bins.highest)))
    return {"charts": charts if sizes.num_all else [], "rows": rows}


def _log_view(row: LogRow, summary: LogSummary, facts: PageFacts, *, with_times: bool) -> dict[str, Any]:
    """Return what the page shows of one log; its records over time unless it is the only one."""
    anchors = [(one, f"{row.anchor}-damage-{at}") for at, one in enumerate(summary.damage[:MAX_PLACES])]
    times = _over_time(summary.times, {summary.name: summary.times})
    return {
        "row": row,
        "anchors": anchors,
        "summary": summary,
        "on_disk": disk_words(files_of_log(summary.log)),
        "charts": [
            *log_charts(summary),
            *(chart for *_era, charts in times["eras"] for chart in charts[:1] if with_times),
        ],
        "damage_chart": damage_chart(summary, anchors),
        "segments": shown_segments(summary),
        "noted_epochs": {one.epoch: one.start_offset for one in summary.log.leader_epochs},
        "with_payload": facts.with_payload,
    }
