"""Audit of a table: whether its rows are those of its accounts, each offset once, and those of the logs.

Strategy: the column `offset` of every file is read. For each account the rows with its offsets are counted;
accounts of a partition have to follow each other, and their parts to add up.

With logs, the ranges of the accounts are read again, as the runs did. Logs may lack by now what a table has
(retention, compaction); records that the table lacks are a problem.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce

import numpy as np
import numpy.typing as npt

from kafka_segments.core.codecs import DEFAULT_MAX_DECOMPRESSED
from kafka_segments.core.io.filesystems import Places
from kafka_segments.errors import NotingFaults, ReadError
from kafka_segments.ingest.counting_reader import CountingReader
from kafka_segments.ingest.files.file_columns import FileColumns
from kafka_segments.ingest.runs.account import Account, SplitCounts
from kafka_segments.ingest.runs.run_log import History, RunLog, files_by_partition
from kafka_segments.ingest.runs.run_state import DataFile
from kafka_segments.ingest.runs.table_files import is_outside, whole_path
from kafka_segments.ingest.tables import Table
from kafka_segments.log.discovery import FileOptions
from kafka_segments.log.findings import Findings
from kafka_segments.log.model import PartitionLog, Split
from kafka_segments.query.plan import plan
from kafka_segments.query.query import Limits, Query, TopicPartition, Topics, at_offsets
from kafka_segments.query.read.split_reader import Reading
from kafka_segments.query.resolve import logs_asked_for

__all__ = ["AuditedPartition", "ComparedPartition", "Problem", "audit_logs", "audit_table"]

_WHOLE = Limits(max_partition_bytes=1 << 62)

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
    for path in table.log.files.parquet_paths(destination) if table.kind == "parquet" else ():
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


def _offsets_between(
    log: RunLog, files: Iterable[DataFile], columns: FileColumns, start: int, end: int
) -> Offsets:
    """Return the offsets of a range that some files have, ascending.

    Args:
        log: of the table.
        files: of one partition.
        columns: of the files.
        start: first offset.
        end: after the last one.
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


@dataclass(frozen=True, slots=True)
class ComparedPartition:
    """A partition of a table, and what its logs have now.

    Attributes:
        table: what the table has.
        log: counts of the same range in the log, None if the logs lack it.
        num_missing: records of the log that the table lacks.
        problems: what does not add up.
    """

    table: AuditedPartition
    log: SplitCounts | None
    num_missing: int = 0
    problems: tuple[Problem, ...] = ()


def audit_logs(
    table: Table,
    history: History,
    audited: Sequence[AuditedPartition],
    sources: Sequence[str],
    store_settings: dict[str, str] | None = None,
) -> Iterator[ComparedPartition]:
    """Compare the partitions of a table with logs.

    Args:
        table: the table.
        history: its runs.
        audited: its partitions.
        sources: paths of the logs.
        store_settings: of stores.

    Raises:
        KafkaFormatError: a source cannot be read or holds no log.
    """
    places = Places(store_settings or {})
    by_key = {(one.account.topic, one.account.partition): one for one in audited}
    topics = frozenset(topic for topic, _ in by_key)
    query = Query(isolation=history.newest.settings.isolation, limits=_WHOLE, fail_on_data_loss=False)
    logs = logs_asked_for(
        places, sources, query, FileOptions(), [], prefer_names=True, is_merged=topics.__contains__
    )
    found = {(log.topic, log.partition): log for log in logs}
    files = files_by_partition(table.data_files(history).values())
    columns = FileColumns.of(history.newest.settings)
    for key, one in by_key.items():
        log = found.get(key)
        if log is None or not log.pieces:
            yield ComparedPartition(one, None)
            continue
        known = partial(_offsets_between, table.log, files.get(key, ()), columns)
        yield _compared(one, log, query, places, known)


def _compared(
    table: AuditedPartition,
    log: PartitionLog,
    query: Query,
    places: Places,
    known: Callable[[int, int], Offsets],
) -> ComparedPartition:
    key, account = (log.topic, log.partition), table.account
    start, end = account.first_offset, account.end_offset
    if start >= end:
        return ComparedPartition(table, SplitCounts())
    first, stop = (at_offsets({key: one}) for one in (start, end))
    ranged = replace(query, topics=Topics(partitions=frozenset([key])), start=first, end=stop)
    made = plan([log], ranged, places)
    counts, num_missing, lowest = SplitCounts(), 0, end
    for split in (split for task in made.tasks for split in task):
        own, missing = _missing_in(known, split, places)
        counts.add(own)
        num_missing += len(missing)
        lowest = min([lowest, *missing[:1].tolist()])
    words = f"the log has {num_missing} records that the table lacks, from offset {lowest} on"
    return ComparedPartition(table, counts, num_missing, (Problem(*key, words),) if num_missing else ())


def _missing_in(
    known: Callable[[int, int], Offsets], split: Split, places: Places
) -> tuple[SplitCounts, Offsets]:
    """The counts of a split, and the offsets of records that the table lacks; `known` gives those it has."""
    reading = Reading(("offset",), max_decompressed=DEFAULT_MAX_DECOMPRESSED)
    reader = CountingReader(split, places, reading, Findings())
    end = split.end if split.end is not None else (split.asked[1] or split.start)
    own, missing = known(split.start, end), [np.empty(0, np.int64)]
    with NotingFaults():
        for batch in reader.rows():
            offsets = batch.column("offset").to_numpy()
            missing.append(offsets[~np.isin(offsets, own, assume_unique=True)])
    return reader.counts, np.concatenate(missing)
