"""Parts of the manifest, kept in one temporary file until all are known."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Iterable, Iterator
from typing import IO, NamedTuple

from kafka_segments.errors import KafkaFormatError, OutputError

__all__ = ["Fragment", "Fragments"]


class Fragment(NamedTuple):
    """Where a part is in the file."""

    start: int
    end: int


class Fragments:
    """Texts in a file without a name, which threads add to one after the other.

    Args:
        directory: where the file is; None is where temporary files are.

    Raises:
        OutputError: it cannot be created.
    """

    def __init__(self, directory: str | None) -> None:
        self._where = directory or tempfile.gettempdir()
        self._lock = threading.Lock()
        try:
            self._file: IO[bytes] = tempfile.TemporaryFile(dir=directory)  # noqa: SIM115  it outlives this
        except OSError as error:
            raise self._error(error) from error

    def add(self, text: Iterable[str]) -> Fragment:
        """Add a text, piece by piece.

        Raises:
            OutputError: the disk is full, or fails.
        """
        with self._lock:
            try:
                start = self._file.seek(0, os.SEEK_END)
                for piece in text:
                    self._file.write(piece.encode())
                self._file.flush()
                return Fragment(start, self._file.tell())
            except OSError as error:
                if isinstance(error, KafkaFormatError):
                    raise
                raise self._error(error) from error

    def read(self, fragment: Fragment) -> Iterator[str]:
        """Yield a text, line by line."""
        self._file.seek(fragment.start)
        left = fragment.end - fragment.start
        while left > 0:
            line = self._file.readline(left)
            left -= len(line)
            yield line.decode()

    def _error(self, error: OSError) -> OutputError:
        detail = f"the manifest cannot be written: {error.strerror or error}"
        return OutputError(detail, path=self._where, errno=error.errno)
