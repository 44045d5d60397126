"""Files of a table in a directory of this machine: fsynced, linked where one act decides, renamed.

Others may have written what is in the directory: no link in it is followed, nothing outside it is touched.

Strategy of `create`: what has its name is never removed again, whatever happens afterwards, for another
process may have seen it and built on it. Where there are no hard links, a file is renamed under a lock: a
second file, which is created if it is absent.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from kafka_segments.core.io.outputs import OutputFile, hidden_sibling, make_directories, sync_directory
from kafka_segments.core.io.storage import open_source
from kafka_segments.errors import OutputError, ReadError, UndecidedRunError
from kafka_segments.query.documents import content_of

__all__ = ["LocalTableFiles", "is_below"]

_NO_LINKS = (errno.EPERM, errno.EACCES, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)
"""What file systems without hard links answer."""

_NO_ANSWER = (errno.EIO, errno.ESTALE, errno.ETIMEDOUT)
"""After these a name may be there or not."""


class LocalTableFiles:
    """Files by path; can be pickled.

    Args:
        destination: of the table.

    Attributes:
        readable: another directory that files are read from: a table's in a catalog.
    """

    def __init__(self, destination: str) -> None:
        self._destination = self.readable = destination

    def check(self, path: str, kind: type[OutputError | ReadError] = OutputError) -> str:
        """Return a path, if it is in the table and no link leads there.

        Raises:
            OutputError: it is not, or `kind`.
        """
        is_readable = kind is ReadError and is_below(self.readable, path)
        if not is_readable and not is_below(self._destination, path):
            raise kind(f"this is outside {self._destination}, not a file, or behind a link", path=path)
        return path

    def make_directory(self, path: str) -> None:
        """Make a directory, and those above it, where there are directories.

        Raises:
            OutputError: it cannot be made.
        """
        make_directories(self.check(path))

    def names(self, directory: str) -> list[str]:
        """Return the names in a directory, in order; empty if there is none.

        Raises:
            ReadError: it cannot be listed.
            StoreError: the store refused or failed.
        """
        self.check(directory, ReadError)
        try:
            return sorted(os.listdir(directory))
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise ReadError(f"{error.strerror or error}", path=directory, errno=error.errno) from error

    def has(self, path: str) -> bool:
        """Whether there is such a file; errors as for `names`."""
        return os.path.lexists(self.check(path, ReadError))

    def parquet_paths(self, directory: str) -> Iterator[str]:
        """Yield the paths below a directory of the files that readers of it see; errors as for `names`."""
        for parent, names, files in os.walk(directory):
            names[:] = sorted(name for name in names if not name.startswith(("_", ".")))
            for name in sorted(files):
                if name.endswith(".parquet"):
                    yield os.path.relpath(os.path.join(parent, name), directory)

    def read(self, path: str) -> bytes:
        """Return the bytes of a file.

        Raises:
            ReadError: it does not exist, or cannot be read.
            StoreError: the store refused or failed.
        """
        return content_of(open_source(self.check(path, ReadError), only_files=True))

    def reader(self, path: str) -> str:
        """Return what `pyarrow.parquet` reads a file from; errors as for `read`, now or later."""
        return self.check(path, ReadError)

    def output(self, path: str) -> OutputFile:
        """Begin a new file, and its directories.

        Raises:
            OutputError: it cannot be made.
        """
        self.make_directory(os.path.dirname(path))
        return OutputFile(path, path)

    def create(self, path: str, data: bytes) -> bool:
        """Create a file with these bytes in one act, if there is none.

        Returns:
            False if there is another one.

        Raises:
            OutputError: it cannot be written, and does not exist.
            UndecidedRunError: it is not known whether it was, as no answer came.
        """
        output = OutputFile(hidden_sibling(self.check(path)), path)
        try:
            output.write(data)
            output.finish()
            is_new = _take_name(output.path, path)
            if is_new:
                sync_directory(os.path.dirname(path))
        except OSError as error:
            if isinstance(error, OutputError):
                raise
            raise _undecided(path, error) from error
        finally:
            output.discard()
        return is_new

    def sync(self, directory: str, top: str) -> None:
        """Make the names in and below a directory durable, and those above it from another directory on.

        Raises:
            OutputError: the disk fails.
        """
        _sync_upwards((parent for parent, _, _ in os.walk(self.check(directory))), top)

    def publish(self, root: str, destination: str, paths: Sequence[str]) -> None:
        """Bring files from below a root to the same paths below a destination, unless these exist.

        If none is below the root, all were brought there before, and may be gone since.

        Raises:
            OutputError: one is in neither place, or cannot be brought there.
        """
        directories = set()
        left = {path for path in paths if os.path.lexists(self.check(os.path.join(root, path)))}
        for path in paths:
            source = os.path.join(root, path)
            target = self.check(os.path.join(destination, path))
            if not left and not os.path.lexists(target):
                continue  # it was brought there once, and others have removed it since
            try:
                os.makedirs(os.path.dirname(target), exist_ok=True)
                try:
                    os.rename(source, target)
                except FileNotFoundError:
                    if not os.path.lexists(target):
                        if os.path.lexists(root):
                            raise
                        continue  # another process has brought all there since, and a later run removed it
                directories.add(os.path.dirname(target))
            except OSError as error:
                raise _failed("published", target, error) from error
        _sync_upwards(directories, destination)

    def remove(self, destination: str, paths: Sequence[str]) -> None:
        """Remove files that are there, and directories that are empty then.

        Raises:
            OutputError: one cannot be removed.
        """
        for path in paths:
            target = self.check(os.path.join(destination, path))
            try:
                with suppress(FileNotFoundError):
                    os.unlink(target)
            except OSError as error:
                raise _failed("removed", target, error) from error
            directory = os.path.dirname(target)
            while directory != destination and self.remove_empty(directory):
                directory = os.path.dirname(directory)

    def remove_tree(self, directory: str) -> bool:
        """Remove a directory, without raising; return whether it is gone."""
        try:
            shutil.rmtree(self.check(directory), ignore_errors=True)
        except OutputError:
            return False
        return not os.path.lexists(directory)

    def remove_empty(self, directory: str) -> bool:
        """Remove a directory if it is empty, without raising; return whether it is gone."""
        try:
            os.rmdir(self.check(directory))
        except FileNotFoundError:
            return True
        except OSError:
            return False
        return True


def is_below(top: str, path: str) -> bool:
    """Whether a path is of a file or directory below another one, without `..`, and no link leads there."""
    is_inside = path == top or path.startswith(f"{top}/")
    if not is_inside or os.path.realpath(path) != os.path.realpath(top) + path[len(top) :]:
        return False
    try:
        mode = os.stat(path).st_mode  # asked once: other processes create and remove files meanwhile
    except OSError:
        return not os.path.islink(path)
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)


def _take_name(source: str, path: str) -> bool:
    """Give a file a name that no other has; return False if one has it.

    Raises:
        OutputError: it cannot be done, and was not.
        OSError: it is not known whether it was.
    """
    try:
        os.link(source, path)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno in _NO_LINKS:
            return _rename_locked(source, path)
        if error.errno in _NO_ANSWER:
            raise
        raise _failed("written", path, error) from error
    return True


def _rename_locked(source: str, path: str) -> bool:
    """Do the same without hard links."""
    lock = f"{path}.lock"
    try:
        os.close(os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
    except FileExistsError:
        if os.path.lexists(path):
            return False
        raise OutputError(
            "another run is being committed, or was killed while committing (this file system has no hard "
            "links): if no run is active, remove this file",
            path=lock,
        ) from None
    except OSError as error:
        raise _failed("written", path, error) from error
    try:
        if os.path.lexists(path):
            return False
        os.rename(source, path)
    finally:
        with suppress(OSError):
            os.unlink(lock)
    return True


def _failed(done: str, path: str, error: OSError) -> OutputError:
    return OutputError(f"cannot be {done}: {error.strerror or error}", path=path, errno=error.errno)


def _undecided(path: str, error: OSError) -> UndecidedRunError:
    return UndecidedRunError(
        "the disk failed during the commit, so it is unknown whether this run was committed. Nothing is "
        f"lost or taken twice: run it again, which finds out ({error.strerror or error})",
        path=path,
        errno=error.errno,
    )


def _sync(directory: str) -> None:
    try:
        sync_directory(directory)
    except OSError as error:
        raise OutputError(f"{error.strerror or error}", path=directory, errno=error.errno) from error


def _sync_upwards(directories: Iterable[str], top: str) -> None:
    """Fsync directories, and those above them up to one.

    Raises:
        OutputError: the disk fails.
    """
    found = set()
    for one in directories:
        directory = one
        while directory not in found:
            found.add(directory)
            if directory in (top, os.path.dirname(directory)):
                break
            directory = os.path.dirname(directory)
    for directory in sorted(found, reverse=True):
        _sync(directory)
