"""Tables in a bucket of a real S3 server: fixtures, and the words that lead the commands there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.ingest.ingested import parquet_rows
from tests.io import faults, server
from tests.io.conftest import settings_for

from kafka_segments.core.io import stored_objects, stores

BUCKET = "tables"


@dataclass(frozen=True)
class Bucket:
    """A bucket whose objects are also files, and a proxy before its server."""

    folder: Path
    proxy: faults.Proxy
    port: int
    known: frozenset[str] = frozenset()

    @property
    def settings(self) -> dict[str, str]:
        """For a store that is asked through the proxy."""
        return settings_for(self.proxy.address)

    @property
    def words(self) -> list[str]:
        """Options of the commands, through the proxy."""
        return words_for(self.settings)

    @property
    def plain_words(self) -> list[str]:
        """Options of the commands, without the proxy: for other processes."""
        return words_for(settings_for(f"127.0.0.1:{self.port}"))

    def uploads(self) -> list[str]:
        """Parts of uploads that were neither completed nor aborted, since the test began."""
        return sorted(set(parts_in(self.folder)) - self.known)

    def endings(self) -> set[str]:
        """How uploads were ended: DELETE aborts one, POST completes one."""
        asked = (one for one in self.proxy.asked if "uploadId=" in one.path)
        return {one.method for one in asked} & {"DELETE", "POST"}

    def state_of(self, table: str) -> list[str]:
        """Names in the directory of a table's state that hold something."""
        state = self.folder / table / "_kafka_segments"
        paths = (path.relative_to(state) for path in state.rglob("*") if path.is_file())
        return sorted({path.parts[0] for path in paths})


def parts_in(folder: Path) -> list[str]:
    """Parts of uploads in the server's own directory."""
    return [path.as_posix() for path in (folder / ".sgwtmp").rglob("*") if path.is_file()]


def partition_rows(bucket: Bucket, table: str, kind: str) -> list[tuple[int, int]]:
    """Partition and offset of all rows that readers of a table see."""
    if kind == "parquet":
        return [(row.partition, row.offset) for row in parquet_rows(bucket.folder / table)]
    deltalake = pytest.importorskip("deltalake")
    options = stores.object_store_options("s3", BUCKET, bucket.settings)
    found = deltalake.DeltaTable(f"s3://{BUCKET}/{table}", storage_options=options).to_pyarrow_table()
    return sorted(zip(*(found[name].to_pylist() for name in ("partition", "offset")), strict=True))


def words_for(settings: dict[str, str]) -> list[str]:
    return [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]


@pytest.fixture(scope="session")
def s3_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[server.Store]:
    with server.running(tmp_path_factory.mktemp("s3")) as running:
        (running.folder / BUCKET).mkdir()
        yield running


@pytest.fixture
def bucket(s3_server: server.Store) -> Iterator[Bucket]:
    with faults.running(s3_server.port) as proxy:
        folder = s3_server.folder / BUCKET
        yield Bucket(folder, proxy, s3_server.port, frozenset(parts_in(folder)))


@pytest.fixture
def table(tmp_path: Path) -> str:
    """The name of a table that no other test has."""
    return f"{tmp_path.parent.name}-{tmp_path.name}"


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests that are repeated three times, and uploads in small parts."""
    monkeypatch.setattr(stores, "_NUM_RETRIES", 3)
    monkeypatch.setattr(stores, "_opened", stores._opened.__wrapped__)
    monkeypatch.setattr(stored_objects, "_PART_BYTES", 5 << 20)
