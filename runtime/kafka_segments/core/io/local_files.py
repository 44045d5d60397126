"""Local files, including mounted file systems."""

from __future__ import annotations

import os
import stat
from operator import attrgetter

from kafka_segments.core.io.filesystem import FileEntry, PlacedSource
from kafka_segments.core.io.loggers import get_logger
from kafka_segments.core.io.page_cache import LocalSource
from kafka_segments.core.io.storage import open_source
from kafka_segments.errors import ReadError

__all__ = ["LocalFiles", "is_locked"]

_log = get_logger(__name__)


class LocalFiles:
    """The `FileSystem` of this machine.

    Args:
        keep_cache: see `Places`.
    """

    def __init__(self, *, keep_cache: bool = True) -> None:
        self._keep_cache = keep_cache

    def entries(self, directory: str) -> list[FileEntry]:
        """List a directory, by name, without files that vanish meanwhile.

        An entry without a status, as a broken link, is a file of 0 bytes: opening it raises the reason.
        """
        try:
            with os.scandir(directory) as found:
                names = sorted(found, key=attrgetter("name"))
        except OSError as error:
            raise _cannot_list(directory, error) from error
        return [entry for entry in map(_listed, names) if entry is not None]

    def entry(self, path: str) -> FileEntry | None:
        """Look up a file or directory; None if it does not exist."""
        try:
            status = os.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise _cannot_list(path, error) from error
        return _entry_of(path, os.path.basename(os.path.normpath(path)), status)

    def open(self, path: str, end: int | None = None) -> PlacedSource:  # noqa: ARG002
        """Open a file for reading; the kernel reads ahead, and `end` is ignored."""
        source = open_source(path, only_files=True)
        try:
            status = os.fstat(source.descriptor) if source.descriptor >= 0 else os.stat(path)
            identity = _identity_of(status)
            return LocalSource(source, identity, None if self._keep_cache else status)
        except OSError as error:
            source.close()
            raise _cannot_list(path, error) from error


def is_locked(path: str) -> bool:
    """Whether another process has locked a file, as a broker its `.lock`, without taking a lock.

    Java's FileLock is a POSIX lock (LogManager.lockLogDirs: FileLock.tryLock), which lockf's F_TEST (F_GETLK)
    tests. A file that cannot be tested counts as locked, with a warning: ending early at a high watermark is
    less harmful than returning uncommitted records.
    """
    try:
        # Opening a pipe would wait for a writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        _log.warning("%s: %s; assuming a broker holds this log directory", path, error.strerror)
        return True
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            _log.warning("%s: not a regular file; assuming a broker holds this log directory", path)
            return True
        os.lockf(descriptor, os.F_TEST, 0)
    except OSError as error:
        if not isinstance(error, (PermissionError, BlockingIOError)):
            _log.warning("%s: %s; assuming a broker holds this log directory", path, error.strerror)
        return True
    finally:
        os.close(descriptor)
    return False


def _listed(found: os.DirEntry[str]) -> FileEntry | None:
    """Make the entry of a file; None if it has vanished."""
    try:
        return _entry_of(found.path, found.name, found.stat())
    except OSError as error:
        is_gone = isinstance(error, (FileNotFoundError, NotADirectoryError)) and not found.is_symlink()
        return None if is_gone else FileEntry(found.path, found.name, False, 0, 0, "")


def _entry_of(path: str, name: str, status: os.stat_result) -> FileEntry:
    is_directory = stat.S_ISDIR(status.st_mode)
    size = 0 if is_directory else status.st_size
    return FileEntry(path, name, is_directory, size, status.st_mtime_ns, _identity_of(status))


def _identity_of(status: os.stat_result) -> str:
    return f"{status.st_dev}:{status.st_ino}"


def _cannot_list(path: str, error: OSError) -> ReadError:
    is_missing = isinstance(error, (FileNotFoundError, NotADirectoryError))
    remedy = "check the path" if is_missing else "is it readable for this user?"
    return ReadError(f"{error.strerror or error}: {remedy}", errno=error.errno, path=path)
