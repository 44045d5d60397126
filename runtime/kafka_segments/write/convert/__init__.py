"""Conversion of segments to another format, or without some records, as Kafka would have written them.

Strategy: `source_entries` yields entries with their records; `down`, `up` and `filter` turn each
into `pieces`, with the fields of rewritten batches from the tables in `rules`; `conversions`
encodes them. Between magic 2 and the experimental magic 3, `magic3` makes the bytes of a batch of those of
another.
"""

from kafka_segments.core.segment import columnar  # noqa: F401 (raises with what to install if Arrow is missing)
from kafka_segments.write.convert.conversions import (
    Conversion,
    down_convert,
    filter_batches,
    up_convert,
)
from kafka_segments.write.convert.filter import Retention
from kafka_segments.write.convert.loss_report import LOSSES, ConversionReport, Loss
from kafka_segments.write.convert.magic3 import convert_magic3

__all__ = [
    "LOSSES",
    "Conversion",
    "ConversionReport",
    "Loss",
    "Retention",
    "convert_magic3",
    "down_convert",
    "filter_batches",
    "up_convert",
]
