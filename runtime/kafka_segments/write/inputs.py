"""Data of callers as Arrow columns of the types that are written.

Strategy: data with an Arrow interface are taken batch by batch and their columns cast (text to bytes, wide
offsets to narrow ones), without copies where they have the types that reading returns. Rows of Python objects
are converted to Arrow batches first (`python_rows`). So there is one encoder, the fast one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from kafka_segments.core.segment.columnar.arrow_schema import SCHEMA, STORED, stored_names
from kafka_segments.errors import EncodeError, OptionError
from kafka_segments.write.python_rows import TYPES, Row, batches_of_rows
from kafka_segments.write.refusals import refused

__all__ = ["Data", "Incoming", "check_array", "iter_incoming"]

Data: TypeAlias = "pa.Table | pa.RecordBatch | pa.RecordBatchReader | Iterable[pa.RecordBatch | Row]"
"""Anything with Arrow's stream interface (as polars and duckdb), or an iterable of Arrow batches and rows."""

_KEY_VALUE = ["key", "value"]
# The timestamp type is an option, so its column is ignored.
_IGNORED = "timestamp_type"
_FINER = ": Kafka keeps milliseconds: give pyarrow.compute.floor_temporal(column, unit='millisecond')"
# Text is written as it is, without a check that it is UTF-8.
_AS_BYTES = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary()}


class Incoming(NamedTuple):
    """Records as they are written: some of the columns of `SCHEMA`, by name.

    Offsets are int64, timestamps int64 or milliseconds, both without nulls (-1 stands for a null timestamp);
    keys and values are binary; lists and structs of headers are not null.
    """

    num_rows: int
    columns: dict[str, pa.Array]


def iter_incoming(data: Data) -> Iterator[Incoming]:
    """Yield the records of a caller's data, Arrow batch by Arrow batch.

    Raises:
        OptionError: unknown columns, or of another type, or neither keys nor values.
        EncodeError: a value that a column cannot hold, such as a timestamp with a fraction of a millisecond.
    """
    row = 0
    schema: pa.Schema | None = None
    casts: dict[str, bool] = {}
    for batch in _batches(data):
        # Batches nearly always share a schema, and checking it takes as long as encoding 4,000 records.
        if schema is None or not batch.schema.equals(schema):
            schema = batch.schema
            casts = _casts(schema)
        for part in _cast(batch, casts, row):
            yield part
            row += part.num_rows


def check_array(name: str, column: pa.Array, row: int, *, is_full: bool) -> None:
    """Refuse a column with offsets outside its buffers.

    Encoders check every offset before use. So the full check, which takes a tenth of the encoding, is only
    for other readers of values: Arrow's casts, and messages.

    Args:
        name: of the column.
        column: an array of it.
        row: of its first record, in the whole data.
        is_full: whether to check all offsets, or the first and the last.

    Raises:
        EncodeError: offsets that decrease or exceed the data, buffers that are too short.
    """
    try:
        column.view(_AS_BYTES.get(column.type, column.type)).validate(full=is_full)
    except pa.ArrowException as error:
        detail = f"rows from {row} on: column {name} is invalid Arrow data: {error}"
        raise EncodeError(detail, rule="unwritable", row=row) from error


def _batches(data: Any) -> Iterator[pa.RecordBatch]:
    if isinstance(data, pa.RecordBatch):
        yield data
    elif isinstance(data, pa.Table):
        yield from data.to_batches()
    elif isinstance(data, pa.RecordBatchReader):
        yield from data
    elif hasattr(data, "__arrow_c_stream__") and not isinstance(data, type):
        yield from _opened(data)
    elif isinstance(data, (str, bytes, dict)) or not isinstance(data, Iterable):
        raise OptionError(f"records cannot come from type {type(data).__name__}; give Arrow data or rows")
    else:
        yield from batches_of_rows(data)


def _opened(data: Any) -> pa.RecordBatchReader:
    try:
        return pa.RecordBatchReader.from_stream(data)
    except (pa.ArrowException, TypeError) as error:  # a column has that interface, too
        raise OptionError(f"records cannot come from type {type(data).__name__}: {error}") from error


def _check_columns(schema: pa.Schema) -> None:
    written = stored_names(schema)
    names = set(written)
    unknown = sorted(names - set(SCHEMA.names))
    if unknown or len(names) < len(written):
        raise OptionError(
            f"columns are {', '.join(schema.names)}; give some of {', '.join(SCHEMA.names)}, each once "
            "(timestamp_ms in place of timestamp)"
        )
    if not names & {"key", "value"}:
        raise OptionError("there must be a column key or a column value")
    for name, field in zip(written, schema, strict=True):
        if name != _IGNORED and not _can_be(field.type, name):
            raise OptionError(f"column {field.name} is of type {field.type}; it must be {TYPES[name]}")


