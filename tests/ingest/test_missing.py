"""`kafka-segments ingest` of directories whose segments are swapped, misnamed, emptied, cut or taken away.

No record that lies sound in a file is cut away by names, and offsets that no file holds are named.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import pytest
from tests.ingest.ingested import Run, parquet_rows
from tests.python import locked
from tests.spark import kafka_rows

CLEAN = kafka_rows.RECORDED / "kafka-4.3/clean"
FIRST, SECOND = f"{0:020}.log", f"{125:020}.log"


def copy_of(tmp_path: Path, name: str) -> Path:
    """A copy of a recorded partition, with the checkpoints of its log directory; returns its directory."""
    logs = tmp_path / "logs"
    shutil.copytree(CLEAN / name, logs / name)
    for file in CLEAN.glob("*-checkpoint"):
        shutil.copy(file, logs)
    return logs / name


def offsets(destination: Path) -> list[int]:
    return [row.offset for row in parquet_rows(destination)]


def boundary_behind(path: Path, offset: int) -> int:
    """Where the batch ends that holds an offset, by the oracle's reading."""
    lines = kafka_rows._lines(kafka_rows.ORACLE / "kafka-4.3/clean" / path.parent.name / f"{path.name}.jsonl")
    batches = (line for line in lines if line["type"] == "batch")
    batch = next(line for line in batches if line["base_offset"] <= offset <= line["last_offset"])
    return int(batch["position"]) + int(batch["size"])


def rewritten(directory: Path, content: bytes) -> None:
    (directory / FIRST).write_bytes(content)


def cut(directory: Path) -> None:
    first = directory / FIRST
    first.write_bytes(first.read_bytes()[: boundary_behind(first, 49)])


def taken_away(directory: Path) -> None:
    for file in directory.glob(f"{7:020}.*"):
        file.unlink()


def swapped(directory: Path, *, with_indexes: bool = True) -> None:
    (directory / FIRST).rename(directory / "first")
    (directory / SECOND).rename(directory / FIRST)
    (directory / "first").rename(directory / SECOND)
    for file in directory.glob("*index"):
        if not with_indexes:
            file.unlink()


def misnamed(directory: Path) -> None:
    (directory / SECOND).rename(directory / f"{100:020}.log")


ALL = [*range(206)]
TRANSACTIONS = [row for row in kafka_rows.rows("kafka-4.3/clean") if row[2:4] == ("transactions", 0)]
CHANGES: dict[str, tuple[str, Callable[[Path], None], int, str, list[int]]] = {
    "emptied": ("multi-0", partial(rewritten, content=b""), 125, "0 to 124 are missing", ALL[125:]),
    "zeros": ("multi-0", partial(rewritten, content=bytes(4096)), 125, "0 to 124 are missing", ALL[125:]),
    "cut between batches": ("multi-0", cut, 75, "50 to 124 are missing", ALL[:50] + ALL[125:]),
    "gone": (
        "transactions-0", taken_away, 80, "7 to 86 are missing",
        [row.offset for row in TRANSACTIONS if not 7 <= row.offset < 87],
    ),
    "swapped": ("multi-0", swapped, 0, "are stored here", ALL),
    "swapped without indexes": ("multi-0", partial(swapped, with_indexes=False), 0, "are stored here", ALL),
    "misnamed": ("multi-0", misnamed, 0, "are stored here", ALL),
}  # fmt: skip


@pytest.mark.parametrize("what", CHANGES)
def test_what_is_there_is_written_and_the_rest_is_missing(ingest: Run, tmp_path: Path, what: str) -> None:
    partition, change, lost, said, left = CHANGES[what]
    directory = copy_of(tmp_path, partition)
    change(directory)
    status, table, err = ingest(directory, tmp_path / "out")
    row, total = table[partition.removesuffix("-0"), 0], table["total", -1]
    assert (status, row["damage"]) == (1, "0"), err
    assert row["lost"] == total["lost"] == str(lost)
    assert said in err
    assert offsets(tmp_path / "out") == left


@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
def test_the_last_segment_is_gone_and_the_high_watermark_tells(
    ingest: Run, tmp_path: Path, isolation: str
) -> None:
    directory = copy_of(tmp_path, "multi-0")
    for file in directory.glob(f"{125:020}.*"):
        file.unlink()
    status, table, err = ingest(directory, tmp_path / "out", "--isolation", isolation)
    # The log ends before them, so they are in no range: a run says so each time until the log goes on.
    assert (status, table["multi", 0]["end offset"], table["multi", 0]["lost"]) == (1, "125", "0")
    assert "multi-0: offsets 125 to 205 are missing" in err
    assert offsets(tmp_path / "out") == list(range(125))


def test_segments_that_were_not_asked_for_are_not_missing(ingest: Run, tmp_path: Path) -> None:
    directory = copy_of(tmp_path, "transactions-0")
    chosen = [directory / f"{base:020}.log" for base in (0, 87)]
    status, table, err = ingest(*chosen, tmp_path / "out")
    assert (status, table["transactions", 0]["lost"]) == (0, "0"), err


@pytest.mark.parametrize("is_live", [False, True])
def test_a_torn_last_batch_is_damage_where_no_broker_holds_the_directory(
    ingest: Run, tmp_path: Path, is_live: bool
) -> None:
    directory = copy_of(tmp_path, "multi-0")
    newest = directory / SECOND
    newest.write_bytes(newest.read_bytes()[:-30])
    lock = directory.parent / ".lock"
    lock.touch()
    with locked(lock) if is_live else nullcontext():
        status, table, err = ingest(directory, tmp_path / "out", "-o", "endingOffsets=log-end")
    if is_live:
        assert (status, table["total", -1]["damage"]) == (0, "0")
        assert "the last batch is incomplete" in err
        assert "read again later" in err
    else:
        assert (status, table["multi", 0]["damage"]) == (1, "1")
        assert f"multi-0: {newest}, position" in err
        assert "the batch is cut off" in err
        assert "read again later" not in err


def test_a_batch_above_the_bound_is_damage(ingest: Run, tmp_path: Path) -> None:
    directory = copy_of(tmp_path, "codec-gzip-0")
    status, table, err = ingest(directory, tmp_path / "out", "--max-decompressed-bytes", "10b")
    assert (status, table["codec-gzip", 0]["records"]) == (1, "0")
    assert int(table["codec-gzip", 0]["damage"]) > 0
    assert "the batch does not decompress" in err
    assert ingest(directory, tmp_path / "other", "--max-decompressed-bytes", "1m")[0] == 0
    assert ingest(directory, tmp_path / "third", "--max-decompressed-bytes", "much")[0] == 2
