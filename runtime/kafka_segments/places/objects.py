"""One object of a store, read by ranges, as long as it is the same one.

Strategy: stores have no open files. A range that is asked for after the object was overwritten comes from the
new one, and `pyarrow` cannot ask for the old one only. So what the store tells of the object (size, ETag,
time) is asked for again behind each range but the first, and must be what it was: then all ranges so far are
of one object. Where a connection breaks again and again, the ranges that are asked for are half as long each
time, and what has come is kept.
"""

from __future__ import annotations

import errno
import os
import time
from datetime import datetime
from itertools import count
from typing import Any

from kafka_segments.errors import StoreError
from kafka_segments.places.trouble import CHANGED, Patience

__all__ = ["StoredObject", "identity_of"]

_SHORTEST = 256 << 10  # a range that is asked for after many failures
_LEN_MARK = 16
_NS = 10**9

Stamp = tuple[int, int, str]


def identity_of(size: int, modified_ns: int) -> str:
    """From what a listing says too; whole seconds, because a look at one object tells no less."""
    return f"{size}:{modified_ns // _NS}"


class StoredObject:
    """An object that is there.

    Args:
        system: a `pyarrow.fs.FileSystem`.
        key: the object, as `system` names it.
        address: as users name it.
        patience: for each request.

    Raises:
        ReadError: it is not there, is a directory, or the store refused or failed.
    """

    def __init__(self, system: Any, key: str, address: str, patience: Patience) -> None:
        self._system, self._key = system, key
        self._patience = patience
        self.address = address
        self._file, self._stamp = patience.run(address, self._open)
        self._numbers = count()

    @property
    def size(self) -> int:
        """Bytes."""
        return self._stamp[0]

    @property
    def identity(self) -> str:
        """See `Entry`."""
        return identity_of(*self._stamp[:2])

    def fetch(self, position: int, size: int) -> bytes | bytearray:
        """Get a range; threads may get several at the same time.

        Raises:
            StoreError: the store refused or went on failing, or the object is no longer the same.
        """
        end = time.monotonic() + self._patience.seconds
        if next(self._numbers) == 0:
            return self._fetch_first(position, size, end)
        data = self._fetch_all(position, size, end)
        self._check(end)
        return data

    def _fetch_first(self, position: int, size: int, end: float) -> bytearray:
        """The range that is not checked by asking once more what the object is.

        Where a store sends less than it was asked for, the library (26.0 at least) returns memory that nobody
        has written as if it had come. So what it has not written is made known by bytes that no object has.
        """
        data, mark = bytearray(size), os.urandom(min(size, _LEN_MARK))

        def ask() -> None:
            data[size - len(mark) :] = mark
            self._file.seek(position)
            self._file.readinto(data)

        self._patience.run(self.address, ask, end=end, kind=StoreError)
        if len(mark) == _LEN_MARK and data.endswith(mark):
            raise self._shorter(position + size)
        if len(mark) < _LEN_MARK:  # such few bytes may be what they are
            self._check(end)
        return data

    def _fetch_all(self, position: int, size: int, end: float) -> bytes | bytearray:
        step, has_failed = size, False
        parts: list[bytes] = []
        missing = size

        def ask() -> bytes:
            nonlocal step, has_failed
            if has_failed:
                step = max(step // 2, _SHORTEST)
            has_failed = True
            part: bytes = self._file.read_at(min(step, missing), position + size - missing)
            has_failed = False
            return part

        while missing:
            part = self._patience.run(self.address, ask, end=end, kind=StoreError)
            if not part:
                raise self._shorter(position + size)
            parts.append(part)
            missing -= len(part)
        return parts[0] if len(parts) == 1 else bytearray().join(parts)

    def _shorter(self, end: int) -> StoreError:
        detail = f"{CHANGED} (it had {self.size} bytes, and ends before {end} now)"
        return StoreError(detail, errno=errno.ESTALE, path=self.address)

    def _check(self, end: float) -> None:
        opened, stamp = self._patience.run(self.address, self._open, end=end, kind=StoreError)
        opened.close()
        if stamp != self._stamp:
            detail = f"{CHANGED} (it was {_said(self._stamp)}, and is {_said(stamp)} now)"
            raise StoreError(detail, errno=errno.ESTALE, path=self.address)

    def _open(self) -> tuple[Any, Stamp]:
        """One request, where the store's library tells with it what the object is; else two."""
        opened = self._system.open_input_file(self._key)
        size, told = opened.size(), opened.metadata() or {}
        modified = told.get("Last-Modified")
        tag = (told.get("ETag") or b"").decode("utf-8", "replace")
        if modified is None:
            return opened, (size, self._system.get_file_info(self._key).mtime_ns or 0, tag)
        moment = datetime.fromisoformat(modified.decode("ascii"))
        return opened, (size, int(moment.timestamp()) * _NS, tag)

    def close(self) -> None:
        """Give back what is held; requests that are under way end by themselves."""
        self._file.close()


def _said(stamp: Stamp) -> str:
    size, modified_ns, tag = stamp
    moment = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(modified_ns // _NS))
    return f"{size} bytes of {moment} UTC{', ETag ' if tag else ''}{tag}"