def _casts(schema: pa.Schema) -> dict[str, bool]:
    """Return the columns that are written, and whether each must be cast."""
    _check_columns(schema)
    written = zip(stored_names(schema), schema, strict=True)
    return {field.name: not _is_as_written(field.type, name) for name, field in written if name != _IGNORED}


def _is_as_written(kind: Any, name: str) -> bool:
    """Return whether a column needs no cast, whatever its nullability and time zone."""
    if name == "timestamp" and pa.types.is_timestamp(kind):
        return bool(kind.unit == "ms")
    if name != "headers" or not pa.types.is_list(kind) or not pa.types.is_struct(kind.value_type):
        return bool(kind == TYPES[name])
    return all(member.type == pa.binary() for member in kind.value_type.fields)


def _can_be(kind: Any, name: str) -> bool:
    """Return whether a column of type `kind` can be written as column `name`; a null type always can."""
    if pa.types.is_null(kind):
        return True
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if name == "offset":
        return bool(pa.types.is_integer(kind))
    if name == "timestamp":
        return bool(pa.types.is_integer(kind) or pa.types.is_timestamp(kind))
    if name == "headers":
        return _holds_headers(kind)
    return _holds_bytes(kind)


def _holds_bytes(kind: Any) -> bool:
    tests = (
        "binary",
        "large_binary",
        "binary_view",
        "fixed_size_binary",
        "string",
        "large_string",
        "string_view",
    )
    return any(getattr(pa.types, f"is_{test}")(kind) for test in tests)


def _holds_headers(kind: Any) -> bool:
    if pa.types.is_map(kind):
        return _holds_bytes(kind.key_type) and _holds_bytes(kind.item_type)
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind)):
        return False
    if not pa.types.is_struct(kind.value_type):
        return bool(pa.types.is_null(kind.value_type))
    fields = kind.value_type.fields
    names = sorted(field.name for field in fields)
    return names == _KEY_VALUE and all(_holds_bytes(field.type) for field in fields)


def _cast(batch: pa.RecordBatch, casts: dict[str, bool], row: int) -> Iterator[Incoming]:
    """Cast the batch's columns; halve it where a column would exceed the 2 GiB of narrow offsets."""
    try:
        columns = {
            STORED.get(name, name): _cast_column(STORED.get(name, name), batch.column(name), row, is_cast)
            for name, is_cast in casts.items()
        }
    except (pa.ArrowInvalid, pa.ArrowCapacityError) as error:
        if batch.num_rows <= 1:
            hint = _FINER if "lose data" in str(error) else ""
            raise EncodeError(f"row {row}: {error}{hint}", rule="unwritable", row=row) from error
        half = batch.num_rows // 2
        yield from _cast(batch.slice(0, half), casts, row)
        yield from _cast(batch.slice(half), casts, row + half)
        return
    except pa.ArrowException as error:
        raise OptionError(f"a column cannot be cast to what is written: {error}") from error
    yield Incoming(batch.num_rows, columns)


def _cast_column(name: str, column: pa.Array, row: int, is_cast: bool) -> pa.Array:
    check_array(name, column, row, is_full=is_cast)
    if is_cast:
        column = _as_written(_without_dictionary(column), name)
    if name in _KEY_VALUE:
        return column
    if name == "headers":
        return _without_nulls(column, row)
    if name == "offset" and column.null_count:
        first = column.is_null().index(True).as_py()
        raise refused("null_offset", "no offset", row=row + first)
    return column.view(pa.int64()).fill_null(-1) if column.null_count else column


def _without_dictionary(column: pa.Array) -> pa.Array:
    if not pa.types.is_dictionary(column.type):
        return column
    words = column.dictionary
    if pa.types.is_string_view(words.type) or pa.types.is_binary_view(words.type):
        words = words.cast(pa.large_binary())  # Arrow has no `take` for views
    return words.take(column.indices)


def _as_written(column: pa.Array, name: str) -> pa.Array:
    """Cast a column: timestamps of another unit to milliseconds, others to their type."""
    kind = column.type
    if name == "timestamp" and pa.types.is_timestamp(kind):
        return column.cast(pa.timestamp("ms", tz=kind.tz))
    is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind)
    if is_list and pa.types.is_struct(kind.value_type):
        # In their order: Arrow reorders fields only since version 21.
        fields = [pa.field(member.name, pa.binary()) for member in kind.value_type.fields]
        return column.cast(pa.list_(pa.struct(fields)))
    return column.cast(TYPES[name])


def _without_nulls(headers: pa.Array, row: int) -> pa.Array:
    """Replace null lists of headers by empty ones; refuse null structs."""
    if headers.null_count or headers.values.null_count:
        check_array("headers", headers, row, is_full=True)
    if headers.null_count:
        lengths = headers.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
        offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())
        headers = pa.ListArray.from_arrays(offsets, headers.flatten())
    if headers.values.null_count and headers.flatten().null_count:
        for at, one in enumerate(headers):
            if any(not header.is_valid for header in one.values):
                raise refused("null_header_key", "a header that is null", row=row + at)
    return headers
