"""`slice`: whole batches that hold offsets or times of a range, byte for byte."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.made.sound_batches import sound_batches
from tests.salvage.made import T0, batches_of, copy_of, hurt, segment

import kafka_segments as ks
from kafka_segments.cli.main import main
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.segment.beside.index_files import read_offset_index, read_time_index
from kafka_segments.errors import OptionError
from kafka_segments.salvage.slicing import Sliced, SliceRange, slice_partition


def sliced(source: Path, destination: Path, **bounds: int) -> Sliced:
    """Slice a partition."""
    return slice_partition(str(source), str(destination), SliceRange(**bounds), places=Places())


def bytes_in(directory: Path) -> bytes:
    """All segments of a directory."""
    return b"".join(path.read_bytes() for path in sorted(directory.glob("*.log")))


def wanted_bytes(source: Path, start: int, end: int) -> bytes:
    """The batches of a partition that have offsets of a range, by another reader."""
    found = b""
    for path in sorted(source.glob("*.log")):
        data = path.read_bytes()
        for one in sound_batches(data):
            if start < end and one.last_offset >= start and one.base_offset < end:
                found += data[one.position : one.end]
    return found


@pytest.mark.parametrize(
    ("start", "end"), [(0, 1), (7, 8), (7, 7), (100, 130), (120, 125), (125, 126), (60, 10_000)]
)
def test_batches_of_offsets_are_copied_as_they_are(tmp_path: Path, start: int, end: int) -> None:
    source = copy_of("clean/multi-0", tmp_path / "source")
    found = sliced(source, tmp_path / "multi-0", start=start, end=end)
    assert bytes_in(tmp_path / "multi-0") == wanted_bytes(source, start, end)
    assert (found.gaps, found.unused) == ([], [])
    for path in (tmp_path / "multi-0").glob("*.index"):
        read_offset_index(path)
        read_time_index(path.with_suffix(".timeindex"))


def timed(folder: Path) -> Path:
    """Batches of three records at the hours 0, 1, 2...; the last record of each is an hour late."""
    directory = folder / "t-0"
    folder.mkdir()
    with ks.open_partition_writer(directory) as writer:
        for hour in range(6):
            times = [hour, hour, hour - 1]
            rows = [{"timestamp": T0 + 3_600_000 * one, "value": b"v"} for one in times]
            writer.write(rows)
    return directory


@pytest.mark.parametrize(
    ("since", "until", "batches"),
    [(2, 3, [2, 3]), (0, 1, [0, 1]), (5, 9, [5]), (-1, 0, [0]), (3, 5, [3, 4, 5]), (9, 10, []), (2, 2, [])],
)
def test_batches_of_times_are_those_with_such_records(
    tmp_path: Path, since: int, until: int, batches: list[int]
) -> None:
    source = timed(tmp_path / "source")
    bounds = {"since": T0 + 3_600_000 * since, "until": T0 + 3_600_000 * until}
    found = sliced(source, tmp_path / "t-0", **bounds)
    assert [one.base_offset // 3 for one in sound_batches(bytes_in(tmp_path / "t-0"))] == batches
    assert (found.first is None) == (batches == [])


def test_damage_in_the_range_is_said_and_elsewhere_it_is_not(tmp_path: Path) -> None:
    source = copy_of("clean/multi-0", tmp_path / "source")
    batch = hurt(source, 3)
    first, last = batch.base_offset, batch.last_offset
    inside = sliced(source, tmp_path / "inside", start=first, end=last + 9)
    assert [(one.first, one.last) for one in inside.unused] == [(first, last)]
    assert [(one.first, one.last) for one in inside.gaps] == [(first, last)]
    outside = sliced(source, tmp_path / "outside", start=last + 1, end=last + 9)
    assert (outside.unused, outside.gaps) == ([], [])


def test_a_range_is_of_one_partition(tmp_path: Path) -> None:
    for name in ("clean/multi-0", "clean/transactions-0"):
        copy_of(name, tmp_path / "source")
    with pytest.raises(OptionError, match="give the directory of one"):
        sliced(tmp_path / "source", tmp_path / "multi-0", start=0, end=1)


def test_copies_of_one_partition_help_each_other(tmp_path: Path) -> None:
    one, other = (copy_of("clean/multi-0", tmp_path / name) for name in ("one", "other"))
    sound = wanted_bytes(other, 0, 20)
    hurt(one, 1)
    sliced(tmp_path / "*" / "multi-0", tmp_path / "multi-0", start=0, end=20)
    assert bytes_in(tmp_path / "multi-0") == sound
    assert len(batches_of(other)) == 25


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "no range is given"),
        (["--offsets", "5"], "is not A:B"),
        (["--offsets", "7:5"], "ends before it begins"),
        (["--since", "yesterday"], "give ISO 8601"),
    ],
)
def test_what_each_misuse_is_answered(
    tmp_path: Path, options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    source = copy_of("clean/multi-0", tmp_path / "source")
    assert main(["slice", str(source), str(tmp_path / "made"), *options]) == 2
    assert message in capsys.readouterr().err
    assert segment(source).exists() and not (tmp_path / "made").exists()
