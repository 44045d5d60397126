"""Report: one HTML page about segments, partitions or log directories, made from headers.

`log_summary` reads a log and keeps totals of bounded size; `page` makes HTML of these, with charts by
Vega-Lite as SVG. Needs the extra `report`.
"""

from __future__ import annotations

from importlib.util import find_spec

import kafka_segments.segment.columnar  # noqa: F401  says what to install if a package is missing
from kafka_segments.errors import MissingExtraError

for _package in ("jinja2", "vl_convert"):
    try:
        _is_there = find_spec(_package) is not None
    except ValueError:  # something is under this name in sys.modules that is no module
        _is_there = False
    if not _is_there:
        raise MissingExtraError(
            f"The HTML report needs {_package}: pip install 'kafka-segments[report]'", extra="report"
        )
