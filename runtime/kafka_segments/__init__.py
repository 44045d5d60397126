"""Kafka's record formats, outside Kafka: segments to batches and records, with damage told and stepped over.

Example:
    >>> import kafka_segments
    >>> with kafka_segments.open_segment(b"") as segment:
    ...     for event in segment.iter_events(on_damage="skip"):
    ...         print(event)

`read_table` needs the extra `arrow` and is imported when it is first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafka_segments import errors
from kafka_segments.entries import Batch, Damage, Padding, Record
from kafka_segments.partition import Partition, open_partition
from kafka_segments.segment import Segment, open_segment

if TYPE_CHECKING:
    from kafka_segments.arrow import read_table

__all__ = [
    "Batch",
    "Damage",
    "Padding",
    "Partition",
    "Record",
    "Segment",
    "__version__",
    "errors",
    "open_partition",
    "open_segment",
    "read_table",
]

__version__ = "0.1.0.dev0"


def __getattr__(name: str) -> Any:
    if name == "read_table":
        from kafka_segments.arrow import read_table

        return read_table
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
