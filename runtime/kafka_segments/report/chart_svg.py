"""Vega-Lite specifications to SVG for a page without scripts."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit
from xml.etree import ElementTree

import vl_convert
from markupsafe import Markup

from kafka_segments.errors import OptionError
from kafka_segments.errors.escaping import shown
from kafka_segments.report.charts import Chart

__all__ = ["check_addresses", "svg_of"]

_SVG = "http://www.w3.org/2000/svg"
_XLINK = "{http://www.w3.org/1999/xlink}href"
_VERSION = "6.1"  # of Vega-Lite, the oldest one of the 6 that vl-convert has
_FONT = "system-ui, sans-serif"
_INK = {"labelColor": "var(--ink)", "titleColor": "var(--ink)", "labelFontSize": 11, "titleFontSize": 11}
_MIN_ADDRESSES = 72 << 30  # 64.3 GiB were taken with vl-convert 1.9
_CONFIG: dict[str, Any] = {
    "background": None,
    "font": _FONT,
    "view": {"stroke": "var(--line)"},
    "axis": {
        **_INK,
        "titleFontWeight": "normal",
        "gridColor": "var(--line)",
        "domainColor": "var(--line)",
        "tickColor": "var(--line)",
    },
    "axisBand": {"grid": False},
    "bar": {"binSpacing": 0, "discreteBandSize": {"band": 0.9}},
}

ElementTree.register_namespace("", _SVG)


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
    """Render a chart: its marks have tooltips, and link to elements of the page alone."""
    # No data is loaded from anywhere.
    spec = _visible(chart.spec)
    text = vl_convert.vegalite_to_svg(spec, vl_version=_VERSION, config=_CONFIG, allowed_base_urls=[])
    root = ElementTree.XML(text)
    root.set("role", "group")
    root.set("aria-label", chart.title)
    for name in ("version", "class"):
        root.attrib.pop(name, None)
    for element in root.iter():
        _link(element)
        label = element.get("aria-label")
        kind = element.attrib.pop("aria-roledescription", None)
        if element.get("role") in ("graphics-symbol", "graphics-object"):
            element.set("role", "img" if label is not None else "group")
        if kind == "bar":
            tip = ElementTree.SubElement(element, f"{{{_SVG}}}title")
            tip.text = label
    return Markup(ElementTree.tostring(root, encoding="unicode"))


def _visible(value: Any) -> Any:
    """Escape unprintable characters of all text in a specification: XML and JSON lack some of them."""
    if isinstance(value, str):
        return shown(value)
    if isinstance(value, dict):
        return {name: _visible(one) for name, one in value.items()}
    return [_visible(one) for one in value] if isinstance(value, list) else value


def _link(element: ElementTree.Element) -> None:
    """Keep of a link the fragment alone: Vega puts an address before it, also where there is none."""
    fragment = urlsplit(element.attrib.pop(_XLINK, "")).fragment
    if fragment:
        element.set("href", f"#{fragment}")
