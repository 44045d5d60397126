"""Directory of Parquet files by topic and partition.

Strategy: tasks write below `_kafka_segments/staging`, which readers skip. When the run is committed, its
files are renamed to their places, one by one, in an order and under names that the run's file has: a run that
is killed in between is finished by the next one. A reader of the bare directory may see a part of the newest
run meanwhile.
"""

from __future__ import annotations

from kafka_segments.ingest.history import History
from kafka_segments.ingest.run_log import RunLog
from kafka_segments.ingest.run_state import DataFile, RunState
from kafka_segments.ingest.staging import move_all, remove_all, staging_of

__all__ = ["ParquetTable"]


class ParquetTable:
    """A directory of Parquet files; see `Table`."""

    kind = "parquet"
    has_typed_partitions = False

    def __init__(self, destination: str) -> None:
        self.destination = destination
        self.log = RunLog(destination)

    def root_of(self, run_id: str) -> str:
        """Return the directory in which the tasks of a run write."""
        return staging_of(self.destination, run_id)

    def publish(self, run: RunState) -> None:
        """Rename the files of a committed run to their places, and remove those that it removes."""
        root = self.root_of(run.run_id)
        paths = [file.path for file in run.files] + [file.path for file in run.damaged]
        move_all(root, self.destination, paths)
        remove_all(self.destination, run.removed)

    def data_files(self, history: History) -> dict[str, DataFile]:
        """Return the files of the table, by path."""
        return history.files
