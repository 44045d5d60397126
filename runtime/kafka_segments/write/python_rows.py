"""Conversion of Python rows to Arrow batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from numbers import Integral
from types import NoneType
from typing import Any, TypeAlias

import pyarrow as pa

from kafka_segments.core.formats.entries import ControlRecord, Record
from kafka_segments.core.formats.java import MAX_LONG
from kafka_segments.core.segment.columnar.arrow_schema import HEADER_FIELDS
from kafka_segments.errors import EncodeError, OptionError
from kafka_segments.write.batch_options import shown
from kafka_segments.write.refusals import refused

__all__ = ["TYPES", "Row", "batches_of_rows"]

Row: TypeAlias = Record | Mapping[str, Any] | tuple[Any, ...]
"""A `Record`, a mapping with some of `_NAMES` as keys, or a tuple of all of them."""

_NUMBERS = ("offset", "timestamp")
_PLAIN_NUMBERS = {int, NoneType}
_PAIR = 2
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NAMES = ("offset", "timestamp", "key", "value", "headers")
# Rows and bytes of an Arrow batch: a compromise between memory and the cost of each batch.
_MAX_ROWS = 10_000
_MAX_BYTES = 4 << 20
_HEADERS = pa.list_(pa.struct([pa.field(field.name, field.type) for field in HEADER_FIELDS]))
TYPES = {
    "offset": pa.int64(),
    "timestamp": pa.int64(),
    "key": pa.binary(),
    "value": pa.binary(),
    "headers": _HEADERS,
}
"""Types of the columns as they are written."""


def batches_of_rows(items: Iterable[Any]) -> Iterator[pa.RecordBatch]:
    """Convert rows to Arrow batches; Arrow batches among the rows are passed on.

    Raises:
        OptionError: an object that is not a row.
        EncodeError: a value of another type, a control record, or offsets for some rows only.
    """
    rows: list[tuple[Any, ...]] = []
    num_bytes, start, has_offsets = 0, 0, None
    for item in items:
        if isinstance(item, pa.RecordBatch):
            if rows:
                yield _build(rows, start)
            yield item
            start += len(rows) + item.num_rows
            rows, num_bytes, has_offsets = [], 0, None
            continue
        number = start + len(rows)
        row = _plain(item, number)
        has_offset = row[0] is not None
        if has_offsets not in (None, has_offset):
            raise refused(
                "null_offset", "rows before it have offsets" if has_offsets else "an offset", row=number
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
    """Return a row's values in the order of `_NAMES`; None for missing ones."""
    if isinstance(row, Record):
        if row.control is not None:
            raise _control_record(row, number)
        return row.offset, row.timestamp, row.key, row.value, _pairs(row.headers, number)
    if isinstance(row, Mapping):
        unknown = [name for name in row if name not in _NAMES]
        if unknown:
            raise OptionError(f"row {number} has {shown(unknown[0])}; a row has some of {', '.join(_NAMES)}")
        *values, headers = map(row.get, _NAMES)
        return *values, _pairs(headers, number)
    if isinstance(row, tuple) and len(row) == len(_NAMES):
        return *row[:-1], _pairs(row[-1], number)
    kind = type(row).__name__
    raise OptionError(
        f"row {number} is of type {kind}; give a Record, a mapping, or a tuple ({', '.join(_NAMES)})"
    )


def _control_record(row: Record, number: int) -> EncodeError:
    control: object = row.control
    kind = control.type if isinstance(control, ControlRecord) else control
    value: object = row.offset
    offset = value if isinstance(value, int) and 0 <= value <= MAX_LONG else None
    return refused("control_record", f"a control record ({shown(kind)})", offset=offset, row=number)


def _pairs(headers: Any, number: int) -> Sequence[tuple[Any, Any]]:
    """Return headers of any form as a list of pairs; an iterator is consumed once."""
    if not isinstance(headers, (tuple, list)):
        headers = _listed(headers, number)
    return [_pair(header, number) for header in headers] if headers else ()


