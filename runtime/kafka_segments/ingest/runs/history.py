"""All runs of a table together: its files, and the accounts of each partition.

Strategy: runs are folded one by one as they are read. Each holds the state of all partitions, and a table has
one a run for years: only the newest one's is kept.
"""

from __future__ import annotations

from collections.abc import Iterable

from kafka_segments.errors import OptionError
from kafka_segments.ingest.runs.account import Account
from kafka_segments.ingest.runs.run_log import RunLog
from kafka_segments.ingest.runs.run_state import DamagedBytes, DataFile, RunState
from kafka_segments.query.query import TopicPartition

__all__ = ["History", "files_by_partition", "newest_run", "read_history"]


class History:
    """The runs of a table.

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
