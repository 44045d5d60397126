"""Files of a table, in a directory of this machine or in a store: what `ingest` does with either.

Strategy: paths are whole paths or addresses, so that tasks on other machines need nothing else. A directory
has fsync, links and renames; a store has conditional puts, uploads that are there as a whole, and copies.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from kafka_segments.formats.file_names import is_address

__all__ = ["TableFiles", "TableOutput", "is_outside", "table_files", "whole_path"]


class TableOutput(Protocol):
    """A new file.

    Attributes:
        size: bytes written.
    """

    size: int

    def write(self, data: Any) -> Any:
        """Append bytes.

        Raises:
            OutputError: it cannot be written.
        """
        ...

    def finish(self) -> None:
        """Make it durable; errors as for `write`."""
        ...

    def discard(self) -> None:
        """Leave nothing of it, without raising."""
        ...


class TableFiles(Protocol):
    """Files by path; can be pickled."""

    def make_directory(self, path: str) -> None:
        """Make a directory, and those above it, where there are directories.

        Raises:
            OutputError: it cannot be made.
        """
        ...

    def names(self, directory: str) -> list[str]:
        """Return the names in a directory, in order; empty if there is none.

        Raises:
            ReadError: it cannot be listed.
            StoreError: the store refused or failed.
        """
        ...

    def has(self, path: str) -> bool:
        """Whether there is such a file; errors as for `names`."""
        ...

    def parquet_paths(self, directory: str) -> Iterator[str]:
        """Yield the paths below a directory of the files that readers of it see; errors as for `names`."""
        ...

    def read(self, path: str) -> bytes:
        """Return the bytes of a file.

        Raises:
            ReadError: it does not exist, or cannot be read.
            StoreError: the store refused or failed.
        """
        ...

    def reader(self, path: str) -> Any:
        """Return what `pyarrow.parquet` reads a file from; errors as for `read`, now or later."""
        ...

    def output(self, path: str) -> TableOutput:
        """Begin a file that is not there, and its directories.

        Raises:
            OutputError: it cannot be made.
        """
        ...

    def create(self, path: str, data: bytes) -> bool:
        """Create a file with these bytes in one act, if there is none.

        Returns:
            False if there is another one.

        Raises:
            OutputError: it cannot be written, and is not there.
            UndecidedRunError: it is not known whether it was, as no answer came.
        """
        ...

    def sync(self, directory: str, top: str) -> None:
        """Make the names in and below a directory durable, and those above it from another directory on.

        Raises:
            OutputError: the disk fails.
        """
        ...

    def publish(self, root: str, destination: str, paths: Sequence[str]) -> None:
        """Bring files from below a root to the same paths below a destination, as far as they are not there.

        If none is below the root, all were brought there before, and may be gone since.

        Raises:
            OutputError: one is in neither place, or cannot be brought there.
        """
        ...

    def remove(self, destination: str, paths: Sequence[str]) -> None:
        """Remove files that are there, and directories that are empty then.

        Raises:
            OutputError: one cannot be removed.
        """
        ...

    def remove_tree(self, directory: str) -> bool:
        """Remove a directory, without raising; return whether it is gone."""
        ...

    def remove_empty(self, directory: str) -> bool:
        """Remove a directory if it is empty, without raising; return whether it is gone."""
        ...


def is_outside(path: str) -> bool:
    """Whether a path of a data file is not one below the table's destination."""
    return os.path.isabs(path) or is_address(path)


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
        from kafka_segments.ingest.files.stored_table_files import StoredTableFiles

        return StoredTableFiles(settings or {})
    from kafka_segments.ingest.files.local_table_files import LocalTableFiles

    return LocalTableFiles()
