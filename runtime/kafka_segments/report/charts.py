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
    plural,
    time_words,
    unit_of,
)

__all__ = ["Chart", "Track", "Value", "bar_chart", "codec_chart", "time_chart", "track_chart"]

_WIDTH = 1000
_LEFT = 54  # pixels for labels: axes of charts below each other are aligned, and fonts differ in width
_LEFT_OF_TRACKS = 150
_TIME_FORMATS = ((2 * 3_600_000, "%H:%M:%S"), (8 * 86_400_000, "%m-%d %H:%M"))
_MAX_EXACT = 1 << 53  # JavaScript's numbers
_NONE: dict[str, Any] = {"scale": None, "legend": None}

Spec = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart.

    Attributes:
        title: heading above it.
        spec: in Vega-Lite.
        legend: colour (the name of a variable of the style sheet) and meaning.
        note: what was aggregated or left out; empty if nothing was.
    """

    title: str
    spec: Spec
    legend: tuple[tuple[str, str], ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class Value:
    """A bar on a track.

    Attributes:
        start: where it begins.
        end: where it ends.
        words: description of it.
        colour: name of a variable of the style sheet.
        opacity: of its fill.
        is_outlined: draw an outline, so that it is visible however short it is.
        target: id of an element of the page to which it links; empty for none.
        label: text on it.
        height: share of the track's height.
    """

    start: int
    end: int
    words: str
    colour: str
    opacity: float = 1.0
    is_outlined: bool = False
    target: str = ""
    label: str = ""
    height: float = 0.8


@dataclass(frozen=True, slots=True)
class Track:
    """A named row of bars."""

    name: str
    values: Sequence[Value] = field(default_factory=tuple)


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
    span = window.width * window.num_bins
    form = next((form for longest, form in _TIME_FORMATS if span <= longest), "%Y-%m-%d")
    x_title = f"time (UTC) from {time_words(window.start)}, in bins of {duration_words(window.width)}"
    axis = {"title": x_title, "tickCount": 8, "format": form, "labelOverlap": True}
    x = {"field": "a", "type": "temporal", "scale": {"type": "utc"}, "axis": axis}
    y = {"field": "u", "type": "quantitative", "axis": _left(f"{shown_unit} in a bin")}
    spec = _spec(rows, 130, {"x": x, "x2": {"field": "b"}, "y": y, "y2": {"field": "v"}, **_marks()})
    note = f"{plural(window.num_outside, 'record')} far from the others in time: not drawn"
    legend = tuple(zip(colours, series, strict=False)) if len(series) > 1 else ()
    return Chart(title, spec, legend, note if window.num_outside and unit == "records" else "")


def bar_chart(title: str, x_title: str, y_title: str, bars: Iterable[tuple[str, int, str]]) -> Chart:
    """Draw a histogram: labels, counts and descriptions of the bins, in order."""
    rows = [{"x": label, "v": count, "c": "var(--c0)", "d": words} for label, count, words in bars]
    axis = {"title": x_title, "labelAngle": -40, "labelOverlap": True}
    x = {"field": "x", "type": "ordinal", "sort": None, "axis": axis, "scale": {"paddingInner": 0.08}}
    y = {"field": "v", "type": "quantitative", "axis": _left(y_title)}
    return Chart(title, _spec(rows, 130, {"x": x, "y": y, **_marks()}, width=_WIDTH // 2 - 90))


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
    x = {"field": "v", "type": "quantitative", "axis": {"title": unit, "tickCount": 6}}
    y = {"field": "y", "type": "nominal", "sort": None, "axis": {"title": None, "minExtent": _LEFT}}
    offset = {"field": "k", "type": "nominal", "sort": None}
    encoding = {"x": x, "y": y, "yOffset": offset, **_marks()}
    spec = _spec(values, {"step": 12}, encoding)
    legend = (("c0", "stored"), ("c5", "decompressed, estimated from the sample"))
    return Chart(title, spec, legend)


def track_chart(
    title: str,
    x_title: str,
    domain: tuple[int, int],
    tracks: Sequence[Track],
    *,
    divisor: int = 1,
    step: int = 24,
) -> Chart:
    """Draw bars on named rows over a common axis.

    Args:
        title: of the chart.
        x_title: what the axis shows.
        domain: where the axis begins and ends.
        tracks: the rows, from the top.
        divisor: of the values on the axis, by its unit.
        step: pixels of a row.
    """
    origin = domain[0] if domain[1] > _MAX_EXACT else 0
    if origin:
        x_title += f", from {origin} on"

    def at(value: int) -> float:
        return (min(max(value, domain[0]), domain[1]) - origin) / divisor

    rows: list[Spec] = []
    for track in tracks:
        for one in track.values:
            row: Spec = {"y": track.name, "a": at(one.start), "b": at(one.end), "d": one.words}
            row |= {"c": f"var(--{one.colour})", "o": one.opacity, "s": 2 if one.is_outlined else 0}
            row |= {"t": f"#{one.target}" if one.target else None, "l": one.label}
            rows.append(row | {"m": (at(one.start) + at(one.end)) / 2, "h": one.height})
    scale = {"domain": [at(domain[0]), at(max(domain[1], domain[0] + 1))], "nice": False, "zero": False}
    x = {"field": "a", "type": "quantitative", "scale": scale, "axis": {"title": x_title, "tickCount": 7}}
    names = [track.name for track in tracks]
    axis = {"title": None, "minExtent": _LEFT_OF_TRACKS, "labelLimit": 200, "domain": False, "ticks": False}
    y = {"field": "y", "type": "nominal", "scale": {"domain": names}, "axis": axis}
    layers: list[Spec] = []
    for height in sorted({row["h"] for row in rows} or {0.8}):
        mark = {"type": "bar", "height": {"band": height}, "cornerRadius": 1}
        encoding = {"x": x, "x2": {"field": "b"}, "y": y, **_marks(), "href": {"field": "t"}}
        encoding |= {"fillOpacity": {"field": "o", "type": "quantitative", **_NONE}}
        encoding |= {"stroke": {"field": "c", "type": "nominal", **_NONE}}
        encoding |= {"strokeWidth": {"field": "s", "type": "quantitative", **_NONE}}
        layers.append({"transform": [{"filter": f"datum.h == {height}"}], "mark": mark, "encoding": encoding})
    if any(row["l"] for row in rows):
        layers.append(_labels(x, y))
    spec = {**_spec(rows, {"step": step}, {}), "layer": layers}
    del spec["mark"], spec["encoding"]
    return Chart(title, spec)


def _labels(x: Spec, y: Spec) -> Spec:
    """Text in the middle of bars that have some."""
    text = {"type": "text", "fontSize": 11, "fill": "var(--ink)", "aria": False}
    encoding = {"x": {**x, "field": "m"}, "y": y, "text": {"field": "l"}}
    return {"transform": [{"filter": "datum.l != ''"}], "mark": text, "encoding": encoding}


def _left(title: str) -> Spec:
    """Axis of counts on the left."""
    return {"title": title, "tickCount": 4, "minExtent": _LEFT}


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
