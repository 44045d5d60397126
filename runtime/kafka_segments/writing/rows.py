"""Rows that are Python objects, as arrow batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, TypeAlias

import pyarrow as pa

from kafka_segments.columnar.schema import HEADER_FIELDS
from kafka_segments.entries import Record
from kafka_segments.errors import EncodeError, OptionError
from kafka_segments.writing.refusals import refused

__all__ = ["Row", "batches_of_rows"]

Row: TypeAlias = Record | Mapping[str, Any] | tuple[Any, ...]
"""A record that was read, a mapping with some of `NAMES`, or a tuple of all of them."""

_NAMES = ("offset", "timestamp", "key", "value", "headers")
# Rows and bytes of an arrow batch: few enough that it is no burden, many enough that it costs nothing.
_MAX_ROWS = 10_000
_MAX_BYTES = 4 << 20
_HEADERS = pa.list_(pa.struct([pa.field(field.name, field.type) for field in HEADER_FIELDS]))
_TYPES = {
    "offset": pa.int64(),
    "timestamp": pa.int64(),
    "key": pa.binary(),
    "value": pa.binary(),
    "headers": _HEADERS,
}


def batches_of_rows(first: Any, others: Iterable[Any]) -> Iterator[pa.RecordBatch]:
    """Rows as arrow batches, with an offset for all of them or for none.

    Raises:
        OptionError: something that is no row.
        EncodeError: a value of another type, a control record, or offsets for some rows only.
    """
    rows: list[tuple[Any, ...]] = []
    num_bytes, start, has_offsets = 0, 0, None
    for number, given in enumerate(chain([first], others)):
        row = _plain(given, number)
        has_offset = row[0] is not None
        if has_offsets not in (None, has_offset):
            raise refused(
                "null_offset", "the rows before have offsets" if has_offsets else "an offset", row=number
            )
        has_offsets = has_offset
        rows.append(row)
        num_bytes += _size(row)
        if len(rows) >= _MAX_ROWS or num_bytes >= _MAX_BYTES:
            yield _build(rows, start)
            rows, num_bytes, start = [], 0, number + 1
    if rows:
        yield _build(rows, start)


def _plain(row: Any, number: int) -> tuple[Any, ...]:
    """The values of a row in the order of `_NAMES`; None for what it does not have."""
    if isinstance(row, Record):
        if row.control is not None:
            raise refused(
                "control_record", f"a control record ({row.control.type})", offset=row.offset, row=number
            )
        return row.offset, row.timestamp, row.key, row.value, row.headers
    if isinstance(row, Mapping):
        unknown = sorted(set(row) - set(_NAMES))
        if unknown:
            raise OptionError(f"row {number} has {unknown[0]!r}; a row has some of {', '.join(_NAMES)}")
        return tuple(map(row.get, _NAMES))
    if isinstance(row, tuple) and len(row) == len(_NAMES):
        return row
    raise OptionError(
        f"row {number} is a {type(row).__name__}; give a Record, a mapping, or a tuple ({', '.join(_NAMES)})"
    )


def _size(row: tuple[Any, ...]) -> int:
    """About how much a row takes."""
    _offset, _timestamp, key, value, headers = row
    return _length(key) + _length(value) + sum(_length(part) for header in headers or () for part in header)


def _length(value: Any) -> int:
    return len(value) if hasattr(value, "__len__") else 0


def _build(rows: Sequence[tuple[Any, ...]], start: int) -> pa.RecordBatch:
    columns = dict(zip(_NAMES, zip(*rows, strict=True), strict=True))
    if columns["offset"][0] is None:
        del columns["offset"]
    arrays = [_array(name, values, start) for name, values in columns.items()]
    return pa.RecordBatch.from_arrays(arrays, names=list(columns))


def _array(name: str, values: Sequence[Any], start: int) -> pa.Array:
    try:
        return _convert(name, values)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        for at, value in enumerate(values):
            try:
                _convert(name, [value])
            except (pa.ArrowException, TypeError, ValueError, OverflowError):
                row = start + at
                raise EncodeError(
                    f"row {row}: {name} is {value!r:.60}: {error}", rule="unwritable", row=row
                ) from error
        raise EncodeError(f"rows from {start}: {name}: {error}", rule="unwritable") from error


def _convert(name: str, values: Sequence[Any]) -> pa.Array:
    if name == "headers":
        values = [[_header(header) for header in headers or ()] for headers in values]
    return pa.array(values, _TYPES[name], from_pandas=False)


def _header(header: Any) -> dict[str, Any]:
    if isinstance(header, Mapping):
        return {"key": header["key"], "value": header["value"]}
    key, value = header
    return {"key": key, "value": value}
