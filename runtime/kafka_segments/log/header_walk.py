"""How far those who plan may walk through segments."""

from __future__ import annotations

from kafka_segments.log.model import StoredFile

__all__ = ["Budget"]


class Budget:
    """How many bytes of segments may still be walked through while planning."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self._left = max_bytes

    def spend(self, file: StoredFile, position: int = 0) -> bool:
        """Whether a file, from a position on, may be walked; it then counts."""
        needed = max(0, file.size - position)
        if needed > self._left:
            return False
        self._left -= needed
        return True
