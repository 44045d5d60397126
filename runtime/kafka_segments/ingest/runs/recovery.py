"""Recovery before a run: the newest one is published to its end, and what killed ones left is removed.

Strategy: the directory of a run in staging is there until its process has published it. Where the newest run
has one, that process did not end, and has reported nothing: what it found is reported here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from kafka_segments.ingest.runs import staging
from kafka_segments.ingest.runs.run_state import RunState
from kafka_segments.ingest.tables import Table
from kafka_segments.query.table_words import COUNTS

__all__ = ["recover"]


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
    left = staging.staging_of(table.destination, newest.run_id)
    is_unfinished = newest.run_id in table.log.files.names(os.path.dirname(left))
    table.publish(newest)
    if is_unfinished:
        for words in _found_by(newest):
            say(words)
    for path in staging.sweep(table.log, newest.number):
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
