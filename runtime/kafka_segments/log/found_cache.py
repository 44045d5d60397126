"""What was found in files, for as long as they stay the same: many ranges of one directory ask."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

from kafka_segments.log.model import StoredFile

__all__ = ["Remembered"]

_NUM_KEPT = 20_000

T = TypeVar("T")


class Remembered(Generic[T]):
    """Answers by file; the ones that were asked for longest ago are forgotten. Threads may share it."""

    def __init__(self) -> None:
        self._found: OrderedDict[tuple[str, str, int, int], T] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._found)

    def of(self, file: StoredFile, find: Callable[[], T]) -> T:
        """The answer for a file, which `find` gives if it is not known; an error is not remembered."""
        key = file.path, file.identity, file.size, file.modified_ns
        with self._lock:
            if key in self._found:
                self._found.move_to_end(key)
                return self._found[key]
        found = find()
        with self._lock:
            self._found[key] = found
            if len(self._found) > _NUM_KEPT:
                self._found.popitem(last=False)
        return found

    def clear(self) -> None:
        """Forget all of it."""
        with self._lock:
            self._found.clear()
