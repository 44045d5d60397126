"""Stores that do not answer at all: a closed port, a server that takes connections and says nothing.

Until a store has answered for the first time, an error comes within 15 s, and a word of it before.
"""

from __future__ import annotations

import logging
import re
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
from tests import work
from tests.python import run_python

from kafka_segments.core.io.filesystems import Places
from kafka_segments.errors import StoreError

# All in one process: the stores are asked once.
pytestmark = pytest.mark.xdist_group("unreachable")

SOON = 15


@contextmanager
def closed_port() -> Iterator[int]:
    with socket.socket() as once:
        once.bind(("127.0.0.1", 0))
        port = once.getsockname()[1]
    yield port


@contextmanager
def silent_port() -> Iterator[int]:
    """Connections are taken, and nothing ever comes."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(64)
        yield listening.getsockname()[1]


def s3(port: int, **more: str) -> dict[str, str]:
    return {"fs.s3a.endpoint": f"http://127.0.0.1:{port}", "fs.s3a.endpoint.region": "us-east-1", **more}


def gs(port: int) -> dict[str, str]:
    return {
        "fs.gs.storage.root.url": f"http://127.0.0.1:{port}",
        "fs.gs.auth.type": "UNAUTHENTICATED",
    }


KEYS = {"fs.s3a.access.key": "a", "fs.s3a.secret.key": "b"}


class Messages(logging.Handler):
    """What is logged while stores are asked."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())


@dataclass(frozen=True)
class Answer:
    """What asking a store came to: the error, and what was logged of the address."""

    address: str
    error: StoreError
    logged: list[str]


def limits_in(text: str) -> list[int]:
    """The seconds after which an error says that the store was given up."""
    return [int(one) for one in re.findall(r"in ([0-9]+) s\b", text)]


@pytest.fixture(scope="module")
def answers() -> dict[str, Answer]:
    """All stores are asked at once, so that the waits overlap."""
    logger, messages = logging.getLogger("kafka_segments"), Messages()

    def ask(address: str, properties: dict[str, str]) -> tuple[str, StoreError]:
        with pytest.raises(StoreError) as caught:
            Places(properties).entries(address)
        return address, caught.value

    logger.addHandler(messages)
    try:
        with closed_port() as closed, silent_port() as silent, ThreadPoolExecutor(6) as pool:
            asked = {
                f"{scheme} {name}": pool.submit(
                    ask, f"{scheme}://{name}/logs", s3(port, **KEYS) if scheme == "s3a" else gs(port)
                )
                for scheme in ("s3a", "gs")
                for name, port in (("closed", closed), ("silent", silent))
            }
            azure = {"fs.azure.account.key.account.dfs.invalid": "YWJj"}
            asked["abfs"] = pool.submit(ask, "abfs://c@account.dfs.invalid/logs", azure)
            asked["hdfs"] = pool.submit(ask, f"hdfs://127.0.0.1:{closed}/logs", azure)
            found = {name: future.result(work.HANGS) for name, future in asked.items()}
    finally:
        logger.removeHandler(messages)
    return {
        name: Answer(
            address,
            error,
            [text for text in messages.texts if address.removesuffix("/logs") in text],
        )
        for name, (address, error) in found.items()
    }


@pytest.mark.parametrize("scheme", ["s3a", "gs"])
@pytest.mark.parametrize("port", ["closed", "silent"])
def test_an_error_names_the_store_soon(scheme: str, port: str, answers: dict[str, Answer]) -> None:
    answer, address = answers[f"{scheme} {port}"], f"{scheme}://{port}/logs"
    (limit,) = limits_in(str(answer.error))
    assert limit < SOON
    # On a busy machine the time may be over before the store is opened, and its directory asked for.
    assert answer.error.path in (address, address.removesuffix("/logs"))
    assert "it has not answered yet: check the address" in str(answer.error)
    assert answer.logged == [f"kafka-segments: {answer.error.path}: the store keeps a request waiting"]


@pytest.mark.parametrize("store", ["abfs", "hdfs"])
def test_other_stores_are_named_soon_too(store: str, answers: dict[str, Answer]) -> None:
    answer = answers[store]
    assert all(limit < SOON for limit in limits_in(str(answer.error)))
    assert str(answer.error).startswith(answer.address.removesuffix("/logs"))


def test_missing_credentials_are_no_long_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    with closed_port() as port, pytest.raises(StoreError, match="credentials") as caught:
        Places(s3(port)).entries("s3a://bucket/logs")
    assert all(limit < SOON for limit in limits_in(str(caught.value)))


def test_plan_of_a_store_that_is_not_there_ends_soon() -> None:
    with closed_port() as port:
        options = [f"{name}={value}" for name, value in s3(port, **KEYS).items()]
        words = ["plan", "s3a://typo/logs", *(word for option in options for word in ("-o", option))]
        done = run_python("-m", "kafka_segments.cli.main", *words, status=None, timeout=work.HANGS)
    assert done.returncode != 0
    assert "s3a://typo" in done.stderr
    (limit,) = limits_in(done.stderr)
    assert limit < SOON
