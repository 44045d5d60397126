"""The table of docs/spark-reference.md: kind of damage or loss x mode x failOnDataLoss; every cell."""

from __future__ import annotations

import errno
import itertools
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import datasource
from tests.made import build
from tests.spark.conftest import NO_FILTERS
from tests.spark.planned import reader_of, rows_of
from tests.spark.test_reader import FIRST, batches, flipped, segment

from kafka_segments.errors import (
    ChecksumMismatchError,
    CorruptBatchError,
    DataLossError,
    DecompressionError,
    KafkaFormatError,
    MissingCodecError,
    ReadError,
    TruncatedError,
    UnknownFormatError,
)

MODES = ("FAILFAST", "PERMISSIVE", "DROPMALFORMED")
CELLS = list(itertools.product(MODES, ("true", "false")))  # with failOnDataLoss
Row = tuple[int | None, str | None]


def read(path: Path, then: Callable[[], Any] | None = None, **options: str) -> list[Row]:
    """Offsets and damage of the rows."""
    reader = reader_of(path=str(path), columns="offset,damage", **options)
    return [(row["offset"], row["damage"]) for row in rows_of(reader, then)]


def offsets(rows: list[Row]) -> list[int | None]:
    assert all(damage is None for _offset, damage in rows)
    return [offset for offset, _damage in rows]


def flip(path: Path) -> Path:
    one, two, three = batches(0, 1, 2)
    return segment(path, 0, one, flipped(two), three)


def cut(path: Path) -> Path:
    segment(path, 0, batches(0)[0], batches(1)[0][:-7])
    return segment(path, 2, *batches(2))


def broken(path: Path) -> Path:
    """A batch with a right checksum whose second record is none."""
    bad = build.batch(1, payload=build.record(0) + b"\x7f", count=2, last_offset_delta=1)
    return segment(path, 0, batches(0)[0], bad, batches(3)[0])


def squeezed(path: Path) -> Path:
    return segment(
        path, 0, batches(0)[0], build.batch(1, payload=b"no gzip", count=1, attributes=1), batches(2)[0]
    )


WORDS = {
    ChecksumMismatchError: "the checksum of the batch is wrong: stored 0x",
    TruncatedError: "the batch is cut off: the file ends after 112 of the entry's 119 bytes",
    CorruptBatchError: "the records of the batch cannot be decoded: record 2 of 2",
    DecompressionError: "the batch does not decompress: gzip",
}
DAMAGES: list[tuple[Callable[[Path], Path], type[KafkaFormatError], list[int], int]] = [
    (flip, ChecksumMismatchError, [0, 2], 1),
    (cut, TruncatedError, [0, 2], 1),
    (broken, CorruptBatchError, [0, 1, 3], 2),
    (squeezed, DecompressionError, [0, 2], 1),
]


