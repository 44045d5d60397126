"""What `plan` says of segments by their ends: those that cannot be read, and offsets that were changed."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.log import tiers
from tests.made.encoder import Batch, Record
from tests.made.sound_batches import sound_batches

from kafka_segments.cli.main import main
from kafka_segments.core.io.storage import open_source
from kafka_segments.core.segment.contents import is_cleaned

CLEAN = Path(__file__).resolve().parents[1] / "vectors/recorded/kafka-4.3/clean"
FIRST, SECOND = (f"{offset:020}.log" for offset in (0, 125))


@pytest.fixture
def partition(tmp_path: Path) -> Path:
    return Path(shutil.copytree(CLEAN / "multi-0", tmp_path / "multi-0"))


def findings(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, list[dict[str, Any]]]:
    status = main(["plan", "--format", "jsonl", *map(str, arguments)])
    found = map(json.loads, capsys.readouterr().out.splitlines())
    return status, [one for one in found if one["type"] in ("finding", "loss")]


def pipe(path: Path) -> None:
    os.mkfifo(path)


def folder(path: Path) -> None:
    path.mkdir()


def dead_link(path: Path) -> None:
    path.symlink_to(path.with_name("nowhere"))


def endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize("put", [pipe, folder, dead_link, endless])
@pytest.mark.parametrize("asked", ["all", "some", "copies"])
def test_what_is_no_file_in_a_segments_place(
    put: Callable[[Path], None], asked: str, partition: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (partition / FIRST).unlink()
    put(partition / FIRST)
    arguments: list[str | Path] = [partition]
    if asked == "some":
        arguments += ["-o", "pathGlobFilter=*0.log"]
    if asked == "copies":
        copy = partition.parent / "copy" / "multi-0"
        copy.mkdir(parents=True)
        put(copy / FIRST)
        shutil.copy(partition / SECOND, copy)
        arguments = [partition, copy]
    status, found = findings(capsys, *arguments)
    assert status == 1
    assert FIRST in {os.path.basename(one["path"]) for one in found if one["type"] == "finding"}


@pytest.mark.parametrize("offset", [1, 3, 124, 65536, 1 << 40])
@pytest.mark.parametrize("name", [FIRST, SECOND])
def test_the_offset_of_a_first_batch_was_changed(
    name: str, offset: int, partition: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = int(name[:20])
    data = (partition / name).read_bytes()
    (partition / name).write_bytes((base + offset).to_bytes(8, "big") + data[8:])
    status, found = findings(capsys, partition)
    assert status == 1
    (one,) = [one for one in found if one["type"] == "finding"]
    assert (one["error"], one["path"]) == ("SegmentOrderError", str(partition / name))
    assert f"the first batch has the offset {base + offset}" in one["detail"]
    (loss,) = [one for one in found if one["type"] == "loss"]
    assert (loss["first_offset"], loss["last_offset"]) == (base, base + min(offset, 5) - 1)
    assert main(["aborted", str(partition)]) == 1


def test_sound_logs_are_sound(capsys: pytest.CaptureFixture[str]) -> None:
    status, found = findings(capsys, CLEAN)
    assert (status, found) == (0, [])


def test_a_first_batch_that_stands_there_twice(partition: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = (partition / FIRST).read_bytes()
    (partition / FIRST).write_bytes(data[: sound_batches(data)[0].end] + data)
    status, found = findings(capsys, partition)
    assert (status, found) == (0, [])


def batch(first: int, count: int = 5) -> bytes:
    records = tuple(Record(delta, delta, None, b"v") for delta in range(count))
    return Batch(first, records, base_timestamp=1_700_000_000_000, leader_epoch=0).encode()


@pytest.mark.parametrize(
    ("offsets", "is_one"),
    [
        ((0, 5, 10), False),
        ((0, 10), True),
        ((0, 10, 15), True),
        ((0, 65536, 10, 15), False),
        ((3, 5, 10), False),
        ((5, 2, 10), False),
        ((0, 65536, 10, 15, 30), True),
    ],
)
def test_a_trace_of_the_cleaner_is_in_order(offsets: tuple[int, ...], is_one: bool) -> None:
    assert is_cleaned(open_source(b"".join(map(batch, offsets)))) == is_one


def test_a_segment_of_a_tier_is_gone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """LocalTieredStorage has no manifests, so that names alone say nothing of where a segment ends."""
    tier = tiers.kafkas(tiers.copy_of(CLEAN / "transactions-0"), tmp_path)
    assert findings(capsys, tmp_path) == (0, [])
    for path in tier.glob(f"{7:020}-*"):
        path.unlink()
    status, (loss,) = findings(capsys, tmp_path)
    assert (status, loss["first_offset"], loss["last_offset"]) == (1, 7, 86)


def test_segments_of_a_tier_that_overlap(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two leaders may have copied the same offsets."""
    copy = tiers.copy_of(CLEAN / "transactions-0")
    tier = tiers.kafkas(copy, tmp_path)
    for path in tier.glob(f"{7:020}-*"):
        other = path.name.replace(tiers.segment_id(2), tiers.segment_id(9))
        assert other != path.name
        shutil.copy(path, path.with_name(other))
    assert findings(capsys, tmp_path) == (0, [])
