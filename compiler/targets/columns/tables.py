"""Arrow tables of files of rows: runs a generated decoder, as it is or as machine code.

Strategy: there is room for as many rows and bytes as the file can hold, so the decoder runs once. What it
refuses is read again by the Kaitai class of the same schema, which says what is wrong.
"""

from __future__ import annotations

import inspect
from io import BytesIO
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from kaitaistruct import KaitaiStream

from kafka_segments.errors import DecodeError

from .support import (
    COLUMNS,
    DONE,
    MAX_BYTES,
    MAX_ITEMS,
    NUM_BATCHES,
    PLACE,
    RECORD_MAX_ROWS,
    RECORD_ROW,
)

__all__ = ["read_rows"]

_ELEMENTS = {"Bytes": np.uint8, "Tinies": np.int8, "Ints": np.int32, "Longs": np.int64}
_TYPES = {
    "int64": pa.int64(),
    "int32": pa.int32(),
    "int8": pa.int8(),
    "timestamp[ms, UTC]": pa.timestamp("ms", "UTC"),
    "float64": pa.float64(),
    "float32": pa.float32(),
    "binary": pa.binary(),
    "utf8": pa.utf8(),
}
_SLACK = 256  # bytes after those of a column that copying may change
_NUM_STATE = 64


def read_rows(module: ModuleType, kaitai: Any, data: bytes | memoryview, compiled: bool) -> pa.Table:
    """The rows of a file.

    Args:
        module: the generated one of its schema.
        kaitai: the Kaitai class of the file.
        data: all of the file.
        compiled: whether to run machine code.

    Raises:
        DecodeError: the bytes are no such file.
    """
    options = dict.fromkeys(inspect.signature(module.decoder).parameters, True)
    decode = module.decoder(**options)
    source, has_lists = np.frombuffer(data, np.uint8), any(column[3] for column in module.RECORD_COLUMNS)
    arrays = _arrays(decode, source, 1 if has_lists else module.LEN_LEAST_ROW)
    state = arrays["state"]
    status = _run(module.decoder, options, arrays) if compiled else decode(**arrays)
    if status != DONE:
        raise _damage(kaitai, data, int(state[PLACE]), int(state[RECORD_ROW]))
    reader, num_rows = _Columns(arrays, state), int(state[RECORD_ROW])
    names = [column[0] for column in module.RECORD_COLUMNS]
    found = [reader.take(column, f"of_{column[0]}", num_rows) for column in module.RECORD_COLUMNS]
    nones = map(module.RECORD_NONES.get, names)
    return pa.table([_with_nulls(one, none) for one, none in zip(found, nones, strict=True)], names)


def _arrays(decode: Any, source: Any, least: int) -> dict[str, Any]:
    """The arrays of a decoder, in the order of its parameters, with room for all that a file may hold."""
    size, rows = len(source), len(source) // least + 1
    state = np.zeros(_NUM_STATE, np.int64)
    state[[NUM_BATCHES, RECORD_MAX_ROWS, MAX_BYTES, MAX_ITEMS]] = 1, rows, size + 1, size + 1
    given = {
        "data": source,
        "spans": np.array([0, size, 0]),
        "state": state,
    }
    arrays = {}
    for name, parameter in inspect.signature(decode).parameters.items():
        length = size + _SLACK if name.endswith("_bytes") else rows + 1
        fill = 255 if name.endswith("_validity") else 0
        arrays[name] = given.get(name)
        if arrays[name] is None:
            arrays[name] = np.full(length, fill, _ELEMENTS[str(parameter.annotation)])
    return arrays


def _run(decoder: Any, options: dict[str, bool], arrays: dict[str, Any]) -> int:
    """Run a decoder as machine code."""
    from kafka_segments.core.native.engine import load_decoder

    native = load_decoder(decoder, **options)
    table = native.new_table()
    for name, array in arrays.items():
        table.set(name, array.ctypes.data, len(array))
    return int(native(table))


def _damage(kaitai: Any, data: bytes | memoryview, position: int, row: int) -> DecodeError:
    """The error for bytes that a decoder refused at a position."""
    try:
        kaitai(KaitaiStream(BytesIO(data)))
        detail = "it cannot be read"
    except Exception as error:
        detail = f"{type(error).__name__}: {error}"
    where = f"row {row}" if position else "the header"
    return DecodeError(f"{where}, which begins at {position}: {detail}", position=position)


def _with_nulls(array: pa.Array, none: int | None) -> pa.Array:
    """Numbers, null where they are what stands for none."""
    if none is None:
        return array
    is_none = pc.equal(array.cast(pa.int64()), none)
    return pc.if_else(is_none, pa.scalar(None, array.type), array)


class _Columns:
    """Takes Arrow arrays from the arrays of a decoder.

    Args:
        arrays: by name.
        state: the decoder's; its counters follow from the columns' order.
    """

    def __init__(self, arrays: dict[str, Any], state: Any) -> None:
        self._arrays, self._state, self._slot = arrays, state, COLUMNS

    def take(self, described: Any, path: str, num_rows: int) -> pa.Array:
        """One column, and its members."""
        _name, kind, nullable, members = described
        slot = self._slot
        if members:
            self._slot += 1
            return self._list(members, path, num_rows, int(self._state[slot]))
        if kind in ("binary", "utf8"):
            self._slot += 2
            offsets = self._buffer(f"{path}_offsets", num_rows + 1)
            buffers = [offsets, self._buffer(f"{path}_bytes", int(self._state[slot]))]
        else:
            self._slot += nullable
            buffers = [self._buffer(f"{path}_values", num_rows)]
        validity = self._buffer(f"{path}_validity", num_rows // 8 + 1) if nullable else None
        return pa.Array.from_buffers(_TYPES[kind], num_rows, [validity, *buffers])

    def _list(self, members: Any, path: str, num_rows: int, num_items: int) -> pa.Array:
        names = [member[0] for member in members]
        items = [self.take(member, f"{path}_{member[0]}", num_items) for member in members]
        structs = pa.StructArray.from_arrays(items, names)
        return pa.ListArray.from_arrays(pa.array(self._arrays[f"{path}_offsets"][: num_rows + 1]), structs)

    def _buffer(self, name: str, length: int) -> pa.Buffer:
        return pa.py_buffer(self._arrays[name][:length])
