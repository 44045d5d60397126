"""Columns of text that Arrow's kernels make of columns: numbers, names, sizes, Java's text of bytes."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute

from kafka_segments.core.formats import TIMESTAMP_TYPE_NAMES, java_text

__all__ = [
    "array_of_numpy",
    "binary_array",
    "ends_of",
    "java_texts",
    "joined",
    "label_of",
    "named",
    "numbers_of",
    "or_none",
    "sizes_of",
    "text_of",
    "timestamp_types",
]

pc: Any = pyarrow.compute  # its functions are made while it is imported: no type checker sees them


def label_of(values: pa.Array, label: str, otherwise: str = "") -> Any:
    """A label for each value, another one where it is null; a text if all are alike."""
    if values.null_count == 0:
        return label
    if values.null_count == len(values):
        return otherwise
    return pc.if_else(values.is_valid(), _scalar(label), _scalar(otherwise))


def sizes_of(values: pa.Array) -> Any:
    """The sizes of binary values as text, in bytes, -1 where one is null."""
    return or_none(pc.binary_length(values))


def or_none(numbers: pa.Array) -> Any:
    """Numbers as text, -1 where they are null; a text if all are the same."""
    if numbers.null_count == len(numbers):
        return "-1"
    if numbers.null_count:
        return text_of(pc.coalesce(numbers, array_of_numpy(np.array([-1])).cast(numbers.type)[0]))
    is_one = pc.all(pc.equal(numbers, numbers[0])).as_py()
    return str(numbers[0]) if is_one else text_of(numbers)


def timestamp_types(numbers: pa.Array) -> Any:
    """Timestamp types by their names."""
    return named(TIMESTAMP_TYPE_NAMES, np.from_dlpack(numbers))


def named(names: tuple[str, ...], numbers: Any) -> Any:
    """Names in place of numbers; a text if all are the same."""
    if (numbers == numbers[0]).all():
        return names[int(numbers[0])]
    return binary_array([names[number].encode() for number in numbers.tolist()])


def java_texts(values: pa.Array) -> pa.Array:
    """Bytes as Java's text of them; they stay as they are where they are UTF-8."""
    try:
        values.cast(pa.string())  # which verifies it
    except pa.ArrowInvalid:
        return binary_array([None if one is None else java_text(one).encode() for one in values.to_pylist()])
    return values


def numbers_of(values: Any) -> pa.Array:
    """Integers of numpy as text."""
    return text_of(array_of_numpy(values))


def text_of(numbers: pa.Array) -> pa.Array:
    """Integers of Arrow as text, in an array of bytes, which takes any other bytes beside it."""
    return numbers.cast(pa.string()).cast(pa.binary())


def array_of_numpy(values: Any) -> pa.Array:
    """An Arrow array of integers or flags; `pa.array` would import pandas."""
    if values.dtype == bool:
        bits = np.packbits(values, bitorder="little")
        return pa.Array.from_buffers(pa.bool_(), len(values), [None, pa.py_buffer(bits)])
    numbers = np.ascontiguousarray(values, np.int64)
    return pa.Array.from_buffers(pa.int64(), len(values), [None, pa.py_buffer(numbers)])


def binary_array(values: list[bytes | None]) -> pa.Array:
    """An Arrow array of bytes, None is null; `pa.array` would import pandas."""
    sizes = np.array([0, *(len(one or b"") for one in values)], np.int64).cumsum()
    is_there = np.array([one is not None for one in values], bool)
    validity = pa.py_buffer(np.packbits(is_there, bitorder="little"))
    data = pa.py_buffer(b"".join(one for one in values if one is not None))
    buffers = [validity, pa.py_buffer(sizes.astype(np.int32)), data]
    return pa.Array.from_buffers(pa.binary(), len(values), buffers)


def joined(parts: list[Any]) -> pa.Array:
    """Columns and texts, side by side; null is nothing. Each argument costs time, so texts become one."""
    columns: list[Any] = []
    text = ""
    for part in parts:
        if isinstance(part, str):
            text += part
        else:
            columns += [_scalar(text), part] if text else [part]
            text = ""
    columns.append(_scalar(text))
    return pc.binary_join_element_wise(*columns, _scalar(""), null_handling="replace", null_replacement=b"")


@lru_cache(maxsize=64)
def _scalar(text: str) -> pa.Scalar:
    return binary_array([text.encode()])[0]  # pa.scalar would import pandas


def ends_of(texts: pa.Array) -> Any:
    """Return where each text of an array that begins with its buffer begins there, and the last one ends."""
    return np.from_dlpack(pa.Array.from_buffers(pa.int32(), len(texts) + 1, [None, texts.buffers()[1]]))
