"""Range of timestamps in readers that count microseconds, as Spark does, in 64 bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from kafka_segments.errors import TimestampRangeError

__all__ = ["MAX_MILLIS", "MICROS_PER_MILLI", "check_timestamps"]

MICROS_PER_MILLI = 1000
"""Microseconds in a millisecond."""

MAX_MILLIS = (2**63 - 1) // MICROS_PER_MILLI
"""The greatest timestamp, and the least below zero."""


def check_timestamps(batch: pa.RecordBatch, millis: Any, advice: str = "") -> None:
    """Check that a batch's timestamps fit microseconds.

    Args:
        batch: rows, with the column `offset`.
        millis: their timestamps, as a numpy array.
        advice: for the error's text.

    Raises:
        TimestampRangeError: one of them is beyond; with its offset.
    """
    if len(millis) and (millis.max() > MAX_MILLIS or millis.min() < -MAX_MILLIS):
        row = int(np.flatnonzero((millis > MAX_MILLIS) | (millis < -MAX_MILLIS))[0])
        offset, timestamp = batch.column("offset")[row].as_py(), int(millis[row])
        raise TimestampRangeError(
            f"offset {offset}: the timestamp {timestamp} (milliseconds) is beyond microseconds in 64 bits, "
            f"in which readers count{advice}",
            offset=offset,
            timestamp=timestamp,
        )
