"""Runs of a table, one file each; a run exists when its file does, and one run gets each number.

Strategy: `DEST/_kafka_segments/runs/NUMBER.json` is created in one act if it is absent: of two runs that
continue the same one, the second finds the file there and is refused (`ConflictError`).

Before that, a run writes below `_kafka_segments/staging/NUMBER-RANDOM`, with the number of the run that it
continues. When there is a run with a higher number, it can no longer be committed: what it left is removed.
"""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Iterable, Mapping

from kafka_segments.errors import ConflictError, KafkaFormatError, OptionError
from kafka_segments.ingest.runs.account import Account
from kafka_segments.ingest.runs.run_state import DamagedBytes, DataFile, RunState
from kafka_segments.ingest.runs.table_files import table_files
from kafka_segments.query.documents import read_document, write_document
from kafka_segments.query.query import TopicPartition

__all__ = ["STATE_DIRECTORY", "History", "RunLog", "files_by_partition", "newest_run", "read_history"]

STATE_DIRECTORY = "_kafka_segments"
"""Below the destination; readers of directories of Parquet skip names that begin with `_`."""

_KIND, _VERSION = "run", 1
_RUNS, _STAGING = "runs", "staging"
_NAME = re.compile(r"([0-9]{20})\.json")
_RUN_ID = re.compile(r"([0-9]{20})-[0-9a-f]{32}")


class RunLog:
    """The runs of a table.

    Args:
        destination: of the table: a path or an address.
        settings: of stores, see `Places`.

    Attributes:
        destination: likewise.
        directory: of the runs.
        staging: directory of what runs write before they are committed.
        files: where the table is.
    """

    def __init__(self, destination: str, settings: Mapping[str, str] | None = None) -> None:
        self.destination, self.files = destination, table_files(destination, settings)
        state = os.path.join(destination, STATE_DIRECTORY)
        self.directory, self.staging = os.path.join(state, _RUNS), os.path.join(state, _STAGING)

    def numbers(self) -> list[int]:
        """Return the numbers of all runs, ascending; empty without a table.

        Raises:
            ReadError: the directory cannot be listed.
            StoreError: the store refused or failed.
        """
        names = self.files.names(self.directory)
        return sorted(int(match[1]) for match in map(_NAME.fullmatch, names) if match)

    def oldest(self) -> RunState | None:
        """Return the first run that is kept; None without any; errors as `read`."""
        number = min(self.numbers(), default=None)
        return None if number is None else self.read(number)

    def newest(self) -> RunState | None:
        """Return the newest run; None without any; errors as `read`."""
        number = max(self.numbers(), default=None)
        return None if number is None else self.read(number)

    def read(self, number: int) -> RunState:
        """Return a run.

        Raises:
            ReadError: its file cannot be read.
            StoreError: the store refused or failed.
            OptionError: it is not a run, one of another version, or another run.
        """
        path = self._path(number)
        run = read_document(RunState, self.files.read(path), path, _KIND, _VERSION)
        if run.number != number or _continued(run.run_id) != number - 1:
            raise OptionError(
                f"this is not run {number}, but run {run.number} with the id {run.run_id!r:.60}", path=path
            )
        return run

    def has(self, run_id: str) -> bool:
        """Whether a run was committed; errors as `read`."""
        number = int(run_id.partition("-")[0]) + 1
        return self.files.has(self._path(number)) and self.read(number).run_id == run_id

    def create(self, run: RunState) -> None:
        """Add a run: from then on it exists.

        Raises:
            ConflictError: there is one of this number.
            OutputError: it cannot be written.
            UndecidedRunError: it is not known whether it exists.
        """
        path = self._path(run.number)
        if not self.files.create(path, write_document(run, _KIND, _VERSION)):
            raise ConflictError(
                f"another run was committed meanwhile (number {run.number}), so this one wrote nothing: run "
                "it again to take what is new since",
                path=path,
            )

    def begin(self, number: int) -> str:
        """Return the id of a new run, of which there is nothing yet: it may find nothing to commit.

        Args:
            number: of the run that it continues; 0 for the first one.

        Raises:
            OutputError: the directory of the runs cannot be created.
        """
        self.files.make_directory(self.directory)
        return f"{number:020}-{uuid.uuid4().hex}"

    def staging_of(self, run_id: str) -> str:
        """Return the directory in which a run's files are until they are published."""
        return os.path.join(self.staging, run_id)

    def discard(self, run_id: str) -> None:
        """Remove what a run left, and the destination if nothing else is in it, without raising.

        A run that was committed when it was interrupted is left alone, and one of which that cannot be seen.
        """
        try:
            if self.has(run_id):
                return
        except KafkaFormatError:
            return
        self.files.remove_tree(self.staging_of(run_id))
        for directory in (self.staging, self.directory, os.path.dirname(self.directory), self.destination):
            if not self.files.remove_empty(directory):
                return

    def sweep(self, number: int) -> list[str]:
        """Remove the directories of runs that continue others than the newest one; return their paths.

        Args:
            number: of the newest run.
        """
        swept = []
        try:
            names = self.files.names(self.staging)
        except KafkaFormatError:
            return []
        for name in names:
            continued = _continued(name)
            if continued is not None and continued < number:
                path = self.staging_of(name)
                if self.files.remove_tree(path):
                    swept.append(path)
        self.files.remove_empty(self.staging)
        return swept

    def _path(self, number: int) -> str:
        return os.path.join(self.directory, f"{number:020}.json")


