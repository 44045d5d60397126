"""Directory of Parquet files by topic and partition.

Strategy: tasks write below `_kafka_segments/staging`, which readers skip. When the run is committed, its
files are renamed to their places (in a store: copied by it), in an order and under names that the run's
file has: a run that is killed in between is finished by the next one. A reader of the bare directory may see
a part of the newest run meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping

from kafka_segments.ingest.history import History
from kafka_segments.ingest.run_log import RunLog
from kafka_segments.ingest.run_state import DataFile, RunState, TableSettings
from kafka_segments.ingest.staging import staging_of

__all__ = ["ParquetTable"]


class ParquetTable:
    """A directory of Parquet files; see `Table`."""

    kind = "parquet"
    has_typed_partitions = False

    def __init__(self, destination: str, settings: Mapping[str, str] | None = None) -> None:
        self.destination = destination
        self.log = RunLog(destination, settings)

    def root_of(self, run_id: str) -> str:
        """Return the directory in which the tasks of a run write."""
        return staging_of(self.destination, run_id)

    def check(self, settings: TableSettings) -> None:
        """Nothing that could be wrong."""

    def publish(self, run: RunState) -> None:
        """Bring the files of a committed run to their places, and remove those that it removes."""
        root = self.root_of(run.run_id)
        paths = [file.path for file in run.files] + [file.path for file in run.damaged]
        self.log.files.publish(root, self.destination, paths)
        self.log.files.remove(self.destination, run.removed)

    def data_files(self, history: History) -> dict[str, DataFile]:
        """Return the files of the table, by path."""
        return history.files
