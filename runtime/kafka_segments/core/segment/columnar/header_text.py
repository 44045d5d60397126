"""Text of keys that are bytes, and headers with such keys, for readers that know no others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute

from kafka_segments.core.formats import java_text

__all__ = ["as_text", "header_lists"]

pc: Any = pyarrow.compute  # its functions are made while it is imported: no type checker sees them


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
