"""Where a log ends if a base offset was changed, which no checksum covers: as `segment.evidence` says."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.ingest.ingested import Run, parquet_rows
from tests.made.build import batch, record
from tests.salvage.made import batches_of, copy_of, edit, segment
from tests.salvage.made import partition as made
from tests.spark.kafka_rows import RECORDED

import kafka_segments as ks
from kafka_segments.core.formats.entries import Damage
from kafka_segments.core.io.filesystems import Places
from kafka_segments.log.discovery import discover
from kafka_segments.log.log_end import find_end, find_reached
from kafka_segments.log.model import StoredSegment
from kafka_segments.log.segment_figures import figures_by_ends, figures_by_headers

NEWEST, END = 125, 206
BITS = [*range(41), 62, 63]
CHECKPOINTS = ("recovery-point-offset-checkpoint", "replication-offset-checkpoint")


def log_of(folder: Path, evidence: str = "checkpoints") -> Path:
    """`multi-0`, offsets 0 to 205, with one kind of evidence on its end alone."""
    directory = copy_of("clean/multi-0", folder)
    if evidence == "checkpoints":
        for name in CHECKPOINTS:
            shutil.copyfile(RECORDED / "kafka-4.3" / "clean" / name, folder / name)
    for path in directory.iterdir():
        is_snapshot, is_index = path.suffix == ".snapshot", path.suffix.endswith("index")
        if (is_snapshot and evidence != "snapshots") or (is_index and evidence != "indexes"):
            path.unlink()
    return directory


def move(directory: Path, base: int, number: int, bit: int) -> tuple[int, int]:
    """Flip a bit of a batch's base offset; return the offsets that the batch had."""
    batch = batches_of(directory, base)[number]

    def flip(data: bytes) -> bytes:
        at = batch.position
        value = int.from_bytes(data[at : at + 8], "big") ^ (1 << bit)
        return data[:at] + value.to_bytes(8, "big") + data[at + 8 :]

    edit(segment(directory, base), flip)
    return batch.base_offset, batch.last_offset


def newest(directory: Path) -> StoredSegment:
    (copy,) = discover(Places(), [str(directory)])
    return copy.segments[-1]


def ends(directory: Path) -> set[int | None]:
    """The end of the log by everything that tells one."""
    places, last = Places(), newest(directory)
    (listed,) = ks.list_partitions(directory)
    found = {find_end(places, last).end_offset, find_reached(places, last), listed.end_offset}
    return found | {read(places, last).end_offset for read in (figures_by_ends, figures_by_headers)}


def scanned(directory: Path) -> tuple[list[int], list[Damage]]:
    """The offsets that are delivered, and what is told of others."""
    told: list[Damage] = []
    table = ks.scan(directory, columns=["offset"], on_damage=told.append).read_all()
    return table.column("offset").to_pylist(), told


@pytest.mark.parametrize("bit", BITS)
@pytest.mark.parametrize("evidence", ["checkpoints", "snapshots", "indexes"])
def test_a_last_batch_elsewhere_does_not_move_the_end(bit: int, evidence: str, tmp_path: Path) -> None:
    directory = log_of(tmp_path / "logs", evidence)
    first, _last = move(directory, NEWEST, -1, bit)
    assert ends(directory) == {first}
    delivered, told = scanned(directory)
    assert delivered == list(range(first))
    moved = first ^ 1 << bit
    is_named = any(
        "entries are left out" in str(one.error) and one.first_lost_offset == moved for one in told
    )
    assert is_named == (first < moved < 1 << 63)


def go_on(directory: Path, first: int = END, num_batches: int = 4) -> int:
    """Append batches of five records; return the end of the log."""
    end = first + 5 * num_batches
    more = b"".join(
        batch(offset, [record(at, b"k", b"v") for at in range(5)], count=5, last_offset_delta=4)
        for offset in range(first, end, 5)
    )
    edit(segment(directory, NEWEST), lambda data: data + more)
    return end


HIGHER = [8, 20, 30, 33, 40]
"""Bits with which a last batch comes above all that is appended later."""


@pytest.mark.parametrize("bit", [3, *HIGHER])
def test_ingest_takes_what_comes_later_once(bit: int, tmp_path: Path, ingest: Run) -> None:
    directory, table = log_of(tmp_path / "logs"), tmp_path / "table"
    first, last = move(directory, NEWEST, -1, bit)
    status, found, err = ingest(directory, table)
    assert (status, found["multi", 0]["end offset"]) == (1, str(first))
    assert f"offsets {first} to {last} are missing" in err
    assert [row.offset for row in parquet_rows(table)] == list(range(first))
    end = END
    for _run in range(2):
        end = go_on(directory, end)
        _status, found, _err = ingest(directory, table)
        assert found["multi", 0]["end offset"] == str(end)
    assert [row.offset for row in parquet_rows(table)] == [*range(first), *range(END, end)]


@pytest.mark.parametrize("bit", [3, *HIGHER])
def test_spark_reads_up_to_the_end_and_goes_on_there(bit: int, tmp_path: Path) -> None:
    pytest.importorskip("pyspark.sql.streaming.datasource", reason="streams need Spark 4.2 or newer")
    from tests.spark.streamed import Streamed
    from tests.spark.test_reader import read

    directory, options = log_of(tmp_path / "logs"), {"failOnDataLoss": "false"}
    first, _last = move(directory, NEWEST, -1, bit)
    assert [row["offset"] for row in read(directory, **options)] == list(range(first))
    stream = Streamed(directory, **options)
    assert [row["offset"] for row in stream.rest()] == list(range(first))
    end = go_on(directory)
    assert [row["offset"] for row in stream.rest()] == list(range(END, end))


@pytest.mark.parametrize("bit", BITS)
@pytest.mark.parametrize("number", [0, 1, 5, -2])
def test_a_batch_before_others_does_not_move_the_end(number: int, bit: int, tmp_path: Path) -> None:
    directory = log_of(tmp_path / "logs", "nothing")
    move(directory, NEWEST, number, bit)
    assert ends(directory) == {END}
    assert max(scanned(directory)[0]) == END - 1


def test_without_evidence_a_gap_is_believed(tmp_path: Path) -> None:
    """A follower of a cleaned log has such gaps."""
    directory = log_of(tmp_path / "logs", "nothing")
    move(directory, NEWEST, -1, 20)
    assert ends(directory) == {(203 ^ 1 << 20) + 3}


def test_what_checkpoints_have_above_a_gap_confirms_it(tmp_path: Path) -> None:
    directory = made(tmp_path / "logs", (5, "a"), (5, "b"), (5, "c"))
    for path in directory.iterdir():
        if path.suffix in {".snapshot", ".index", ".timeindex"}:
            path.unlink()
    batch = batches_of(directory)[1]
    edit(segment(directory), lambda data: data[: batch.position] + data[batch.end :])
    noted = tmp_path / "logs" / "replication-offset-checkpoint"
    for offset, end in ((15, 15), (11, 15), (8, 5)):
        noted.write_text(f"0\n1\nt 0 {offset}\n")
        assert ends(directory) == {end}, offset
