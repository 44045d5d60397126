"""Where compiled decoders are kept: one file each, in a directory that only this user can write.

Strategy: a file is written under another name and renamed, and holds a digest of itself, so that a reader
finds a whole one or none. Who compiles holds a lock on the file's name: of several processes that start at
once one compiles, and the others wait and load. The files are machine code; a directory that others can write
is never used.

The directory: `KAFKA_SEGMENTS_CACHE_DIR`, else the user's cache directory (`XDG_CACHE_HOME`, `~/.cache`,
`~/Library/Caches`), else one in the system's temporary directory; the installation itself may be read-only.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

__all__ = ["directory", "lock", "read", "write"]

_SUFFIX = ".o"
_LEN_DIGEST = hashlib.sha256().digest_size


def _candidates() -> Iterator[Path]:
    chosen = os.environ.get("KAFKA_SEGMENTS_CACHE_DIR")
    if chosen:
        yield Path(chosen)
    user = os.environ.get("XDG_CACHE_HOME")
    home = Path("~").expanduser()
    if user:
        yield Path(user) / "kafka-segments"
    elif sys.platform == "darwin":
        yield home / "Library" / "Caches" / "kafka-segments"
    else:
        yield home / ".cache" / "kafka-segments"
    yield Path(tempfile.gettempdir()) / f"kafka-segments-{os.getuid()}"


def _is_ours(path: Path) -> bool:
    """Whether the directory is this user's, nobody else can write it, and we can."""
    status = path.lstat()
    others_write = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return (
        stat.S_ISDIR(status.st_mode)
        and status.st_uid == os.getuid()
        and not others_write
        and os.access(path, os.W_OK | os.X_OK)
    )


@cache
def directory() -> Path | None:
    """The first directory that can be used; None if there is none, and nothing can be kept."""
    for candidate in _candidates():
        try:
            candidate.mkdir(parents=True, exist_ok=True, mode=0o700)
            if _is_ours(candidate):
                return candidate
        except OSError:
            continue
    return None


def read(key: str) -> bytes | None:
    """What was written under a key; None if there is nothing, or not all of it."""
    folder = directory()
    if folder is None:
        return None
    try:
        data = (folder / f"{key}{_SUFFIX}").read_bytes()
    except OSError:
        return None
    content = data[_LEN_DIGEST:]
    return content if hashlib.sha256(content).digest() == data[:_LEN_DIGEST] else None


def write(key: str, content: bytes) -> None:
    """Keep `content` under a key, if there is a directory and it has room."""
    folder = directory()
    if folder is None:
        return
    try:
        handle, temporary = tempfile.mkstemp(dir=folder, prefix=f".{key}.")
    except OSError:
        return
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(hashlib.sha256(content).digest() + content)
        os.replace(temporary, folder / f"{key}{_SUFFIX}")
    except OSError:
        Path(temporary).unlink(missing_ok=True)


@contextmanager
def lock(key: str) -> Iterator[None]:
    """Hold the key's lock against other processes; without a directory there is none to hold."""
    folder = directory()
    if folder is None:
        yield
        return
    try:
        descriptor = os.open(folder / f"{key}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        yield
        return
    try:
        with suppress(OSError):  # a file system without locks: two may compile the same, and either is right
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
