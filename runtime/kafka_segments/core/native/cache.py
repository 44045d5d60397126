"""Cache of machine code: one file for each decoder, in a folder that only this user can write.

Strategy: a file is written under a temporary name and renamed, and has a digest of its content, so that a
reader finds a complete one or none. A process holds a lock for a file while it compiles: other processes wait
and load.

The files are executed, so owner and mode are checked by descriptor, never by name, which could change its
target meanwhile. The folder is opened for each decoder, and its files relative to the descriptor.

The folder is `KAFKA_SEGMENTS_CACHE_DIR`, else the user's cache folder (`XDG_CACHE_HOME`, `~/.cache`,
`~/Library/Caches`), else one in the system's temporary folder; the installation may be read-only. An existing
folder that cannot be used is reported once, with the reason.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import secrets
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from kafka_segments.errors.escaping import shown

__all__ = ["Folder", "opened", "say"]

_SUFFIX = ".o"
_LEN_DIGEST = hashlib.sha256().digest_size
_VARIABLE = "KAFKA_SEGMENTS_CACHE_DIR"
_SILENT_WAIT, _LONGEST_WAIT, _PAUSE = 5.0, 60.0, 0.05
"""Seconds of waiting for a lock: before a message, in all, and between two attempts."""


@cache
def say(text: str) -> None:
    """Write a line to standard error, once a process."""
    with suppress(OSError, ValueError, AttributeError):  # closed, or missing, as under pythonw
        sys.stderr.write(f"kafka-segments: {shown(text)}\n")
        sys.stderr.flush()


class Folder:
    """An open folder of the cache.

    Args:
        path: its name, for messages.
        descriptor: of the folder; `opened` closes it.
    """

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor

    def read(self, key: str) -> bytes | None:
        """Read the content of a key; None if it is missing, incomplete, or another user's."""
        try:
            with open(self._open(f"{key}{_SUFFIX}", os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
                status = os.fstat(file.fileno())
                reason = None if stat.S_ISREG(status.st_mode) else "it is not a file"
                reason = reason or _distrust(status)
                if reason:
                    say(f"{self.path / f'{key}{_SUFFIX}'} is not used as machine code: {reason}")
                    return None
                data = file.read()
        except OSError:
            return None
        content = data[_LEN_DIGEST:]
        return content if hashlib.sha256(content).digest() == data[:_LEN_DIGEST] else None

    def write(self, key: str, content: bytes) -> None:
        """Write the content of a key, if the disk has room."""
        temporary = f".{key}.{secrets.token_hex(8)}"
        try:
            descriptor = self._open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        except OSError:
            return
        try:
            with open(descriptor, "wb") as file:
                file.write(hashlib.sha256(content).digest() + content)
            here = self._descriptor
            os.replace(temporary, f"{key}{_SUFFIX}", src_dir_fd=here, dst_dir_fd=here)
        except OSError:
            with suppress(OSError):
                os.unlink(temporary, dir_fd=self._descriptor)

    @contextmanager
    def lock(self, key: str) -> Iterator[None]:
        """Hold the lock of a key, if the file system has locks."""
        try:
            descriptor = self._open(f"{key}.lock", os.O_RDWR | os.O_CREAT | os.O_NONBLOCK)
        except OSError:
            yield
            return
        try:
            self._wait_for(descriptor, f"{key}.lock")
            yield
        finally:
            os.close(descriptor)

    def _wait_for(self, descriptor: int, name: str) -> None:
        """Wait for a lock, then continue without it: several processes may compile the same decoder."""
        began = time.monotonic()
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except OSError as error:
                if error.errno not in (errno.EWOULDBLOCK, errno.EACCES, errno.EINTR):
                    return  # a file system without locks
            waited = time.monotonic() - began
            if waited > _LONGEST_WAIT:
                say(f"not waiting any longer for the lock {self.path / name}: compiling here as well")
                return
            if waited > _SILENT_WAIT:
                say(f"waiting for another process, which compiles and holds the lock {self.path / name}")
            time.sleep(_PAUSE)

    def _open(self, name: str, flags: int) -> int:
        return os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=self._descriptor)


@contextmanager
def opened() -> Iterator[Folder | None]:
    """Open the first usable folder; None without one, so that nothing is cached."""
    found = _first()
    try:
        yield found and Folder(*found)
    finally:
        if found:
            os.close(found[1])


def _first() -> tuple[Path, int] | None:
    for path, is_chosen in _candidates():
        usable = _usable(path)
        if isinstance(usable, int):
            return path, usable
        # A default folder that cannot be created is not an error, as in a container without a home.
        if is_chosen:
            say(f"{_VARIABLE}={str(path)!r} is not used for machine code: {usable}")
        elif os.path.lexists(path):
            say(f"{path} is not used for machine code: {usable}")
    return None


def _candidates() -> Iterator[tuple[Path, bool]]:
    """Yield folders to try, and whether the user chose them."""
    chosen = os.environ.get(_VARIABLE)
    if chosen:
        yield Path(chosen), True
    user = os.environ.get("XDG_CACHE_HOME")
    if user:
        yield Path(user) / "kafka-segments", False
    else:
        with suppress(RuntimeError):  # this user has no home
            home = Path("~").expanduser()
            caches = home / "Library" / "Caches" if sys.platform == "darwin" else home / ".cache"
            yield caches / "kafka-segments", False
    with suppress(OSError):  # there is no temporary folder that can be written
        yield Path(tempfile.gettempdir()) / f"kafka-segments-{os.geteuid()}", False


def _usable(path: Path) -> int | str:
    """Create and open a folder; return its descriptor, or the reason why it cannot be used."""
    try:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except (OSError, ValueError) as error:  # ValueError: a null character
        is_link = (
            isinstance(error, OSError) and error.errno in (errno.ELOOP, errno.ENOTDIR) and path.is_symlink()
        )
        return "it is a symbolic link" if is_link else getattr(error, "strerror", None) or str(error)
    reason = _distrust(os.fstat(descriptor))
    if reason is None and not os.access(".", os.W_OK | os.X_OK, dir_fd=descriptor):
        reason = "it cannot be written"
    if reason is None:
        return descriptor
    os.close(descriptor)
    return reason


def _distrust(status: os.stat_result) -> str | None:
    """Reason why another user may have written to a file; None if only this user can."""
    if status.st_uid != os.geteuid():
        return f"it belongs to another user (uid {status.st_uid})"
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"others can write to it (mode {stat.S_IMODE(status.st_mode):04o}): chmod go-w"
    return None
