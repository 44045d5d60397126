"""Errors of opening and reading files, in words: what, where, what to do."""

from __future__ import annotations

import errno
import os

from kafka_segments.errors import ReadError

__all__ = ["cannot_open", "shrunk", "unreadable"]

_REMEDY = {
    errno.ENOENT: "check the path",
    errno.ENOTDIR: "check the path",
    errno.EISDIR: "give the .log files in it",
    errno.EACCES: "run as a user who may read it",
    errno.EPERM: "run as a user who may read it",
}


def cannot_open(name: str, error: OSError) -> ReadError:
    """Return the error of a path that the system does not open, with what to do about it."""
    reason = error.strerror or str(error)
    remedy = _REMEDY.get(error.errno or 0, "")
    return ReadError(f"cannot open: {reason}{'; ' if remedy else ''}{remedy}", errno=error.errno, path=name)


def unreadable(name: str, position: int, size: int, error: OSError) -> ReadError:
    """Return the error of a part that the disk does not give."""
    code = errno.errorcode.get(error.errno or 0, "?")
    reason = error.strerror or (os.strerror(error.errno) if error.errno else str(error))
    detail = f"[Errno {error.errno}] {code}: {reason}, reading {size} bytes at position {position}"
    return ReadError(detail, errno=error.errno, position=position, path=name)


def shrunk(name: str, position: int, size: int) -> ReadError:
    """Return the error of a file that has become shorter; it ends at `position` or before."""
    detail = f"the file shrank while it was read: it had {size} bytes, now it ends at {position} or before"
    return ReadError(detail, position=position, path=name)
