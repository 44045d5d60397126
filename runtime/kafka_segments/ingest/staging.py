"""Directories in which runs write before they are committed, and what killed runs left there.

Strategy: `_kafka_segments/staging/NUMBER-RANDOM`, with the number of the run that this one continues. When
there is a run with a higher number, this one can no longer be committed: what it left may be removed.
"""

from __future__ import annotations

import os
import re
import uuid

from kafka_segments.errors import KafkaFormatError
from kafka_segments.ingest.run_log import STATE_DIRECTORY, RunLog

__all__ = ["discard", "new_run", "staging_of", "sweep"]

_STAGING = "staging"
_NAME = re.compile(r"([0-9]{20})-[0-9a-f]{32}")


def new_run(log: RunLog, number: int) -> str:
    """Create the directory of a new run; return the run's id.

    Args:
        log: of the table, which is created too.
        number: of the run that it continues; 0 for the first one.

    Raises:
        OutputError: it cannot be created.
    """
    run_id = f"{number:020}-{uuid.uuid4().hex}"
    log.files.make_directory(log.directory)
    log.files.make_directory(staging_of(log.destination, run_id))
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
