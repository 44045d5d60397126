"""Sources of bytes: files, standard input, bytes, streams, or (on request) memory maps.

Strategy: `os.pread` into own buffers, so that a bad sector is an error code and not a SIGBUS. A failed read
is repeated in aligned steps of 4 KiB up to the unreadable block, so that only that block is lost. Only this
module opens sources.
"""

from __future__ import annotations

import errno
import io
import mmap
import os
import shutil
import stat
import sys
import tempfile
import threading
from typing import Any, BinaryIO, Protocol

from kafka_segments.core.io.file_source import (
    BLOCK_SIZE,
    FileSource,
    cannot_open,
    check_ends,
    check_regular,
    refuse_name,
    shrunk,
    unreadable,
)
from kafka_segments.errors import OptionError, ReadError

__all__ = ["BLOCK_SIZE", "WINDOW_SIZE", "Source", "SourceLike", "Window", "in_memory", "open_source"]

WINDOW_SIZE = 1 << 20


class Source(Protocol):
    """Random access to `size` bytes, with a `name` for messages; several threads may read."""

    name: str
    size: int
    is_memory: bool
    """Whether the bytes are in memory, so that windows of any size cost nothing."""

    @property
    def descriptor(self) -> int:
        """Descriptor of an open file with exactly these bytes, else -1; `lend_file` gives it for reading."""
        ...

    def read(self, position: int, size: int) -> bytes | memoryview:
        """Return exactly `size` bytes, or raise `ReadError` at the first byte that cannot be read."""
        ...

    def window(self, position: int, size: int, buffer: memoryview) -> bytes | memoryview:
        """Read `size` bytes into a large enough `buffer`, or without a copy; valid until the next call."""
        ...

    def close(self) -> None:
        """Release resources; idempotent."""
        ...


SourceLike = str | os.PathLike[str] | bytes | bytearray | memoryview | BinaryIO | Source


class _Bytes:
    """Source of bytes in memory, or of a mapped file."""

    descriptor = -1
    is_memory = True

    def __init__(self, name: str, data: bytes | bytearray | memoryview | mmap.mmap) -> None:
        self.name = name
        self._view = memoryview(data).cast("B")
        self.size = len(self._view)

    def read(self, position: int, size: int) -> bytes | memoryview:
        view = self._view[position : position + size]
        if len(view) < size:
            raise shrunk(self.name, position + len(view), self.size)
        return view

    def window(self, position: int, size: int, buffer: memoryview) -> bytes | memoryview:  # noqa: ARG002
        return self.read(position, size)

    def close(self) -> None:
        self._view = memoryview(b"")


class _Stream:
    """Source of a seekable file object that is not a plain file, which may decrypt or decompress."""

    descriptor = -1
    is_memory = False

    def __init__(self, name: str, stream: BinaryIO) -> None:
        self.name = name
        self._stream = stream
        self._lock = threading.Lock()  # a stream has one position for all threads
        self.size = stream.seek(0, os.SEEK_END)

    def read(self, position: int, size: int) -> bytes:
        with self._lock:
            return self._read(position, size)

    def window(self, position: int, size: int, buffer: memoryview) -> bytes | memoryview:  # noqa: ARG002
        return self.read(position, size)

    def _read(self, position: int, size: int) -> bytes:
        parts = []
        missing = size
        try:
            self._stream.seek(position)
            while missing > 0:
                part = self._stream.read(missing)
                if not part:
                    raise shrunk(self.name, position + size - missing, self.size)
                parts.append(part)
                missing -= len(part)
        except OSError as error:
            if isinstance(error, ReadError):
                raise
            raise unreadable(self.name, position + size - missing, missing, error) from error
        return b"".join(parts)

    def close(self) -> None:
        """Leave the stream open, as it belongs to the caller."""


