"""Exit statuses, messages on standard error, and standard output of all subcommands."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from typing import BinaryIO, TextIO, TypeVar

from kafka_segments.errors import DecodeError, OutputError, UnknownFormatError
from kafka_segments.errors.escaping import shown

__all__ = [
    "CLEAN",
    "FINDINGS",
    "INTERRUPTED",
    "NOT_OPENED",
    "NOT_WRITTEN",
    "flush",
    "is_coloured",
    "is_terminal",
    "print_all",
    "printing",
    "say",
    "silence_stdout",
    "status_of",
    "waited",
    "waiting",
    "write",
    "writing",
]

CLEAN = 0
FINDINGS = 1
NOT_OPENED = 2
NOT_WRITTEN = 3
INTERRUPTED = 130

T = TypeVar("T")

_SECONDS_BEFORE = 2.0  # that a terminal shows nothing
_CLEAR_LINE = "\r\x1b[K"


def status_of(error: BaseException) -> int:
    """Return the exit status of a command that an error ends."""
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else NOT_OPENED
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    if isinstance(error, OutputError):
        return NOT_WRITTEN
    is_damage = isinstance(error, DecodeError) and not isinstance(error, UnknownFormatError)
    return FINDINGS if is_damage else NOT_OPENED


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
    for line in _drawn:
        line.clear()
    _write(text)


def _write(text: str) -> None:
    with contextlib.suppress(OSError, ValueError):  # closed by the reader
        sys.stderr.write(text)
        sys.stderr.flush()


@contextlib.contextmanager
def waiting(words: str) -> Iterator[None]:
    """Show on a terminal what is being done, and for how long, if it takes longer than two seconds.

    The line is on standard error, and gone afterwards. Write nothing to standard output meanwhile.
    """
    if not is_terminal(sys.stderr) or os.environ.get("TERM") == "dumb":
        yield
        return
    line = _WaitingLine(words)
    _drawn.append(line)
    try:
        yield
    finally:
        _drawn.remove(line)
        line.end()


def waited(found: Iterator[T], words: str) -> Iterator[T]:
    """Yield what an iterator finds; each time show what is being done, as `waiting`."""
    while True:
        with waiting(words):
            one = next(found, None)
        if one is None:
            return
        yield one


class _WaitingLine:
    """A line that says what is being done, drawn again each second by a thread."""

    def __init__(self, words: str) -> None:
        self._words = shown(words)
        self._is_over = threading.Event()
        self._is_shown = False
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._draw, daemon=True)
        self._thread.start()

    def _draw(self) -> None:
        started, wait = time.monotonic(), _SECONDS_BEFORE
        while not self._is_over.wait(wait):
            wait = 1.0
            with self._lock:
                self._is_shown = True
                _write(f"{_CLEAR_LINE}kafka-segments: {self._words} ({time.monotonic() - started:.0f} s)")

    def clear(self) -> None:
        """Take the line away until it is drawn again."""
        with self._lock:
            if self._is_shown:
                _write(_CLEAR_LINE)
            self._is_shown = False

    def end(self) -> None:
        """Take the line away."""
        self._is_over.set()
        self._thread.join()
        self.clear()


_drawn: list[_WaitingLine] = []


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


def write(data: bytes) -> None:
    """Write to standard output; raises as `writing`."""
    with writing() as stdout:
        stdout.write(data)


def flush() -> None:
    """Flush standard output; raises as `writing`."""
    with writing() as stdout:
        stdout.flush()


@contextlib.contextmanager
def printing() -> Iterator[None]:
    """Flush standard output at the end; end quietly if its reader has closed the pipe.

    Raises:
        OutputError: see `writing`.
    """
    try:
        yield
        flush()
    except BrokenPipeError:
        silence_stdout()


def print_all(pieces: Iterable[bytes]) -> None:
    """Write all pieces to standard output; end quietly if its reader has closed the pipe.

    Raises:
        OutputError: see `writing`.
    """
    with printing():
        for piece in pieces:
            write(piece)


def silence_stdout() -> None:
    """Redirect standard output to the null device, so that Python's flush at exit cannot fail."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        devnull = os.open(os.devnull, os.O_WRONLY)
        os.dup2(devnull, sys.stdout.fileno())
        os.close(devnull)
