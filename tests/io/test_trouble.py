"""What stores answer in trouble: asked again, or given up at once; in bounded time; without secrets."""

from __future__ import annotations

import errno
import pickle
import threading
import time
import traceback
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from kafka_segments.core.io import retry
from kafka_segments.core.io.retry import Patience
from kafka_segments.errors import ReadError, StoreError

SECRET = "canary-5521"

PASSING = [
    "AWS Error SERVICE_UNAVAILABLE during GetObject operation: ",
    "AWS Error SLOW_DOWN during GetObject operation: Reduce your request rate.",
    "AWS Error UNKNOWN (HTTP status 503) during HeadObject operation: No response body.",
    "AWS Error NETWORK_CONNECTION during GetObject operation: curlCode: 18, Transferred a partial file",
    "AWS Error NETWORK_CONNECTION during GetObject operation: curlCode: 28, Timeout was reached",
    "google::cloud::Status(UNAVAILABLE: Permanent error, with a last message of ...)",
    "GetProperties failed for 'x': 503 ServerBusy. Ingress is over the account limit.",
]
REFUSED = [
    "AWS Error ACCESS_DENIED during GetObject operation: ",
    "AWS Error UNKNOWN (HTTP status 400) during GetObject operation: Unable to parse: ExpiredToken Message:",
    "AWS Error UNKNOWN (HTTP status 400) during HeadObject operation: No response body.",
    "AWS Error SIGNATURE_DOES_NOT_MATCH during ListObjectsV2 operation: The request signature we calculated",
    "AWS Error INVALID_ACCESS_KEY_ID during ListObjectsV2 operation: The key you provided does not exist",
    "google::cloud::Status(UNAUTHENTICATED: Invalid Credentials)",
    "GetProperties failed for 'x': 403 AuthenticationFailed",
]


def failing(text: str, times: int) -> tuple[Callable[[], str], list[float]]:
    """Something that works after a while, and when it was asked."""
    asked: list[float] = []

    def ask() -> str:
        asked.append(time.monotonic())
        if len(asked) <= times:
            raise OSError(text)
        return "an answer"

    return ask, asked


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "_FIRST_PAUSE", 0.02)


@pytest.mark.parametrize("text", PASSING)
def test_what_passes_is_asked_again_after_a_while(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    clock = SimpleNamespace(sleep=pauses.append, monotonic=time.monotonic)
    monkeypatch.setattr(retry, "time", clock)
    ask, asked = failing(text, 8)
    assert Patience(60, []).run("s3a://b/x", ask) == "an answer"
    assert len(asked) == 9
    for pause, expected in zip(pauses, (0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 8, 8), strict=True):
        assert 0.5 * expected <= pause <= 1.5 * expected


def test_what_does_not_pass_ends_in_time(hasty: None) -> None:
    ask, asked = failing(PASSING[0], 1000)
    started = time.monotonic()
    with pytest.raises(StoreError, match=r"asked \d+ times in 1 s") as caught:
        Patience(1, []).run("s3a://b/x", ask)
    assert time.monotonic() - started < 3
    assert len(asked) > 3
    assert (caught.value.path, caught.value.errno) == ("s3a://b/x", errno.EIO)


@pytest.mark.parametrize("text", REFUSED)
def test_a_refusal_ends_it_at_once_and_says_what_to_do(text: str) -> None:
    ask, asked = failing(text, 1000)
    with pytest.raises(StoreError, match=r"Renew the token or look at .*fs\.s3a\.session\.token") as caught:
        Patience(10, []).run("s3a://b/x", ask, absent=StoreError)
    assert len(asked) == 1
    assert (caught.value.path, caught.value.errno) == ("s3a://b/x", errno.EACCES)


def test_an_answer_that_does_not_come_is_not_waited_for() -> None:
    never = threading.Event()
    started = time.monotonic()
    with pytest.raises(StoreError, match="did not answer completely within 0 s") as caught:
        Patience(0.3, []).run("s3a://b/x", never.wait)
    assert time.monotonic() - started < 2
    assert caught.value.errno == errno.ETIMEDOUT
    never.set()


@pytest.mark.parametrize("text", [PASSING[0], REFUSED[0], "curl: something else", "x" * 300])
def test_no_secret_is_repeated(text: str, hasty: None) -> None:
    ask, _asked = failing(f"{text} at https://h/?sig={SECRET}&x={SECRET}", 1000)
    with pytest.raises(StoreError) as caught:
        Patience(0.2, [SECRET]).run("s3a://b/x", ask)
    told = "".join(traceback.format_exception(caught.value))
    told += repr(caught.value) + repr(pickle.dumps(caught.value))
    assert SECRET not in told
    assert "***" in told
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_hdfs_without_its_library_says_what_it_needs() -> None:
    ask, asked = failing("Unable to load libjvm dlopen(/x/libjvm.so) failed: cannot open shared object", 9)
    with pytest.raises(StoreError, match="JAVA_HOME, HADOOP_HOME and CLASSPATH"):
        Patience(10, []).run("hdfs://h/x", ask)
    assert len(asked) == 1


def test_what_is_not_there_is_no_failure_of_the_store() -> None:
    def ask() -> None:
        raise FileNotFoundError(errno.ENOENT, "Path does not exist 'b/x'")

    with pytest.raises(ReadError, match="does not exist") as caught:
        Patience(10, []).run("s3a://b/x", ask)
    assert caught.value.errno == errno.ENOENT
