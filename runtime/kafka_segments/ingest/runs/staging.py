"""Directories in which runs write before they are committed, and what killed runs left there.

Strategy: `_kafka_segments/staging/NUMBER-RANDOM`, with the number of the run that this one continues. When
there is a run with a higher number, this one can no longer be committed: what it left may be removed.
"""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kafka_segments.core.io.processes import check_not_ended
from kafka_segments.errors import ConflictError, KafkaFormatError, OutputError, UndecidedRunError
from kafka_segments.ingest.runs.run_log import STATE_DIRECTORY, RunLog
from kafka_segments.ingest.runs.run_state import RunState

if TYPE_CHECKING:
    from kafka_segments.ingest.tables import Table

__all__ = ["NewRun", "committing", "discard", "new_run", "staging_of", "sweep"]

_STAGING = "staging"
_NAME = re.compile(r"([0-9]{20})-[0-9a-f]{32}")


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
    run_id = new_run(log, number)
    new = NewRun(run_id, table.root_of(run_id))
    try:
        yield new
        run = new.run
        if run is None:
            discard(log, run_id)
            return
        # There also if nothing was written: what is committed has one until it is published.
        log.files.make_directory(staging_of(log.destination, run_id))
        log.files.sync(staging_of(log.destination, run_id), log.destination)
        check_not_ended()
        log.create(run)
    except UndecidedRunError:
        raise  # it may exist: what it wrote is published, or swept, by the next run
    except BaseException as error:
        discard(log, run_id)
        if isinstance(error, OutputError) and _is_overtaken(log, number):
            raise ConflictError(
                "another run was committed meanwhile, so this one wrote nothing: run it again to take what "
                "is new since",
                path=log.destination,
            ) from error
        raise
    table.publish(run)
    sweep(log, run.number)


def _is_overtaken(log: RunLog, number: int) -> bool:
    try:
        return max(log.numbers(), default=0) > number
    except KafkaFormatError:
        return False


def new_run(log: RunLog, number: int) -> str:
    """Return the id of a new run, of which there is nothing yet: it may find nothing to commit.

    Args:
        log: of the table; its directory is created.
        number: of the run that it continues; 0 for the first one.

    Raises:
        OutputError: it cannot be created.
    """
    run_id = f"{number:020}-{uuid.uuid4().hex}"
    log.files.make_directory(log.directory)
    return run_id


def staging_of(destination: str, run_id: str) -> str:
    """Return the directory in which a run's files are until they are published."""
    return os.path.join(destination, STATE_DIRECTORY, _STAGING, run_id)


def discard(log: RunLog, run_id: str) -> None:
    """Remove what a run left, and the destination if nothing else is in it, without raising.

    A run that was committed when it was interrupted is left alone, and one of which that cannot be seen.
    """
    try:
        if log.has(run_id):
            return
    except KafkaFormatError:
        return
    files, path = log.files, staging_of(log.destination, run_id)
    files.remove_tree(path)
    state = os.path.join(log.destination, STATE_DIRECTORY)
    for directory in (os.path.dirname(path), log.directory, state, log.destination):
        if not files.remove_empty(directory):
            return


def sweep(log: RunLog, number: int) -> list[str]:
    """Remove the directories of runs that continue others than the newest one; return their paths.

    Args:
        log: of the table.
        number: of the newest run.
    """
    directory = os.path.dirname(staging_of(log.destination, "any"))
    swept = []
    try:
        names = log.files.names(directory)
    except KafkaFormatError:
        return []
    for name in names:
        match = _NAME.fullmatch(name)
        if match and int(match[1]) < number:
            path = os.path.join(directory, name)
            if log.files.remove_tree(path):
                swept.append(path)
    log.files.remove_empty(directory)
    return swept