@pytest.mark.parametrize(("make", "error", "sound", "lost"), DAMAGES)
@pytest.mark.parametrize(("mode", "loss"), CELLS)
def test_damage(
    make: Callable[[Path], Path],
    error: type[KafkaFormatError],
    sound: list[int],
    lost: int,
    mode: str,
    loss: str,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    path = make(tmp_path / "t-4")
    options = {"mode": mode, "failOnDataLoss": loss}
    if mode == "FAILFAST":
        with pytest.raises(error, match=r"mode=PERMISSIVE or DROPMALFORMED reads what is sound.*partition 4"):
            read(path, **options)
        return
    with caplog.at_level(logging.WARNING):
        rows = read(path, **options)
    assert offsets([row for row in rows if row[1] is None]) == sound
    told = [row for row in rows if row[1] is not None]
    (warned,) = [record.getMessage() for record in caplog.records]
    assert warned.startswith(f"kafka-segments: t-4: {path / FIRST}, position ")
    assert WORDS[error] in warned
    if mode == "PERMISSIVE":
        assert [(row[0], f"kafka-segments: t-4: {row[1]}") for row in told] == [(lost, warned)]
        assert rows.index(told[0]) == rows.index((sound[-1], None)) - 1, "where it happened"
    else:
        assert told == []


def test_no_row_of_damage_without_the_column(tmp_path: Path) -> None:
    path = str(flip(tmp_path / "t-4"))
    assert rows_of(reader_of(path=path, mode="PERMISSIVE", columns="topic,offset")) == [
        {"topic": "t", "offset": 0},
        {"topic": "t", "offset": 2},
    ]


def test_damage_over_a_cut_is_told_once(tmp_path: Path) -> None:
    """A region that two ranges touch: the one in which it begins tells of it."""
    one, *more = batches(0, 1, 2, 3)
    path = segment(tmp_path / "t-4", 0, one, *map(flipped, more), *batches(4, 5))
    rows = read(path, mode="PERMISSIVE", maxRecordsPerPartition="2")
    assert [row[0] for row in rows if row[1] is None] == [0, 4, 5]
    assert [row[0] for row in rows if row[1] is not None] == [1]
    late = read(path, mode="PERMISSIVE", startingOffsets='{"t":{"4":2}}')
    assert [(offset, damage is None) for offset, damage in late] == [(1, False), (4, True), (5, True)], (
        "a range that begins in it tells of it too"
    )


def gone(path: Path) -> dict[str, Any]:
    segment(path, 0, *batches(0, 1))
    segment(path, 2, *batches(2))
    return {"then": (path / FIRST).unlink, "first": 0, "rows": [2]}


def hole(path: Path) -> dict[str, Any]:
    segment(path, 0, *batches(0))
    segment(path, 5, *batches(5))
    return {"first": 1, "rows": [0, 5]}


def before(path: Path) -> dict[str, Any]:
    segment(path, 5, *batches(5))
    return {"startingOffsets": '{"t":{"4":3}}', "first": 3, "rows": [5]}


def behind(path: Path) -> dict[str, Any]:
    segment(path, 0, *batches(0))
    return {"endingOffsets": '{"t":{"4":9}}', "first": 1, "rows": [0]}


@pytest.mark.parametrize("make", [gone, hole, before, behind])
@pytest.mark.parametrize(("mode", "loss"), CELLS)
def test_loss(
    make: Callable[[Path], dict[str, Any]],
    mode: str,
    loss: str,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    path = tmp_path / "t-4"
    case = make(path)
    first, expected, then = case.pop("first"), case.pop("rows"), case.pop("then", None)
    options = {"mode": mode, "failOnDataLoss": loss, **case}
    if loss == "true":
        with pytest.raises(
            DataLossError, match=r"t-4: offsets .*failOnDataLoss=false reads what is there"
        ) as caught:
            read(path, then, **options)
        assert (caught.value.topic, caught.value.partition, caught.value.first_offset) == ("t", 4, first)
        return
    with caplog.at_level(logging.WARNING):
        rows = read(path, then, **options)
    assert offsets([row for row in rows if row[1] is None]) == expected
    assert f"t-4: offsets {first} to " in caplog.text
    told = [row[0] for row in rows if row[1] is not None]
    assert told == ([first] if mode == "PERMISSIVE" else [])


@pytest.mark.parametrize(("mode", "loss"), CELLS)
def test_what_is_not_whole_yet_is_nothing(
    mode: str, loss: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = segment(tmp_path / "t-4", 0, batches(0)[0], batches(1)[0][:-7])
    with caplog.at_level(logging.WARNING):
        assert offsets(read(path, mode=mode, failOnDataLoss=loss)) == [0]
    assert caplog.records == []


@pytest.mark.parametrize(("mode", "loss"), CELLS)
def test_errors_in_all_modes(mode: str, loss: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def decompress(*_arguments: Any, **_options: Any) -> bytes:
        raise MissingCodecError("lz4 is not installed: pip install lz4", codec="lz4")

    from tests.spark.kafka_rows import VECTORS

    redpanda = (VECTORS / "redpanda_batch_header" / "worked_example.bin").read_bytes()
    with pytest.raises(UnknownFormatError, match="Redpanda"):
        read(segment(tmp_path / "r-0", 0, redpanda), mode=mode, failOnDataLoss=loss)
    squeezed = segment(tmp_path / "t-4", 0, build.batch(0, payload=b"xyz", count=1, attributes=3))
    monkeypatch.setattr("kafka_segments.core.segment.records.batch_records.decompress", decompress)
    with pytest.raises(MissingCodecError, match="pip install"):
        read(squeezed, mode=mode, failOnDataLoss=loss)


with_filters = pytest.mark.skipif(not hasattr(datasource, "LessThan"), reason=NO_FILTERS)


def offset_is(**bounds: int) -> list[Any]:
    """Spark's filters of the offset, by the names of their classes."""
    return [getattr(datasource, name)(("offset",), bound) for name, bound in bounds.items()]


@with_filters
@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        ({"LessThan": 900}, [0, 1, 2, 5]),
        ({"GreaterThan": 900}, []),
        ({"EqualTo": 900}, []),
        ({"LessThanOrEqual": 1, "GreaterThan": 0}, [1]),
        ({"EqualTo": 4}, []),
    ],
)
def test_filters_beyond_the_end_lose_nothing(
    bounds: dict[str, int], expected: list[int], tmp_path: Path
) -> None:
    path = segment(tmp_path / "t-4", 0, *batches(0, 1, 2, 5))
    reader = reader_of(path=str(path), columns="offset", pushFilters="once")
    reader.pushFilters(offset_is(**bounds))
    rows, conditions = rows_of(reader), reader._conditions
    assert [row["offset"] for row in rows if all(one.holds(row["offset"]) for one in conditions)] == expected


@with_filters
def test_a_newest_segment_that_vanished_is_lost_with_filters_too(tmp_path: Path) -> None:
    path = segment(tmp_path / "t-4", 0, *batches(0, 1))
    reader = reader_of(path=str(path), pushFilters="once")
    reader.pushFilters(offset_is(LessThan=900))
    (task,) = reader.partitions()
    (path / FIRST).unlink()
    with pytest.raises(DataLossError):
        list(reader.read(task))


@pytest.mark.parametrize(
    "bounds",
    [
        {},
        pytest.param({"LessThan": 2}, marks=with_filters),
        pytest.param({"LessThan": 900}, marks=with_filters),
    ],
)
def test_a_snapshot_ends_where_it_ended(bounds: dict[str, int], tmp_path: Path) -> None:
    from kafka_segments.core.io.filesystems import Places
    from kafka_segments.log.discovery import discover
    from kafka_segments.log.replicas import resolve
    from kafka_segments.query.snapshot import take_snapshot, write_snapshot

    path = segment(tmp_path / "t-4", 0, *batches(0, 1))
    places, pinned = Places(), str(tmp_path / "now.snapshot")
    logs = resolve(places, discover(places, [str(path)]))
    write_snapshot(take_snapshot(logs, places, with_transactions=True), pinned)
    segment(path, 0, *batches(0, 1, 2))
    assert offsets(read(path)) == [0, 1, 2]
    reader = reader_of(snapshot=pinned, columns="offset,damage", pushFilters="once")
    reader.pushFilters(offset_is(**bounds))
    assert [row["offset"] for row in rows_of(reader)] == [0, 1]


@pytest.mark.parametrize(("mode", "loss"), CELLS)
def test_a_partition_that_cannot_be_listed(
    mode: str, loss: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    segment(tmp_path / "t-4", 0, *batches(0, 1))
    (tmp_path / "t-5").mkdir()
    real = os.scandir

    def scandir(path: Any) -> Any:
        if path == str(tmp_path / "t-5"):
            raise OSError(errno.EIO, "Input/output error", path)
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    options = {"mode": mode, "failOnDataLoss": loss}
    if mode == "FAILFAST":
        with pytest.raises(ReadError, match="Input/output error"):
            read(tmp_path, **options)
    else:
        assert offsets(read(tmp_path, **options)) == [0, 1]
