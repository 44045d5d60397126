"""Standard output and error of `dump --like-kafka`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import BinaryIO

from kafka_segments.errors.escaping import shown

__all__ = ["ToolOutput"]

_LEN_BUFFER = 1 << 18


class ToolOutput:
    """Writer of lines, which are gathered; a message on standard error follows what was printed before.

    Args:
        writing: provides standard output as bytes, and has an error of ours for one that cannot be written.
        say: prints a message of our own on standard error.
    """

    def __init__(
        self, writing: Callable[[], AbstractContextManager[BinaryIO]], say: Callable[[str], None]
    ) -> None:
        self._writing, self.say = writing, say
        self._pending = bytearray()

    def write(self, text: str, errors: str = "strict") -> None:
        """Print text, a line or a part of one; `errors` is what `str.encode` does with what is no UTF-8."""
        self._pending += text.encode("utf-8", errors)
        if len(self._pending) >= _LEN_BUFFER:
            self.flush()

    def line(self, text: str) -> None:
        """Print a line of text; what is no UTF-8 in a name stays as it is."""
        self.write(f"{text}\n", "surrogateescape")

    def message(self, text: str) -> None:
        """Print a line on standard error as the tool does, with unprintable characters escaped."""
        self.flush()
        if sys.stderr is not None:
            sys.stderr.write(f"{shown(text)}\n")

    def flush(self) -> None:
        """Write what was gathered."""
        with self._writing() as stdout:
            stdout.write(self._pending)
            stdout.flush()
        self._pending.clear()