def _continued(run_id: str) -> int | None:
    """The number of the run that another one continues; None if this is no run's id."""
    match = _RUN_ID.fullmatch(run_id)
    return None if match is None else int(match[1])


class History:
    """All runs of a table together: its files, and the accounts of each partition.

    Runs are folded one by one as they are read. Each holds the state of all partitions, and a table has one a
    run for years: only the newest one's is kept.

    Args:
        runs: one or more, in order.
        missing: see below.

    Attributes:
        newest: the newest run.
        files: that the table has, by path.
        damaged: bytes that runs could not decode.
        missing: numbers of runs that are missing.
        accounts: of each partition, with the numbers of their runs, by topic and number, but for those of
            runs that were undone by a rewind.
    """

    newest: RunState

    def __init__(self, runs: Iterable[RunState], missing: Iterable[int] = ()) -> None:
        self.files: dict[str, DataFile] = {}
        self.damaged: list[DamagedBytes] = []
        self.missing = tuple(missing)
        self.accounts: dict[TopicPartition, list[tuple[int, Account]]] = {}
        for run in runs:
            self._add(run)
        self.accounts = {key: own for key, own in sorted(self.accounts.items()) if own}

    def _add(self, run: RunState) -> None:
        self.newest = run
        for path in run.removed:
            self.files.pop(path, None)
        self.files |= {one.path: one for one in run.files}
        self.damaged += run.damaged
        for undone in run.rewound:
            key, offset = (undone.topic, undone.partition), undone.offset
            own = [] if offset is None else self.accounts.get(key, [])
            self.accounts[key] = [(number, one) for number, one in own if one.end_offset <= (offset or 0)]
        for one in run.accounts:
            self.accounts.setdefault((one.topic, one.partition), []).append((run.number, one))


def files_by_partition(files: Iterable[DataFile]) -> dict[TopicPartition, list[DataFile]]:
    """Return the files with rows of each partition, by first offset."""
    found: dict[TopicPartition, list[DataFile]] = {}
    for one in sorted(files, key=lambda one: (one.first_offset or 0, one.path)):
        if one.topic is not None and one.partition is not None:
            found.setdefault((one.topic, one.partition), []).append(one)
    return found


def read_history(log: RunLog, path: str) -> History:
    """Read all runs.

    Args:
        log: of the table.
        path: of the table, for errors.

    Raises:
        OptionError: there is no table, or a file of it is not ours.
        ReadError: a file cannot be read.
    """
    numbers = log.numbers()
    if not numbers:
        raise _no_table(path)
    missing = sorted(set(range(1, numbers[-1] + 1)) - set(numbers))
    return History(map(log.read, numbers), missing)


def newest_run(log: RunLog, path: str) -> RunState:
    """Read the newest run alone; arguments and errors as for `read_history`."""
    newest = log.newest()
    if newest is None:
        raise _no_table(path)
    return newest


def _no_table(path: str) -> OptionError:
    return OptionError("this is not a table of kafka-segments ingest: no run was ever committed", path=path)
