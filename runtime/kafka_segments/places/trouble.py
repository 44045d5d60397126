"""What stores answer when they do not answer: wait and ask again, or say what is wrong and what to do.

Strategy: `pyarrow` tells stores' errors as `OSError` with a text; which of them pass is read from it. Each
request runs in a thread of its own that is waited for only so long: a connection over which a byte trickles
now and then is never given up by the library. The library's text is repeated without anything that a setting
may have put there in confidence, and its exception is not kept as the cause of ours.
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

from kafka_segments.errors import KafkaFormatError, ReadError, StoreError

__all__ = ["CHANGED", "Patience", "Told", "ask_bounded"]

T = TypeVar("T")

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
    r"|HTTP status 400\) during (?:Head|Get)Object"
)
_GONE = re.compile(r"NO_SUCH_(?:KEY|BUCKET)|RESOURCE_NOT_FOUND|HTTP(?: status)? 404|Not ?Found|NOT_FOUND")
_CHANGED = re.compile(r"PRECONDITION_FAILED|INVALID_RANGE|HTTP(?: status)? 41[26]")
_LONGEST = 400
_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 8.0

_REFUSAL = (
    "the store refused: the credentials are wrong, expired or missing, or may not read this. Renew the token "
    "or look at the store's settings (fs.s3a.access.key, fs.s3a.session.token, ...; docs/stores.md)"
)

_NO_HDFS = (
    "hdfs is read through libhdfs, which is not to be had here: set JAVA_HOME, HADOOP_HOME and CLASSPATH "
    "(`hadoop classpath --glob`), or copy the files"
)


@dataclass(frozen=True, slots=True)
class Told:
    """What a store's library told, without its traceback and its secrets."""

    text: str
    errno: int | None

    @property
    def is_passing(self) -> bool:
        """Whether the same may work in a while."""
        return self.errno is None and bool(_PASSING.search(self.text)) and not _REFUSED.search(self.text)

    def explained(self, tail: str) -> tuple[str, int]:
        """The detail and errno of an error for users; `tail` says what else is to be known."""
        if self.errno in (errno.ENOENT, errno.ENOTDIR) or _GONE.search(self.text):
            return "it does not exist: check the address", errno.ENOENT
        if _CHANGED.search(self.text):
            return f"{CHANGED}; it said: {self.text}", errno.ESTALE
        if _REFUSED.search(self.text):
            return f"{_REFUSAL}; it said: {self.text}", errno.EACCES
        if "libjvm" in self.text or "libhdfs" in self.text:
            return f"{_NO_HDFS}; it said: {self.text}", errno.EIO
        return f"the store failed: {self.text}{tail}", self.errno or errno.EIO


CHANGED = "it was overwritten while it was read, so nothing of this pass can be relied on: read it again"


class Patience:
    """How long one thing may take in all, and what must not be repeated of what a store says.

    Args:
        seconds: from the first try to giving up.
        secrets: texts to be left out.
    """

    def __init__(self, seconds: float, secrets: Sequence[str]) -> None:
        self.seconds = seconds
        self._secrets = secrets

    def run(
        self,
        path: str,
        ask: Callable[[], T],
        *,
        end: float | None = None,
        absent: type[ReadError | StoreError] = ReadError,
    ) -> T:
        """Ask, again if the trouble is of the passing kind.

        Args:
            path: what it is about.
            ask: the request.
            end: when to give up, by the monotonic clock; counted from now if None.
            absent: what to raise if it is not there.

        Raises:
            StoreError: it was refused, went on failing, or took too long.
            ReadError: it is not there; or what `absent` says.
        """
        end = time.monotonic() + self.seconds if end is None else end
        pause, num_tries = _FIRST_PAUSE, 0
        while True:
            num_tries += 1
            answer = ask_bounded(ask, end - time.monotonic())
            if answer is None:
                raise StoreError(self._too_slow, errno=errno.ETIMEDOUT, path=path)
            error = answer.error
            if error is None:
                result: T = answer.value
                return result
            # Not in a handler, so that the library's exception does not hang on ours.
            if isinstance(error, KafkaFormatError) or not isinstance(error, _of_library()):
                raise error
            told = self._told(error)
            wait = pause * random.uniform(0.5, 1.5)
            if not told.is_passing or time.monotonic() + wait >= end:
                tries = f" (asked {num_tries} times in {self.seconds:.0f} s)" if told.is_passing else ""
                detail, code = told.explained(tries)
                kind = absent if code == errno.ENOENT else StoreError
                raise kind(detail, errno=code, path=path)
            time.sleep(wait)
            pause = min(2 * pause, _LONGEST_PAUSE)

    @property
    def _too_slow(self) -> str:
        return f"the store gave no whole answer within {self.seconds:.0f} s: is it reachable, or overloaded?"

    def _told(self, error: BaseException) -> Told:
        text = " ".join(str(error).split())
        for secret in self._secrets:
            text = text.replace(secret, "***")
        if len(text) > _LONGEST:
            text = f"{text[:_LONGEST]}..."
        return Told(text, getattr(error, "errno", None))


def _of_library() -> tuple[type[Exception], ...]:
    import pyarrow as pa

    return OSError, ValueError, pa.ArrowException


@dataclass(slots=True)
class Answer:
    """What a function returned, or raised."""

    value: Any = None
    error: BaseException | None = None


def ask_bounded(function: Callable[[], Any], seconds: float) -> Answer | None:
    """Run it in a thread; None if it takes longer, and the thread is left to itself."""
    done, answer = threading.Event(), Answer()

    def run() -> None:
        try:
            answer.value = function()
        except BaseException as error:
            answer.error = error
        done.set()

    threading.Thread(target=run, name="kafka-segments-store", daemon=True).start()
    return answer if done.wait(max(seconds, 0.0)) else None
