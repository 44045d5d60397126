"""Requests to stores: with retries, timeouts, and errors with remedies.

Strategy: the requests of readers run in one event loop of the process, in a thread of its own, where each can
be given up at any time. What is temporary is asked again here, and not by the library alone: only so is it
known how often, and whether a store has ever answered. The library's text is repeated without secrets of the
settings, and its exception is not the cause of ours.
"""

from __future__ import annotations

import asyncio
import atexit
import errno
import os
import random
import re
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, TypeVar

from kafka_segments.core.io.loggers import get_logger
from kafka_segments.core.io.stores import library, said_by
from kafka_segments.errors import KafkaFormatError, ReadError, StoreError

__all__ = [
    "CHANGED",
    "Failure",
    "Patience",
    "RequestCounts",
    "failure_of",
    "requests_so_far",
    "start",
    "wait_for",
]

T = TypeVar("T")

_log = get_logger(__name__)

_STATUS = re.compile(r"status code: (\d+)")
_PASSING = re.compile(r"HTTP error|status code: (?:408|429|5\d\d)|RequestTimeout\b")
_UNREACHED = "error sending request"  # a wrong address, a closed port, no route
_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 8.0
# Seconds for a store that has never answered: more likely a wrong address than a slow store.
_FIRST_ANSWER = 12.0
_NOTICE = 5.0  # seconds before a warning

CHANGED = "it was overwritten while it was read, so the results of this pass are unreliable: read it again"
_REFUSAL = (
    "the store refused: the credentials are wrong, expired or missing, or do not permit this. Renew the "
    "token or look at the store's settings (fs.s3a.access.key, fs.s3a.session.token, ...; docs/stores.md)"
)
_UNREACHABLE = (
    "it has not answered yet: check the address, the bucket's name, the store's settings (fs.s3a.endpoint, "
    "fs.gs.storage.root.url, credentials, ...; docs/stores.md) and the network"
)


@dataclass(frozen=True, slots=True)
class RequestCounts:
    """Requests to stores.

    Attributes:
        requests: sent, repeated ones too; each may take the store's library several.
        retries: how many of them repeated one that had failed.
    """

    requests: int = 0
    retries: int = 0

    def __add__(self, other: RequestCounts) -> RequestCounts:
        return RequestCounts(self.requests + other.requests, self.retries + other.retries)

    def since(self, before: RequestCounts) -> RequestCounts:
        """Return the counts without those of a time before."""
        return RequestCounts(self.requests - before.requests, self.retries - before.retries)


_counts = [RequestCounts()]  # changed in the event loop only


def requests_so_far() -> RequestCounts:
    """Return the counts of this process since it began."""
    return _counts[0]


@dataclass(frozen=True, slots=True)
class Failure:
    """An error of the library, without its traceback and its secrets.

    Attributes:
        detail: for users.
        errno: what it comes to.
        is_passing: whether a retry may succeed.
        is_answer: whether the store was reached.
    """

    detail: str
    errno: int
    is_passing: bool = False
    is_answer: bool = True


def failure_of(error: Exception, secrets: Sequence[str]) -> Failure:
    """Explain an error of the library. Most have no type of their own, but a text with the HTTP status."""
    text, said = str(error).partition("\n\nDebug source")[0], said_by(error, secrets)
    found = _STATUS.search(text)
    status = int(found[1]) if found else 0
    if _PASSING.search(text):
        return Failure(f"the store failed: {said}", errno.EIO, True, _UNREACHED not in text)
    if isinstance(error, FileNotFoundError) or status == 404:
        return Failure("it does not exist: check the address", errno.ENOENT)
    if status in (412, 416):
        return Failure(f"{CHANGED}; it reported: {said}", errno.ESTALE)
    if status in (400, 401, 403):
        return Failure(f"{_REFUSAL}; it reported: {said}", errno.EACCES)
    return Failure(f"the store failed: {said}", errno.EIO)


