"""Arrow data that leads out of its own memory is refused by us, and nothing reads there; each in its process.

Arrow takes such data without a word, for it looks at the first offset and the last one.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.python import run_python

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import ctypes
import sys
import numpy as np
import pyarrow as pa
from kafka_segments import encode_records, iter_encoded
from kafka_segments.errors import EncodeError

def lying(kind, *offsets, width=np.int32):
    buffers = [None, pa.py_buffer(np.array(offsets, width).tobytes()), pa.py_buffer(b"abcdef")]
    return pa.Array.from_buffers(kind, len(offsets) - 1, buffers)

def lists(array, *offsets, valid=None):
    kind = pa.list_(array.type)
    buffers = [valid and pa.py_buffer(valid), pa.py_buffer(np.array(offsets, np.int32).tobytes())]
    return pa.ListArray.from_buffers(kind, len(offsets) - 1, buffers, children=[array])

def headers(keys, is_null=None):
    mask = None if is_null is None else pa.array(is_null)
    return pa.StructArray.from_arrays([keys, keys], names=["key", "value"], mask=mask)

def viewed(kind):
    # A valid array whose views are overwritten: `from_buffers` of pyarrow 18 makes none.
    array = pa.array(["x" * 20] * 2, kind)
    view = np.array([20, 0, 7, 1 << 30], np.int32).tobytes() + np.array([20, 0, 0, 0], np.int32).tobytes()
    ctypes.memmove(array.buffers()[1].address, view, len(view))
    return array

ARRAYS = {
    "falling": lambda: {"value": lying(pa.binary(), 0, 6, 3)},
    "beyond": lambda: {"value": lying(pa.binary(), 0, 1 << 30, 6)},
    "negative": lambda: {"key": lying(pa.binary(), 0, -(1 << 30), 6)},
    "text": lambda: {"value": lying(pa.string(), 0, 1 << 30, 6)},
    "wide": lambda: {"value": lying(pa.large_binary(), 0, 1 << 40, 6, width=np.int64)},
    "wide text": lambda: {"value": lying(pa.large_string(), 0, 1 << 40, 6, width=np.int64)},
    "view": lambda: {"value": viewed(pa.binary_view())},
    "text view": lambda: {"value": viewed(pa.string_view())},
    "words": lambda: {
        "value": pa.DictionaryArray.from_arrays(pa.array([0, 1]), lying(pa.binary(), 0, 1 << 30, 6))
    },
    "header keys": lambda: {
        "value": pa.array([b"v"]), "headers": lists(headers(lying(pa.binary(), 0, 1 << 30, 6)), 0, 2)
    },
    "second window": lambda: {"value": lying(pa.binary(), *([0] * 20_000), 6, 3)},
    "null lists": lambda: {
        "value": pa.array([b"v", b"w"]),
        "headers": lists(headers(pa.array([b"k", b"l"])), 0, 1 << 30, 2, valid=b"\x01"),
    },
    "null structs": lambda: {
        "value": pa.array([b"v", b"w"]),
        "headers": lists(headers(lying(pa.binary(), 0, 1 << 30, 6), [False, True]), 0, 1, 2),
    },
    "null header keys": lambda: {
        "value": pa.array([b"v", b"w"]), "headers": lists(headers(pa.array([None, b"l"])), 0, 1 << 30, 2)
    },
    "header lists": lambda: {
        "value": pa.array([b"v", b"w"]), "headers": lists(headers(pa.array([b"k", b"l"])), 0, 1 << 30, 2)
    },
}
WAYS = (
    encode_records,
    lambda data: list(iter_encoded(data)),
    lambda data: list(iter_encoded(data, compression="gzip")),
    lambda data: list(iter_encoded(data, magic=1)),
)
columns = ARRAYS[sys.argv[1]]()
batch = pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
for give in (batch, pa.Table.from_batches([batch])):
    for write in WAYS:
        try:
            write(give)
        except EncodeError as error:
            assert "is invalid Arrow data" in str(error), error
        else:
            raise AssertionError("it was taken")
"""
NAMES = [line.split('"')[1] for line in PROGRAM.splitlines() if '": lambda' in line]


@pytest.mark.parametrize("name", NAMES)
def test_arrays_that_lie_are_refused(name: str) -> None:
    run_python("-c", PROGRAM, name, cwd=ROOT)
