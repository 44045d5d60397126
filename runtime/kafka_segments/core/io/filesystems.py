"""File systems by path or address."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import closing

from kafka_segments.core.io.filesystem import FileEntry, FileSystem, PlacedSource
from kafka_segments.core.io.local_files import LocalFiles
from kafka_segments.core.io.store_settings import SCHEMES
from kafka_segments.core.io.stored_files import HadoopFiles, RemoteFiles
from kafka_segments.errors import OptionError, ReadError

__all__ = ["Places"]

_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(?:(//)([^/]*)|(?=/))")


class Places:
    """Access to all file systems, with their settings; can be pickled.

    Args:
        settings: Hadoop's names without `spark.hadoop.`, as in `fs.s3a.endpoint`. They may hold secrets, and
            are never shown.
        keep_cache: keep read pages of local files in the page cache; otherwise keep only pages that were
            cached before (Linux).
        patience: seconds that one request to a store may take, with its retries.
    """

    def __init__(
        self,
        settings: Mapping[str, str] | None = None,
        *,
        keep_cache: bool = False,
        patience: float = 120.0,
    ) -> None:
        self._settings = dict(settings or {})
        self._keep_cache = keep_cache
        self._patience = patience
        self._stores: dict[str, FileSystem] = {}

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_stores": {}}

    def __repr__(self) -> str:
        return "Places(...)"

    def entries(self, directory: str) -> list[FileEntry]:
        """List a directory, by name.

        Raises:
            ReadError: the directory does not exist, or cannot be listed.
            StoreError: the store refuses, fails, or takes too long.
            OptionError: an unknown scheme, or settings that contradict each other.
            MissingExtraError: the directory is in a store, and obstore (for HDFS: pyarrow) is not installed.
        """
        system, path = self._resolve(directory)
        return system.entries(path)

    def entry(self, path: str) -> FileEntry | None:
        """Look up a file or directory; None if it does not exist; errors as for `entries`."""
        system, path = self._resolve(path)
        return system.entry(path)

    def open(self, path: str, end: int | None = None) -> PlacedSource:
        """Open a file for reading; errors as for `entries`.

        Args:
            path: the file.
            end: expected end of reading, where read-ahead stops; reading after it is possible.
        """
        system, path = self._resolve(path)
        return system.open(path, end)

    def read_whole(self, path: str, view: memoryview) -> bool:
        """Read a small listed file into a buffer as large as it is.

        Returns:
            False if it has another size now, or cannot be read; opening it gives the reason.

        Raises:
            StoreError: the store refuses, fails, or takes too long.
        """
        try:
            with closing(self.open(path)) as source:
                if source.size == len(view):
                    view[:] = source.window(0, len(view), view)
                    return True
        except ReadError:
            pass
        return False

    def _resolve(self, path: str) -> tuple[FileSystem, str]:
        match = _ADDRESS.match(path)
        if match is None:
            return LocalFiles(keep_cache=self._keep_cache), path
        scheme, slashes, authority = match[1].lower(), match[2], match[3] or ""
        rest = path[match.end() :]
        _refuse_keys(scheme, authority, path)
        if scheme == "file":
            if authority not in ("", "localhost"):
                raise OptionError(f"{authority!r} is another machine: only local files are read", path=path)
            return LocalFiles(keep_cache=self._keep_cache), f"/{rest.lstrip('/')}"
        if scheme not in SCHEMES:
            known = ", ".join(sorted(SCHEMES))
            raise OptionError(f"no file system is known for {scheme}, only for file, {known}", path=path)
        prefix = f"{match[1]}:{slashes or ''}{authority}"
        if prefix not in self._stores:
            self._stores[prefix] = (
                HadoopFiles(prefix, authority, self._settings)
                if scheme == "hdfs"
                else RemoteFiles(scheme, prefix, authority, self._settings, self._patience)
            )
        return self._stores[prefix], rest


def _refuse_keys(scheme: str, authority: str, path: str) -> None:
    """Reject user and password in an address, which messages show; as Hadoop since 3.2 (HADOOP-14833).

    Azure's CONTAINER@ACCOUNT and the port of a name node are allowed.
    """
    user, at, host = authority.rpartition("@")
    is_plain = SCHEMES.get(scheme) in ("aws", "google")  # the authority is a bucket
    if ":" in user or (is_plain and at) or (":" in host and scheme != "hdfs"):
        raise OptionError(
            "keys and passwords do not belong in an address, which is shown and logged: set "
            "fs.s3a.access.key and fs.s3a.secret.key, or the store's own settings (docs/stores.md)",
            path=path,
        )
