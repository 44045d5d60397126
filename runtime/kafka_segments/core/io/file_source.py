"""Files as sources of bytes, with errors of opening and reading them, and checks of their types.

Pipes, sockets and devices may never end.
"""

from __future__ import annotations

import errno
import os
import stat
import warnings

from kafka_segments.errors import OptionError, ReadError

__all__ = [
    "BLOCK_SIZE",
    "FileSource",
    "cannot_open",
    "check_ends",
    "check_regular",
    "identity_of",
    "refuse_name",
    "shrunk",
    "unreadable",
]

BLOCK_SIZE = 4096
_MAX_LEN_NAME = 4096

_KINDS = (
    (stat.S_ISFIFO, "a pipe (FIFO)"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a disk"),
)

_REMEDY = {
    errno.ENOENT: "check the path",
    errno.ENOTDIR: "check the path",
    errno.EISDIR: "give the .log files in it",
    errno.EACCES: "run as a user who may read it",
    errno.EPERM: "run as a user who may read it",
}


def check_regular(path: str, status: os.stat_result) -> None:
    """Reject special files; directories are rejected when they are opened.

    Raises:
        ReadError: the file is neither regular nor a directory; the message has its type.
    """
    mode = status.st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        kind = next((word for is_kind, word in _KINDS if is_kind(mode)), "not a file")
        detail = f"this is {kind} instead of a file, and is not read: remove it, or put the file there"
        raise ReadError(detail, errno=errno.EINVAL, path=path)


def check_ends(path: str, descriptor: int) -> None:
    """Reject devices without an end; terminals (^D) and the null device have one.

    Raises:
        ReadError: a device without an end, as /dev/zero.
    """
    status = os.fstat(descriptor)
    if stat.S_ISCHR(status.st_mode) and not (
        os.isatty(descriptor) or status.st_rdev == os.stat(os.devnull).st_rdev
    ):
        detail = "this is a device, which may never end: give a file, or pipe the bytes to `-`"
        raise ReadError(detail, errno=errno.EINVAL, path=path)


def refuse_name(data: bytes | bytearray | memoryview) -> None:
    """Reject a path given as bytes, which are a segment's content.

    Entries have a zero among their first bytes, which no name can have.

    Raises:
        OptionError: the bytes are the name of an existing file.
    """
    if not 0 < len(data) <= _MAX_LEN_NAME or 0 in bytes(data):
        return
    try:
        is_name = os.path.isfile(bytes(data))
    except (OSError, ValueError):
        return
    if is_name:
        name = os.fsdecode(bytes(data))
        raise OptionError(
            "bytes are taken as a segment's content, but these name a file: give the path as str", path=name
        )


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


class FileSource:
    """Source of a file, by a descriptor that it owns.

    Attributes:
        identity: of the file, see `FileEntry`.
    """

    is_memory = False
    _flags: int | None = None  # of `preadv`

    def __init__(self, name: str, descriptor: int, status: os.stat_result) -> None:
        self.name = name
        self._descriptor = descriptor
        is_disk = stat.S_ISBLK(status.st_mode)
        self.size = os.lseek(descriptor, 0, os.SEEK_END) if is_disk else status.st_size
        self.identity = identity_of(status)

    @property
    def descriptor(self) -> int:
        return self._descriptor

    def read(self, position: int, size: int) -> bytes | memoryview:
        try:
            return self._read_all(position, size)
        except OSError as error:
            if isinstance(error, ReadError):
                raise
        return b"".join(self._read_blocks(position, position + size))

    def window(self, position: int, size: int, buffer: memoryview) -> bytes | memoryview:
        view = buffer[:size]
        try:
            if os.preadv(self._descriptor, [view], position, self._flags or 0) == size:
                return view
        except OSError:
            pass  # read again in steps, to find the block
        return FileSource.read(self, position, size)

    def lend(self, position: int, size: int) -> int:  # noqa: ARG002
        return self._descriptor

    def _read_all(self, position: int, size: int) -> bytes:
        """Read with as few calls as possible; reads may be short or interrupted."""
        if self._descriptor < 0:
            raise OptionError("it is closed: read before close, or inside its with", path=self.name)
        parts = []
        missing = size
        while missing > 0:
            try:
                part = os.pread(self._descriptor, missing, position + size - missing)
            except InterruptedError:
                continue
            if not part:
                raise shrunk(self.name, position + size - missing, self.size)
            parts.append(part)
            missing -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _read_blocks(self, position: int, end: int) -> list[bytes]:
        blocks = []
        while position < end:
            block_end = min(end, (position // BLOCK_SIZE + 1) * BLOCK_SIZE)
            try:
                blocks.append(self._read_all(position, block_end - position))
            except OSError as error:
                if isinstance(error, ReadError):
                    raise
                raise unreadable(self.name, position, block_end - position, error) from error
            position = block_end
        return blocks

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __del__(self) -> None:
        if getattr(self, "_descriptor", -1) >= 0:
            warnings.warn(f"unclosed segment or index {self.name!r}", ResourceWarning, 2, source=self)
            self.close()


def identity_of(status: os.stat_result) -> str:
    """Return what changes when a file is replaced."""
    return f"{status.st_dev}:{status.st_ino}"
