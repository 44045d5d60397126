"""Files of a table, in a directory of this machine or in a store: what `ingest` does with either.

Strategy: paths are whole paths or addresses, so that tasks on other machines need nothing else. A directory
has fsync, links and renames; a store has conditional puts, uploads that are there as a whole, and copies.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from kafka_segments.core.formats.file_names import is_address
from kafka_segments.core.io.outputs import OutputFile
from kafka_segments.core.io.stored_objects import ObjectOutput
from kafka_segments.ingest.files.local_table_files import LocalTableFiles
from kafka_segments.ingest.files.stored_table_files import StoredTableFiles

__all__ = ["TableFiles", "TableOutput", "is_outside", "table_files", "whole_path"]

TableFiles = LocalTableFiles | StoredTableFiles
TableOutput = OutputFile | ObjectOutput


def is_outside(path: str) -> bool:
    """Whether a path of a data file is not one below the table's destination."""
    return os.path.isabs(path) or is_address(path) or ".." in path.split("/")


def whole_path(destination: str, path: str) -> str:
    """The whole path or address of a data file.

    Args:
        destination: of the table.
        path: of the file: below the destination, unless it lies elsewhere.
    """
    return path if is_outside(path) else f"{destination}/{path}"


def table_files(destination: str, settings: Mapping[str, str] | None = None) -> TableFiles:
    """Choose by the path of a table.

    Args:
        destination: a path or an address.
        settings: of stores, see `Places`.
    """
    if is_address(destination):
        return StoredTableFiles(settings or {})
    return LocalTableFiles(destination)