class Patience:
    """Timeout of requests with their retries, and secrets to hide in errors.

    Before the first answer of the store, data or an error, the timeout is 12 s.

    Args:
        seconds: timeout from the first try on.
        secrets: texts to hide.
    """

    def __init__(self, seconds: float, secrets: Sequence[str]) -> None:
        self.seconds = seconds
        self._secrets = secrets
        self._has_answered = False

    def run(self, path: str, request: Callable[[], Awaitable[T]]) -> T:
        """Run a request in the event loop and wait for it; see `ask`."""
        return wait_for(start(self.ask(path, request)))

    async def ask(
        self,
        path: str,
        request: Callable[[], Awaitable[T]],
        *,
        end: float | None = None,
        absent: type[ReadError | StoreError] = ReadError,
    ) -> T:
        """Send a request, and again after temporary errors.

        Args:
            path: of the file, for errors.
            request: sends it.
            end: deadline by the monotonic clock; `seconds` from now if None.
            absent: error to raise for a missing file.

        Raises:
            StoreError: the request was refused, kept failing, or took too long.
            ReadError: the file does not exist; or the error `absent`.
        """
        started = time.monotonic()
        end = started + self.seconds if end is None else end
        first_end = min(end, started + _FIRST_ANSWER)
        pause, num_tries = _FIRST_PAUSE, 0
        warn = partial(_log.warning, "%s: the store keeps a request waiting", path)
        notice = asyncio.get_running_loop().call_later(_NOTICE, warn)
        try:
            while True:
                num_tries += 1
                _counts[0] += RequestCounts(1, int(num_tries > 1))
                limit = end if self._has_answered else first_end
                failure = await self._tried(request, limit - time.monotonic())
                if not isinstance(failure, Failure):
                    self._has_answered = True
                    return failure[0]
                self._has_answered |= failure.is_answer
                limit = end if self._has_answered else first_end
                wait = pause * random.uniform(0.5, 1.5)
                if not failure.is_passing or time.monotonic() + wait >= limit:
                    raise self._error(path, failure, num_tries, limit - started, absent)
                await asyncio.sleep(wait)
                pause = min(2 * pause, _LONGEST_PAUSE)
        finally:
            notice.cancel()

    async def _tried(self, request: Callable[[], Awaitable[T]], seconds: float) -> tuple[T] | Failure:
        try:
            async with asyncio.timeout(seconds):
                return (await request(),)
        except KafkaFormatError:
            raise
        except TimeoutError:
            return Failure("the store did not answer completely", errno.ETIMEDOUT, True, False)
        except (library().exceptions.BaseError, OSError, ValueError) as error:
            return failure_of(error, self._secrets)

    def _error(
        self,
        path: str,
        failure: Failure,
        num_tries: int,
        seconds: float,
        absent: type[ReadError | StoreError],
    ) -> KafkaFormatError:
        detail = failure.detail
        if failure.errno == errno.ETIMEDOUT:
            detail += f" within {seconds:.0f} s"
        elif failure.is_passing:
            detail += f" (asked {num_tries} times in {seconds:.0f} s)"
        if failure.is_passing and not self._has_answered:
            detail += f"; {_UNREACHABLE}"
        kind = absent if failure.errno == errno.ENOENT else StoreError
        return kind(detail, errno=failure.errno, path=path)


def start(coroutine: Coroutine[Any, Any, T]) -> Future[T]:
    """Run a coroutine in the event loop of the stores.

    Raises:
        StoreError: there can be no thread for it.
    """
    try:
        return asyncio.run_coroutine_threadsafe(coroutine, _loop())
    except (RuntimeError, MemoryError) as error:
        coroutine.close()
        raise StoreError(f"stores cannot be asked: {error}") from None


def wait_for(future: Future[T]) -> T:
    """Wait for the result of `start`; an interrupt gives the request up."""
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


@cache
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="kafka-segments-stores", daemon=True)
    thread.start()
    atexit.register(_end, loop, thread)
    return loop


os.register_at_fork(after_in_child=_loop.cache_clear)


def _end(loop: asyncio.AbstractEventLoop, thread: threading.Thread) -> None:
    """Give up all requests, so that none comes to an end while Python does."""

    def give_up() -> None:
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.call_later(0.01, loop.stop)

    loop.call_soon_threadsafe(give_up)
    thread.join(1.0)
