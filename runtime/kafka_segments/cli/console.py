"""What subcommands share: exit statuses, words for people on standard error, escaping, standard output."""

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
    """Whether people look at a stream as it is written."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # closed
        return False


def is_coloured(stream: TextIO | None) -> bool:
    """Whether colours may be written: to a terminal that has some, unless NO_COLOR says no."""
    return is_terminal(stream) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def say(message: str) -> None:
    """Tell people something, on standard error; what a terminal would obey or cannot show is escaped."""
    if sys.stderr is None:
        return
    encoding = sys.stderr.encoding or "utf-8"
    text = f"kafka-segments: {shown(message)}\n".encode(encoding, "backslashreplace").decode(encoding)
    with contextlib.suppress(OSError, ValueError):  # nobody listens
        sys.stderr.write(text)
        sys.stderr.flush()


@contextlib.contextmanager
def writing() -> Iterator[BinaryIO]:
    """Standard output as bytes.

    Raises:
        BrokenPipeError: the reader has closed the pipe; end quietly.
        OutputError: anything else that goes wrong with it.
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
    """Let Python's own flush at exit find a descriptor that takes everything."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        devnull = os.open(os.devnull, os.O_WRONLY)
        os.dup2(devnull, sys.stdout.fileno())
        os.close(devnull)