class _Lent:
    """Wrapper of an open source, which belongs to the caller and stays open."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.name, self.size, self.is_memory = source.name, source.size, source.is_memory
        self.read, self.window = source.read, source.window
        self.lend = getattr(source, "lend", None)

    @property
    def descriptor(self) -> int:
        return self._source.descriptor

    def close(self) -> None:
        """Leave the source open, as it belongs to the caller."""


class Window:
    """Buffer of the last piece of a source, so that small adjacent reads cost one call.

    Args:
        source: the source.
        size: bytes of a piece; larger requests are read at once.
    """

    def __init__(self, source: Source, size: int = WINDOW_SIZE) -> None:
        self._source = source
        self._size = size
        self._start = 0
        self._data: bytes | memoryview = b""
        self._unreadable = source.size

    def read(self, position: int, size: int) -> bytes | memoryview:
        """Return `size` bytes at `position`; `ReadError` only if one of these is unreadable."""
        at = position - self._start
        if at < 0 or at + size > len(self._data):
            self._data = self._fill(position, size)
            self._start, at = position, 0
        return memoryview(self._data)[at : at + size]

    def _fill(self, position: int, size: int) -> bytes | memoryview:
        want = min(max(size, self._size), max(size, self._source.size - position))
        if position + size <= self._unreadable < position + want:
            want = self._unreadable - position
        try:
            return self._source.read(position, want)
        except ReadError as error:
            if error.position is None or error.position < position + size:
                raise
            self._unreadable = error.position
        return self._source.read(position, self._unreadable - position)


def open_source(
    source: SourceLike,
    *,
    mmap: bool = False,
    only_files: bool = False,
    closes_source: bool = False,
    kind: type[FileSource] = FileSource,
) -> Source:
    """Open a path, `-` (standard input), bytes or a binary file object for random access.

    The caller closes the result. That leaves a given file object open, and a given `Source` unless
    `closes_source` is set.

    Args:
        source: what to open; a pipe, which cannot seek, is copied to a temporary file first.
        mmap: map the file into memory instead of reading it. A bad sector then kills the process (SIGBUS).
        only_files: reject anything but regular files, for files found in a directory: a pipe there could
            block, and a device may have no end.
        closes_source: a given `Source` is closed with the result.
        kind: of the source of a file.

    Raises:
        ReadError: it does not exist, is a directory or a device, or may not be read, with `errno`.
        OptionError: an object of another type.
    """
    if isinstance(source, (bytes, bytearray, memoryview)):
        refuse_name(source)
        return _Bytes("<bytes>", source)
    if isinstance(source, (str, os.PathLike)):
        return _open_path(os.fspath(source), mmap, only_files, kind)
    given: Any = source
    if hasattr(given, "window"):  # no file object has one
        return given if closes_source else _Lent(given)
    if hasattr(given, "read"):
        return _open_stream(given)
    raise OptionError(f"cannot open this {type(source).__name__}: give a path, bytes or a binary file object")


def in_memory(name: str, data: bytes | bytearray) -> Source:
    """Return a source of bytes that were read from a file.

    Args:
        name: of the file, for messages.
        data: the whole file.
    """
    return _Bytes(name, data)


def _open_path(path: str | bytes, map_it: bool, only_files: bool, kind: type[FileSource]) -> Source:
    name = os.fsdecode(path)
    if name == "-":
        return _open_descriptor(name, _dup_stdin(), map_it, kind)
    flags = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0)
    # Without this flag, opening a pipe waits for a writer.
    flags |= getattr(os, "O_NONBLOCK", 0) if only_files else 0
    try:
        if only_files:
            check_regular(name, os.stat(path))  # before it is opened, which has effects on some devices
        descriptor = os.open(path, flags)
    except OSError as error:
        if isinstance(error, ReadError):
            raise
        raise cannot_open(name, error) from error
    except ValueError as error:  # a null character in the name
        raise OptionError(f"no file can have this name: {error}", path=name) from error
    try:
        if only_files:
            status = os.fstat(descriptor)
            check_regular(name, status)  # the name may have another target meanwhile
            if stat.S_ISREG(status.st_mode) and not map_it:
                return kind(name, descriptor, status)
        else:
            check_ends(name, descriptor)
    except BaseException:
        os.close(descriptor)
        raise
    return _open_descriptor(name, descriptor, map_it, kind)


def _dup_stdin() -> int:
    try:
        return os.dup(sys.stdin.fileno())
    except (OSError, ValueError, AttributeError) as error:
        raise ReadError("there is no standard input to read", errno=errno.EBADF, path="-") from error


def _open_descriptor(name: str, descriptor: int, map_it: bool, kind: type[FileSource]) -> Source:
    """Take over `descriptor`."""
    try:
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            raise cannot_open(name, IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR)))
        if not _is_whole_file(descriptor, status.st_mode):
            with open(os.dup(descriptor), "rb") as stream:
                return _spool(name, stream)
        if map_it and status.st_size > 0:
            return _Bytes(name, mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ))
        source = kind(name, descriptor, status)
        descriptor = -1
        return source
    except OSError as error:
        if isinstance(error, ReadError):
            raise
        raise cannot_open(name, error) from error
    finally:
        if descriptor >= 0:
            os.close(descriptor)


def _is_whole_file(descriptor: int, mode: int) -> bool:
    """Whether it is a file or disk at its beginning (standard input may be redirected from one)."""
    is_file = stat.S_ISREG(mode) or stat.S_ISBLK(mode)
    return is_file and os.lseek(descriptor, 0, os.SEEK_CUR) == 0


def _open_stream(stream: BinaryIO) -> Source:
    name = getattr(stream, "name", None)
    name = name if isinstance(name, str) else "<stream>"
    raw = getattr(stream, "raw", stream)
    try:
        if isinstance(raw, io.FileIO) and stat.S_ISREG(os.fstat(raw.fileno()).st_mode):
            return FileSource(name, os.dup(raw.fileno()), os.fstat(raw.fileno()))
        return _Stream(name, stream) if stream.seekable() else _spool(name, stream)
    except (OSError, ValueError) as error:
        if isinstance(error, ReadError):
            raise
        raise ReadError(f"the stream cannot be read: {error}", errno=errno.EIO, path=name) from error


def _spool(name: str, stream: BinaryIO) -> Source:
    try:
        with tempfile.TemporaryFile() as copy:
            shutil.copyfileobj(stream, copy, WINDOW_SIZE)
            copy.flush()
            return FileSource(name, os.dup(copy.fileno()), os.fstat(copy.fileno()))
    except OSError as error:
        reason = f"{error.strerror or error}; is there room in {tempfile.gettempdir()}?"
        raise ReadError(
            f"copying it to a temporary file failed: {reason}", errno=error.errno, path=name
        ) from error
