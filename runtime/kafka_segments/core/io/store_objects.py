"""An object in a store, read by ranges, with a check that it is unchanged.

Strategy: stores have no open files. A range requested after the object was overwritten comes from the new
one, and `pyarrow` has no conditional requests. So size, ETag and time of the object are requested again after
each range but the first, and must be unchanged: then all ranges are of one object. If connections keep
breaking, each retry requests half the range, and received bytes are kept.
"""

from __future__ import annotations

import errno
import os
import threading
import time
from datetime import datetime
from itertools import count
from typing import Any

from kafka_segments.core.io.retry import CHANGED, Patience
from kafka_segments.errors import StoreError

__all__ = ["StoredObject", "identity_of"]

_SHORTEST = 256 << 10  # bytes of a range after many failures
_MARK_BYTES = 16
_MOST_HANDLES = 4
_NS = 10**9

Stamp = tuple[int, int, str]


def identity_of(size: int, modified_ns: int) -> str:
    """Identity of an object, from fields that listings have too; times are in whole seconds."""
    return f"{size}:{modified_ns // _NS}"


class StoredObject:
    """An existing object.

    Args:
        system: a `pyarrow.fs.FileSystem`.
        key: name of the object in `system`.
        address: for users.
        patience: for each request.

    Raises:
        ReadError: it does not exist, or is a directory.
        StoreError: the store refused or failed.
    """

    def __init__(self, system: Any, key: str, address: str, patience: Patience) -> None:
        self._system, self._key = system, key
        self._patience = patience
        self.address = address
        opened, self._stamp = patience.run(address, self._open)
        self._handles = [opened]  # unused ones
        self._lock = threading.Lock()
        self._numbers = count()
        self._is_closed = False

    @property
    def size(self) -> int:
        """Size in bytes."""
        return self._stamp[0]

    @property
    def identity(self) -> str:
        """Identity of the object, see `FileEntry`."""
        return identity_of(*self._stamp[:2])

    def fetch(self, position: int, view: memoryview) -> None:
        """Fill `view` from a position on; several threads may call it.

        Raises:
            StoreError: the store refused or kept failing, or the object has changed. A late answer may still
                be written to `view`, which must not be reused.
        """
        is_first = next(self._numbers) == 0
        end = time.monotonic() + self._patience.seconds
        step, has_failed, done = len(view), False, 0

        def ask() -> int:
            nonlocal step, has_failed
            if has_failed:
                step = max(step // 2, _SHORTEST)
            has_failed = True
            part = view[done : done + step]
            self._read(position + done, part)
            has_failed = False
            return len(part)

        while done < len(view):
            done += self._patience.run(self.address, ask, end=end, absent=StoreError)
        if not is_first or len(view) < _MARK_BYTES:
            handle = self._patience.run(self.address, self._opened_same, end=end, absent=StoreError)
            self._give_back(handle)

    def _read(self, position: int, view: memoryview) -> None:
        """Read by one request.

        If a store sends fewer bytes than requested, the library (since 26.0 or before) counts unwritten bytes
        as read. So the end of the buffer is marked with random bytes before.
        """
        with self._lock:
            handle = self._handles.pop() if self._handles else None
        if handle is None:
            handle = self._opened_same()
        mark = os.urandom(min(len(view), _MARK_BYTES))
        view[len(view) - len(mark) :] = mark
        try:
            handle.seek(position)
            num_read = handle.readinto(view)
        finally:
            self._give_back(handle)
        if num_read < len(view) or (len(mark) == _MARK_BYTES and view[-_MARK_BYTES:] == mark):
            detail = f"{CHANGED} (it had {self.size} bytes, and now ends before {position + len(view)})"
            raise StoreError(detail, errno=errno.ESTALE, path=self.address)

    def _opened_same(self) -> Any:
        opened, stamp = self._open()
        if stamp != self._stamp:
            detail = f"{CHANGED} (it was {_said(self._stamp)}, and is now {_said(stamp)})"
            raise StoreError(detail, errno=errno.ESTALE, path=self.address)
        return opened

    def _give_back(self, handle: Any) -> None:
        with self._lock:
            if len(self._handles) < _MOST_HANDLES and not self._is_closed:
                self._handles.append(handle)
                return
        handle.close()

    def _open(self) -> tuple[Any, Stamp]:
        """Open the object and get its status, by one request if the library can, else by two."""
        opened = self._system.open_input_file(self._key)
        size, metadata = opened.size(), opened.metadata() or {}
        modified = metadata.get("Last-Modified")
        tag = (metadata.get("ETag") or b"").decode("utf-8", "replace")
        if modified is None:
            return opened, (size, self._system.get_file_info(self._key).mtime_ns or 0, tag)
        moment = datetime.fromisoformat(modified.decode("ascii"))
        return opened, (size, int(moment.timestamp()) * _NS, tag)

    def close(self) -> None:
        """Release resources; running requests end by themselves."""
        with self._lock:
            self._is_closed = True
            handles, self._handles = self._handles, []
        for handle in handles:
            handle.close()


def _said(stamp: Stamp) -> str:
    size, modified_ns, tag = stamp
    moment = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(modified_ns // _NS))
    return f"{size} bytes of {moment} UTC{', ETag ' if tag else ''}{tag}"
