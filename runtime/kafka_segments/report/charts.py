"""Charts of a report as Vega-Lite specifications, with all data inside.

Colours are variables of the page's style sheet, so that one chart serves light and dark. Each mark has a
description, which becomes its accessible name and its tooltip (`chart_svg`). Legends are text of the page.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kafka_segments.report.bins import TimeWindow
from kafka_segments.report.words import (
    bytes_words,
    duration_words,
    number_words,
    time_words,
    unit_of,
)

__all__ = ["Chart", "Track", "Value", "bar_chart", "codec_chart", "time_chart", "track_chart"]

_WIDTH = 1000
_MAX_TICKS = 8
_SECOND, _MINUTE, _HOUR, _DAY, _YEAR = 1000, 60_000, 3_600_000, 86_400_000, 31_557_600_000
_TICKS = (
    *((step, "%H:%M:%S.%L", "milliseconds", step) for step in (25, 250)),
    *((step * _SECOND, "%H:%M:%S", "seconds", step) for step in (1, 5, 15)),
    *((step * _MINUTE, "%H:%M", "minutes", step) for step in (1, 5, 15)),
    *((step * _HOUR, "%H:%M", "hours", step) for step in (1, 3)),
    (12 * _HOUR, "%m-%d %H:%M", "hours", 12),
    (_DAY, "%Y-%m-%d", "day", 1),
    (7 * _DAY, "%Y-%m-%d", "week", 1),
    *((step * 30 * _DAY, "%Y-%m", "month", step) for step in (1, 3)),
    *((step * _YEAR, "%Y", "year", step) for step in (1, 2, 5, 10, 100, 1000)),
)
"""Ticks of a time axis: milliseconds between them, format, and the same distance for Vega."""
_MAX_EXACT = 1 << 53  # JavaScript's numbers
_NONE: dict[str, Any] = {"scale": None, "legend": None}

Spec = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart.

    Attributes:
        title: heading above it.
        spec: in Vega-Lite.
        axes: what they show.
        legend: colour (the name of a variable of the style sheet) and meaning.
        note: what was aggregated or left out; empty if nothing was.
        has_names: the labels on the left are names, not numbers.
        links: ids of elements of the page to which bars link, by their description.
    """

    title: str
    spec: Spec
    axes: str
    legend: tuple[tuple[str, str], ...] = ()
    note: str = ""
    has_names: bool = False
    links: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Value:
    """A bar on a track.

    Attributes:
        start: where it begins.
        end: where it ends.
        words: description of it.
        colour: name of a variable of the style sheet.
        is_outlined: draw an outline, so that it is visible however short it is.
        target: id of an element of the page to which it links; empty for none.
        label: text on it.
        height: share of the track's height.
    """

    start: int
    end: int
    words: str
    colour: str
    is_outlined: bool = False
    target: str = ""
    label: str = ""
    height: float = 0.8


Track = tuple[str, Sequence[Value]]
"""A named row of bars."""


