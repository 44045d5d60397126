"""Range of timestamps in readers that count microseconds, as Spark does, in 64 bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from kafka_segments.core.formats.java import MAX_LONG
from kafka_segments.errors import TimestampRangeError

__all__ = ["DATES", "MAX_MILLIS", "MICROS_PER_MILLI", "fit_timestamps"]

MICROS_PER_MILLI = 1000
"""Microseconds in a millisecond."""

MAX_MILLIS = MAX_LONG // MICROS_PER_MILLI
"""The greatest timestamp, and the least below zero."""

DATES = -62_135_596_800_000, 253_402_300_799_999
"""The first and the last timestamp of the years 1 to 9999, in which alone there are dates."""


def fit_timestamps(
    batch: pa.RecordBatch,
    millis: Any,
    overflow: str,
    bounds: tuple[int, int] = (-MAX_MILLIS, MAX_MILLIS),
    advice: str = "",
) -> tuple[Any, Any]:
    """Return timestamps, those out of bounds at the nearest bound, and which these are; None for none.

    Args:
        batch: rows, with the column `offset`.
        millis: their timestamps, as a numpy array.
        overflow: `error`, if there are to be none.
        bounds: the least and the greatest timestamp; those of microseconds, if they are not given.
        advice: for the error's text.

    Raises:
        TimestampRangeError: one of them is out of bounds; with its offset.
    """
    least, greatest = bounds
    if not len(millis) or (millis.min() >= least and millis.max() <= greatest):
        return millis, None
    is_beyond = (millis < least) | (millis > greatest)
    if overflow == "error":
        row = int(np.flatnonzero(is_beyond)[0])
        offset, timestamp = batch.column("offset")[row].as_py(), int(millis[row])
        what = (
            "microseconds in 64 bits, in which readers count" if greatest == MAX_MILLIS else "years 1 to 9999"
        )
        raise TimestampRangeError(
            f"offset {offset}: the timestamp {timestamp} (milliseconds) is beyond {what}{advice}",
            offset=offset,
            timestamp=timestamp,
        )
    return np.clip(millis, least, greatest), is_beyond
