"""Files that appear when they are whole: written under another name, brought to the disk, then renamed.

Strategy: a segment is written into a hidden sibling of its destination, `.<name>.writing-<random>`, which no
broker takes for anything. Its indexes are written when it is complete. Everything is fsynced; then the
indexes get their names, the segment last. An error, an interrupt or a full disk removes what was written, and
so does the end of the process that was to finish it; a killed process leaves nothing that looks like a
segment. A partition's directory is made in the same way, as a whole.
"""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from kafka_segments.errors import OptionError, OutputError

__all__ = [
    "OutputFile",
    "check_absent",
    "check_replaceable",
    "hidden_sibling",
    "make_directory",
    "path_of",
    "publish_directory",
    "publish_files",
    "sync_directory",
]

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)


@contextmanager
def _errors(path: str) -> Iterator[None]:
    """What the system refuses, as ours."""
    try:
        yield
    except OSError as error:
        if isinstance(error, OutputError):
            raise
        raise OutputError(
            f"cannot be written: {error.strerror or error}", path=path, errno=error.errno
        ) from error


def path_of(given: Any) -> str:
    """A path as text.

    Raises:
        OptionError: it is none that a file could have.
    """
    try:
        path = os.fsdecode(given)
        data = os.fsencode(path)
    except (TypeError, ValueError) as error:
        raise OptionError(f"{type(given).__name__} {error}: that is no path") from error
    if not data or b"\0" in data:
        raise OptionError(f"{path!r:.60} is no path: it is empty, or has a zero in it")
    return path


def check_absent(path: str) -> None:
    """Refuse a destination that is there already.

    Raises:
        OptionError: it exists.
        OutputError: its directory does not, or is closed to us, or it cannot have such a name.
    """
    with _errors(path):
        with suppress(FileNotFoundError, NotADirectoryError):
            os.lstat(path)
            raise OptionError("it exists already, and nothing is ever written over", path=path)
        parent = os.path.dirname(path) or "."
        if not os.path.isdir(parent):
            raise OutputError("there is no such directory to write it into", path=path)


def check_replaceable(path: str) -> str:
    """Refuse a directory's destination that cannot be had by renaming; returns what it is without links.

    Raises:
        OptionError: it exists, and is no empty directory; or nothing can be put in its place.
        OutputError: the directory around it does not exist, or is closed to us.
    """
    with _errors(path):
        if not (os.path.isdir(path) and not os.listdir(path)):
            check_absent(path)
        real = os.path.realpath(path)
        if os.path.ismount(real):
            raise OptionError("it is where a disk is mounted: give a directory below it", path=path)
        if os.path.isdir(real) and os.path.samefile(real, os.curdir):
            raise OptionError("it is the current directory: give one below or beside it", path=path)
    return real


def hidden_sibling(path: str) -> str:
    """A name beside a destination that nothing has, and that is not taken for a segment."""
    parent, name = os.path.split(path)
    stem = os.fsdecode(os.fsencode(name)[:100])  # file systems count bytes
    return os.path.join(parent, f".{stem}.writing-{uuid.uuid4().hex}")


class OutputFile:
    """A new file that is open for writing.

    Args:
        path: of the file, which must not exist.
        destination: what errors name.

    Attributes:
        size: bytes that were written.
    """

    def __init__(self, path: str, destination: str) -> None:
        self.path, self._destination = path, destination
        self.size = 0
        with _errors(destination):
            self._descriptor = os.open(path, _NEW, 0o666)

    def write(self, data: bytes | memoryview) -> None:
        """Append bytes, all of them.

        Raises:
            OutputError: the disk is full, or fails.
        """
        rest = memoryview(data)
        with _errors(self._destination):
            while rest:
                written = os.write(self._descriptor, rest)
                self.size += written
                rest = rest[written:]

    def finish(self) -> None:
        """Bring everything to the disk, and close.

        Raises:
            OutputError: the disk fails.
        """
        with _errors(self._destination):
            os.fsync(self._descriptor)
        self.close()

    def close(self) -> None:
        """Close the file; idempotent."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            with _errors(self._destination):
                os.close(descriptor)

    def discard(self) -> None:
        """Close and remove it, whatever happens."""
        with suppress(OSError):
            self.close()
        with suppress(OSError):
            os.unlink(self.path)


def publish_files(files: list[tuple[str, str]]) -> None:
    """Give complete files their names, in order; all of them or none.

    Args:
        files: pairs of the present path and the destination, in one directory.

    Raises:
        OutputError: a destination exists by now, or the disk fails.
    """
    done: list[str] = []
    try:
        for source, destination in files:
            with _errors(destination):
                _rename_new(source, destination)
            done.append(destination)
        with _errors(files[-1][1]):
            sync_directory(os.path.dirname(files[-1][1]) or ".")
    except BaseException:
        for destination in reversed(done):
            with suppress(OSError):
                os.unlink(destination)
        raise


def _rename_new(source: str, destination: str) -> None:
    """Rename to a name that nothing has: a link cannot take the place of another file, as a rename would."""
    try:
        os.link(source, destination)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        if os.path.lexists(destination):
            raise OutputError("it came into being while it was written", path=destination) from None
        os.rename(source, destination)
        return
    os.unlink(source)


def make_directory(path: str, destination: str) -> None:
    """Make the directory in which another is prepared."""
    with _errors(destination):
        os.mkdir(path)


def publish_directory(path: str, destination: str, named: str) -> None:
    """Give a complete directory its name; an empty one that has it is replaced.

    Args:
        path: its present one.
        destination: its name, which goes through no link.
        named: what errors name.

    Raises:
        OutputError: something is there by now, or the disk fails.
    """
    with _errors(named):
        sync_directory(path)
        os.rename(path, destination)
        sync_directory(os.path.dirname(destination) or ".")


def discard_directory(path: str) -> None:
    """Remove a directory that is not wanted any more, whatever happens."""
    shutil.rmtree(path, ignore_errors=True)


def sync_directory(path: str) -> None:
    """Bring the names in a directory to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
