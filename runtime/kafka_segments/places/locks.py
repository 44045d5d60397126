"""Whether a process holds a file of this machine locked, asked without taking a lock."""

from __future__ import annotations

import logging
import os

__all__ = ["is_locked"]

_log = logging.getLogger(__name__)


def is_locked(path: str) -> bool:
    """Whether another process has locked a file, as a broker does with `.lock`; no lock is taken.

    Java's FileLock is a POSIX lock (LogManager.lockLogDirs: FileLock.tryLock), which can be asked for
    (F_GETLK, by lockf's F_TEST). What cannot be tested counts as locked, and that is told: to stop at a high
    watermark too early does less harm than to take for committed what is not.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        _log.warning("%s: %s; a broker is taken to hold this log directory", path, error.strerror)
        return True
    try:
        os.lockf(descriptor, os.F_TEST, 0)
    except OSError as error:
        if not isinstance(error, (PermissionError, BlockingIOError)):
            _log.warning("%s: %s; a broker is taken to hold this log directory", path, error.strerror)
        return True
    finally:
        os.close(descriptor)
    return False
