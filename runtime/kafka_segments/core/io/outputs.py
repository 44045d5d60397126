"""Atomic output files: written under a temporary name, fsynced, then renamed.

Strategy: a segment is written to a hidden sibling of its destination, `.<name>.writing-<random>`, which
brokers ignore. Its indexes are written when it is complete. Everything is fsynced; then the indexes are
renamed, the segment last. An error, an interrupt, a full disk or a regular exit removes the files; a killed
process leaves nothing that looks like a segment. A partition's directory is created in the same way, as a
whole.
"""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from kafka_segments.core.io.signals import check_not_ended
from kafka_segments.core.io.storage import Source
from kafka_segments.errors import OptionError, OutputError

__all__ = [
    "OutputFile",
    "check_absent",
    "check_replaceable",
    "hidden_sibling",
    "hidden_stem",
    "make_directories",
    "make_directory",
    "move_into",
    "names_in",
    "output_errors",
    "path_of",
    "publish_directory",
    "publish_files",
    "replace_directory",
    "sync_directory",
]

_LEN_COPIED = 8 << 20  # at once
_LEN_STARTED = 1 << 20  # from here on it is worth a call
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)


@contextmanager
def output_errors(path: str) -> Iterator[None]:
    """Convert errors of the system to `OutputError`; `path` is the one to name."""
    try:
        yield
    except OSError as error:
        if isinstance(error, OutputError):
            raise
        raise OutputError(
            f"cannot be written: {error.strerror or error}", path=path, errno=error.errno
        ) from error


def path_of(given: Any) -> str:
    """Return a path as text.

    Raises:
        OptionError: no valid path of a file.
    """
    try:
        path = os.fsdecode(given)
        data = os.fsencode(path)
    except (TypeError, ValueError) as error:
        raise OptionError(f"{type(given).__name__} {error}: not a path") from error
    if not data or b"\0" in data:
        raise OptionError(f"{path!r:.60} is not a path: it is empty, or has a zero byte in it")
    return path


def check_absent(path: str) -> None:
    """Check that a destination does not exist.

    Raises:
        OptionError: it exists.
        OutputError: its directory does not exist or permit access, or its name is invalid.
    """
    with output_errors(path):
        with suppress(FileNotFoundError, NotADirectoryError):
            os.lstat(path)
            raise OptionError("it exists already, and files are never overwritten", path=path)
        parent = os.path.dirname(path) or "."
        if not os.path.isdir(parent):
            raise OutputError("the directory to write it into does not exist", path=path)


def check_replaceable(path: str) -> str:
    """Check that a directory can be renamed to a destination; return it with links resolved.

    Raises:
        OptionError: it exists and is not an empty directory, or cannot be replaced.
        OutputError: its parent directory does not exist or permit access.
    """
    with output_errors(path):
        if not (os.path.isdir(path) and not os.listdir(path)):
            check_absent(path)
        real = os.path.realpath(path)
        if os.path.ismount(real):
            raise OptionError("it is the mount point of a disk: give a directory below it", path=path)
        if os.path.isdir(real) and os.path.samefile(real, os.curdir):
            raise OptionError("it is the current directory: give one below or beside it", path=path)
    return real


def hidden_sibling(path: str) -> str:
    """Return an unused hidden name beside a destination."""
    parent, name = os.path.split(path)
    return os.path.join(parent, f"{hidden_stem(name)}{uuid.uuid4().hex}")


def hidden_stem(name: str) -> str:
    """Return how the hidden names beside a destination of this name begin."""
    return f".{os.fsdecode(os.fsencode(name)[:100])}.writing-"  # file systems count bytes


