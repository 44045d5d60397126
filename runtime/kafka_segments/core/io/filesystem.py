"""Interfaces of file systems, entries of their listings, and what is open."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, TypeVar

from kafka_segments.core.io.storage import Source
from kafka_segments.errors import ReadError

__all__ = ["FileEntry", "FileSystem", "Handle", "PlacedSource", "lend_file"]

_Self = TypeVar("_Self", bound="Handle")


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


def lend_file(source: Source, position: int, size: int) -> int:
    """Return a descriptor of a source's file, for compiled code that reads a part next, in order.

    The source accounts for the part as if it had read it, so that pages of the page cache are given back.
    What the code cannot read, the source reads then, and finds out why.

    Returns:
        The descriptor; -1 if the source has to be read by its methods.
    """
    lend: Callable[[int, int], int] | None = getattr(source, "lend", None)
    return -1 if lend is None else lend(position, size)


class Handle:
    """An open resource; `close` of a subclass calls this one."""

    path: str
    _state = "open"

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the resource."""
        self._state = "closed"

    def _check_open(self, what: str) -> None:
        """Check that it is open.

        Raises:
            ReadError: it is closed.
        """
        if self._state == "closed":
            raise ReadError(f"the {what} is closed: read inside its with, or open it again", path=self.path)
