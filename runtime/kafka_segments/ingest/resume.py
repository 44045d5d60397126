"""Whether a run may continue a table: contradicting settings, and advice about changed logs."""

from __future__ import annotations

from kafka_segments.errors import ExpiredOffsetsError, OptionError, RecreatedTopicError, TruncatedLogError
from kafka_segments.ingest.runs.history import read_history
from kafka_segments.ingest.runs.run_state import PartitionState, TableSettings
from kafka_segments.ingest.tables import Table
from kafka_segments.query.continuation import WaysOut

__all__ = ["WAYS_OUT", "check_settings", "earlier_states"]

WAYS_OUT: WaysOut = {
    RecreatedTopicError: "Write the new topic to another destination; or, to replace the old topic's rows "
    "by its own: kafka-segments rewind DEST {topic}:{partition} --to-offset 0",
    TruncatedLogError: "To keep what the log no longer has, write the log to another destination; to "
    "replace it by the log's records: kafka-segments rewind DEST {topic}:{partition} --to-offset {offset}, "
    "then ingest again",
    ExpiredOffsetsError: "With -o failOnDataLoss=false the run continues at the log's start and counts the "
    "deleted offsets as lost",
}
"""What to do about a log that does not continue where the last run ended."""


def earlier_states(table: Table, known: PartitionState) -> list[PartitionState]:
    """Return the states of a partition after earlier runs that took something of it, the newest first."""
    key = known.topic, known.partition
    accounts = read_history(table.log, table.destination).accounts.get(key, [])
    return [table.log.read(number).by_partition()[key] for number, _ in reversed(accounts)]


def check_settings(known: TableSettings, asked: TableSettings, path: str) -> None:
    """Check that a run may write into a table: as it was written before, except for columns that are new.

    Args:
        known: of the table.
        asked: of the run.
        path: of the table, for errors.

    Raises:
        OptionError: they contradict each other.
    """
    pairs = {
        "--table": (known.kind, asked.kind),
        "--catalog and --identifier": (known.catalog, asked.catalog),
        "--layout": (known.layout, asked.layout),
        "--isolation": (known.isolation, asked.isolation),
        "--divide-by": (known.divided_by, asked.divided_by),
    }
    for name, (before, now) in pairs.items():
        if before != now:
            raise OptionError(
                f"it was written with {name} {before or 'left out'}, but this run has {name} "
                f"{now or 'left out'}: give the same, or choose another destination",
                path=path,
            )
    missing = [name for name in known.columns if name not in asked.columns]
    if missing:
        raise OptionError(
            f"it has the columns {', '.join(known.columns)}, but this run lacks {', '.join(missing)}: "
            "columns can be added later, not left out",
            path=path,
        )
