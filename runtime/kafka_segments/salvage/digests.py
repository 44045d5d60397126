"""SHA-256 of files, computed in a thread beside the copying."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing

from kafka_segments.core.io.storage import Source, open_source
from kafka_segments.errors import ReadError

__all__ = ["Digests"]

_STEP = 4 << 20


class Digests:
    """A thread that reads files and hashes them; a context manager, which ends it."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, "sha256")
        self._is_over = threading.Event()

    def __enter__(self) -> Digests:
        return self

    def __exit__(self, *_error: object) -> None:
        self._is_over.set()
        self._pool.shutdown(cancel_futures=True)

    def of_path(self, path: str) -> Future[str | None]:
        """Hash a local file."""
        return self.of(lambda: open_source(path, only_files=True))

    def of(self, opener: Callable[[], Source]) -> Future[str | None]:
        """Hash a file that a function opens, and that is closed afterwards.

        Returns:
            The digest in hexadecimal digits; None if not every byte can be read.
        """
        return self._pool.submit(self._digest, opener)

    def _digest(self, opener: Callable[[], Source]) -> str | None:
        digest = hashlib.sha256()
        try:
            with closing(opener()) as source:
                for position in range(0, source.size, _STEP):
                    if self._is_over.is_set():
                        return None
                    digest.update(source.read(position, min(_STEP, source.size - position)))
        except ReadError:
            return None
        return digest.hexdigest()
