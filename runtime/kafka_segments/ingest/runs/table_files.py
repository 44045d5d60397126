"""Files of a table, in a directory of this machine or in a store: what `ingest` does with either.

Strategy: paths are whole paths or addresses, so that tasks on other machines need nothing else. A directory
has fsync, links and renames; a store has conditional puts, uploads that are there as a whole, and copies.

A store has no rename. Committed files are copied to their places by the store itself, so that their bytes are
not sent again, and the directory of the run is removed then: while it has objects, the run is not published
to its end, and doing it again changes nothing.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping, Sequence

from kafka_segments.core.formats.file_names import is_address
from kafka_segments.core.io.outputs import OutputFile
from kafka_segments.core.io.stored_objects import ObjectOutput, StoredObjects
from kafka_segments.errors import KafkaFormatError, OutputError, ReadError, StoreError, UndecidedRunError
from kafka_segments.ingest.runs.local_table_files import LocalTableFiles

__all__ = ["StoredTableFiles", "TableFiles", "TableOutput", "is_outside", "table_files", "whole_path"]


class StoredTableFiles(StoredObjects):
    """See `LocalTableFiles`.

    Args:
        settings: of stores, see `Places`.
    """

    def check(self, path: str, kind: type[OutputError | ReadError] = OutputError) -> str:  # noqa: ARG002
        """Return the path: a store has no links."""
        return path

    def make_directory(self, path: str) -> None:
        """Do nothing: a store has no directories."""

    def has(self, path: str) -> bool:
        """See `LocalTableFiles`."""
        return self.size(path) is not None

    def parquet_paths(self, directory: str) -> Iterator[str]:
        """See `LocalTableFiles`."""
        for path in sorted(self.sizes(directory)):
            is_hidden = any(name.startswith(("_", ".")) for name in path.split("/")[:-1])
            if path.endswith(".parquet") and not is_hidden:
                yield path

    def read(self, path: str) -> bytes:
        """See `LocalTableFiles`."""
        found = super().read(path)
        if found is None:
            raise ReadError("it does not exist", path=path, errno=errno.ENOENT)
        return found

    def create(self, path: str, data: bytes) -> bool:
        """See `LocalTableFiles`."""
        try:
            return super().create(path, data)
        except (OutputError, StoreError) as error:
            if error.errno == errno.EACCES:
                raise
            raise UndecidedRunError(
                "the store did not answer, so it is unknown whether this run was committed. Nothing is "
                f"lost or taken twice: run it again, which finds out ({error.detail})",
                path=path,
                errno=error.errno,
            ) from None

    def sync(self, directory: str, top: str) -> None:
        """Do nothing: an object that was acknowledged is durable."""

    def publish(self, root: str, destination: str, paths: Sequence[str]) -> None:
        """See `LocalTableFiles`."""
        try:
            left = self.sizes(root)
            if not left:
                return  # all was copied, and the directory removed, by this process or another one
            pairs = [(f"{root}/{path}", f"{destination}/{path}") for path in paths if path in left]
            self._bring(pairs)
            absent = [path for path in paths if path not in left]
            gone = [path for path in absent if not self.has(f"{destination}/{path}")]
            if gone:
                raise OutputError("cannot be published: it is missing", path=f"{destination}/{gone[0]}")
            self.delete_all([f"{root}/{path}" for path in left])
        except (OutputError, StoreError) as error:
            detail = f"{error.detail}. The run is committed: the next one publishes what is left"
            raise OutputError(detail, path=error.path, errno=error.errno) from None

    def _bring(self, pairs: Sequence[tuple[str, str]]) -> None:
        for source, target in self.copy_all(pairs):
            # Another process may have published the same run, and removed its directory, meanwhile.
            if not self.has(target) and self.sizes(source.rpartition("/")[0]):
                raise OutputError("cannot be published: it is missing", path=target)

    def remove(self, destination: str, paths: Sequence[str]) -> None:
        """See `LocalTableFiles`."""
        self.delete_all([f"{destination}/{path}" for path in paths])

    def remove_tree(self, directory: str) -> bool:
        """See `LocalTableFiles`."""
        try:
            self.delete_all([f"{directory}/{path}" for path in self.sizes(directory)])
        except KafkaFormatError:
            return False
        return True

    def remove_empty(self, directory: str) -> bool:  # noqa: ARG002
        """Return False: a store has no directories."""
        return False


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