def time_chart(
    title: str, unit: str, window: TimeWindow, series: Mapping[str, Sequence[int]], colours: Sequence[str]
) -> Chart:
    """Draw sums over time as stacked bars.

    Args:
        title: of the chart.
        unit: `records` or `bytes`, or another unit that is counted.
        window: bins of time.
        series: by name the sums in each bin.
        colours: of the series, in their order.
    """
    highest = max((sum(sums) for sums in zip(*series.values(), strict=True)), default=0)
    divisor, shown_unit = unit_of(highest) if unit == "bytes" else (1, unit)
    rows: list[Spec] = []
    for number, sums in enumerate(zip(*series.values(), strict=True)):
        start, below = window.start + number * window.width, 0
        for (name, value), colour in zip(zip(series, sums, strict=True), colours, strict=True):
            if value:
                words = bytes_words(value) if unit == "bytes" else f"{number_words(value)} {unit}"
                when = f"{time_words(start)} to {time_words(start + window.width)} UTC"
                row: Spec = {"a": start, "b": start + window.width, "u": below / divisor}
                row |= {"v": (below + value) / divisor, "c": f"var(--{colour})"}
                rows.append(row | {"d": f"{name}: {words}, {when}"})
                below += value
    least = (window.end - window.start) / _MAX_TICKS
    _length, form, interval, step = next((one for one in _TICKS if one[0] >= least), _TICKS[-1])
    axes = f"{shown_unit} in a bin of {duration_words(window.width)}, {time_words(window.start)} to "
    axes += f"{time_words(window.end)} UTC"
    axis: Spec = {"tickCount": {"interval": interval, "step": step}, "format": form}
    scale: Spec = {"type": "utc", "domain": [window.start, window.end], "nice": False}
    if interval == "milliseconds":  # Vega takes times of one second for one tick
        values = list(range(window.start // step * step, window.end + 1, step))
        axis = {"values": values, "labelExpr": f"utcFormat(datum.value, '{form}')"}
        scale |= {"type": "linear", "zero": False}
    kind = "temporal" if scale["type"] == "utc" else "quantitative"
    x = {"field": "a", "type": kind, "scale": scale, "axis": axis | {"labelOverlap": True}}
    y = {"field": "u", "type": "quantitative", "axis": _counts(highest)}
    spec = _spec(rows, 130, {"x": x, "x2": {"field": "b"}, "y": y, "y2": {"field": "v"}, **_marks()})
    legend = tuple((colour, name) for colour, name in zip(colours, series, strict=True) if any(series[name]))
    return Chart(title, spec, axes, legend)


def bar_chart(title: str, axes: str, bars: Iterable[tuple[str, int, str]]) -> Chart:
    """Draw a histogram: labels, counts and descriptions of the bins, in order."""
    rows: list[Spec] = [
        {"x": label, "v": count, "c": "var(--c0)", "d": words} for label, count, words in bars
    ]
    axis = {"labelAngle": 0, "labelOverlap": True}
    x = {"field": "x", "type": "ordinal", "sort": None, "axis": axis, "scale": {"paddingInner": 0.08}}
    y = {"field": "v", "type": "quantitative", "axis": _counts(max((row["v"] for row in rows), default=0))}
    return Chart(title, _spec(rows, 130, {"x": x, "y": y, **_marks()}, width=_WIDTH // 2), axes)


def codec_chart(title: str, rows: Sequence[tuple[str, int, int | None]]) -> Chart:
    """Draw stored and decompressed bytes by codec; None is not known."""
    highest = max((max(stored, whole or 0) for _name, stored, whole in rows), default=0)
    divisor, unit = unit_of(highest)
    values: list[Spec] = []
    for name, stored, whole in rows:
        pairs = (("stored", stored, "c0"), ("decompressed, estimated", whole, "c5"))
        for kind, value, colour in pairs:
            if value is not None:
                words = f"{name}: {bytes_words(value)} {kind}"
                row = {"y": name, "k": kind, "v": value / divisor, "c": f"var(--{colour})"}
                values.append(row | {"d": words})
    x = {"field": "v", "type": "quantitative", "axis": {"tickCount": 6}}
    y: Spec = {"field": "y", "type": "nominal", "sort": None, "axis": {}}
    offset = {"field": "k", "type": "nominal", "sort": None}
    encoding = {"x": x, "y": y, "yOffset": offset, **_marks()}
    spec = _spec(values, {"step": 14}, encoding)
    legend = (("c0", "stored"), ("c5", "decompressed, estimated from the sample"))
    return Chart(title, spec, unit, legend, has_names=True)


def track_chart(
    title: str,
    axes: str,
    domain: tuple[int, int],
    tracks: Sequence[Track],
    *,
    divisor: int = 1,
    step: int = 24,
) -> Chart:
    """Draw bars on named rows over a common axis.

    Args:
        title: of the chart.
        axes: what the axis shows.
        domain: where the axis begins and ends.
        tracks: the rows, from the top.
        divisor: of the values on the axis, by its unit.
        step: pixels of a row.
    """
    origin = domain[0] if domain[1] > _MAX_EXACT else 0
    if origin:
        axes += f", from {origin} on"

    def at(value: int) -> float:
        return (min(max(value, domain[0]), domain[1]) - origin) / divisor

    rows: list[Spec] = []
    for name, values in tracks:
        for one in values:
            row: Spec = {"y": name, "a": at(one.start), "b": at(one.end), "d": one.words}
            row |= {"c": f"var(--{one.colour})", "s": 2 if one.is_outlined else 0}
            rows.append(row | {"l": one.label, "m": (at(one.start) + at(one.end)) / 2, "h": one.height})
    scale = {"domain": [at(domain[0]), at(max(domain[1], domain[0] + 1))], "nice": False, "zero": False}
    x = {"field": "a", "type": "quantitative", "scale": scale, "axis": {"tickCount": 7}}
    y = {"field": "y", "type": "nominal", "scale": {"domain": [name for name, _values in tracks]}, "axis": {}}
    layers: list[Spec] = []
    for height in sorted({row["h"] for row in rows} or {0.8}):
        mark = {"type": "bar", "height": {"band": height}}
        encoding = {"x": x, "x2": {"field": "b"}, "y": y, **_marks()}
        encoding |= {"strokeWidth": {"field": "s", "type": "quantitative", **_NONE}}
        layers.append({"transform": [{"filter": f"datum.h == {height}"}], "mark": mark, "encoding": encoding})
    if any(row["l"] for row in rows):
        layers.append(_labels(x, y))
    spec = {**_spec(rows, {"step": step}, {}), "layer": layers}
    del spec["mark"], spec["encoding"]
    links = {one.words: one.target for _name, values in tracks for one in values if one.target}
    return Chart(title, spec, axes, has_names=True, links=links)


def _labels(x: Spec, y: Spec) -> Spec:
    """Text in the middle of bars that have some."""
    text = {"type": "text", "fontSize": 12, "aria": False}
    encoding = {"x": {**x, "field": "m"}, "y": y, "text": {"field": "l"}}
    return {"transform": [{"filter": "datum.l != ''"}], "mark": text, "encoding": encoding}


def _counts(highest: int) -> Spec:
    """Axis of counts, on which small ones have no fractions."""
    return {"tickCount": max(1, min(4, highest)), "format": "~s"}


def _marks() -> Spec:
    """Channels that all marks have: a colour and a description as they stand in the data."""
    return {
        "color": {"field": "c", "type": "nominal", **_NONE},
        "description": {"field": "d", "type": "nominal"},
    }


def _spec(rows: list[Spec], height: int | Spec, encoding: Spec, *, width: int = _WIDTH) -> Spec:
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "width": width,
        "height": height,
        "data": {"values": rows},
        "mark": {"type": "bar"},
        "encoding": encoding,
    }
