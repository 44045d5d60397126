"""Predicates of polars as Arrow filters, as far as they are of topics, partitions, offsets and times.

Strategy: a predicate is taken apart by the methods of `Expr.meta`, which polars documents, and not by its
serialized form, which changes: a part is what its inputs and an operator make again. A part that is not
understood becomes a column of which nothing is known, so that it leaves out no row.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import polars as pl
import pyarrow as pa
import pyarrow.dataset

from kafka_segments.core.segment.columnar.arrow_schema import OF_PARTITION, schema_of

__all__ = ["SCHEMA", "arrow_filter"]

ds: Any = pyarrow.dataset
_UNKNOWN = ds.field("unknown")
SCHEMA = pa.schema(
    [*OF_PARTITION, *schema_of(["offset", "timestamp", "timestamp_ms"]), pa.field("unknown", pa.bool_())]
)
"""Columns of the filters: those of rows, and one for parts that are not understood."""

_KNOWN = SCHEMA.names[:-1]
_TYPES = pl.DataFrame(SCHEMA.empty_table()).schema
_DEPTH = 100
_COMPARISONS: Sequence[Callable[[Any, Any], Any]] = (
    operator.eq,
    operator.ne,
    operator.lt,
    operator.le,
    operator.gt,
    operator.ge,
)
_CLOSED: Mapping[Literal["both", "left", "right", "none"], tuple[Any, Any]] = {
    "both": (operator.ge, operator.le),
    "left": (operator.ge, operator.lt),
    "right": (operator.gt, operator.le),
    "none": (operator.gt, operator.lt),
}


def arrow_filter(predicate: pl.Expr, depth: int = _DEPTH) -> Any:
    """Convert a predicate to an expression of Arrow on columns of `SCHEMA`.

    It holds, or may hold, wherever the predicate does.

    Args:
        predicate: as polars gives it to a source, with literals of the columns' types.
        depth: how deep to look into it.
    """
    parts = predicate.meta.pop()[::-1] if depth else []
    if len(parts) == 1:
        return _of_one(predicate, parts[0], depth)
    if len(parts) == 2:
        left, right = parts
        if predicate.meta.eq(left & right):
            return arrow_filter(left, depth - 1) & arrow_filter(right, depth - 1)
        if predicate.meta.eq(left | right):
            return arrow_filter(left, depth - 1) | arrow_filter(right, depth - 1)
        return _of_two(predicate, left, right)
    return _between(predicate, *parts) if len(parts) == 3 else _UNKNOWN


def _of_one(predicate: pl.Expr, part: pl.Expr, depth: int) -> Any:
    if predicate.meta.eq(~part):
        return ~arrow_filter(part, depth - 1)
    name = _column(part)
    if name is not None and predicate.meta.eq(part.is_null()):
        return ds.field(name).is_null()
    if name is not None and predicate.meta.eq(part.is_not_null()):
        return ds.field(name).is_valid()
    return _UNKNOWN


def _of_two(predicate: pl.Expr, left: pl.Expr, right: pl.Expr) -> Any:
    """Convert a comparison of a column with a constant, in any order, or with a list of them."""
    for column, other, is_first in ((left, right, True), (right, left, False)):
        name = _column(column)
        values = None if name is None else _constants(other, name)
        if name is None or values is None:
            continue
        if is_first and predicate.meta.eq(column.is_in(other)):
            return ds.field(name).isin(values.drop_null())
        for compare in _COMPARISONS if len(values) == 1 else ():
            if predicate.meta.eq(compare(left, right)):
                return compare(ds.field(name), values[0]) if is_first else compare(values[0], ds.field(name))
    return _UNKNOWN


def _between(predicate: pl.Expr, column: pl.Expr, low: pl.Expr, high: pl.Expr) -> Any:
    name = _column(column)
    if name is None:
        return _UNKNOWN
    lows, highs = _constants(low, name), _constants(high, name)
    if lows is None or highs is None or len(lows) != 1 or len(highs) != 1:
        return _UNKNOWN
    for closed, (above, below) in _CLOSED.items():
        if predicate.meta.eq(column.is_between(low, high, closed=closed)):
            return above(ds.field(name), lows[0]) & below(ds.field(name), highs[0])
    return _UNKNOWN


def _column(part: pl.Expr) -> str | None:
    return next((name for name in _KNOWN if part.meta.eq(pl.col(name))), None)


def _constants(part: pl.Expr, name: str) -> pa.Array | None:
    """The values of a literal, or of one that is a list; None if they are not of the column's type."""
    if not part.meta.is_literal():
        return None
    values = pl.select(part).to_series()
    if values.dtype == pl.List:
        values = values.explode()
    if values.dtype != _TYPES[name]:
        return None
    return values.to_arrow().cast(SCHEMA.field(name).type)
