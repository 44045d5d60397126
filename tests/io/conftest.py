"""One S3 server for all of these tests, and before it a proxy for each of them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests import work
from tests.io import faults, server

from kafka_segments.core.io.filesystems import Places

RECORDED = Path(__file__).resolve().parents[1] / "vectors" / "recorded"
BUCKET = "recorded"


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[server.Store]:
    """A server that holds all recorded log directories in one bucket, and an empty bucket."""
    with server.running(tmp_path_factory.mktemp("s3")) as running:
        shutil.copytree(RECORDED, running.folder / BUCKET)
        (running.folder / "scratch").mkdir()
        yield running


@pytest.fixture
def proxy(store: server.Store) -> Iterator[faults.Proxy]:
    with faults.running(store.port) as running:
        yield running


def settings_for(address: str, **more: str) -> dict[str, str]:
    """What a Spark job would set for a server of its own; `a__b` in names stands for `a.b`."""
    settings = {
        "fs.s3a.access.key": server.ACCESS_KEY,
        "fs.s3a.secret.key": server.SECRET_KEY,
        "fs.s3a.endpoint": f"http://{address}",
        "fs.s3a.endpoint.region": "us-east-1",
        "fs.s3a.path.style.access": "true",
    }
    return settings | {f"fs.s3a.{name.replace('__', '.')}": value for name, value in more.items()}


@pytest.fixture
def places(proxy: faults.Proxy) -> Places:
    """Everything through the proxy."""
    return Places(settings_for(proxy.address), patience=work.HANGS)
