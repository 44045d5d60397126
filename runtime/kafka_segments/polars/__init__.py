"""Segments as a lazy frame of polars: `scan_segments`.

Example:
    >>> from kafka_segments.polars import scan_segments
    >>> frame = scan_segments("/var/lib/kafka", topics="orders")  # doctest: +SKIP
    >>> frame.group_by("partition").len().collect()  # doctest: +SKIP
"""

from __future__ import annotations

from kafka_segments.errors.packages import check_packages

check_packages(("polars", "pyarrow"), "frames of polars need", "polars")

from kafka_segments.polars.segment_frames import scan_segments  # noqa: E402

__all__ = ["scan_segments"]
