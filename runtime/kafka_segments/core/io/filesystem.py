"""Interface of file systems, and entries of their listings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from kafka_segments.core.io.storage import Source

__all__ = ["FileEntry", "FileSystem", "PlacedSource"]


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A file or directory in a listing.

    Attributes:
        path: for opening it: a local path, or an address with its scheme.
        name: the last part of the path.
        is_directory: whether it can be listed.
        size: bytes; 0 for a directory.
        modified_ns: time of the last write, in nanoseconds since 1970.
        identity: changes when the file is replaced, but not always when it grows.
    """

    path: str
    name: str
    is_directory: bool
    size: int
    modified_ns: int
    identity: str


class PlacedSource(Source, Protocol):
    """A file of a file system, open for reading; the caller closes it.

    `read` and `window` raise `ReadError` for an unreadable position, as a bad sector, and `StoreError` if all
    reading ends: the store refuses or fails, or the file was replaced.
    """

    identity: str
    """Identity of the open file, see `FileEntry`."""


class FileSystem(Protocol):
    """Read access to files by path; errors have the path and, if known, the errno.

    A missing file, or one that cannot be opened or listed, is a `ReadError`; a failing store a `StoreError`.
    """

    def entries(self, directory: str) -> list[FileEntry]:
        """List a directory, by name."""
        ...

    def entry(self, path: str) -> FileEntry | None:
        """Look up a file or directory; None if it does not exist."""
        ...

    def open(self, path: str, end: int | None = None) -> PlacedSource:
        """Open a file for reading; read-ahead stops at the position `end`."""
        ...
