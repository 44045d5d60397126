"""What the codecs share: output that grows up to a bound, and their own two errors."""

from __future__ import annotations

from kafka_segments.codecs.bounds import DEFAULT_MAX_DECOMPRESSED, EXPANSION
from kafka_segments.errors import DecompressionError

__all__ = ["BoundedOutput", "malformed"]


class BoundedOutput:
    """Collects decompressed chunks, joined once at the end; refuses to pass its bound.

    Args:
        codec: Kafka's name, for the error.
        max_size: bytes that may be collected.
    """

    def __init__(self, codec: str, max_size: int) -> None:
        self._codec = codec
        self._max_size = max_size
        self._chunks: list[bytes] = []
        self.size = 0

    @property
    def room(self) -> int:
        """Bytes that may still come."""
        return self._max_size - self.size

    def reserve(self, size: int) -> None:
        """Refuses a chunk of `size` bytes that would pass the bound, before it is allocated.

        Raises:
            DecompressionError: it would.
        """
        if size > self.room:
            message = (
                f"{self._codec} payload decompresses to more than the bound of {self._max_size} bytes "
                f"(max_decompressed; up to {DEFAULT_MAX_DECOMPRESSED}, {EXPANSION} times the payload's size "
                "is a bound too); raise the bound if the data can be trusted"
            )
            raise DecompressionError(message, codec=self._codec)

    def add(self, chunk: bytes) -> None:
        """Takes a chunk.

        Raises:
            DecompressionError: it passes the bound.
        """
        self.reserve(len(chunk))
        self.size += len(chunk)
        if chunk:
            self._chunks.append(chunk)

    def join(self) -> bytes:
        """All chunks as one; without a copy if there is only one."""
        return b"".join(self._chunks)


def malformed(codec: str, reason: str) -> DecompressionError:
    """The error for a payload that breaks the rules of its container."""
    return DecompressionError(f"{codec} payload does not decompress: {reason}", codec=codec)
