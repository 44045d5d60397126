"""Tables in a store: a real S3 server has what a directory has, whoever writes at the same time."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from tests.forms import IS_FULL, pick
from tests.ingest.ingested import Run, data_files, parquet_rows
from tests.ingest.stored import BUCKET, Bucket, partition_rows
from tests.made.directories import append, run_of
from tests.python import environment
from tests.spark import kafka_rows

from kafka_segments.cli.main import main
from kafka_segments.core.io import stored_objects
from kafka_segments.errors import OutputError
from kafka_segments.ingest.files.parquet import ParquetFile
from kafka_segments.ingest.runs.table_files import table_files

pytest.importorskip("obstore")
pytestmark = pytest.mark.s3

DAMAGED = kafka_rows.RECORDED / "kafka-4.3/clean"


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    for number in range(3):
        append(tmp_path / "logs" / f"t-{number}", *run_of(0, 30))
    return tmp_path / "logs"


def grow(logs: Path, start: int, end: int) -> None:
    for number in range(3):
        append(logs / f"t-{number}", *run_of(start, end))


@pytest.mark.parametrize("kind", ["parquet", "delta"])
def test_runs_audits_and_compact(
    ingest: Run, audit: Run, logs: Path, bucket: Bucket, table: str, tmp_path: Path, kind: str
) -> None:
    out, words = f"s3a://{BUCKET}/{table}", [*bucket.words, "--table", kind]
    for end in (40, 50):
        assert ingest(*words, logs, out)[0] == 0
        grow(logs, end - 10, end)
    assert ingest(*words, logs, out)[1]["total", -1]["records"] == "30"
    assert ingest(*words, logs, f"{out}/")[1]["total", -1]["records"] == "0"
    status, rows, err = audit(*bucket.words, out, logs)
    assert (status, rows["total", -1]["records"], rows["total", -1]["files"]) == (0, "150", "9"), err
    assert main(["compact", "--engine", "local", *bucket.words, out]) == 0
    status, rows, err = audit(*bucket.words, out, logs)
    assert (status, rows["total", -1]["records"], rows["total", -1]["files"]) == (0, "150", "3"), err
    assert ingest(logs, tmp_path / "local")[0] == 0
    assert bucket.state_of(table) == ["runs"]
    if kind == "parquet":
        assert len(data_files(bucket.folder / table)) == 3
        assert parquet_rows(bucket.folder / table) == parquet_rows(tmp_path / "local")
        return
    keys = partition_rows(bucket, table, kind)
    assert keys == [(number, offset) for number in range(3) for offset in range(50)]


def test_a_recorded_set_and_its_quarantine(
    ingest: Run, audit: Run, bucket: Bucket, table: str, tmp_path: Path
) -> None:
    """With a batch whose checksum is wrong: its bytes are kept in the store, too."""
    logs, out = tmp_path / "logs", f"s3a://{BUCKET}/{table}"
    path = append(logs / "t-0", *run_of(0, 30)) / f"{0:020}.log"
    data = bytearray(path.read_bytes())
    data[200] ^= 0xFF
    path.write_bytes(data)
    sources = logs, DAMAGED
    for one in (out, tmp_path / "local"):
        status, rows, err = ingest(*bucket.words, *sources, one)
        assert (status, rows["t", 0]["damage"]) == (1, "1"), err
    assert parquet_rows(bucket.folder / table) == parquet_rows(tmp_path / "local")
    kept = [
        [one.read_bytes() for one in (root / "_kafka_segments/quarantine").iterdir()]
        for root in (bucket.folder / table, tmp_path / "local")
    ]
    assert kept[0] == kept[1] != []
    assert audit(*bucket.words, out)[0] == audit(tmp_path / "local")[0] == 1  # offsets were lost


@pytest.mark.parametrize("kind", pick(("parquet",), ("parquet", "delta")))
@pytest.mark.long
def test_two_runs_at_once_leave_one_result(
    audit: Run, logs: Path, bucket: Bucket, table: str, kind: str, tell: Callable[..., None]
) -> None:
    """Two processes that wait for the same moment, in each round."""
    command = [sys.executable, "-m", "tests.ingest.rounds"]
    out = f"s3a://{BUCKET}/{table}"
    words = ["ingest", "--engine", "local", "--table", kind, *bucket.plain_words, str(logs), out]
    options = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "env": environment()}
    runners = [subprocess.Popen([*command, *words], **options) for _ in range(2)]  # type: ignore[call-overload]
    num_rounds, conflicts = pick(4, 60), 0
    try:
        assert [one.stdout.readline() for one in runners] == ["ready\n"] * 2
        for number in range(num_rounds):
            for one in runners:
                one.stdin.write("go\n")
                one.stdin.flush()
            statuses = sorted(int(one.stdout.readline()) for one in runners)
            assert statuses in ([0, 0], [0, 3])
            conflicts += statuses == [0, 3]
            end = 30 + 3 * number
            expected = [(part, offset) for part in range(3) for offset in range(end)]
            assert partition_rows(bucket, table, kind) == expected
            grow(logs, end, end + 3)
    finally:
        for one in runners:
            one.kill()
            one.communicate()
    tell("Two runs at once", {"rounds": num_rounds, "of them with a conflict": conflicts})
    assert conflicts or not IS_FULL, "no two runs ever met"
    assert bucket.state_of(table) == ["runs"]
    assert audit(*bucket.words, out)[0] == 0


def test_a_file_that_is_given_up_leaves_no_upload(bucket: Bucket, table: str) -> None:
    files = table_files(f"s3a://{BUCKET}/{table}", bucket.settings)
    schema = pa.schema([("value", pa.binary())])
    row = pa.record_batch([pa.array([os.urandom(20 << 20)])], schema=schema)
    path = f"s3a://{BUCKET}/{table}/x.parquet"
    with pytest.raises(ZeroDivisionError), ParquetFile(path, schema, files=files) as file:
        file.write(row)
        file.write(row)
        assert any("uploads" in asked.path for asked in bucket.proxy.asked)
        raise ZeroDivisionError
    assert (files.has(path), bucket.endings()) == (False, {"DELETE"})
    with ParquetFile(path, schema, files=files) as file:
        file.write(row)
        file.write(row)
    found = pa.parquet.ParquetFile(bucket.folder / table / "x.parquet")
    assert (found.read().num_rows, found.metadata.num_row_groups) == (2, 1)
    assert bucket.endings() == {"DELETE", "POST"}
    assert file.size == (bucket.folder / table / "x.parquet").stat().st_size


def test_a_file_that_could_not_be_copied_is_not_written(
    bucket: Bucket, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_objects, "_LARGEST", 10 << 20)
    files = table_files(f"s3a://{BUCKET}/{table}", bucket.settings)
    schema = pa.schema([("value", pa.binary())])
    path = f"s3a://{BUCKET}/{table}/x.parquet"
    with (
        pytest.raises(OutputError, match="would exceed 10 MiB"),
        ParquetFile(path, schema, files=files) as file,
    ):
        file.write(pa.record_batch([pa.array([os.urandom(20 << 20)])], schema=schema))
    assert (files.has(path), bucket.endings()) == (False, set())


def test_a_name_with_signs_that_addresses_encode(
    ingest: Run, audit: Run, logs: Path, bucket: Bucket, table: str
) -> None:
    out = f"s3a://{BUCKET}/{table}/a table of 100%25 \u00fc+x"
    for records in ("90", "0"):
        assert ingest(*bucket.words, logs, out)[1]["total", -1]["records"] == records
    assert audit(*bucket.words, out)[0] == 0
    assert len(parquet_rows(bucket.folder / table / "a table of 100%25 \u00fc+x")) == 90


def test_an_object_that_is_there_is_not_written_over(bucket: Bucket, table: str) -> None:
    files = table_files(f"s3a://{BUCKET}/{table}", bucket.settings)
    path = f"s3a://{BUCKET}/{table}/one.json"
    assert [files.create(path, data) for data in (b"one", b"two", b"one")] == [True, False, True]
    assert files.read(path) == b"one"


def test_a_place_with_other_objects_is_refused(ingest: Run, logs: Path, bucket: Bucket, table: str) -> None:
    (bucket.folder / table).mkdir()
    (bucket.folder / table / "mine.txt").touch()
    for out in (f"s3a://{BUCKET}/{table}", f"s3a://{BUCKET}/{table}/mine.txt"):
        status, _, err = ingest(*bucket.words, logs, out)
        assert (status, "neither an empty directory nor" in err) == (2, True), err


def test_a_refusal_has_no_secret(ingest: Run, logs: Path, bucket: Bucket, table: str) -> None:
    wrong = ["-o", "fs.s3a.secret.key=canary-wrong-secret"]
    status, _, err = ingest(*bucket.words, *wrong, logs, f"s3a://{BUCKET}/{table}")
    assert (status, "the store refused" in err, "canary" in err) == (2, True, False), err
    files = table_files(
        f"s3a://{BUCKET}/{table}", {**bucket.settings, wrong[1].partition("=")[0]: "canary-wrong"}
    )
    assert "canary" not in repr(files)
    with pytest.raises(Exception, match="the store refused") as caught:
        files.names(f"s3a://{BUCKET}/{table}")
    assert "canary" not in str(caught.value)
    assert caught.value.__cause__ is caught.value.__context__ is None
