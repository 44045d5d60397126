"""Topic, partition and offsets of the files of an Iceberg table, by its metadata."""

from __future__ import annotations

from typing import Any

from pyiceberg.conversions import from_bytes as bound_of
from pyiceberg.manifest import DataFile as IcebergFile
from pyiceberg.table import Table as LoadedTable
from pyiceberg.types import LongType

from kafka_segments.ingest.runs.run_state import DataFile

__all__ = ["TopicPlaces"]


class TopicPlaces:
    """Where metadata of files have topic, partition and offsets.

    Args:
        table: the table.
        offset: path of the column.
    """

    def __init__(self, table: LoadedTable, offset: str) -> None:
        self._offset = table.schema().find_field(offset).field_id
        self._places: dict[int, dict[str, int]] = {}
        for number, spec in table.specs().items():
            names = {table.schema().find_column_name(one.source_id): at for at, one in enumerate(spec.fields)}
            self._places[number] = {str(name): at for name, at in names.items()}

    def file_of(self, file: IcebergFile, path: str) -> DataFile | None:
        """Return a file that no run has written; None if it is not known of which partition it is."""
        places = self._places[file.spec_id]
        if not {"topic", "partition"} <= places.keys():
            return None
        key = file.partition[places["topic"]], file.partition[places["partition"]]
        bounds = (file.lower_bounds or {}).get(self._offset), (file.upper_bounds or {}).get(self._offset)
        offsets: list[Any] = [None if one is None else bound_of(LongType(), one) for one in bounds]
        return DataFile(path, *key, file.record_count, file.file_size_in_bytes, *offsets)
