"""The headers of a segment, one after the other, for those who plan; and how far they may go."""

from __future__ import annotations

from kafka_segments.catalog.model import StoredFile
from kafka_segments.heads import Head, iter_heads

__all__ = ["Budget", "Head", "iter_heads"]


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
