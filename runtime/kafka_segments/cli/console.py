"""Exit statuses, messages on standard error, and standard output of all subcommands."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import BinaryIO, TextIO

from kafka_segments.errors import OutputError
from kafka_segments.errors.escaping import shown

__all__ = [
    "CLEAN",
    "FINDINGS",
    "INTERRUPTED",
    "NOT_OPENED",
    "NOT_WRITTEN",
    "is_coloured",
    "is_terminal",
    "say",
    "silence_stdout",
    "writing",
]

CLEAN = 0
FINDINGS = 1
NOT_OPENED = 2
NOT_WRITTEN = 3
INTERRUPTED = 130


def is_terminal(stream: TextIO | None) -> bool:
    """Return whether a stream is a terminal."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # closed
        return False


def is_coloured(stream: TextIO | None) -> bool:
    """Return whether colours may be written: to a terminal with colours, unless NO_COLOR is set."""
    return is_terminal(stream) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def say(message: str) -> None:
    """Print a message on standard error; unprintable characters are escaped."""
    if sys.stderr is None:
        return
    encoding = sys.stderr.encoding or "utf-8"
    text = f"kafka-segments: {shown(message)}\n".encode(encoding, "backslashreplace").decode(encoding)
    with contextlib.suppress(OSError, ValueError):  # closed by the reader
        sys.stderr.write(text)
        sys.stderr.flush()


@contextlib.contextmanager
def writing() -> Iterator[BinaryIO]:
    """Provide standard output as bytes.

    Raises:
        BrokenPipeError: the reader has closed the pipe; end quietly.
        OutputError: any other failure of a write.
    """
    try:
        if not hasattr(sys.stdout, "buffer"):  # closed by the shell, or replaced by an embedding program
            raise OutputError("there is no standard output to write bytes to")
        yield sys.stdout.buffer
    except BrokenPipeError:
        raise
    except OSError as error:
        if isinstance(error, OutputError):
            raise
        raise OutputError(f"standard output cannot be written: {error.strerror or error}") from error


def silence_stdout() -> None:
    """Redirect standard output to the null device, so that Python's flush at exit cannot fail."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        devnull = os.open(os.devnull, os.O_WRONLY)
        os.dup2(devnull, sys.stdout.fileno())
        os.close(devnull)
