"""Vega-Lite specifications to SVG for a page without scripts, which fits any width.

Strategy: Vega computes scales, ticks and places in pixels (its scenegraph). Here these become shares of the
width, so that a browser stretches bars and moves labels, and letters keep their size on phones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from xml.etree.ElementTree import Element, SubElement, tostring

import vl_convert
from markupsafe import Markup

from kafka_segments.errors import OptionError
from kafka_segments.errors.escaping import shown
from kafka_segments.report.charts import Chart

__all__ = ["check_addresses", "svg_of"]

_VERSION = "6.1"  # of Vega-Lite, the oldest one of the 6 that vl-convert has
_MIN_ADDRESSES = 72 << 30  # 64.3 GiB were taken with vl-convert 1.9
_CONFIG: dict[str, Any] = {
    "axis": {"labelFontSize": 12, "title": None, "ticks": False, "domain": False, "labelPadding": 6},
    "axisBand": {"grid": False},
    "bar": {"binSpacing": 0, "discreteBandSize": {"band": 0.9}},
}
_ANCHORS = {"left": "start", "center": "middle", "right": "end"}

_MAX_NAME = 20  # letters

Node = dict[str, Any]


def check_addresses() -> None:
    """Check that the renderer can be loaded: it reserves addresses, and ends the process if it gets none.

    Raises:
        OptionError: the process may have too few addresses.
    """
    try:
        from resource import RLIM_INFINITY, RLIMIT_AS, getrlimit
    except ImportError:  # not on Windows
        return
    limit, _hard = getrlimit(RLIMIT_AS)
    if limit != RLIM_INFINITY and limit < _MIN_ADDRESSES:
        raise OptionError(
            f"this process may have {limit >> 20} MiB of addresses (ulimit -v), and what draws the charts "
            f"(V8, in vl-convert) reserves {_MIN_ADDRESSES >> 30} GiB of them, though it uses little memory: "
            "raise the limit"
        )


def svg_of(chart: Chart) -> Markup:
    """Draw a chart: its marks have tooltips, and link to elements of the page alone."""
    # No data is loaded from anywhere.
    spec = _visible(chart.spec)
    graph = vl_convert.vegalite_to_scenegraph(spec, vl_version=_VERSION, config=_CONFIG, allowed_base_urls=[])
    root = Element("svg", {"role": "group", "aria-label": shown(chart.title)})
    labels = SubElement(root, "g", {"class": "labels", "aria-hidden": "true"})
    bottom, links = 0.0, {shown(words): target for words, target in chart.links.items()}
    for mark, item, left, top in _items(graph["scenegraph"], 0.0, 0.0):
        across = partial(_across, width=spec["width"])
        x, y = item.get("x", 0.0), top + item.get("y", 0.0)
        if mark["marktype"] == "rect":
            target = links.get(item["description"])
            parent = SubElement(root, "a", {"href": f"#{target}"}) if target else root
            _draw_bar(parent, item, across, left + x, y)
        elif mark["role"] == "axis-grid":
            below = top + item["y2"] if "y2" in item else y
            end: float = item.get("x2", x) or 0.0
            ends = {"x1": across(left + x), "x2": across(left + end)}
            SubElement(root, "line", ends | {"y1": _rounded(y), "y2": _rounded(below)})
        elif mark["marktype"] == "text" and item.get("opacity", 1):
            bottom = max(bottom, y)
            is_below = x >= 0 and mark["role"] == "axis-label"
            place = {"x": _rounded(x) if x < 0 else across(left + x), "text-anchor": _ANCHORS[item["align"]]}
            place["y"] = _rounded(y + (12 if is_below else 4))
            SubElement(labels if is_below else root, "text", place).text = _short(item["text"])
    root.set("height", _rounded(bottom + 18))
    return Markup(tostring(root, encoding="unicode"))


def _items(mark: Node, left: float, top: float) -> Iterator[tuple[Node, Node, float, float]]:
    """Yield what is drawn, with the mark that it is of, and where its group begins."""
    for item in mark.get("items", ()):
        if mark["marktype"] != "group":
            yield mark, item, left, top
        for inner in item.get("items", ()):
            yield from _items(inner, left + item.get("x", 0.0), top + item.get("y", 0.0))


def _draw_bar(parent: Element, item: Node, across: Callable[[float], str], x: float, y: float) -> None:
    place = {"x": across(x), "width": across(item.get("width", 0.0)), "y": _rounded(y)}
    look = {"height": _rounded(item.get("height", 0.0)), "fill": item["fill"]}
    if item.get("strokeWidth"):
        look["stroke"] = item["fill"]
    name = {"role": "img", "aria-label": item["description"]}
    SubElement(SubElement(parent, "rect", place | look | name), "title").text = item["description"]


def _short(name: str) -> str:
    """Shorten a name to its end; the descriptions of its bars have the whole one."""
    return name if len(name) <= _MAX_NAME else f"…{name[1 - _MAX_NAME :]}"


def _across(x: float, *, width: int) -> str:
    return f"{100 * x / width:.3f}".rstrip("0").rstrip(".") + "%"


def _rounded(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")


def _visible(value: Any) -> Any:
    """Escape unprintable characters of all text in a specification: XML and JSON lack some of them."""
    if isinstance(value, str):
        return shown(value)
    if isinstance(value, dict):
        return {name: _visible(one) for name, one in value.items()}
    return [_visible(one) for one in value] if isinstance(value, list) else value
