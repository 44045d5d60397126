"""Rewinding of partitions: rows from an offset on are removed, and the next run takes that part anew.

Strategy: whole runs are undone, so that accounts stay whole: a partition goes back to the state that it had
before the run that took the wanted offset. A file that `compact` has merged across that offset is written
again without the rows from there on.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from kafka_segments.errors import OptionError
from kafka_segments.ingest import staging
from kafka_segments.ingest.compact import read_rows
from kafka_segments.ingest.engines import Engine
from kafka_segments.ingest.file_columns import FileColumns
from kafka_segments.ingest.history import History, files_of, read_history
from kafka_segments.ingest.placeholder import with_placeholder
from kafka_segments.ingest.run_state import DataFile, PartitionState, Rewound, RunState, TableSettings
from kafka_segments.ingest.table_files import TableFiles
from kafka_segments.ingest.tables import Table
from kafka_segments.query.query import TopicPartition

__all__ = ["CutTask", "RewoundPartition", "rewind"]


@dataclass(frozen=True, slots=True)
class RewoundPartition:
    """Result for one partition.

    Attributes:
        topic: its name.
        partition: its number.
        offset: where the next run begins; None if it knows nothing of the partition any more.
        before: where it would have begun.
        num_rows: rows that were removed.
    """

    topic: str
    partition: int
    offset: int | None
    before: int
    num_rows: int


@dataclass(frozen=True, slots=True)
class CutTask:
    """File to write again without the rows from an offset on.

    Attributes:
        destination: of the table.
        root: where the new file's path begins.
        file: to cut.
        end: offset after the last one that is kept.
        settings: of the table.
        table_files: of the table.
    """

    destination: str
    root: str
    file: DataFile
    end: int
    settings: TableSettings
    table_files: TableFiles

    @property
    def num_bytes(self) -> int:
        """Size of the file."""
        return self.file.num_bytes

    def run(self) -> DataFile:
        """Write the file.

        Raises:
            ReadError: the old one cannot be read.
            OutputError: the new one cannot be written.
        """
        columns, last = FileColumns.of(self.settings), None
        name = f"{self.file.first_offset or 0:020}-{uuid.uuid4().hex}.parquet"
        path = f"{os.path.dirname(self.file.path)}/{name}"
        with columns.new_file(f"{self.root}/{path}", self.table_files) as output:
            for batch in read_rows(self.table_files, f"{self.destination}/{self.file.path}", columns):
                offsets = columns.offsets_of(batch)
                kept = batch.slice(0, int((offsets < self.end).sum()))  # files are sorted by offset
                if kept.num_rows:
                    output.write(kept)
                    last = int(offsets[kept.num_rows - 1])
        return replace(
            self.file, path=path, num_rows=output.num_rows, num_bytes=output.size, last_offset=last
        )


def rewind(
    table: Table, engine: Engine, partitions: Sequence[TopicPartition], to_offset: int
) -> list[RewoundPartition]:
    """Remove the rows of partitions from an offset on, or from where a run began below it.

    Args:
        table: the table.
        engine: runs the tasks.
        partitions: topics and numbers; the table has them.
        to_offset: the highest offset at which the next run may begin.

    Raises:
        OptionError: there is no table, or no such partition; the runs to go back to are missing.
        ConflictError: another run was committed meanwhile.
        OutputError: something could not be written; the table is as it was.
    """
    history = read_history(table.log, table.destination)
    table.publish(history.newest)
    _check_known(history, partitions, table.destination)
    cuts = [_Cut(table, history, key, to_offset) for key in sorted(set(partitions))]
    cuts = [one for one in cuts if one.state is None or one.state.next_offset < one.known.next_offset]
    if not cuts:
        return []
    with staging.committing(table, history.newest.number) as new:
        made = engine.run([task for one in cuts for task in one.tasks(new.root)])
        run = _run_of(history, new.run_id, cuts, made)
        is_empty = not table.data_files(history).keys() - set(run.removed)
        new.run = with_placeholder(table, run, history.newest, is_empty=is_empty)
    kept = {(one.topic, one.partition): 0 for one in made}
    for one in made:
        kept[one.topic, one.partition] += one.num_rows
    return [one.result(kept.get(one.key, 0)) for one in cuts]


def _check_known(history: History, partitions: Iterable[TopicPartition], path: str) -> None:
    known = history.newest.by_partition()
    for topic, partition in partitions:
        if (topic, partition) not in known:
            raise OptionError(f"the table has no partition {topic}-{partition}", path=path)


class _Cut:
    """What is to be done to one partition.

    Attributes:
        key: topic and number.
        known: the state now.
        state: the state afterwards; None for none.
        removed: files that go, as a whole or to be cut.
    """

    def __init__(self, table: Table, history: History, key: TopicPartition, to_offset: int) -> None:
        self.key, self._destination, self._table_files = key, table.destination, table.log.files
        self.known = history.newest.by_partition()[key]
        self.state = _state_at(table, history, key, to_offset)
        self._end = -1 if self.state is None else self.state.next_offset
        files = files_of(table.data_files(history), key)
        self.removed = [one for one in files if (one.last_offset or 0) >= self._end]
        self._settings = history.newest.settings

    def tasks(self, root: str) -> list[CutTask]:
        """The files of which a part stays."""
        cut = [one for one in self.removed if (one.first_offset or 0) < self._end]
        destination, settings, files = self._destination, self._settings, self._table_files
        return [CutTask(destination, root, one, self._end, settings, files) for one in cut]

    def result(self, num_kept: int) -> RewoundPartition:
        """The result, less the rows that were written again."""
        num_rows = sum(one.num_rows for one in self.removed) - num_kept
        offset = None if self.state is None else self.state.next_offset
        return RewoundPartition(*self.key, offset, self.known.next_offset, num_rows)


def _state_at(table: Table, history: History, key: TopicPartition, to_offset: int) -> PartitionState | None:
    """The state before the run that took an offset; None where no run had taken anything before."""
    known = history.newest.by_partition()[key]
    if to_offset >= known.next_offset:
        return known
    accounts = history.accounts().get(key, [])
    taken = [(number, one) for number, one in accounts if one.first_offset <= to_offset]
    if not taken:
        return None
    number = taken[-1][0] - 1
    if number in history.missing:
        raise OptionError(
            f"run {number} is missing, to whose state the table would go back", path=table.destination
        )
    return table.log.read(number).by_partition().get(key) if number else None


def _run_of(history: History, run_id: str, cuts: Sequence[_Cut], made: Sequence[DataFile]) -> RunState:
    before = history.newest
    after = before.by_partition()
    for one in cuts:
        del after[one.key]
        if one.state is not None:
            after[one.key] = one.state
    return RunState(
        before.number + 1,
        run_id,
        time.time_ns() // 1_000_000,
        before.settings,
        tuple(after[key] for key in sorted(after)),
        tuple(made),
        tuple(file.path for one in cuts for file in one.removed),
        rewound=tuple(Rewound(*one.key, one.state.next_offset if one.state else None) for one in cuts),
        placeholder=before.placeholder,
    )
