"""Random predicates on rows of a table, as trees, and what they are in polars and SQL.

A leaf is a column, an operator and its values; an inner node is `and`, `or` or `not`. Values are those of the
table, or next to them, so that predicates hold for some rows.
"""

from __future__ import annotations

import operator
from datetime import UTC, datetime, timedelta
from functools import reduce
from typing import Any

import polars as pl
import pyarrow as pa
from hypothesis import strategies as st

Tree = tuple[Any, ...]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

COLUMNS = ["topic", "partition", "offset", "timestamp", "key"]
_COMPARED = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def values_of(table: pa.Table) -> dict[str, list[Any]]:
    """For each column some values: those of rows, and for numbers and times the next ones."""
    found: dict[str, list[Any]] = {}
    for name in COLUMNS:
        column = table[name].combine_chunks().unique().drop_null()
        there = _times_of(column) if name == "timestamp" else column.to_pylist()
        chosen = there[:: max(1, len(there) // 40)]
        if name in ("partition", "offset"):
            chosen += [one + step for one in chosen[:10] for step in (-1, 1)]
        if name == "timestamp":
            chosen += [one + timedelta(milliseconds=step) for one in chosen[:10] for step in (-1, 1)]
            chosen += [one + timedelta(microseconds=1) for one in chosen[:10]]
        found[name] = chosen
    found["topic"] += ["__consumer_offsets", "absent", "it's"]
    return found


def _times_of(column: pa.Array) -> list[datetime]:
    """The times that Python has, and one that is in no row."""
    numbers = [one for one in column.cast(pa.int64()).to_pylist() if 0 <= one < 1 << 47]
    return [datetime(2024, 1, 1, tzinfo=UTC), *(_EPOCH + timedelta(milliseconds=one) for one in numbers)]


def trees(values: dict[str, list[Any]]) -> st.SearchStrategy[Tree]:
    """Trees with leaves of these values."""

    def leaves(name: str) -> st.SearchStrategy[Tree]:
        one = st.sampled_from(values[name])
        compared = st.tuples(st.just(name), st.sampled_from(list(_COMPARED)), one)
        among = st.tuples(st.just(name), st.just("in"), st.lists(one, min_size=1, max_size=4, unique=True))
        between = st.tuples(st.just(name), st.just("between"), st.tuples(one, one))
        is_null = st.tuples(st.just(name), st.just("null"), st.none())
        return st.one_of(compared, compared, among, between, is_null)

    def inner(children: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
        pairs = st.lists(children, min_size=2, max_size=3)
        return st.one_of(
            st.tuples(st.sampled_from(["and", "or"]), pairs), st.tuples(st.just("not"), children)
        )

    return st.recursive(st.sampled_from(COLUMNS).flatmap(leaves), inner, max_leaves=6)


def polars_of(tree: Tree) -> pl.Expr:
    """The predicate in polars."""
    if tree[0] in ("and", "or"):
        join = operator.and_ if tree[0] == "and" else operator.or_
        return reduce(join, map(polars_of, tree[1]))
    if tree[0] == "not":
        return ~polars_of(tree[1])
    name, how, value = tree
    column = pl.col(name)
    if how == "in":
        return column.is_in(value)
    if how == "between":
        return column.is_between(*map(pl.lit, value))  # a text alone would be a column
    return column.is_null() if how == "null" else _COMPARED[how](column, value)


def sql_of(tree: Tree) -> str:
    """The predicate in SQL."""
    if tree[0] in ("and", "or"):
        return "(" + f" {tree[0]} ".join(map(sql_of, tree[1])) + ")"
    if tree[0] == "not":
        return f"(not {sql_of(tree[1])})"
    name, how, value = tree
    if how == "in":
        return f'"{name}" in ({", ".join(map(_literal, value))})'
    if how == "between":
        return f'"{name}" between {_literal(value[0])} and {_literal(value[1])}'
    return f'"{name}" is null' if how == "null" else f'"{name}" {how} {_literal(value)}'


def _literal(value: Any) -> str:
    if isinstance(value, bytes):
        return "'" + "".join(f"\\x{byte:02x}" for byte in value) + "'::blob"
    if isinstance(value, datetime):
        return f"'{value.isoformat()}'::timestamptz"
    return str(value) if isinstance(value, int) else "'" + value.replace("'", "''") + "'"
