"""From a path or an address to its file system."""

from __future__ import annotations

import re
from collections.abc import Mapping

from kafka_segments.errors import OptionError
from kafka_segments.places.local import LocalFiles
from kafka_segments.places.model import Entry, FileSystem
from kafka_segments.storage import Source

__all__ = ["Places"]

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(?=/)")


class Places:
    """All file systems that can be reached with some settings; can be pickled.

    Args:
        settings: Hadoop's names without `spark.hadoop.`, as in `fs.s3a.endpoint`. They may hold secrets, and
            appear in no text.
    """

    def __init__(self, settings: Mapping[str, str] | None = None) -> None:
        self._settings = dict(settings or {})

    def __repr__(self) -> str:
        return "Places(...)"

    def entries(self, directory: str) -> list[Entry]:
        """What is in a directory, by name.

        Raises:
            ReadError: it does not exist, or cannot be listed.
            OptionError: no file system is known for its scheme.
        """
        system, path = self._resolve(directory)
        return system.entries(path)

    def entry(self, path: str) -> Entry | None:
        """One file or directory; None if it does not exist; errors as for `entries`."""
        system, path = self._resolve(path)
        return system.entry(path)

    def open(self, path: str) -> Source:
        """Open a file for reading; errors as for `entries`."""
        system, path = self._resolve(path)
        return system.open(path)

    def _resolve(self, path: str) -> tuple[FileSystem, str]:
        match = _SCHEME.match(path)
        if match is None:
            return LocalFiles(), path
        if match[1].lower() != "file":
            raise OptionError(f"only local files are read, not {match[1]}: mount or copy it", path=path)
        return LocalFiles(), "/" + path[match.end() :].lstrip("/")
