"""Cache of lookups in files, valid while a file is unchanged: many ranges of one directory share it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

from kafka_segments.log.model import StoredFile

__all__ = ["FileCache"]

_NUM_KEPT = 20_000

T = TypeVar("T")


class FileCache(Generic[T]):
    """LRU cache by file; thread-safe."""

    def __init__(self) -> None:
        self._found: OrderedDict[tuple[str, str, int, int], T] = OrderedDict()
        self._lock = Lock()

    def of(self, file: StoredFile, find: Callable[[], T]) -> T:
        """Return the value of a file, from `find` if it is not cached; errors are not cached."""
        key = _key(file)
        with self._lock:
            if key in self._found:
                self._found.move_to_end(key)
                return self._found[key]
        found = find()
        self.put(file, found)
        return found

    def get(self, file: StoredFile) -> T | None:
        """Return the value of a file if it is cached, else None."""
        return self._found.get(_key(file))

    def put(self, file: StoredFile, value: T) -> None:
        """Add the value of a file."""
        with self._lock:
            self._found[_key(file)] = value
            if len(self._found) > _NUM_KEPT:
                self._found.popitem(last=False)

    def clear(self) -> None:
        """Empty the cache."""
        with self._lock:
            self._found.clear()


def _key(file: StoredFile) -> tuple[str, str, int, int]:
    return file.path, file.identity, file.size, file.modified_ns
