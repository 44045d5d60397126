"""Retries and timeouts of requests to stores, and errors with remedies.

Strategy: `pyarrow` reports stores' errors as `OSError` with a text, which shows whether they are temporary.
Each request runs in its own thread, with a timeout, as the library never gives up a connection that delivers
a byte now and then. The library's text is repeated without secrets of the settings, and its exception is not
the cause of ours.
"""

from __future__ import annotations

import errno
import random
import re
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from kafka_segments.core.io.loggers import get_logger
from kafka_segments.errors import KafkaFormatError, ReadError, StoreError

__all__ = ["CHANGED", "Patience", "RequestCounts", "RetryNotice", "ask_bounded", "requests_so_far"]

T = TypeVar("T")

_log = get_logger(__name__)

_PASSING = re.compile(
    r"SERVICE_UNAVAILABLE|SLOW_DOWN|SlowDown|INTERNAL_FAILURE|THROTTL|TOO_MANY_REQUESTS|NETWORK_CONNECTION"
    r"|REQUEST_TIMEOUT|RequestTimeout\b|HTTP(?: status)? (?:429|5\d\d)|UNAVAILABLE|DEADLINE_EXCEEDED"
    r"|RESOURCE_EXHAUSTED|timed? ?out|ServerBusy|OperationTimedOut|[Cc]onnection (?:reset|closed|refused)"
)
_REFUSED = re.compile(
    r"ACCESS_DENIED|INVALID_ACCESS_KEY_ID|SIGNATURE_DOES_NOT_MATCH|INVALID_CLIENT_TOKEN_ID|INVALID_SIGNATURE"
    r"|UNRECOGNIZED_CLIENT|MISSING_AUTHENTICATION|HTTP(?: status)? 40[13]\b|(?:Expired|Invalid)Token"
    r"|TokenRefreshRequired|No user exists|PERMISSION_DENIED|UNAUTHENTICATED|AuthenticationFailed"
    r"|AuthorizationFailure|AuthorizationPermissionMismatch|NoAuthenticationInformation|Base64 encoded"
    r"|Could not create a OAuth2 access token"
    r"|HTTP status 400\) during (?:Head|Get)Object"
)
# No answer from the network: a wrong address, a closed port, no route.
_UNREACHED = re.compile(
    r"[Cc]ould(?:n't| not) (?:resolve|connect)|[Cc]onnection refused|Timeout was reached|timed? ?out"
    r"|curlCode: (?:5|6|7|28|35)\b"
)
_GONE = re.compile(r"NO_SUCH_(?:KEY|BUCKET)|RESOURCE_NOT_FOUND|HTTP(?: status)? 404|Not ?Found|NOT_FOUND")
_CHANGED = re.compile(r"PRECONDITION_FAILED|INVALID_RANGE|HTTP(?: status)? 41[26]")
_LONGEST = 400
_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 8.0
_FIRST_ANSWER = (
    12.0  # seconds for a store that has never answered: more likely a wrong address than a slow store
)
_SILENCE = 5.0  # seconds before a notice

_REFUSAL = (
    "the store refused: the credentials are wrong, expired or missing, or may not read this. Renew the token "
    "or look at the store's settings (fs.s3a.access.key, fs.s3a.session.token, ...; docs/stores.md)"
)

_UNREACHABLE = (
    "it has not answered yet: check the address, the bucket's name, the store's settings (fs.s3a.endpoint, "
    "fs.gs.storage.root.url, credentials, ...; docs/stores.md) and the network"
)

_NO_HDFS = (
    "hdfs is read through libhdfs, which cannot be loaded here: set JAVA_HOME, HADOOP_HOME and CLASSPATH "
    "(`hadoop classpath --glob`), or copy the files"
)


@dataclass(frozen=True, slots=True)
class RetryNotice:
    """An error of a store's library, without its traceback and its secrets."""

    text: str
    errno: int | None

    @property
    def is_answer(self) -> bool:
        """Whether the error is an answer of the store, which was reached."""
        return not _UNREACHED.search(self.text)

    @property
    def is_passing(self) -> bool:
        """Whether a retry may succeed."""
        return self.errno is None and bool(_PASSING.search(self.text)) and not _REFUSED.search(self.text)

    @property
    def _shown(self) -> str:
        return self.text if len(self.text) <= _LONGEST else f"{self.text[:_LONGEST]}..."

    def explained(self, tail: str) -> tuple[str, int]:
        """Detail and errno of an error for users, with `tail` appended."""
        if self.errno in (errno.ENOENT, errno.ENOTDIR) or _GONE.search(self.text):
            return "it does not exist: check the address", errno.ENOENT
        if _CHANGED.search(self.text):
            return f"{CHANGED}; it reported: {self._shown}", errno.ESTALE
        if _REFUSED.search(self.text):
            return f"{_REFUSAL}; it reported: {self._shown}", errno.EACCES
        if "libjvm" in self.text or "libhdfs" in self.text:
            return f"{_NO_HDFS}; it reported: {self._shown}", errno.EIO
        return f"the store failed: {self._shown}{tail}", self.errno or errno.EIO