def _listed(headers: Any, number: int) -> Iterable[Any]:
    headers = headers.as_py() if isinstance(headers, pa.Scalar) else headers
    if headers is None:
        return ()
    # A mapping of header names is refused: one of them may be "key".
    if isinstance(headers, (str, bytes, bytearray, memoryview, Mapping)) or not isinstance(headers, Iterable):
        raise _unwritable(number, "headers", headers, "give a list of pairs")
    return list(headers)


def _pair(header: Any, number: int) -> tuple[Any, Any]:
    if isinstance(header, (tuple, list)) and len(header) == _PAIR:
        key, value = header
        return key, value
    if isinstance(header, Mapping) and len(header) == _PAIR and "key" in header and "value" in header:
        return header["key"], header["value"]
    raise _unwritable(number, "a header", header, "give a pair, or a mapping with key and value")


def _unwritable(row: int, name: str, value: object, reason: object) -> EncodeError:
    return EncodeError(f"row {row}: {name} is {shown(value)}: {reason}", rule="unwritable", row=row)


def _size(row: tuple[Any, ...]) -> int:
    """Return the approximate size of a row in bytes."""
    _offset, _timestamp, key, value, headers = row
    return _length(key) + _length(value) + sum(_length(part) for header in headers for part in header)


def _length(value: Any) -> int:
    try:
        return len(value)
    except Exception:  # not bytes: the conversion raises for it
        return 0


def _build(rows: Sequence[tuple[Any, ...]], start: int) -> pa.RecordBatch:
    columns = dict(zip(_NAMES, zip(*rows, strict=True), strict=True))
    if columns["offset"][0] is None:
        del columns["offset"]
    arrays = [_array(name, values, start) for name, values in columns.items()]
    return pa.RecordBatch.from_arrays(arrays, names=list(columns))


_ERRORS = (pa.ArrowException, TypeError, ValueError, OverflowError)


def _array(name: str, values: Sequence[Any], start: int) -> pa.Array:
    values = _integers(name, values, start) if name in _NUMBERS else values
    try:
        return _convert(name, values)
    except _ERRORS as error:
        for at, value in enumerate(values):
            try:
                _convert(name, [value])
            except _ERRORS as reason:
                raise _unwritable(start + at, name, value, reason) from error
        raise EncodeError(f"rows from {start}: {name}: {error}", rule="unwritable") from error


def _convert(name: str, values: Sequence[Any]) -> pa.Array:
    return pa.array(values, TYPES[name], from_pandas=False)


def _milliseconds(time: datetime, row: int) -> int:
    """Return the milliseconds since 1970; a fraction of a millisecond is refused, not cut off."""
    if time.tzinfo is None:
        raise _unwritable(row, "timestamp", time, "give a datetime with a zone, such as datetime.UTC")
    millis, rest = divmod(time - _EPOCH, timedelta(milliseconds=1))
    if rest:
        reason = "it has a fraction of a millisecond, which Kafka does not keep: give "
        reason += "time.replace(microsecond=time.microsecond // 1000 * 1000)"
        raise EncodeError(f"row {row}: timestamp is {time}: {reason}", rule="unwritable", row=row)
    return millis


def _integers(name: str, values: Sequence[Any], start: int) -> Sequence[int | None]:
    """Convert integers of any library; refuse others, whose fractions Arrow would cut off."""
    if set(map(type, values)) <= _PLAIN_NUMBERS:
        return values
    listed: list[int | None] = []
    for at, item in enumerate(values):
        value = item.as_py() if isinstance(item, pa.Scalar) else item
        if name == "timestamp" and isinstance(value, datetime):
            value = _milliseconds(value, start + at)
        if isinstance(value, bool) or not isinstance(value, (Integral, NoneType)):
            what = "an integer" if name == "offset" else "an integer (milliseconds) or a datetime with a zone"
            raise _unwritable(start + at, name, item, f"it must be {what}")
        listed.append(None if value is None else int(value))
    return listed
