"""Limit of the bytes that planning may scan, and the choice of how it reads small segments."""

from __future__ import annotations

from kafka_segments.log.model import StoredFile

__all__ = ["Budget"]

NUM_SLOW = 100  # small segments to read one by one: to load the compiled scanner takes as long


class Budget:
    """Bytes of segments that one planning may still scan, and the small segments that it has asked for."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self._left = max_bytes
        self._num_small = 0

    def has_many_small(self, number: int) -> bool:
        """Count small segments; return whether there are enough by now to read many of them at once."""
        self._num_small += number
        return self._num_small > NUM_SLOW

    def spend(self, file: StoredFile, position: int = 0) -> bool:
        """Return whether a file may be scanned from a position on, and subtract its bytes if so."""
        needed = max(0, file.size - position)
        if needed > self._left:
            return False
        self._left -= needed
        return True
