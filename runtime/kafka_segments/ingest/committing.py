"""Commit of a run, and recovery before one: the newest is published, what killed ones left is removed.

Strategy: the directory of a run in staging is there until its process has published it. Where the newest run
has one, that process did not end, and has reported nothing: what it found is reported here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from kafka_segments.core.io.signals import check_not_ended
from kafka_segments.errors import (
    ConflictError,
    KafkaFormatError,
    OutputError,
    ReadError,
    StoreError,
    UndecidedRunError,
)
from kafka_segments.ingest.runs.run_log import RunLog
from kafka_segments.ingest.runs.run_state import RunState
from kafka_segments.ingest.tables import Table
from kafka_segments.query.table_words import COUNTS

__all__ = ["NewRun", "committing", "recover"]


@dataclass(slots=True)
class NewRun:
    """A run that is being written.

    Attributes:
        run_id: see `RunState`.
        root: where the paths of its files begin.
        run: to be committed; None for nothing.
    """

    run_id: str
    root: str
    run: RunState | None = None


@contextmanager
def committing(table: Table, number: int) -> Iterator[NewRun]:
    """Begin a run, and at the end commit and publish it.

    What was written is removed if there is an error, or nothing to commit.

    Args:
        table: to write to.
        number: of the run that it continues; 0 for the first one.

    Raises:
        ConflictError: another run was committed meanwhile.
        UndecidedRunError: it is not known whether this one was.
        OutputError: something could not be written; the table is as it was.
    """
    log = table.log
    run_id = log.begin(number)
    root = log.staging_of(run_id)
    new = NewRun(run_id, root)
    try:
        yield new
        run = new.run
        if run is None:
            log.discard(run_id)
            return
        # There also if nothing was written: what is committed has one until it is published. A first run that
        # ends with nothing removes the other directory, which is empty, also from another one.
        for directory in (root, log.directory):
            log.files.make_directory(directory)
        log.files.sync(root, log.destination)
        check_not_ended()
        log.create(run)
    except UndecidedRunError:
        raise  # it may exist: what it wrote is published, or swept, by the next run
    except BaseException as error:
        log.discard(run_id)
        # A run that merges files, or is rewound, reads those that the other one may have removed.
        if isinstance(error, (OutputError, ReadError, StoreError)) and _is_overtaken(log, number):
            raise ConflictError(
                "another run was committed meanwhile, so this one wrote nothing: run it again to take what "
                "is new since",
                path=log.destination,
            ) from error
        raise
    table.publish(run)
    log.sweep(run.number)


def _is_overtaken(log: RunLog, number: int) -> bool:
    try:
        return max(log.numbers(), default=0) > number
    except KafkaFormatError:
        return False


def recover(table: Table, newest: RunState, say: Callable[[str], None]) -> bool:
    """Make the data of the newest run visible, and remove what can no longer be committed.

    Args:
        table: the table.
        newest: its newest run.
        say: is called with words on what was done.

    Returns:
        Whether a run was finished that had found damage or lost offsets.

    Raises:
        OutputError: the data cannot be written.
        ReadError: the runs' directories cannot be listed.
        StoreError: the store refused or failed.
    """
    left = table.log.staging_of(newest.run_id)
    is_unfinished = newest.run_id in table.log.files.names(table.log.staging)
    table.publish(newest)
    if is_unfinished:
        for words in _found_by(newest):
            say(words)
    for path in table.log.sweep(newest.number):
        if path != left:
            say(f"{path}: removed; a killed ingest had left it")
    return is_unfinished and (bool(newest.damaged) or any(one.lost for one in newest.accounts))


def _found_by(run: RunState) -> Iterator[str]:
    """Words on a run that was committed and not reported: its accounts in a line, and each damaged place."""
    sums = ", ".join(f"{sum(getattr(one, name) for one in run.accounts):,} {name}" for name in COUNTS)
    yield (
        f"run {run.number} was committed by a process that failed, was killed or is still running: it is "
        f"completed here. Offsets of its {len(run.accounts):,} partitions: {sums}; damaged places: "
        f"{len(run.damaged):,}"
    )
    for one in run.damaged:
        yield (
            f"{one.topic}-{one.partition}: {one.source}, position {one.position} to {one.end_position}: "
            f"{one.error} (found by run {run.number}; the bytes are in {one.path})"
        )
