"""Kafka's record formats, outside Kafka: segments to batches and records, with damage told and stepped over.

Example:
    >>> import kafka_segments
    >>> with kafka_segments.open_segment(b"") as segment:
    ...     for event in segment.iter_events(on_damage="skip"):
    ...         print(event)

`read_table` and all that writes need the extra `arrow` and are imported when they are first asked for;
control records and index files also need `construct`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from kafka_segments import errors
from kafka_segments.entries import Batch, Damage, Padding, Record
from kafka_segments.partition import Partition, open_partition
from kafka_segments.segment import Segment, open_segment

if TYPE_CHECKING:
    from kafka_segments.arrow import read_table
    from kafka_segments.conversion import Retention, down_convert, filter_batches, up_convert
    from kafka_segments.writing.api import (
        encode_batch,
        encode_empty_batch,
        encode_records,
        iter_encoded,
        predicted_size,
    )
    from kafka_segments.writing.control import encode_control
    from kafka_segments.writing.writer import (
        SegmentWriter,
        Written,
        open_partition_writer,
        open_writer,
        write_segment,
    )

__all__ = [
    "Batch",
    "Damage",
    "Padding",
    "Partition",
    "Record",
    "Retention",
    "Segment",
    "SegmentWriter",
    "Written",
    "__version__",
    "down_convert",
    "encode_batch",
    "encode_control",
    "encode_empty_batch",
    "encode_records",
    "errors",
    "filter_batches",
    "iter_encoded",
    "open_partition",
    "open_partition_writer",
    "open_segment",
    "open_writer",
    "predicted_size",
    "read_table",
    "up_convert",
    "write_segment",
]

__version__ = "0.1.0.dev0"


_API = ("encode_batch", "encode_empty_batch", "encode_records", "iter_encoded", "predicted_size")
_WRITER = ("SegmentWriter", "Written", "open_partition_writer", "open_writer", "write_segment")
_CONVERSION = ("Retention", "down_convert", "filter_batches", "up_convert")
# What needs an extra, by the module that it is in.
_PLACES = {
    "read_table": "arrow",
    "encode_control": "writing.control",
    **dict.fromkeys(_CONVERSION, "conversion"),
    **dict.fromkeys(_API, "writing.api"),
    **dict.fromkeys(_WRITER, "writing.writer"),
}


def __getattr__(name: str) -> Any:
    if name in _PLACES:
        return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *_PLACES]
