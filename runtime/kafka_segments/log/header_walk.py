"""Limit of the bytes that planning may scan."""

from __future__ import annotations

from kafka_segments.log.model import StoredFile

__all__ = ["Budget"]


class Budget:
    """Bytes of segments that planning may still scan."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self._left = max_bytes

    def spend(self, file: StoredFile, position: int = 0) -> bool:
        """Return whether a file may be scanned from a position on, and subtract its bytes if so."""
        needed = max(0, file.size - position)
        if needed > self._left:
            return False
        self._left -= needed
        return True
