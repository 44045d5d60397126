"""Audit of a table: whether its rows are those of its accounts, each offset once.

Strategy: the column `offset` of every file is read. For each account the rows with its offsets are counted;
accounts of a partition have to follow each other, and their parts to add up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
import numpy.typing as npt

from kafka_segments.errors import ReadError
from kafka_segments.ingest.files.file_columns import FileColumns
from kafka_segments.ingest.files.table_files import is_outside, whole_path
from kafka_segments.ingest.runs.account import Account
from kafka_segments.ingest.runs.history import History, files_by_partition
from kafka_segments.ingest.runs.run_log import RunLog
from kafka_segments.ingest.runs.run_state import DataFile
from kafka_segments.ingest.tables import Table
from kafka_segments.query.query import TopicPartition

__all__ = ["AuditedPartition", "Problem", "audit_table", "offsets_between"]

Offsets = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that does not add up.

    Attributes:
        topic: its name; None for the whole table.
        partition: its number; likewise.
        detail: what, for people.
    """

    topic: str | None
    partition: int | None
    detail: str

    def __str__(self) -> str:
        return self.detail if self.topic is None else f"{self.topic}-{self.partition}: {self.detail}"


@dataclass(frozen=True, slots=True)
class AuditedPartition:
    """What a table has of a partition.

    Attributes:
        account: of all runs together, with the rows that were counted.
        num_runs: runs that took something of it.
        num_files: files with its rows.
        problems: what does not add up.
    """

    account: Account
    num_runs: int
    num_files: int
    problems: tuple[Problem, ...] = ()


def audit_table(table: Table, history: History) -> tuple[list[AuditedPartition], list[Problem]]:
    """Audit a table.

    Args:
        table: the table.
        history: its runs.

    Returns:
        Its partitions, by topic and number; and problems of the table.

    Raises:
        ReadError: the table cannot be read.
    """
    accounts = history.accounts
    files = {
        path: one
        for path, one in table.data_files(history).items()
        if not is_outside(path) or (one.topic, one.partition) in accounts  # else of another destination
    }
    columns, own_files = FileColumns.of(history.newest.settings), files_by_partition(files.values())
    found = [
        _Partition(table.log, key, own_files.get(key, ()), columns, history.files).audited(own)
        for key, own in accounts.items()
    ]
    return found, list(_of_table(table, history, files, set(accounts)))


def _of_table(
    table: Table, history: History, files: Mapping[str, DataFile], keys: set[TopicPartition]
) -> Iterator[Problem]:
    destination = table.destination
    if not table.is_published(history.newest):
        number = history.newest.number
        yield Problem(None, None, f"run {number} is not published yet: run ingest, which publishes it")
    for number in history.missing:
        yield Problem(None, None, f"run {number} is missing below {destination}")
    for one in files.values():
        if one.topic is not None and (one.topic, one.partition) not in keys:
            yield Problem(one.topic, one.partition, f"{one.path} has rows that no run has accounted for")
    for path in table.log.files.parquet_paths(destination) if table.is_bare_directory else ():
        if path not in files:
            yield Problem(None, None, f"{path} is in the table's directory, but no run has written it")
    for kept in history.damaged:
        if not table.log.files.has(f"{destination}/{kept.path}"):
            yield Problem(kept.topic, kept.partition, f"{kept.path}, with damaged bytes, is missing")


class _Partition:
    """One pass over a partition's files; those that runs have written are sorted."""

    def __init__(
        self,
        log: RunLog,
        key: TopicPartition,
        files: Sequence[DataFile],
        columns: FileColumns,
        written: Mapping[str, DataFile],
    ) -> None:
        self._log, self._key, self._files = log, key, files
        self._columns, self._written = columns, written
        self._problems: list[Problem] = []

    def audited(self, accounts: Sequence[tuple[int, Account]]) -> AuditedPartition:
        counts = np.zeros(len(accounts), np.int64)
        bounds = [(one.first_offset, one.end_offset) for _, one in accounts]
        outside = 0
        for group in _overlapping(self._files):
            offsets = self._offsets_of(group)
            for at, (start, end) in enumerate(bounds):
                counts[at] += _num_between(offsets, start, end)
            outside += len(offsets) - sum(_num_between(offsets, *one) for one in bounds)
        if outside:
            self._say(f"{outside} rows have offsets that no run has accounted for")
        self._check(accounts, counts.tolist())
        whole = replace(reduce(Account.joined, (one for _, one in accounts)), records=int(counts.sum()))
        num_runs = sum(one.num_offsets > 0 for _, one in accounts)
        return AuditedPartition(whole, num_runs, len(self._files), tuple(self._problems))

    def _say(self, detail: str) -> None:
        self._problems.append(Problem(*self._key, detail))

    def _check(self, accounts: Sequence[tuple[int, Account]], counts: Sequence[int]) -> None:
        end = None
        for (number, one), count in zip(accounts, counts, strict=True):
            span = f"run {number}, offsets {one.first_offset} to {one.end_offset - 1}"
            if end is not None and one.first_offset != end:
                self._say(
                    f"run {number} begins at offset {one.first_offset}, but the run before ended at {end}"
                )
            end = one.end_offset
            if not one.is_balanced:
                self._say(f"{span}: the parts of the account do not add up to {one.num_offsets} offsets")
            if count != one.records:
                self._say(f"{span}: {one.records} rows were written, but the table has {count}")

    def _offsets_of(self, files: Iterable[DataFile]) -> Offsets:
        """The offsets of some files in order, each once; adds problems."""
        parts = [np.empty(0, np.int64)]
        for file in files:
            path = whole_path(self._log.destination, file.path)
            try:
                found = self._columns.offsets_in(self._log.files, path)
                own = np.concatenate([np.empty(0, np.int64), *found])
            except ReadError as error:
                self._say(f"{file.path} cannot be read: {error.detail}")
                continue
            if len(own) != file.num_rows:
                self._say(f"{file.path} has {len(own)} rows, but {file.num_rows} were written")
            if file.path in self._written and (np.diff(own) <= 0).any():
                self._say(f"{file.path}: its offsets do not increase")
            parts.append(own)
        joined = np.concatenate(parts)
        unique = np.unique(joined)
        if len(unique) < len(joined):
            self._say(f"{len(joined) - len(unique)} rows repeat the offsets of other rows")
        return unique


def offsets_between(
    log: RunLog, files: Iterable[DataFile], start: int, end: int, columns: FileColumns
) -> Offsets:
    """Return the offsets of a range that some files have, ascending.

    Args:
        log: of the table.
        files: of one partition.
        start: first offset.
        end: after the last one.
        columns: of the files.
    """
    parts = [np.empty(0, np.int64)]
    for one in files:
        if one.last_offset is None or one.last_offset < start or (one.first_offset or 0) >= end:
            continue
        for offsets in columns.offsets_in(log.files, whole_path(log.destination, one.path)):
            parts.append(offsets[(offsets >= start) & (offsets < end)])
    return np.unique(np.concatenate(parts))


def _overlapping(files: Sequence[DataFile]) -> Iterator[list[DataFile]]:
    """Yield the files by first offset, those together whose offsets overlap."""
    group: list[DataFile] = []
    last = -1
    for one in files:
        if group and (one.first_offset or 0) > last:
            yield group
            group = []
        group.append(one)
        last = max(last, one.last_offset or 0)
    if group:
        yield group


def _num_between(offsets: Offsets, start: int, end: int) -> int:
    """Count the ascending offsets in `[start, end)`."""
    first, stop = np.searchsorted(offsets, [start, end])
    return int(stop - first)
