"""What every file system can do, and what it says of a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from kafka_segments.io.storage import Source

__all__ = ["FileEntry", "FileSystem", "PlacedSource"]


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A file or directory as a listing shows it.

    Attributes:
        path: by which it is opened: a path of this machine, or an address with its scheme.
        name: the last part of the path.
        is_directory: whether it can be listed.
        size: bytes; 0 for a directory.
        modified_ns: when it was last written, in nanoseconds since 1970.
        identity: equal for the same file, and another when a file was put in its place; it may stay when the
            file only grows.
    """

    path: str
    name: str
    is_directory: bool
    size: int
    modified_ns: int
    identity: str


class PlacedSource(Source, Protocol):
    """A file of a file system, open for reading; its opener closes it.

    Its `read` and `window` raise `ReadError` for a place that cannot be read, as a disk has them, and
    `StoreError` when nothing more is to be had: the store refuses or fails, or the file is another one now.
    """

    identity: str
    """Of the very file that is open: see `FileEntry`."""


class FileSystem(Protocol):
    """Read access to files by path; errors have the path and, if known, the errno.

    What is not there, or cannot be opened or listed, is a `ReadError`; trouble of a store a `StoreError`.
    """

    def entries(self, directory: str) -> list[FileEntry]:
        """What is in a directory, by name."""
        ...

    def entry(self, path: str) -> FileEntry | None:
        """One file or directory; None if it does not exist."""
        ...

    def open(self, path: str, end: int | None = None) -> PlacedSource:
        """Open a file for reading, probably up to the position `end`: nothing after it is read ahead."""
        ...