class OutputFile:
    """A new file, open for writing.

    Args:
        path: of the file, which must not exist.
        destination: path for errors.

    Attributes:
        size: bytes written.
    """

    def __init__(self, path: str, destination: str) -> None:
        self.path, self._destination = path, destination
        self.size = 0
        with output_errors(destination):
            self._descriptor = os.open(path, _NEW, 0o666)

    def write(self, data: bytes | memoryview) -> None:
        """Append bytes.

        Raises:
            OutputError: the disk is full, or fails.
        """
        rest = memoryview(data)
        with output_errors(self._destination):
            while rest:
                written = os.write(self._descriptor, rest)
                self.size += written
                rest = rest[written:]

    def write_early(self, data: bytes | memoryview) -> None:
        """Append bytes, and have the kernel put them on the disk while others come, so that fsync waits less.

        Linux does that with pages that are marked as unused, and are not written yet.

        Raises:
            OutputError: the disk is full, or fails.
        """
        self.write(data)
        if len(data) >= _LEN_STARTED and hasattr(os, "posix_fadvise"):
            with suppress(OSError):
                start = self.size - len(data)
                os.posix_fadvise(self._descriptor, start, len(data), os.POSIX_FADV_DONTNEED)

    def copy_from(self, source: Source, position: int, size: int) -> Iterator[int]:
        """Append bytes of a source; yield numbers of bytes as they are copied.

        Raises:
            ReadError: the source cannot be read there.
            OutputError: the disk is full, or fails.
        """
        end = position + size
        for start in range(position, end, _LEN_COPIED):
            data = source.read(start, min(_LEN_COPIED, end - start))
            self.write_early(data)
            yield len(data)

    def finish(self) -> None:
        """Fsync and close the file.

        Raises:
            OutputError: the disk fails.
        """
        with output_errors(self._destination):
            os.fsync(self._descriptor)
        self.close()

    def close(self) -> None:
        """Close the file; idempotent."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            with output_errors(self._destination):
                os.close(descriptor)

    def discard(self) -> None:
        """Close and remove the file, without raising."""
        with suppress(OSError):
            self.close()
        with suppress(OSError):
            os.unlink(self.path)


def publish_files(files: Sequence[tuple[str, str]]) -> None:
    """Rename complete files to their destinations, in order; all of them or none.

    Args:
        files: pairs of path and destination, in one directory.

    Raises:
        OutputError: a destination exists meanwhile, or the disk fails.
    """
    check_not_ended()
    _rename_all([(source, destination, destination) for source, destination in files])


def _rename_all(renames: Sequence[tuple[str, str, str]]) -> None:
    """Rename files or directories to free names, in order, and fsync that; all of them or none.

    Args:
        renames: path, new path in one directory, and path for errors of each.
    """
    done: list[tuple[str, str]] = []
    try:
        for source, destination, named in renames:
            with output_errors(named):
                _rename_new(source, destination, named)
            done.append((destination, source))
        for _source, destination, named in renames[-1:]:
            with output_errors(named):
                sync_directory(os.path.dirname(destination) or ".")
    except BaseException:
        for destination, source in reversed(done):
            with suppress(OSError):
                os.rename(destination, source)
        raise


def _rename_new(source: str, destination: str, named: str) -> None:
    """Rename without replacing: creating a link fails if the destination exists."""
    try:
        os.link(source, destination)
    except OSError:  # it exists, or this is a directory, or a file system without hard links
        if os.path.lexists(destination):
            raise OutputError("another program created it meanwhile", path=named) from None
        os.rename(source, destination)
        return
    os.unlink(source)


def make_directory(path: str, destination: str) -> None:
    """Create the directory `path`, to be published as `destination`."""
    with output_errors(destination):
        os.mkdir(path)


def publish_directory(path: str, destination: str, named: str) -> None:
    """Rename a complete directory to its destination, replacing an empty directory.

    Args:
        path: its current path.
        destination: without links.
        named: path for errors.

    Raises:
        OutputError: the destination exists meanwhile, or the disk fails.
    """
    check_not_ended()
    with output_errors(named):
        sync_directory(path)
        os.rename(path, destination)
        sync_directory(os.path.dirname(destination) or ".")


def make_directories(path: str) -> None:
    """Create a directory, and those above it that are missing.

    Raises:
        OutputError: it cannot be created.
    """
    with output_errors(path):
        os.makedirs(path, exist_ok=True)


def names_in(path: str, named: str) -> list[str]:
    """Return the names in a directory, in order; `named` is the path for errors.

    Raises:
        OutputError: it cannot be listed.
    """
    with output_errors(named):
        return sorted(os.listdir(path))


def move_into(source: str, destination: str, named: str, names: Sequence[str]) -> None:
    """Rename complete files or directories into a directory, one by one, and fsync that; all of them or none.

    A process that is killed in between leaves those that were renamed.

    Args:
        source: directory that they are in.
        destination: without links.
        named: path of the destination for errors.
        names: of the files or directories.

    Raises:
        OutputError: one is there meanwhile, or the disk fails.
    """
    join = os.path.join
    _rename_all([(join(source, name), join(destination, name), join(named, name)) for name in names])


def replace_directory(path: str, destination: str, named: str) -> None:
    """Rename a complete directory to its destination; remove the one that is there.

    A process that is killed between the two renames leaves the old one beside it, as
    `.<name>.replaced-<random>`.

    Args:
        path: its current path.
        destination: without links.
        named: path for errors.

    Raises:
        OutputError: the disk fails; the old directory is there again then.
    """
    parent, name = os.path.split(destination)
    old = os.path.join(parent, f"{hidden_stem(name).removesuffix('writing-')}replaced-{uuid.uuid4().hex}")
    has_old = os.path.isdir(destination) and bool(os.listdir(destination))
    with output_errors(named):
        if has_old:
            os.rename(destination, old)
    try:
        publish_directory(path, destination, named)
    except BaseException:
        if has_old:
            with suppress(OSError):
                os.rename(old, destination)
        raise
    discard_directory(old)


def discard_directory(path: str) -> None:
    """Remove a directory, without raising."""
    shutil.rmtree(path, ignore_errors=True)


def sync_directory(path: str) -> None:
    """Fsync a directory."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
