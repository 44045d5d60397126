"""Threads give the same rows and the same damage as one thread, in the same order."""

from __future__ import annotations

import threading
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from tests.damage.edits import apply

import kafka_segments
from kafka_segments import Damage
from kafka_segments.errors import KafkaFormatError, OptionError
from kafka_segments.query import scan_arguments
from kafka_segments.query.query import Limits

TESTS = Path(__file__).parents[1]
RECORDED = TESTS / "vectors" / "recorded"
CLEAN = RECORDED / "kafka-4.3" / "clean"
CASES: list[dict[str, Any]] = [
    case
    for case in tomllib.loads((TESTS / "damage" / "cases.toml").read_text())["case"]
    if "unreadable" not in case
]


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    yield
    assert not [one for one in threading.enumerate() if one.name == "kafka-segments"]


@pytest.fixture
def small_parts() -> Iterator[None]:
    """Segments are cut however small they are."""
    with patch.object(scan_arguments, "_SHARED", Limits(max_partition_bytes=2048)):
        yield


def damaged(case: dict[str, Any], folder: Path) -> Path:
    """A partition with a damaged copy of a segment, and its other files."""
    source = RECORDED / case["source"]
    copy = folder / source.parent.name / source.name
    copy.parent.mkdir(parents=True)
    for other in source.parent.iterdir():
        (copy.parent / other.name).write_bytes(other.read_bytes())
    copy.write_bytes(apply(source.read_bytes(), case.get("edits", [])))
    return copy


def told(damage: Damage) -> tuple[Any, ...]:
    """What a `Damage` says."""
    return (
        damage.path,
        damage.position,
        damage.end_position,
        str(damage.error),
        damage.first_lost_offset,
        damage.last_lost_offset,
    )


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_tables_of_damaged_files(case: dict[str, Any], tmp_path: Path) -> None:
    copy = damaged(case, tmp_path)
    files = [copy, RECORDED / case["source"], copy]
    found, heard = [], []
    for threads in (1, 3):
        damages: list[Damage] = []
        found.append(kafka_segments.read_table(files, on_damage=damages.append, threads=threads))
        heard.append([told(one) for one in damages])
    assert found[0].equals(found[1])
    assert heard[0] == heard[1]
    if not heard[0]:
        return
    with pytest.raises(KafkaFormatError) as expected:
        kafka_segments.read_table(files)
    with pytest.raises(type(expected.value)) as caught:
        kafka_segments.read_table(files, threads=3)
    assert str(caught.value) == str(expected.value)


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_partitions_with_damage(case: dict[str, Any], tmp_path: Path) -> None:
    copy = damaged(case, tmp_path)
    found, heard = [], []
    for threads in (1, 3):
        damages: list[Damage] = []
        with kafka_segments.open_partition(copy.parent) as partition:
            found.append(partition.read_table(on_damage=damages.append, threads=threads))
        heard.append([told(one) for one in damages])
    assert found[0].equals(found[1])
    assert heard[0] == heard[1]


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
@pytest.mark.usefixtures("small_parts")
def test_scans_of_damage(case: dict[str, Any], tmp_path: Path) -> None:
    copy = damaged(case, tmp_path)
    found, lost = [], []
    for asked in ({"threads": 1}, {"threads": 3}, {"threads": 3, "in_order": False}):
        damages: list[Damage] = []
        rows = kafka_segments.scan(copy.parent, on_damage=damages.append, **asked).read_all()  # type: ignore[arg-type]
        found.append(rows if asked.get("in_order", True) else rows.sort_by("offset"))
        lost.append(sorted({(one.first_lost_offset, one.last_lost_offset) for one in damages}, key=str))
    assert found[0].equals(found[1])
    assert found[0].equals(found[2])
    assert lost[0] == lost[1] == lost[2]


def test_small_parts_are_read(small_parts: None) -> None:
    read = []
    real = threading.Thread.start

    def start(thread: threading.Thread) -> None:
        read.append(thread.name)
        real(thread)

    with patch.object(threading.Thread, "start", start):
        rows = kafka_segments.scan(CLEAN, topics="multi", threads=3).read_all()
    assert read == ["kafka-segments"] * 3
    assert rows.equals(kafka_segments.scan(CLEAN, topics="multi").read_all())


@pytest.mark.usefixtures("small_parts")
def test_batches_outlive_their_files_readers_and_threads(tmp_path: Path) -> None:
    for each in (CLEAN / "multi-0").iterdir():
        target = tmp_path / "multi-0" / each.name
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(each.read_bytes())
    expected = kafka_segments.scan(CLEAN, topics="multi").read_all()
    kept = list(kafka_segments.scan(tmp_path, threads=3))
    with kafka_segments.open_partition(tmp_path / "multi-0") as partition:
        kept_of_partition = list(partition.read_batches(threads=2))
    for each in (tmp_path / "multi-0").iterdir():
        each.write_bytes(bytes(each.stat().st_size))
        each.unlink()
    for _ in range(20):  # what was free is used again
        for batch in kafka_segments.scan(CLEAN, threads=3):
            del batch
    assert pa.Table.from_batches(kept).equals(expected)
    table = pa.Table.from_batches(kept_of_partition)
    assert table.equals(expected.select(table.schema.names))


@pytest.mark.usefixtures("small_parts")
def test_a_reader_that_is_dropped_early() -> None:
    for in_order in (True, False):
        reader = kafka_segments.scan(CLEAN, threads=3, in_order=in_order)
        assert reader.read_next_batch().num_rows > 0
        del reader
        assert not [one for one in threading.enumerate() if one.name == "kafka-segments"]


@pytest.mark.usefixtures("small_parts")
def test_functions_are_called_with_damage_by_the_caller(tmp_path: Path) -> None:
    def note(_damage: Damage) -> None:
        assert threading.current_thread() is threading.main_thread()
        called.append(1)
        raise ZeroDivisionError

    called: list[int] = []
    copy = damaged(CASES[0], tmp_path)
    with pytest.raises(ZeroDivisionError):
        kafka_segments.scan(copy.parent, on_damage=note, threads=3).read_all()
    with pytest.raises(ZeroDivisionError):
        kafka_segments.read_table([copy, copy], on_damage=note, threads=2)
    assert len(called) == 2


def test_tables_of_several_files() -> None:
    files = sorted((CLEAN / "transactions-0").glob("*.log"))
    assert len(files) > 2
    expected = pa.concat_tables([kafka_segments.read_table(one) for one in files])
    for threads in (1, 2, 9):
        assert kafka_segments.read_table(files, threads=threads).equals(expected)
    assert kafka_segments.read_table(iter(files), threads=2).equals(expected)
    assert kafka_segments.read_table([one.read_bytes() for one in files], threads=2).equals(expected)
    none = kafka_segments.read_table([], columns=["offset"], threads=2)
    assert (none.num_rows, none.schema.names) == (0, ["offset"])


def test_an_error_of_a_file_comes_after_damage_of_those_before(tmp_path: Path) -> None:
    damages: list[Damage] = []
    files = [damaged(CASES[0], tmp_path), tmp_path / "missing.log"]
    with pytest.raises(KafkaFormatError, match="missing"):
        kafka_segments.read_table(files, on_damage=damages.append, threads=2)
    assert len(damages) == 1


def test_numbers_of_threads_are_checked() -> None:
    for call in (kafka_segments.read_table, kafka_segments.scan):
        with pytest.raises(OptionError, match="threads is 0"):
            call(CLEAN, threads=0)  # type: ignore[operator]
