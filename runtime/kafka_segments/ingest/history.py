"""All runs of a table together: its files, and the accounts of each partition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kafka_segments.errors import OptionError
from kafka_segments.ingest.account import Account
from kafka_segments.ingest.run_log import RunLog
from kafka_segments.ingest.run_state import DataFile, RunState
from kafka_segments.query.query import TopicPartition

__all__ = ["History", "files_of", "read_history"]


@dataclass(frozen=True, slots=True)
class History:
    """The runs of a table, in order.

    Attributes:
        runs: one or more.
        files: that the table has, by path.
        missing: numbers of runs that are not there.
    """

    runs: tuple[RunState, ...]
    files: dict[str, DataFile]
    missing: tuple[int, ...] = ()

    @property
    def newest(self) -> RunState:
        """The newest run."""
        return self.runs[-1]

    def accounts(self) -> dict[TopicPartition, list[tuple[int, Account]]]:
        """The accounts of each partition, with the numbers of their runs, by topic and number.

        Those of runs that were undone by a rewind are left out.
        """
        found: dict[TopicPartition, list[tuple[int, Account]]] = {}
        for run in self.runs:
            for undone in run.rewound:
                key, offset = (undone.topic, undone.partition), undone.offset
                own = [] if offset is None else found.get(key, [])
                found[key] = [(number, one) for number, one in own if one.end_offset <= (offset or 0)]
            for one in run.accounts:
                found.setdefault((one.topic, one.partition), []).append((run.number, one))
        return {key: own for key, own in sorted(found.items()) if own}


def files_of(files: Mapping[str, DataFile], key: TopicPartition) -> list[DataFile]:
    """Return the files with rows of a partition, by first offset."""
    own = [one for one in files.values() if (one.topic, one.partition) == key]
    return sorted(own, key=lambda one: (one.first_offset or 0, one.path))


def read_history(log: RunLog, path: str) -> History:
    """Read all runs.

    Args:
        log: of the table.
        path: of the table, for errors.

    Raises:
        OptionError: there is no table, or a file of it is none of ours.
        ReadError: a file cannot be read.
    """
    numbers = log.numbers()
    if not numbers:
        raise OptionError("this is no table of kafka-segments ingest: no run was ever committed", path=path)
    runs = tuple(map(log.read, numbers))
    missing = sorted(set(range(1, numbers[-1] + 1)) - set(numbers))
    return History(runs, _files(runs), tuple(missing))


def _files(runs: Sequence[RunState]) -> dict[str, DataFile]:
    files: dict[str, DataFile] = {}
    for run in runs:
        for path in run.removed:
            files.pop(path, None)
        files |= {one.path: one for one in run.files}
    return files
