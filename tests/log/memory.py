"""A little file system in memory, behind the facade that everything goes through: `memory:/...`."""

from __future__ import annotations

import errno

from kafka_segments.core.io.filesystem import FileEntry
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.io.storage import Source, open_source
from kafka_segments.errors import ReadError


class MemoryPlaces(Places):
    """Files by address; counts what is asked for.

    Attributes:
        files: bytes, and when they were written in nanoseconds.
        asked: the calls, one word and an address each.
    """

    def __init__(self, files: dict[str, bytes]) -> None:
        super().__init__()
        self.files = {path: (data, 0) for path, data in files.items()}
        self.asked: list[tuple[str, str]] = []

    def entries(self, directory: str) -> list[FileEntry]:
        self.asked.append(("list", directory))
        prefix = directory.rstrip("/") + "/"
        names = {path[len(prefix) :].partition("/")[0] for path in self.files if path.startswith(prefix)}
        if not names:
            raise ReadError("there is none", errno=errno.ENOENT, path=directory)
        found = [self._entry(prefix + name) for name in sorted(names)]
        return [entry for entry in found if entry is not None]

    def entry(self, path: str) -> FileEntry | None:
        self.asked.append(("entry", path))
        return self._entry(path.rstrip("/"))

    def open(self, path: str) -> Source:
        self.asked.append(("open", path))
        if path not in self.files:
            raise ReadError("there is none", errno=errno.ENOENT, path=path)
        source = open_source(self.files[path][0])
        source.name = path
        return source

    def read_whole(self, path: str, view: memoryview) -> bool:
        return False  # as of a store

    def _entry(self, path: str) -> FileEntry | None:
        name = path.rpartition("/")[2]
        if path in self.files:
            data, modified = self.files[path]
            return FileEntry(path, name, False, len(data), modified, f"{len(data)}:{modified}")
        if any(other.startswith(path + "/") for other in self.files):
            return FileEntry(path, name, True, 0, 0, "")
        return None
