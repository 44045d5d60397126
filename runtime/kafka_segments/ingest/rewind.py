"""Rewinding of partitions: rows from an offset on are removed, and the next run reads that part again.

Strategy: files with rows on both sides of the offset are written again without those from there on. The
account of the run that took the offset gives way to one of its part below: rows are counted; of the other
offsets there, none is called lawfully absent that may have been lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from kafka_segments.core.io.jobs import Engine
from kafka_segments.errors import OptionError
from kafka_segments.ingest.committing import committing
from kafka_segments.ingest.compact import RewriteResult, RewriteTask, check_untouched
from kafka_segments.ingest.runs.account import Account
from kafka_segments.ingest.runs.run_log import History, files_by_partition, read_history
from kafka_segments.ingest.runs.run_state import (
    DataFile,
    PartitionState,
    Rewound,
    RunState,
    TableSettings,
    following,
)
from kafka_segments.ingest.runs.table_files import is_outside
from kafka_segments.ingest.tables import Table
from kafka_segments.query.query import TopicPartition

__all__ = ["RewoundPartition", "rewind"]


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


def rewind(
    table: Table, engine: Engine, partitions: Sequence[TopicPartition], to_offset: int
) -> list[RewoundPartition]:
    """Remove the rows of partitions from an offset on.

    Args:
        table: the table.
        engine: runs the tasks.
        partitions: topics and numbers; the table has them.
        to_offset: where the next run begins; 0 forgets the partition with its topic's id, also where runs
            have seen it empty.

    Raises:
        OptionError: there is no table, or no such partition; the partition's rows are more or fewer than were
            written.
        ConflictError: another run was committed meanwhile.
        OutputError: something could not be written; the table is as it was.
    """
    history = read_history(table.log, table.destination)
    table.publish(history.newest)
    _check_known(history, partitions, table.destination)
    files = table.data_files(history)
    cuts = _cuts_of(table, history, files.values(), set(partitions), to_offset)
    if not cuts:
        return []
    with committing(table, history.newest.number) as new:
        tasks = [task for one in cuts for task in one.tasks(table, history.newest.settings, new.root)]
        made: dict[object, list[RewriteResult]] = {}
        for one in engine.run(tasks):
            made.setdefault((one.old[0].topic, one.old[0].partition), []).append(one)
        for cut in cuts:
            cut.take(made.get(cut.key, ()))
            cut.check(history, table.destination)
        run = _run_of(history, new.run_id, cuts)
        check_untouched(table, history, run.removed)
        is_empty = not files.keys() - set(run.removed)
        new.run = table.completed(run, is_empty=is_empty)
    return [one.result() for one in cuts]


def _check_known(history: History, partitions: Iterable[TopicPartition], path: str) -> None:
    known = history.newest.by_partition()
    for topic, partition in partitions:
        if (topic, partition) not in known:
            raise OptionError(f"the table has no partition {topic}-{partition}", path=path)


def _cuts_of(
    table: Table,
    history: History,
    files: Iterable[DataFile],
    keys: Iterable[TopicPartition],
    to_offset: int,
) -> list[_Cut]:
    """What is to be done to the partitions that do not stay as they are."""
    before, by_key = history.newest.by_partition(), files_by_partition(files)
    return [
        _Cut(before[key], _state_at(table, history, before[key], to_offset), by_key.get(key, []))
        for key in sorted(keys)
        if not 0 < before[key].next_offset <= to_offset
    ]


class _Cut:
    """What is to be done to one partition.

    Args:
        known: the state now.
        state: the state afterwards; None for none.
        files: of the partition; those of a table in a catalog may be of another destination.

    Attributes:
        key: topic and number.
        state: likewise.
        removed: paths of files that go.
        added: files in their place.
    """

    def __init__(
        self, known: PartitionState, state: PartitionState | None, files: Iterable[DataFile]
    ) -> None:
        self.key, self.state = (known.topic, known.partition), state
        self._before, self._end = known.next_offset, 0 if state is None else state.next_offset
        self.added: list[DataFile] = []
        self.removed: list[str] = []
        self._outside: list[str] = []
        self._uncertain: list[DataFile] = []
        self._num_found = self._num_kept = 0
        for one in files:
            self._sort(one)

    def _sort(self, file: DataFile) -> None:
        """Decide what becomes of a file; offsets that are not known have to be read."""
        if is_outside(file.path):
            self._outside.append(file.path)
        elif file.last_offset is not None and file.last_offset < self._end:
            self._count(file.num_rows, file.num_rows)
        elif file.first_offset is not None and file.first_offset >= self._end:
            self._count(file.num_rows, 0)
            self.removed.append(file.path)
        else:
            self._uncertain.append(file)

    def _count(self, num_found: int, num_kept: int) -> None:
        self._num_found += num_found
        self._num_kept += num_kept

    def tasks(self, table: Table, settings: TableSettings, root: str) -> list[RewriteTask]:
        """The files of which a part may stay."""
        own = table.destination, table.log.files, root
        return [RewriteTask(*own, (one,), settings, self._end) for one in self._uncertain]

    def take(self, made: Iterable[RewriteResult]) -> None:
        """Add what the tasks have made."""
        for one in made:
            self._count(one.num_found, 0 if one.new is None else one.new.num_rows)
            if one.new != one.old[0]:
                self.removed.append(one.old[0].path)
                self.added += [] if one.new is None else [one.new]

    def check(self, history: History, path: str) -> None:
        """Check that the rows that were found are those that runs have written.

        Raises:
            OptionError: they are more, or fewer.
        """
        accounts = history.accounts.get(self.key, [])
        expected = sum(one.records for _, one in accounts)
        if self._num_found == expected:
            return
        elsewhere = f", and others elsewhere, such as {self._outside[0]}" if self._outside else ""
        raise OptionError(
            f"{self.key[0]}-{self.key[1]}: runs have written {expected} rows, but the files below this "
            f"directory have {self._num_found}{elsewhere}: others have rewritten or removed some, so it is "
            "unknown which to remove. Nothing was changed; run kafka-segments audit, or write the log to "
            "another destination",
            path=path,
        )

    def accounts(self, history: History) -> Iterator[Account]:
        """Yield the account of the part below the offset of the run that took it, if it has such a part."""
        whole = 0
        for _, one in history.accounts.get(self.key, []):
            if one.end_offset <= self._end:
                whole += one.records
            elif one.first_offset < self._end:
                yield one.up_to(self._end, self._num_kept - whole)

    def result(self) -> RewoundPartition:
        """The result."""
        offset = None if self.state is None else self._end
        return RewoundPartition(*self.key, offset, self._before, self._num_found - self._num_kept)


def _state_at(table: Table, history: History, known: PartitionState, offset: int) -> PartitionState | None:
    """The state of a partition whose next offset is this one; None for none."""
    accounts = history.accounts.get((known.topic, known.partition), [])
    if not offset or all(one.first_offset > offset for _, one in accounts):
        return None
    ended = [number for number, one in accounts if one.end_offset <= offset]
    earlier = table.log.read(max(ended)).by_partition() if ended else {}
    state = earlier.get((known.topic, known.partition))
    epochs = tuple(one for one in known.leader_epochs if one.start_offset < offset)
    last = None if state is None else state.last
    return replace(known, next_offset=offset, leader_epochs=epochs, last=last)


def _run_of(history: History, run_id: str, cuts: Sequence[_Cut]) -> RunState:
    before = history.newest
    after = before.by_partition()
    for one in cuts:
        del after[one.key]
        if one.state is not None:
            after[one.key] = one.state
    return following(
        before,
        run_id,
        before.settings,
        partitions=tuple(after[key] for key in sorted(after)),
        files=tuple(file for one in cuts for file in one.added),
        removed=tuple(path for one in cuts for path in one.removed),
        accounts=tuple(account for one in cuts for account in one.accounts(history)),
        rewound=tuple(Rewound(*one.key, one.state.next_offset if one.state else None) for one in cuts),
    )
