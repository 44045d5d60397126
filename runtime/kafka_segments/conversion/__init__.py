"""Segments in another format, or without some of their records, as Kafka would have written them.

Strategy: `reading` yields entries with their records, `down`, `up` and `cleaning` decide what becomes of each
(`pieces`), with the fields of what is written anew from the tables in `rules`; `encoding` makes bytes of it.
"""

from kafka_segments.conversion.cleaning import Retention
from kafka_segments.conversion.report import LOSSES, ConversionReport, Loss
from kafka_segments.conversion.stream import Conversion, down_convert, filter_batches, up_convert

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
