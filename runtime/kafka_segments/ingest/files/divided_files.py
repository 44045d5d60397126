"""Data files of one partition in a task: one, or one for each date or hour of the records' timestamps.

Strategy: each batch is divided by the values of its rows; a few files are open at a time, the one that was
written to longest ago is finished first, so that any order of timestamps needs bounded memory.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import Any

import numpy as np
import pyarrow as pa

from kafka_segments.core.formats.java import MAX_LONG, MIN_LONG
from kafka_segments.core.segment.columnar.arrow_schema import NONE
from kafka_segments.ingest.files.parquet import ParquetFile
from kafka_segments.ingest.runs.run_state import DataFile
from kafka_segments.query.table_words import DIVISIONS

__all__ = ["DividedFiles"]

_MAX_OPEN = 16
_NULL = "__HIVE_DEFAULT_PARTITION__"
_NO_PERIOD = MIN_LONG
_MILLIS: dict[str, int] = dict(zip(DIVISIONS, (86_400_000, 3_600_000), strict=True))


@dataclass(slots=True)
class _OpenFile:
    name: str
    file: ParquetFile
    first_offset: int
    last_offset: int


class DividedFiles:
    """The files of one partition; a context manager that finishes them.

    Args:
        root: where the paths begin.
        directory: of the partition, below it.
        key: topic and partition.
        start: first offset of what is written; names the files.
        new_file: makes a Parquet file at a path.
        divided_by: one of `DIVISIONS`, or None.

    Attributes:
        finished: the files, when the context has ended.
    """

    def __init__(
        self,
        root: str,
        directory: str,
        key: tuple[str, int],
        start: int,
        *,
        new_file: Callable[[str], ParquetFile],
        divided_by: str | None,
    ) -> None:
        self._root, self._directory, self._key, self._start = root, directory, key, start
        self._new_file = new_file
        self._millis = None if divided_by is None else _MILLIS[divided_by]
        self._open: dict[str, _OpenFile] = {}  # the one written to longest ago first
        self.finished: list[DataFile] = []

    def __enter__(self) -> DividedFiles:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        while self._open:
            place = next(iter(self._open))
            self._close(place, kind, error, trace)

    def write(self, batch: pa.RecordBatch, offsets: Any, millis: Any) -> None:
        """Add rows.

        Args:
            batch: the rows.
            offsets: of each, as numpy array.
            millis: the timestamp of each, likewise; -1 is none.
        """
        for place, rows in self._parts(millis):
            part = batch if rows is None else batch.take(pa.array(rows))
            own = offsets if rows is None else offsets[rows]
            one = self._opened(place)
            one.file.write(part)
            one.first_offset = min(one.first_offset, int(own.min()))
            one.last_offset = max(one.last_offset, int(own.max()))

    def _parts(self, millis: Any) -> Iterator[tuple[str, Any]]:
        """Yield the directories that rows belong to, and which rows; None is all."""
        if self._millis is None:
            yield "", None
            return
        periods = np.where(millis == NONE, _NO_PERIOD, millis // self._millis)
        known, which = np.unique(periods, return_inverse=True)
        for at, period in enumerate(known.tolist()):
            rows = None if len(known) == 1 else np.flatnonzero(which == at)
            yield self._place(None if period == _NO_PERIOD else period * self._millis), rows

    def _place(self, millis: int | None) -> str:
        time = None if millis is None else _utc(millis)
        hour = _MILLIS["hour"] == self._millis
        names = [f"date={_NULL if time is None else f'{time:%Y-%m-%d}'}"]
        names += [f"hour={_NULL if time is None else f'{time:%H}'}"] if hour else []
        return "/".join(names)

    def _opened(self, place: str) -> _OpenFile:
        one = self._open.pop(place, None)
        if one is None:
            if len(self._open) == _MAX_OPEN:
                self._close(next(iter(self._open)), None, None, None)
            directory = "/".join(filter(None, (self._directory, place)))
            name = f"{directory}/{self._start:020}-{uuid.uuid4().hex}.parquet"
            one = _OpenFile(name, self._new_file(os.path.join(self._root, name)), MAX_LONG, -1)
        self._open[place] = one
        return one

    def _close(self, place: str, *raised: Any) -> None:
        one = self._open.pop(place)
        one.file.__exit__(*raised)
        offsets = one.first_offset, one.last_offset
        self.finished.append(DataFile(one.name, *self._key, one.file.num_rows, one.file.size, *offsets))


def _utc(millis: int) -> datetime | None:
    """The time; None beyond the years that a date can have."""
    try:
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=millis)
    except OverflowError:
        return None
