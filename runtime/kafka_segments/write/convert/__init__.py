"""Segments in another format, or without some of their records, as Kafka would have written them.

Strategy: `reading` yields entries with their records, `down`, `up` and `cleaning` decide what becomes of each
(`pieces`), with the fields of what is written anew from the tables in `rules`; `encoding` makes bytes of it.
"""

from kafka_segments.write.convert.conversions import Conversion, down_convert, filter_batches, up_convert
from kafka_segments.write.convert.filter import Retention
from kafka_segments.write.convert.loss_report import LOSSES, ConversionReport, Loss

__all__ = [
    "LOSSES",
    "Conversion",
    "ConversionReport",
    "Loss",
    "Retention",
    "down_convert",
    "filter_batches",
    "up_convert",
]
