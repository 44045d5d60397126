"""Standard output and error of `dump --like-kafka`."""

from __future__ import annotations

import sys

from kafka_segments.cli import console
from kafka_segments.errors.escaping import shown

__all__ = ["ToolOutput"]

_LEN_BUFFER = 1 << 18


class ToolOutput:
    """Writer of lines, which are gathered; a message on standard error follows what was printed before."""

    def __init__(self) -> None:
        self._pending = bytearray()

    def write(self, piece: bytes) -> None:
        """Print bytes."""
        self._pending += piece
        if len(self._pending) >= _LEN_BUFFER:
            self.flush()

    def write_large(self, piece: memoryview) -> None:
        """Print bytes that are many already."""
        with console.writing() as stdout:
            stdout.write(self._pending)
            stdout.write(piece)
        self._pending.clear()

    def line(self, text: str) -> None:
        """Print a line of text; what is no UTF-8 in a name stays as it is."""
        self.write(f"{text}\n".encode("utf-8", "surrogateescape"))

    def message(self, text: str) -> None:
        """Print a line on standard error as the tool does, with unprintable characters escaped."""
        self.flush()
        if sys.stderr is not None:
            sys.stderr.write(f"{shown(text)}\n")

    def flush(self) -> None:
        """Write what was gathered."""
        with console.writing() as stdout:
            stdout.write(self._pending)
            stdout.flush()
        self._pending.clear()
