"""Objects of a store that are made, listed, copied and removed; and their errors.

Strategy: the library retries what is temporary, for five minutes. An object of more than one part is uploaded
by a thread that takes bytes from a short queue: the library aborts the upload if that ends with an error.
"""

from __future__ import annotations

import errno
import io
import queue
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from kafka_segments.core.io.store_requests import failure_of
from kafka_segments.core.io.store_settings import secrets_of
from kafka_segments.core.io.stores import library, object_store, split_address
from kafka_segments.errors import KafkaFormatError, OutputError, ReadError, StoreError

__all__ = ["ObjectOutput", "ObjectReader", "StoredObjects"]

T = TypeVar("T")

_PART_BYTES = 8 << 20
_NUM_PARTS_AT_ONCE = 2
_NUM_REQUESTS_AT_ONCE = 16
_NUM_CREATES = 5
_LARGEST = 5 << 30  # CopyObject of S3
_LARGEST_READ = 1 << 30  # as a whole; what has more is cut there
_POLL_SECONDS = 0.2


class StoredObjects:
    """Objects by address; can be pickled.

    Args:
        settings: Hadoop's names without `spark.hadoop.`. They may hold secrets, and are never shown.
    """

    def __init__(self, settings: Mapping[str, str]) -> None:
        self._settings = dict(settings)

    def __repr__(self) -> str:
        return "StoredObjects(...)"

    def create(self, address: str, data: bytes) -> bool:
        """Create an object if there is none (`If-None-Match: *`).

        Returns:
            Whether there is one with these bytes now: made by this request, or by one whose answer was lost.

        Raises:
            OutputError: it is not known whether the object is there, or will be: no answer came.
            StoreError: likewise.
        """
        store, key = self._resolve(address)
        obstore = library()
        taken = obstore.exceptions.AlreadyExistsError, obstore.exceptions.PreconditionError

        def put() -> bool:
            try:
                obstore.put(store, key, data, mode="create", use_multipart=False)
            except taken:
                return False
            return True

        for _ in range(_NUM_CREATES):
            is_put = self.ask(address, OutputError, put)
            if is_put is None:
                raise OutputError("there is no such bucket", path=address, errno=errno.ENOENT)
            if is_put:
                return True
            found = self.read(address)
            if found is not None:
                return found == data
            # It was refused because of another request, which then failed.
        raise OutputError("other requests for the same object block this one", path=address)

    def read(self, address: str) -> bytes | None:
        """Return an object's bytes; None if there is none.

        Raises:
            StoreError: the store refused or failed.
        """
        store, key = self._resolve(address)
        part = {"range": (0, _LARGEST_READ)}
        return self.ask(address, StoreError, lambda: bytes(library().get(store, key, options=part).bytes()))

    def size(self, address: str) -> int | None:
        """Return an object's size in bytes; None if there is none; errors as for `read`."""
        store, key = self._resolve(address)
        return self.ask(address, StoreError, lambda: int(library().head(store, key)["size"]))

    def names(self, address: str) -> list[str]:
        """Return the names of objects and prefixes in a directory; errors as for `read`."""
        store, key = self._resolve(address)
        found = self.ask(address, StoreError, lambda: library().list_with_delimiter(store, key)) or {}
        paths = [*found.get("common_prefixes", ()), *(one["path"] for one in found.get("objects", ()))]
        return sorted(path.rstrip("/").rpartition("/")[2] for path in paths)

    def sizes(self, address: str) -> dict[str, int]:
        """Return the sizes of all objects below a directory by their paths in it; errors as for `read`."""
        store, key = self._resolve(address)
        pages = self.ask(address, StoreError, lambda: list(library().list(store, key))) or []
        return {one["path"].removeprefix(f"{key}/"): one["size"] for page in pages for one in page}

    def copy_all(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
        """Copy objects within their store, some at a time.

        Args:
            pairs: of address and new address.

        Returns:
            Those of which there is no object to copy.

        Raises:
            OutputError: one cannot be copied.
        """
        pool = ThreadPoolExecutor(_NUM_REQUESTS_AT_ONCE)
        try:
            done = list(pool.map(self._copy, pairs))
        finally:
            pool.shutdown(cancel_futures=True)
        return [pair for pair, is_done in zip(pairs, done, strict=True) if not is_done]

    def _copy(self, pair: tuple[str, str]) -> bool:
        store, source = self._resolve(pair[0])
        target = self._resolve(pair[1])[1]
        copied = self.ask(pair[1], OutputError, lambda: (library().copy(store, source, target),))
        return copied is not None

    def delete_all(self, addresses: Sequence[str]) -> None:
        """Remove objects of one bucket, where they are.

        Raises:
            OutputError: one cannot be removed.
        """
        if not addresses:
            return
        store = self._resolve(addresses[0])[0]
        keys = [self._resolve(one)[1] for one in addresses]
        delete = library().delete
        if self.ask(addresses[0], OutputError, lambda: (delete(store, keys),)) is None:
            for address, key in zip(addresses, keys, strict=True):  # a store without bulk requests
                self.ask(address, OutputError, partial(delete, store, key))

    def output(self, address: str) -> ObjectOutput:
        """Begin an object; it is there when the output is finished."""
        store, key = self._resolve(address)
        return ObjectOutput(self, store, key, address)

    def reader(self, address: str) -> ObjectReader:
        """Open an object.

        Raises:
            ReadError: there is none.
            StoreError: the store refused or failed.
        """
        size = self.size(address)
        if size is None:
            raise ReadError("it does not exist", path=address, errno=errno.ENOENT)
        store, key = self._resolve(address)
        return ObjectReader(self, store, key, address, size)

    def _resolve(self, address: str) -> tuple[Any, str]:
        scheme, authority, key = split_address(address)
        return object_store(scheme, authority, self._settings), key

    def ask(self, address: str, kind: type[OutputError | StoreError], function: Callable[[], T]) -> T | None:
        """Ask the library for something; None if there is no such object.

        Args:
            address: of the object, for errors.
            kind: of errors.
            function: asks.

        Raises:
            KafkaFormatError: the error `kind`, without secrets and without the library's exception as cause.
        """
        try:
            return function()
        except KafkaFormatError:
            raise
        except (library().exceptions.BaseError, OSError, ValueError) as error:
            failure = failure_of(error, secrets_of(self._settings))
        # Raised outside the handler, without the library's exception as context.
        if failure.errno == errno.ENOENT:
            return None
        raise kind(failure.detail, path=address, errno=failure.errno)


class ObjectOutput:
    """A new object, open for writing; it is there when `finish` returns, and never if `discard` is called.

    Attributes:
        size: bytes written.
    """

    def __init__(self, objects: StoredObjects, store: Any, key: str, address: str) -> None:
        self.size = 0
        self._objects, self._store, self._key, self._address = objects, store, key, address
        self._part = bytearray()
        self._parts: queue.Queue[bytes | None] = queue.Queue(1)
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None
        self._is_ended = False

    def write(self, data: Any) -> int:
        """Append bytes.

        Raises:
            OutputError: the store refused or failed, or the object grows too large to be copied.
        """
        view = memoryview(data).cast("B")
        self._part += view
        self.size += len(view)
        if self.size > _LARGEST:
            raise OutputError(
                f"it would exceed {_LARGEST >> 20} MiB, the most that stores copy in one request: make "
                "smaller files (compact --target-size)",
                path=self._address,
                errno=errno.EFBIG,
            )
        while len(self._part) >= _PART_BYTES:
            self._send(bytes(self._part[:_PART_BYTES]))
            del self._part[:_PART_BYTES]
        return len(view)

    def finish(self) -> None:
        """Send what is left; errors as for `write`."""
        self._is_ended = True
        if self._thread is None:
            self._put(bytes(self._part), use_multipart=False)
        else:
            self._send(bytes(self._part))
            self._send(None)
            self._thread.join()
        self._raise()

    def discard(self) -> None:
        """Abort the upload, without raising."""
        is_running = self._thread is not None and not self._is_ended
        self._is_ended = True
        if is_running and self._thread is not None:
            self._error = self._error or InterruptedError()
            with suppress(InterruptedError, OutputError):
                self._send(b"")  # wakes the thread, which ends with that error
            self._thread.join()

    def _send(self, data: bytes | None) -> None:
        """Hand bytes over to the thread; None is the end."""
        if self._thread is None:
            options = {
                "use_multipart": True,
                "chunk_size": _PART_BYTES,
                "max_concurrency": _NUM_PARTS_AT_ONCE,
            }
            name = "kafka-segments-upload"
            arguments = (self._handed_over(),)
            self._thread = threading.Thread(
                target=self._put, args=arguments, kwargs=options, name=name, daemon=True
            )
            self._thread.start()
        while self._thread.is_alive():
            with suppress(queue.Full):
                self._parts.put(data, timeout=_POLL_SECONDS)
                return
        self._raise()

    def _handed_over(self) -> Iterator[bytes]:
        while (data := self._parts.get()) is not None:
            if self._error is not None:
                raise self._error
            yield data

    def _put(self, data: Any, **options: Any) -> None:
        put = partial(library().put, self._store, self._key, data, **options)
        try:
            if self._objects.ask(self._address, OutputError, put) is None:
                raise OutputError("there is no such bucket", path=self._address, errno=errno.ENOENT)
        except BaseException as error:
            self._error = self._error or error

    def _raise(self) -> None:
        if self._error is not None:
            raise self._error


class ObjectReader(io.RawIOBase):
    """An object, open for reading by ranges, one request each.

    Raises:
        StoreError: (when it is read) the store refused or failed.
    """

    def __init__(self, objects: StoredObjects, store: Any, key: str, address: str, size: int) -> None:
        super().__init__()
        self._objects, self._store, self._key, self._address = objects, store, key, address
        self._size, self._position = size, 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the position."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Change the position."""
        self._position = (
            offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        )
        return self._position

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer; return the number of bytes, 0 at the end."""
        view = memoryview(buffer).cast("B")
        end = min(self._position + len(view), self._size)
        if end <= self._position:
            return 0
        get = partial(library().get_range, self._store, self._key, start=self._position, end=end)
        data = self._objects.ask(self._address, StoreError, get)
        if data is None:
            raise StoreError("it was removed while it was read", path=self._address, errno=errno.ENOENT)
        view[: len(data)] = memoryview(data).cast("B")
        self._position += len(data)
        return len(data)
