"""Values for readers with narrower types: keys of headers as text, timestamps in microseconds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute

from kafka_segments.core.formats import java_text
from kafka_segments.core.formats.java import MAX_LONG
from kafka_segments.errors import TimestampRangeError

__all__ = ["DATES", "MAX_MILLIS", "MICROS_PER_MILLI", "as_text", "fit_timestamps", "header_lists"]

pc: Any = pyarrow.compute  # its functions are made while it is imported: no type checker sees them

MICROS_PER_MILLI = 1000
"""Microseconds in a millisecond."""

MAX_MILLIS = MAX_LONG // MICROS_PER_MILLI
"""The greatest timestamp, and the least below zero."""

DATES = -62_135_596_800_000, 253_402_300_799_999
"""The first and the last timestamp of the years 1 to 9999, in which alone there are dates."""


def header_lists(headers: pa.Array, kind: pa.DataType, *, null_if_empty: bool = True) -> pa.Array:
    """Return headers as lists of another type.

    Args:
        headers: as `SCHEMA` has them.
        kind: a list of structs of key and value; the key is binary or text.
        null_if_empty: a record without headers has null, not an empty list (as in Spark's `kafka` source).
    """
    if len(headers) == 0:
        return pa.array([], kind)
    offsets = headers.offsets
    first, last = offsets[0].as_py(), offsets[-1].as_py()
    pairs = headers.values.slice(first, last - first)
    if offsets.offset or first:  # a part of a batch: from_arrays wants offsets that begin with their buffer
        offsets = pa.array(offsets.to_numpy() - np.int32(first))
    struct = kind.value_type
    keys, values = pairs.field("key"), pairs.field("value")
    if struct.field(0).type == pa.string():
        keys = as_text(keys)
    structs = pa.StructArray.from_arrays([keys, values], fields=[struct.field(0), struct.field(1)])
    is_empty = pc.equal(pc.list_value_length(headers), 0) if null_if_empty else None
    return pa.ListArray.from_arrays(offsets, structs, type=kind, mask=is_empty)


def as_text(keys: pa.Array) -> pa.Array:
    """Return bytes as text: as they are if all are UTF-8, else each value decoded once, as Java does."""
    try:
        return keys.cast(pa.string())
    except pa.ArrowInvalid:
        encoded = keys.dictionary_encode()
        texts = pa.array([java_text(key) for key in encoded.dictionary.to_pylist()], pa.string())
        return texts.take(encoded.indices)


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
