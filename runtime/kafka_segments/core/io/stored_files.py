"""Files in stores, listed and read: objects by `obstore`, and HDFS by `pyarrow`, as `obstore` has none.

Strategy: stores have no open files. A range requested after an object was overwritten comes from the new one,
so the size, ETag and time that come with each range must be those of the object when it was opened. What has
arrived before a connection breaks is kept. Directories are common prefixes of objects.
"""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

from kafka_segments.core.io.filesystem import FileEntry, PlacedSource
from kafka_segments.core.io.readahead import AheadSource
from kafka_segments.core.io.store_requests import CHANGED, Patience
from kafka_segments.core.io.store_settings import hdfs_arguments, secrets_of
from kafka_segments.core.io.stores import library, object_store, said_by
from kafka_segments.errors import MissingExtraError, OptionError, ReadError, StoreError

__all__ = ["HadoopFiles", "RemoteFiles"]

_LEN_CHUNK = 256 << 10  # bytes that arrive at once
_SILENCE = 10.0  # seconds in which nothing arrives
_NS = 10**9

_NO_HDFS = (
    "hdfs is read through libhdfs, which cannot be loaded here: set JAVA_HOME, HADOOP_HOME and CLASSPATH "
    "(`hadoop classpath --glob`), or copy the files"
)


def _identity_of(size: int, seconds: int) -> str:
    """Identity of a file, from fields that listings have too."""
    return f"{size}:{seconds}"


def _key(path: str) -> str:
    """Name of an object, without empty parts."""
    return "/".join(part for part in path.split("/") if part)


def _refuse_directory(path: str, address: str) -> None:
    if path.endswith("/") or not path:
        raise ReadError("this is a directory: give the files in it", errno=errno.EISDIR, path=address)


class RemoteFiles:
    """The `FileSystem` of the addresses of one bucket or container.

    Args:
        scheme: in small letters, one of `SCHEMES`, but not `hdfs`.
        prefix: scheme and authority as the caller writes them, to begin paths with.
        authority: what comes after the two slashes.
        settings: see `Places`.
        patience: seconds that one request may take, with its retries.

    Raises:
        MissingExtraError: obstore is not installed; or a package that finds credentials.
        OptionError: settings that contradict each other, or an address without its authority.
        StoreError: no credentials were found.
    """

    def __init__(
        self, scheme: str, prefix: str, authority: str, settings: Mapping[str, str], patience: float
    ) -> None:
        if not authority:
            raise OptionError(f"the address names no bucket: write {scheme}://BUCKET/PATH", path=prefix)
        self._prefix, self._bucket = prefix, authority.partition("@")[0]
        self._patience = Patience(patience, secrets_of(settings))
        self._store = object_store(scheme, authority, settings, for_reading=True)

    def entries(self, directory: str) -> list[FileEntry]:
        """List a directory, by name: objects and prefixes."""
        key, address = _key(directory), f"{self._prefix}{directory}"
        listed = library().list_with_delimiter_async
        found = self._patience.run(address, lambda: listed(self._store, key or None))
        if key and not (found["objects"] or found["common_prefixes"]):
            raise ReadError("it does not exist: check the address", errno=errno.ENOENT, path=address)
        # The directory itself is listed if there is an object of its name with a slash.
        entries = [self._file(one) for one in found["objects"] if one["path"] != key]
        entries += [self._directory(path) for path in found["common_prefixes"]]
        return sorted(entries, key=lambda entry: entry.name)

    def entry(self, path: str) -> FileEntry | None:
        """Look up an object or prefix; None if it does not exist."""
        return self._patience.run(f"{self._prefix}{path}", lambda: self._looked_up(_key(path)))

    async def _looked_up(self, key: str) -> FileEntry | None:
        if key:
            try:
                return self._file(await library().head_async(self._store, key))
            except FileNotFoundError:
                pass
        async for _objects in library().list(self._store, key or None, chunk_size=1):
            return self._directory(key)
        return None if key else self._directory(key)

    def open(self, path: str, end: int | None = None) -> PlacedSource:
        """Open an object for reading, probably up to `end`."""
        address = f"{self._prefix}{path}"
        _refuse_directory(path, address)
        return AheadSource(_StoredObject(self._store, _key(path), address, self._patience), end)

    def _file(self, found: Mapping[str, Any]) -> FileEntry:
        path, size, seconds = found["path"], found["size"], found["last_modified"].timestamp()
        name, modified_ns = path.rpartition("/")[2], int(seconds * 1000) * 10**6
        identity = _identity_of(size, int(seconds))
        return FileEntry(f"{self._prefix}/{path}", name, False, size, modified_ns, identity)

    def _directory(self, path: str) -> FileEntry:
        path = path.rstrip("/")
        name = path.rpartition("/")[2] or self._bucket
        return FileEntry(f"{self._prefix}/{path}", name, True, 0, 0, "")


