"""Stores by `pyarrow.fs`: S3, GCS, Azure, HDFS.

Strategy: one `pyarrow` file system for all addresses with the same settings, cached for the process, as
creating one searches for credentials. The library pages listings. Directories are common prefixes of objects.
"""

from __future__ import annotations

import errno
from collections.abc import Mapping
from datetime import timedelta
from functools import lru_cache
from typing import Any

from kafka_segments.core.io.filesystem import FileEntry, PlacedSource
from kafka_segments.core.io.readahead import AheadSource
from kafka_segments.core.io.retry import Patience
from kafka_segments.core.io.store_objects import StoredObject, identity_of
from kafka_segments.core.io.store_settings import SCHEMES, arguments_of, secrets_of
from kafka_segments.errors import MissingExtraError, OptionError, ReadError

__all__ = ["RemoteFiles"]

_CONNECT_SECONDS, _SILENCE_SECONDS = 5, 10
_NUM_TRIES = 2  # of the AWS SDK; `Patience` retries further, and the end of the process waits for the SDK
_SINCE = {"sas_token": 20, "client_id": 21, "client_secret": 21, "tenant_id": 21}
"""The versions of pyarrow that first take an argument, where 18 does not."""


class RemoteFiles:
    """The `FileSystem` of the addresses of one authority (bucket, account, name node).

    Args:
        scheme: in small letters, one of `SCHEMES`.
        prefix: scheme and authority as the caller writes them, to begin paths with.
        authority: what comes after the two slashes.
        settings: see `Places`.
        patience: seconds that one request may take, with its retries.

    Raises:
        MissingExtraError: pyarrow is not installed.
        OptionError: settings that contradict each other, or an address without its authority.
        StoreError: the file system cannot be created here.
    """

    def __init__(
        self, scheme: str, prefix: str, authority: str, settings: Mapping[str, str], patience: float
    ) -> None:
        self._prefix = prefix
        self._patience = Patience(patience, secrets_of(settings))
        if not authority and scheme != "hdfs":
            raise OptionError(f"the address names no bucket: write {scheme}://BUCKET/PATH", path=prefix)
        # Stores with one name space need the bucket or container in the path.
        self._root = "" if scheme == "hdfs" else authority.partition("@")[0]
        arguments = arguments_of(scheme, authority, settings)
        _check_installed(scheme)
        key = _frozen(arguments)
        # Most libraries connect with the first request only: creating one is no answer of the store.
        making = Patience(patience, secrets_of(settings))
        self._system = making.run(prefix, lambda: _system(SCHEMES[scheme], key))

    def entries(self, directory: str) -> list[FileEntry]:
        """List a directory, by name: objects and prefixes."""
        from pyarrow.fs import FileSelector

        selector = FileSelector(self._key(directory))
        address = f"{self._prefix}{directory}"
        infos = self._patience.run(address, lambda: self._system.get_file_info(selector))
        return sorted(map(self._entry, infos), key=lambda entry: entry.name)

    def entry(self, path: str) -> FileEntry | None:
        """Look up an object or prefix; None if it does not exist."""
        key = self._key(path)
        info = self._patience.run(f"{self._prefix}{path}", lambda: self._system.get_file_info(key))
        return self._entry(info) if str(info.type.name) != "NotFound" else None

    def open(self, path: str, end: int | None = None) -> PlacedSource:
        """Open an object for reading, probably up to `end`."""
        address = f"{self._prefix}{path}"
        if path.endswith("/") or not path:
            detail = "this is a directory: give the files in it"
            raise ReadError(detail, errno=errno.EISDIR, path=address)
        return AheadSource(StoredObject(self._system, self._key(path), address, self._patience), end)

    def _key(self, path: str) -> str:
        """Name of a path in the library."""
        return f"{self._root}{path}".rstrip("/") or "/"

    def _entry(self, info: Any) -> FileEntry:
        path = info.path.removeprefix(self._root)
        is_directory = str(info.type.name) == "Directory"
        size, modified_ns = info.size or 0, info.mtime_ns or 0
        identity = "" if is_directory else identity_of(size, modified_ns)
        name = info.base_name or self._root
        return FileEntry(f"{self._prefix}{path}", name, is_directory, size, modified_ns, identity)


def _check_installed(scheme: str) -> None:
    try:
        from pyarrow import fs
    except ImportError as error:
        message = f"reading from {scheme} needs pyarrow: pip install 'kafka-segments[arrow]'"
        raise MissingExtraError(message, extra="arrow") from error
    if not hasattr(fs, SCHEMES[scheme]):
        raise OptionError(
            f"this build of pyarrow does not support {scheme}: install one that does, or copy the files"
        )


def _frozen(value: Any) -> Any:
    """Convert arguments to a hashable key."""
    if isinstance(value, dict):
        return tuple(sorted((name, _frozen(one)) for name, one in value.items()))
    return value


@lru_cache(maxsize=64)
def _system(name: str, key: tuple[tuple[str, Any], ...]) -> Any:
    import pyarrow as pa
    from pyarrow import fs

    arguments = {one: dict(value) if isinstance(value, tuple) else value for one, value in key}
    if name == "S3FileSystem":
        arguments |= {
            "connect_timeout": _CONNECT_SECONDS,
            "request_timeout": _SILENCE_SECONDS,
            "retry_strategy": fs.AwsStandardS3RetryStrategy(max_attempts=_NUM_TRIES),
        }
    if name == "GcsFileSystem":
        arguments["retry_time_limit"] = timedelta(seconds=_SILENCE_SECONDS)
    try:
        return getattr(fs, name)(**arguments)
    except TypeError:
        names = ", ".join(sorted(arguments))
        needed = max(_SINCE.get(one, 0) for one in arguments)
        other = f"pyarrow {needed} or newer does" if needed else "a newer one can"
        detail = f"pyarrow {pa.__version__} does not support all of {names} for {name}: {other}"
        raise OptionError(detail) from None
