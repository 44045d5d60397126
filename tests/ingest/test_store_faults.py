"""A store on a bad day: refused, slow and lost answers at each kind of request, and none at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.forms import pick
from tests.ingest.ingested import Run, data_files, parquet_rows
from tests.ingest.stored import BUCKET, Bucket
from tests.io import faults
from tests.made.directories import append, data, run_of

pytest.importorskip("obstore")
pytestmark = pytest.mark.s3

NUM_ROWS = 50


def _is(method: str, *parts: str) -> Callable[[faults.Asked], bool]:
    return lambda asked: asked.method == method and all(part in asked.path for part in parts)


def _is_copy(asked: faults.Asked) -> bool:
    return asked.method == "PUT" and "/staging/" not in asked.path and ".parquet" in asked.path


REQUESTS: dict[str, Callable[[faults.Asked], bool]] = {
    "a listing": _is("GET", "list-type"),
    "a small file": _is("PUT", "/staging/", "partition%3D1"),
    "an upload's begin": _is("POST", "?uploads"),
    "a part": _is("PUT", "partNumber"),
    "an upload's end": _is("POST", "?uploadId"),
    "the commit": _is("PUT", "/runs/"),
    "a copy": _is_copy,
    "the removal": _is("POST", "?delete"),
}
TROUBLE: dict[str, list[faults.Fault]] = {
    "refused for a while": [faults.refused(503, "SlowDown")] * 3,
    "lost": [faults.lost()],
    "slow": [faults.waited(1.0)],
}
SHORT = (
    ("a small file", "refused for a while"),
    ("a part", "lost"),
    ("the commit", "lost"),
    ("the commit", "slow"),
    ("a copy", "lost"),
)
FULL = tuple((request, trouble) for request in REQUESTS for trouble in TROUBLE)


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    batches = [data(at, os.urandom(300 << 10)) for at in range(20)]
    append(tmp_path / "logs" / "t-0", *batches, *run_of(20, NUM_ROWS))
    return append(tmp_path / "logs" / "t-1", *run_of(0, NUM_ROWS)).parent


def check(audit: Run, bucket: Bucket, table: str, logs: Path) -> None:
    found = [(row.partition, row.offset) for row in parquet_rows(bucket.folder / table)]
    assert found == [(part, offset) for part in range(2) for offset in range(NUM_ROWS)]
    status, _, err = audit(*bucket.words, f"s3a://{BUCKET}/{table}", logs)
    assert status == 0, err
    assert (bucket.state_of(table), bucket.uploads()) == (["runs"], [])


@pytest.mark.parametrize(("request_", "trouble"), pick(SHORT, FULL))
@pytest.mark.long
def test_what_passes_is_not_noticed(
    ingest: Run,
    audit: Run,
    logs: Path,
    bucket: Bucket,
    table: str,
    impatient: None,
    request_: str,
    trouble: str,
) -> None:
    bucket.proxy.faults += TROUBLE[trouble]
    bucket.proxy.concerns = REQUESTS[request_]
    status, _, err = ingest(*bucket.words, logs, f"s3a://{BUCKET}/{table}")
    assert (status, bucket.proxy.faults) == (0, []), err
    check(audit, bucket, table, logs)


@pytest.mark.parametrize("name", pick(("a part", "a copy"), tuple(REQUESTS)))
@pytest.mark.long
def test_what_stays_ends_the_run_and_the_next_one_goes_on(
    ingest: Run, audit: Run, logs: Path, bucket: Bucket, table: str, impatient: None, name: str
) -> None:
    bucket.proxy.faults += [faults.refused(503, "SlowDown")] * 1000
    bucket.proxy.concerns = REQUESTS[name]
    status, _, err = ingest(*bucket.words, logs, f"s3a://{BUCKET}/{table}")
    assert status in (2, 3), err
    assert "the store failed" in err or "the store did not " in err, err
    assert (name in ("a copy", "the removal")) == ("The run is committed" in err), err
    bucket.proxy.faults.clear()
    assert ingest(*bucket.words, logs, f"s3a://{BUCKET}/{table}")[0] == 0
    append(logs / "t-1", *run_of(NUM_ROWS, NUM_ROWS + 1))
    assert ingest(*bucket.words, logs, f"s3a://{BUCKET}/{table}")[0] == 0
    found = [(row.partition, row.offset) for row in parquet_rows(bucket.folder / table)]
    assert found == [(part, offset) for part in range(2) for offset in range(NUM_ROWS + part)]
    assert audit(*bucket.words, f"s3a://{BUCKET}/{table}", logs)[0] == 0
    assert bucket.state_of(table) == ["runs"]


@pytest.mark.parametrize("is_stored", [False, True])
def test_a_commit_without_an_answer(
    ingest: Run, audit: Run, logs: Path, bucket: Bucket, table: str, impatient: None, is_stored: bool
) -> None:
    """All answers are lost, also to the question whether it was made: what was written is left alone."""
    trouble = faults.lost() if is_stored else faults.refused(503, "SlowDown")
    bucket.proxy.concerns = lambda asked: "/runs/" in asked.path and "list-type" not in asked.path
    bucket.proxy.faults += [trouble] * 1000
    status, _, err = ingest(*bucket.words, logs, f"s3a://{BUCKET}/{table}")
    assert (status, "it is unknown whether this run was committed" in err) == (3, True), err
    assert bucket.state_of(table) == (["runs", "staging"] if is_stored else ["staging"])
    assert data_files(bucket.folder / table) == []
    bucket.proxy.faults.clear()
    status, rows, err = ingest(*bucket.words, logs, f"s3a://{BUCKET}/{table}")
    assert (status, rows["total", -1]["records"]) == (0, "0" if is_stored else "100"), err
    if not is_stored:
        append(logs / "t-1")
        assert ingest(*bucket.words, logs, f"s3a://{BUCKET}/{table}")[0] == 0
    check(audit, bucket, table, logs)