class _StoredObject:
    """An existing object, for `AheadSource`.

    Raises:
        ReadError: it does not exist.
        StoreError: the store refused or failed.
    """

    def __init__(self, store: Any, key: str, address: str, patience: Patience) -> None:
        self._store, self._key, self._patience = store, key, patience
        self.address = address
        self._stamp = _stamp_of(patience.run(address, lambda: library().head_async(store, key)))
        self.size, seconds, _tag = self._stamp
        self.identity = _identity_of(self.size, seconds)

    async def fetch(self, position: int, view: memoryview) -> None:
        """Fill `view` from a position on.

        Raises:
            StoreError: the store refused or kept failing, or the object has changed.
        """
        obstore, done = library(), 0
        end = asyncio.get_running_loop().time() + self._patience.seconds

        async def read_on() -> None:
            nonlocal done
            before, span = done, {"range": (position + done, position + len(view))}
            try:
                async with asyncio.timeout(_SILENCE) as limit:
                    found = await obstore.get_async(self._store, self._key, options=span)
                    self._check_same(_stamp_of(found.meta))
                    async for chunk in found.stream(min_chunk_size=_LEN_CHUNK):
                        view[done : done + len(chunk)] = chunk
                        done += len(chunk)
                        limit.reschedule(asyncio.get_running_loop().time() + _SILENCE)
            except obstore.exceptions.GenericError:
                if done == before:
                    raise

        while done < len(view):
            await self._patience.ask(self.address, read_on, end=end, absent=StoreError)

    def _check_same(self, stamp: tuple[int, int, str]) -> None:
        if stamp != self._stamp:
            detail = f"{CHANGED} (it was {_said(self._stamp)}, and is now {_said(stamp)})"
            raise StoreError(detail, errno=errno.ESTALE, path=self.address)


def _stamp_of(found: Mapping[str, Any]) -> tuple[int, int, str]:
    return found["size"], int(found["last_modified"].timestamp()), found["e_tag"] or ""


def _said(stamp: tuple[int, int, str]) -> str:
    size, seconds, tag = stamp
    moment = datetime.fromtimestamp(seconds, UTC)
    return f"{size} bytes of {moment:%Y-%m-%d %H:%M:%S} UTC{', ETag ' if tag else ''}{tag}"


class HadoopFiles:
    """The `FileSystem` of one name node or name service; retries and timeouts are those of libhdfs.

    Args:
        prefix: scheme and authority as the caller writes them, to begin paths with.
        authority: what comes after the two slashes.
        settings: see `Places`.

    Raises:
        MissingExtraError: pyarrow is not installed.
        OptionError: the port is not a number.
        StoreError: libhdfs cannot be loaded, or cannot connect.
    """

    def __init__(self, prefix: str, authority: str, settings: Mapping[str, str]) -> None:
        arguments = hdfs_arguments(authority, settings)
        try:
            from pyarrow import fs
        except ImportError as error:
            message = "reading from hdfs needs pyarrow: pip install 'kafka-segments[arrow]'"
            raise MissingExtraError(message, extra="arrow") from error
        self._prefix, self._ask = prefix, partial(_of_hdfs, secrets_of(settings))
        self._system: Any = self._ask(prefix, lambda: fs.HadoopFileSystem(**arguments))

    def entries(self, directory: str) -> list[FileEntry]:
        """List a directory, by name."""
        from pyarrow.fs import FileSelector

        selector, address = FileSelector(directory.rstrip("/") or "/"), f"{self._prefix}{directory}"
        found = self._ask(address, lambda: self._system.get_file_info(selector))
        return sorted(map(self._entry, found), key=lambda entry: entry.name)

    def entry(self, path: str) -> FileEntry | None:
        """Look up a file or directory; None if it does not exist."""
        address = f"{self._prefix}{path}"
        info = self._ask(address, lambda: self._system.get_file_info(path.rstrip("/") or "/"))
        return self._entry(info) if str(info.type.name) != "NotFound" else None

    def open(self, path: str, end: int | None = None) -> PlacedSource:
        """Open a file for reading, probably up to `end`."""
        address = f"{self._prefix}{path}"
        _refuse_directory(path, address)
        info = self._ask(address, lambda: self._system.get_file_info(path))
        opened = self._ask(address, lambda: self._system.open_input_file(path))
        return AheadSource(_HadoopFile(opened, address, self._entry(info).identity, self._ask), end)

    def _entry(self, info: Any) -> FileEntry:
        is_directory = str(info.type.name) == "Directory"
        size, modified_ns = info.size or 0, info.mtime_ns or 0
        identity = "" if is_directory else _identity_of(size, modified_ns // _NS)
        name, path = info.base_name or self._prefix, f"{self._prefix}/{info.path.lstrip('/')}"
        return FileEntry(path, name, is_directory, size, modified_ns, identity)


class _HadoopFile:
    """A file of HDFS, for `AheadSource`; pyarrow closes it when it is no longer used."""

    def __init__(self, opened: Any, address: str, identity: str, ask: Callable[..., Any]) -> None:
        self._opened, self._ask = opened, ask
        self.address, self.size, self.identity = address, opened.size(), identity

    async def fetch(self, position: int, view: memoryview) -> None:
        """Fill `view` from a position on."""

        def read() -> None:
            data = self._opened.read_at(len(view), position)
            view[: len(data)] = data
            if len(data) < len(view):
                raise StoreError(CHANGED, errno=errno.ESTALE, path=self.address)

        await asyncio.to_thread(self._ask, self.address, read, StoreError)


def _of_hdfs(
    secrets: Sequence[str],
    address: str,
    ask: Callable[[], Any],
    absent: type[ReadError | StoreError] = ReadError,
) -> Any:
    """Ask libhdfs, and convert its errors; `absent` is that of a missing file."""
    from pyarrow import ArrowException

    try:
        return ask()
    except FileNotFoundError:
        detail, code = "it does not exist: check the address", errno.ENOENT
    except (OSError, ValueError, ArrowException) as error:
        if isinstance(error, StoreError):
            raise
        text, code = said_by(error, secrets), errno.EIO
        detail = _NO_HDFS if "Unable to load lib" in text else f"the store failed: {text}"
    kind = absent if code == errno.ENOENT else StoreError
    raise kind(detail, errno=code, path=address)
