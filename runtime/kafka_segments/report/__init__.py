"""Report: one HTML page about segments, partitions or log directories, made from headers.

`log_summary` reads a log and keeps totals of bounded size; `page` makes HTML of these, with charts by
Vega-Lite as SVG. Needs the extra `report`.
"""

from __future__ import annotations

import kafka_segments.core.segment.columnar  # noqa: F401  says what to install if a package is missing
from kafka_segments.errors.packages import check_packages

check_packages(("jinja2", "vl_convert"), "The HTML report needs", "report")
