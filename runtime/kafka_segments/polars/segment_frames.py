"""Lazy frames over segments: a source for polars, which asks for columns, a predicate and a number of rows.

Strategy: a predicate narrows the plan as far as `predicates` understands it, and all of it is applied to each
    frame.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Unpack

import polars as pl
import pyarrow as pa
from polars.io.plugins import register_io_source

from kafka_segments.core.segment.columnar.arrow_schema import Binary
from kafka_segments.polars.predicates import SCHEMA, arrow_filter
from kafka_segments.query.row_filter import RowFilter
from kafka_segments.query.scan import ScanRequest
from kafka_segments.query.scan_arguments import Path, ScanOptions
from kafka_segments.query.scan_rows import ScanRows

__all__ = ["scan_segments"]


def scan_segments(
    paths: Path | Iterable[Path],
    *,
    columns: Sequence[str] | None = None,
    **options: Unpack[ScanOptions],
) -> pl.LazyFrame:
    """Make a lazy frame of the records of partitions: the rows of `kafka_segments.scan`, in its order.

    A query of the frame reads the columns that it uses, batch by batch. Comparisons of `topic`, `partition`,
    `offset`, `timestamp` and `timestamp_ms` with constants (`==`, `<`, `is_in`, `is_between`...,
    with `&`, `|` and `~`) leave out partitions and parts of segments, as the arguments do; damage in these
    is not found. `head` ends the reading, but after a filter only with `engine="streaming"`.

    A query of only the columns `topic` and `partition`, such as `select(pl.len())`, only counts rows. If
    damage is raised, isolation is `read_uncommitted` and neither `since` nor `until` is given, the headers of
    batches count them. That is exact unless a batch is damaged inside: checksums are not verified then, as
    nothing but headers is read. Where headers show damage, missing, repeated or falling offsets, and for
    compressed messages of magic 0 and 1, the records are read. In all other cases offsets are decoded, with
    checksums verified.

    Args:
        paths: as for `kafka_segments.scan`.
        columns: names of the frame's columns.
        options: by name, as for `kafka_segments.scan`: topics, partitions, offsets, since, until, isolation,
            on_damage (a function is called in the thread that polars reads in), max_timestamp_skew,
            storage_options, max_decompressed, threads, in_order.

    Returns:
        A frame; each `collect` lists the paths again. It raises the errors of `kafka_segments.scan` for what
        is missing, damaged or lost.

    Raises:
        OptionError: an invalid argument.

    Example:
        >>> frame = scan_segments("/var/lib/kafka")  # doctest: +SKIP
        >>> frame.filter(pl.col("offset") >= 1000).select("key").head(5).collect()  # doctest: +SKIP
    """
    request = ScanRequest.of(paths, **options)
    source = _Source(request, columns)
    return register_io_source(source.frames, schema=source.schema, is_pure=True)


class _Source:
    """What polars calls for the frames of a query."""

    def __init__(self, request: ScanRequest, columns: Sequence[str] | None) -> None:
        self._request = request
        self.schema = _frame(ScanRows(columns, (), "view").schema.empty_table()).schema

    def frames(
        self,
        with_columns: list[str] | None,
        predicate: pl.Expr | None,
        n_rows: int | None,
        batch_size: int | None,  # noqa: ARG002
    ) -> Iterator[pl.DataFrame]:
        """Yield the rows of a query, after an empty frame, which has the schema."""
        names, left = list(self.schema) if with_columns is None else with_columns, n_rows
        yield _frame(ScanRows(names, (), "view").schema.empty_table())
        for frame in self._filtered(names, predicate) if left != 0 else ():
            yield frame if left is None else frame.head(left)
            if left is not None:
                left -= frame.height
                if left <= 0:
                    return

    def _filtered(self, names: Sequence[str], predicate: pl.Expr | None) -> Iterator[pl.DataFrame]:
        if predicate is None:
            yield from map(_frame, self._request.batches(names, None, _binary_of(names)))
            return
        wanted = RowFilter(arrow_filter(predicate), SCHEMA)
        needed = dict.fromkeys([*names, *predicate.meta.root_names()])
        for batch in self._request.batches(list(needed), wanted, _binary_of(needed)):
            yield _frame(batch).filter(predicate).select(names)


def _binary_of(columns: Iterable[str]) -> Binary:
    """Views of values; without these, a batch would hold far more bytes than it shows."""
    return "view" if "value" in columns else "copy"


def _frame(rows: pa.RecordBatch | pa.Table) -> pl.DataFrame:
    found = pl.from_arrow(rows, rechunk=False)
    assert isinstance(found, pl.DataFrame)
    return found
