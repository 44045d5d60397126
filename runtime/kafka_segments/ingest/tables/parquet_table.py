"""Directory of Parquet files by topic and partition.

Strategy: tasks write below `_kafka_segments/staging`, which readers skip. When the run is committed, its
files are renamed to their places (in a store: copied by it), in an order and under names that the run's
file has: a run that is killed in between is finished by the next one. A reader of the bare directory may see
a part of the newest run meanwhile.
"""

from __future__ import annotations

from kafka_segments.ingest.files.table_files import whole_path
from kafka_segments.ingest.runs.history import History
from kafka_segments.ingest.runs.run_state import DataFile, RunState
from kafka_segments.ingest.tables.table_base import Table

__all__ = ["ParquetTable"]


class ParquetTable(Table):
    """A directory of Parquet files; see `Table`."""

    kind = "parquet"
    is_bare_directory = True

    def publish(self, run: RunState) -> None:
        """Bring the files of a committed run to their places, and remove those that it removes."""
        self._bring(run)
        self.log.files.remove(self.destination, run.removed)

    def is_published(self, run: RunState) -> bool:
        """Whether all files of a run are at their places, and those that it removes are not."""
        root, has = self.root_of(run.run_id), self.log.files.has
        waiting = any(has(f"{root}/{path}") for path in run.paths())
        return not waiting and not any(has(whole_path(self.destination, path)) for path in run.removed)

    def data_files(self, history: History) -> dict[str, DataFile]:
        """Return the files of the table, by path."""
        return history.files
