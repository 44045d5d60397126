"""Choice of the Parquet columns that get a dictionary: those whose values repeat.

Strategy: the first rows of a file are counted. A dictionary of values that are nearly all different is given
up by Parquet's writer when it is full, in each row group again: keys and values of records would take half of
the time of writing, and more room.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute

__all__ = ["repeating_columns"]

pc: Any = pyarrow.compute  # its functions are made while it is imported: no type checker sees them

_SAMPLE_ROWS = 16_384
_MAX_DISTINCT = 0.5


def repeating_columns(rows: pa.Table) -> list[str]:
    """Return the paths of columns, and of values inside lists, maps and structs, of which half repeat.

    Args:
        rows: the first ones of a file.

    Example:
        >>> repeating_columns(pa.table({"offset": [1, 2, 3], "topic": ["a", "a", "a"]}))
        ['topic']
    """
    first = rows.slice(0, _SAMPLE_ROWS).combine_chunks()
    leaves = (
        leaf
        for name, column in zip(first.column_names, first.columns, strict=True)
        for leaf in _leaves(name, column.combine_chunks())
    )
    return [path for path, values in leaves if _is_repeating(values)]


def _leaves(path: str, values: pa.Array) -> Iterator[tuple[str, pa.Array]]:
    """Yield values by the paths that Parquet has for them."""
    if isinstance(values, pa.ChunkedArray):  # of no rows
        values = pa.array([], values.type)
    kind = values.type
    if pa.types.is_struct(kind):
        for at, inner in enumerate(values.flatten()):
            yield from _leaves(f"{path}.{kind.field(at).name}", inner)
    elif pa.types.is_map(kind):
        yield from _leaves(f"{path}.key_value.key", values.keys)
        yield from _leaves(f"{path}.key_value.value", values.items)
    elif pa.types.is_list(kind):
        yield from _leaves(f"{path}.list.element", values.flatten())
    else:
        yield path, values


def _is_repeating(values: pa.Array) -> bool:
    num_values = len(values) - values.null_count
    return bool(pc.count_distinct(values).as_py() <= num_values * _MAX_DISTINCT)
