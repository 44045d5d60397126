"""What stores answer in trouble: asked again, or given up at once; in bounded time; without secrets."""

from __future__ import annotations

import asyncio
import errno
import pickle
import traceback
from collections.abc import Awaitable, Callable
from types import SimpleNamespace

import pytest
from tests import work

from kafka_segments.core.io import store_requests
from kafka_segments.core.io.store_requests import Patience, start, wait_for
from kafka_segments.errors import ReadError, StoreError

GenericError = pytest.importorskip("obstore").exceptions.GenericError

SECRET = "canary-5521"
ASKED = "Generic S3 error: Error performing GET http://h/b/x in 1ms"
BUSY = f"{ASKED} - Server returned non-2xx status code: 503 Service Unavailable: <Code>SlowDown</Code>"
UNREACHED = f"{ASKED} - HTTP error: error sending request"
PASSING = [
    BUSY,
    f"{ASKED} - Server returned non-2xx status code: 500 Internal Server Error: ",
    f"{ASKED} - Server returned non-2xx status code: 429 Too Many Requests: ",
    f"{ASKED} - Server returned non-2xx status code: 400 Bad Request: <Code>RequestTimeout</Code>",
    "Generic S3 error: HTTP error: request or response body error",
    UNREACHED,
]
REFUSED = [
    f"{ASKED} - Server returned non-2xx status code: {status}: <Code>ExpiredToken</Code>"
    for status in ("400 Bad Request", "401 Unauthorized", "403 Forbidden")
]
REDIRECT = f"{ASKED} - Received redirect without LOCATION, this normally indicates an incorrectly configured"

Ask = Callable[[], Awaitable[str]]


def failing(*texts: str) -> tuple[Ask, list[str]]:
    """A request that fails with each of these texts, and again with the last; and the tries."""
    asked: list[str] = []

    async def ask() -> str:
        asked.append(texts[min(len(asked), len(texts) - 1)])
        if asked[-1]:
            raise GenericError(asked[-1])
        return "an answer"

    return ask, asked


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses that are made, by a clock that only they move."""
    made: list[float] = []

    async def sleep(seconds: float) -> None:
        made.append(seconds)

    clock = SimpleNamespace(monotonic=lambda: sum(made))
    monkeypatch.setattr(store_requests, "time", clock)
    monkeypatch.setattr(store_requests.asyncio, "sleep", sleep)  # type: ignore[attr-defined]
    return made


@pytest.mark.parametrize("text", PASSING)
def test_what_passes_is_asked_again_after_a_while(text: str, pauses: list[float]) -> None:
    ask, asked = failing(BUSY, *[text] * 7, "")
    assert Patience(60, []).run("s3a://b/x", ask) == "an answer"
    assert len(asked) == 9
    for pause, expected in zip(pauses, (0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 8, 8), strict=True):
        assert 0.5 * expected <= pause <= 1.5 * expected


def test_what_does_not_pass_ends_in_time(pauses: list[float]) -> None:
    ask, asked = failing(BUSY)
    with pytest.raises(StoreError, match=r"503.*asked \d+ times in 10 s") as caught:
        Patience(10, []).run("s3a://b/x", ask)
    assert 2 < sum(pauses) < 10
    assert len(asked) > 3
    assert (caught.value.path, caught.value.errno) == ("s3a://b/x", errno.EIO)


@pytest.mark.parametrize(("first", "least", "most"), [(UNREACHED, 0, 12), (BUSY, 100, 120), ("", 100, 120)])
def test_who_has_answered_once_is_asked_for_longer(
    first: str, least: float, most: float, pauses: list[float]
) -> None:
    patience, (ask, _asked) = Patience(120, []), failing(first, UNREACHED)
    if not first:
        assert patience.run("s3a://b/x", ask) == "an answer"
    with pytest.raises(StoreError) as caught:
        patience.run("s3a://b/x", ask)
    assert least <= sum(pauses) <= most
    assert caught.value.errno == errno.EIO
    assert ("it has not answered yet" in str(caught.value)) == (first == UNREACHED)


@pytest.mark.parametrize("text", REFUSED)
def test_a_refusal_ends_it_at_once_and_says_what_to_do(text: str) -> None:
    ask, asked = failing(text)
    with pytest.raises(StoreError, match=r"Renew the token or look at .*fs\.s3a\.session\.token") as caught:
        Patience(10, []).run("s3a://b/x", ask)
    assert len(asked) == 1
    assert (caught.value.path, caught.value.errno) == ("s3a://b/x", errno.EACCES)


def test_other_errors_end_it_at_once() -> None:
    ask, asked = failing(REDIRECT)
    with pytest.raises(StoreError, match=r"the store failed: .* redirect"):
        Patience(10, []).run("s3a://b/x", ask)
    assert len(asked) == 1


def test_an_answer_that_does_not_come_is_not_waited_for() -> None:
    given_up = []

    async def never() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            given_up.append(True)
            raise

    with pytest.raises(StoreError, match="did not answer completely within 1 s") as caught:
        start(Patience(1, []).ask("s3a://b/x", never)).result(work.HANGS)
    assert caught.value.errno == errno.ETIMEDOUT
    assert given_up == [True]


def test_an_interrupt_gives_a_request_up() -> None:
    class Interrupted:
        is_cancelled = False

        def result(self) -> None:
            raise KeyboardInterrupt

        def cancel(self) -> None:
            self.is_cancelled = True

    future = Interrupted()
    with pytest.raises(KeyboardInterrupt):
        wait_for(future)  # type: ignore[arg-type]
    assert future.is_cancelled


@pytest.mark.parametrize("text", [BUSY, REFUSED[0], "something else", "x" * 300])
def test_no_secret_is_repeated(text: str) -> None:
    ask, _asked = failing(f"{text} at https://h/?sig={SECRET}&x={SECRET}")
    with pytest.raises(StoreError) as caught:
        Patience(0.2, [SECRET]).run("s3a://b/x", ask)
    told = "".join(traceback.format_exception(caught.value))
    told += repr(caught.value) + repr(pickle.dumps(caught.value))
    assert SECRET not in told
    assert "***" in told
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_what_is_not_there_is_no_failure_of_the_store() -> None:
    async def ask() -> None:
        raise FileNotFoundError("Object at location x not found")

    with pytest.raises(ReadError, match="does not exist") as caught:
        Patience(10, []).run("s3a://b/x", ask)
    assert caught.value.errno == errno.ENOENT