@dataclass(frozen=True, slots=True)
class RequestCounts:
    """Numbers of requests to stores.

    Attributes:
        requests: that were sent, repeated ones too; each may take the store's library several.
        retries: how many of them repeated one that had failed.
    """

    requests: int = 0
    retries: int = 0

    def __add__(self, other: RequestCounts) -> RequestCounts:
        return RequestCounts(self.requests + other.requests, self.retries + other.retries)

    def since(self, before: RequestCounts) -> RequestCounts:
        """Return the counts without those of a time before."""
        return RequestCounts(self.requests - before.requests, self.retries - before.retries)


class _Counter:
    """Requests of this process; threads read ahead beside each other."""

    def __init__(self) -> None:
        self.counts = RequestCounts()
        self._lock = threading.Lock()

    def count(self, *, is_retry: bool) -> None:
        with self._lock:
            self.counts += RequestCounts(1, int(is_retry))


_counter = _Counter()


def requests_so_far() -> RequestCounts:
    """Return the counts of this process since it began."""
    return _counter.counts


CHANGED = "it was overwritten while it was read, so the results of this pass are unreliable: read it again"


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

    def run(
        self,
        path: str,
        ask: Callable[[], T],
        *,
        end: float | None = None,
        absent: type[ReadError | StoreError] = ReadError,
    ) -> T:
        """Run a request, and retry after temporary errors.

        Args:
            path: of the file, for errors.
            ask: the request.
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
        notice = Notice(path, started)
        while True:
            num_tries += 1
            _counter.count(is_retry=num_tries > 1)
            limit = end if self._has_answered else first_end
            answer = ask_bounded(ask, limit - time.monotonic(), notice)
            if answer is None:
                raise StoreError(self._too_slow(limit - started), errno=errno.ETIMEDOUT, path=path)
            error = answer.error
            if error is None:
                self._has_answered = True
                result: T = answer.value
                return result
            # Raised outside the handler, without the library's exception as context.
            if isinstance(error, KafkaFormatError) or not isinstance(error, _of_library()):
                raise error
            notified = self._notice_of(error)
            self._has_answered |= notified.is_answer
            limit = end if self._has_answered else first_end
            wait = pause * random.uniform(0.5, 1.5)
            if not notified.is_passing or time.monotonic() + wait >= limit:
                tries = (
                    f" (asked {num_tries} times in {limit - started:.0f} s)" if notified.is_passing else ""
                )
                tries += "" if self._has_answered else f"; {_UNREACHABLE}"
                detail, code = notified.explained(tries)
                kind = absent if code == errno.ENOENT else StoreError
                raise kind(detail, errno=code, path=path)
            notice.give()
            time.sleep(wait)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _too_slow(self, seconds: float) -> str:
        answer = f"the store did not answer completely within {seconds:.0f} s"
        return f"{answer}: is it overloaded?" if self._has_answered else f"{answer}; {_UNREACHABLE}"

    def _notice_of(self, error: BaseException) -> RetryNotice:
        text = " ".join(str(error).split())
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return RetryNotice(text, getattr(error, "errno", None))


def _of_library() -> tuple[type[Exception], ...]:
    import pyarrow as pa

    return OSError, ValueError, pa.ArrowException


@dataclass(slots=True)
class Answer:
    """Result or exception of a function."""

    value: Any = None
    error: BaseException | None = None


class Notice:
    """Warning about a slow request to a store, given once.

    Args:
        path: of the file.
        started: start of the request, by the monotonic clock.
    """

    def __init__(self, path: str, started: float) -> None:
        self._path = path
        self._due: float | None = started + _SILENCE

    def seconds_until(self) -> float | None:
        """Seconds until the warning is due; None if it was given."""
        return None if self._due is None else max(0.0, self._due - time.monotonic())

    def give(self) -> None:
        """Give the warning, if it is due."""
        if self._due is not None and time.monotonic() >= self._due:
            self._due = None
            _log.warning("%s: the store keeps a request waiting", self._path)


def ask_bounded(function: Callable[[], Any], seconds: float, notice: Notice | None = None) -> Answer | None:
    """Run a function in a thread; None at the timeout, with the thread left running."""
    done, answer = threading.Event(), Answer()

    def run() -> None:
        try:
            answer.value = function()
        except BaseException as error:
            answer.error = error
        done.set()

    threading.Thread(target=run, name="kafka-segments-store", daemon=True).start()
    silent = None if notice is None else notice.seconds_until()
    if notice is not None and silent is not None and silent < seconds:
        if done.wait(silent):
            return answer
        notice.give()
        seconds -= silent
    return answer if done.wait(max(seconds, 0.0)) else None
