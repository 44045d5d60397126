"""Whether a process holds a file of this machine locked, asked without taking a lock."""

from __future__ import annotations

import os
import stat

from kafka_segments.io.loggers import get_logger

__all__ = ["is_locked"]

_log = get_logger(__name__)


def is_locked(path: str) -> bool:
    """Whether another process has locked a file, as a broker does with `.lock`; no lock is taken.

    Java's FileLock is a POSIX lock (LogManager.lockLogDirs: FileLock.tryLock), which can be asked for
    (F_GETLK, by lockf's F_TEST). What cannot be tested counts as locked, and that is told: to stop at a high
    watermark too early does less harm than to take for committed what is not.
    """
    try:
        # Opening a pipe would wait for somebody who writes to it.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        _log.warning("%s: %s; a broker is taken to hold this log directory", path, error.strerror)
        return True
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            _log.warning("%s: this is no regular file; a broker is taken to hold this log directory", path)
            return True
        os.lockf(descriptor, os.F_TEST, 0)
    except OSError as error:
        if not isinstance(error, (PermissionError, BlockingIOError)):
            _log.warning("%s: %s; a broker is taken to hold this log directory", path, error.strerror)
        return True
    finally:
        os.close(descriptor)
    return False
