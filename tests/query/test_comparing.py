"""Copies that must be the same, and those that need not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.made.build import batch, record
from tests.query.range_logs import one, run, write
from tests.query.splits import RECORDED, split_of, stored

from kafka_segments import encode_records, scan
from kafka_segments.cli.main import main
from kafka_segments.core.io.filesystems import Places
from kafka_segments.errors import ReadError, ReplicaMismatchError
from kafka_segments.query.read.replica_comparison import compare_copies, find_mismatches


def compare(tmp_path: Path, first: bytes, second: bytes, start: int = 0, end: int | None = None) -> int:
    segments = [stored(write(tmp_path / name, 0, data)) for name, data in (("a", first), ("b", second))]
    return compare_copies(split_of(segments[0], start, end, others=(segments[1],)), Places())


def test_the_command_finds_what_reading_does_not_look_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = batch(50, [record(at, b"k", b"?") for at in range(5)], count=5, last_offset_delta=4)
    paths = []
    for name, data in (("one", run(0, 20)), ("two", run(0, 10) + other + run(55, 9))):
        (tmp_path / name).mkdir()
        write(tmp_path / name / "t-0", 0, data)
        paths.append(str(tmp_path / name))
    assert scan(paths).read_all().num_rows == 100
    assert main(["plan", *paths]) == 0
    assert "ReplicaMismatchError" not in capsys.readouterr().out
    assert main(["plan", "--compare-copies", *paths]) == 1
    (line,) = [one for one in capsys.readouterr().out.splitlines() if "ReplicaMismatchError" in one]
    assert "the batch of offset 50" in line and all(path in line for path in paths)
    assert main(["plan", "--compare-copies", *paths, "-o", 'endingOffsets={"t":{"0":50}}']) == 0


def test_a_copy_that_cannot_be_read_is_found_too(tmp_path: Path) -> None:
    own, gone = (stored(write(tmp_path / name, 0, run(0, 20))) for name in "ab")
    Path(gone.file.path).unlink()
    (error,) = find_mismatches([split_of(own, 0, None, others=(gone,))], Places())
    assert isinstance(error, ReadError) and error.path == gone.file.path


def test_equal_copies(tmp_path: Path) -> None:
    assert compare(tmp_path, run(0, 20), run(0, 20)) == 20
    assert compare(tmp_path, run(0, 20), run(0, 12)) == 12
    assert compare(tmp_path, run(0, 20), run(0, 20), 33, 71) == 9


@pytest.mark.parametrize(
    "fields",
    [
        {"producer_id": 4},
        {"base_sequence": 4},
        {"producer_epoch": 4},
        {"attributes": 8},
        {"attributes": 16},
        {"last_offset_delta": 5},
    ],
    ids=str,
)
def test_what_the_cleaner_keeps_must_be_equal(tmp_path: Path, fields: dict) -> None:
    records = [record(at) for at in range(5)]
    other = batch(50, records, **{"count": 5, "last_offset_delta": 4} | fields)
    with pytest.raises(ReplicaMismatchError) as caught:
        compare(tmp_path, run(0, 20), run(0, 10) + other + run(55, 9))
    error = caught.value
    assert error.offset == 50
    assert error.path is not None and error.path.endswith(f"a/{0:020}.log")
    assert error.other_path is not None and error.other_path.endswith(f"b/{0:020}.log")
    assert (error.position, error.other_position) == (len(run(0, 10)), len(run(0, 10)))
    assert error.other_path in str(error) and error.path in str(error)


def test_other_records_under_the_same_header(tmp_path: Path) -> None:
    other = batch(50, [record(at, b"k", b"?") for at in range(5)], count=5, last_offset_delta=4)
    with pytest.raises(ReplicaMismatchError, match="crc"):
        compare(tmp_path, run(0, 20), run(0, 10) + other + run(55, 9))
    assert compare(tmp_path, run(0, 20), run(0, 10) + other + run(55, 9), 0, 50) == 10


def test_another_epoch_is_for_lineage_to_judge(tmp_path: Path) -> None:
    other = one(50, leader_epoch=3, producer_id=9)
    assert compare(tmp_path, run(0, 20), run(0, 10) + other + run(55, 9)) == 19


def test_a_copy_that_was_cleaned_is_the_same(tmp_path: Path) -> None:
    kept = batch(50, [record(0), record(3)], count=2, last_offset_delta=4)
    assert compare(tmp_path, run(0, 20), run(0, 10) + kept + run(60, 8)) == 19


CLEANED = [
    (before, RECORDED / "kafka-4.3" / "clean" / before.parent.name / before.name)
    for before in sorted((RECORDED / "kafka-4.3" / "before-cleaning").glob("*/*.log"))
]
BOTH = [pair for pair in CLEANED if pair[0].stat().st_size and pair[1].exists()]


def test_there_are_some() -> None:
    assert len(BOTH) >= 4


@pytest.mark.parametrize("pair", BOTH, ids=lambda pair: f"{pair[0].parent.name}-{pair[0].stem[-5:]}")
def test_what_a_real_cleaner_left(pair: tuple[Path, Path]) -> None:
    before, after = map(stored, pair)
    split = split_of(before, before.base_offset, None, others=(after,))
    num_same = compare_copies(split, Places())
    assert num_same > 0 or "emptied" in pair[0].parent.name


def old(magic: int, *values: tuple[int, bytes], codec: str = "none") -> bytes:
    """Messages of an old format, one by one or in one wrapper."""
    rows = [{"offset": offset, "value": value} for offset, value in values]
    for row in rows if magic else ():
        row["timestamp"] = 1_700_000_000_000
    return encode_records(rows, magic=magic, compression=codec)


VALUES = [(at, b"%d" % at) for at in range(20)]


@pytest.mark.parametrize("magic", [0, 1])
def test_messages_of_old_formats(tmp_path: Path, magic: int) -> None:
    whole = old(magic, *VALUES)
    assert compare(tmp_path, whole, whole) == 20
    assert compare(tmp_path, whole, whole, 5, 12) == 7
    cleaned = old(magic, *VALUES[:3], *VALUES[10:])
    assert compare(tmp_path, whole, cleaned) == 13
    other = old(magic, *VALUES[:7], (7, b"!"), *VALUES[8:])
    with pytest.raises(
        ReplicaMismatchError, match=r"the message of offset 7 differs from that in .*crc"
    ) as caught:
        compare(tmp_path, whole, other)
    assert caught.value.offset == 7 and caught.value.position == caught.value.other_position
    assert compare(tmp_path, whole, other, 8, 20) == 12


def test_what_cannot_be_compared_of_old_formats(tmp_path: Path) -> None:
    """Another magic is a conversion; wrappers are made anew by cleaners, and by leaders."""
    assert compare(tmp_path, old(0, *VALUES), old(1, *VALUES)) == 0
    other = [(at, b"?") for at, _value in VALUES]
    assert compare(tmp_path, old(1, *VALUES, codec="gzip"), old(1, *other, codec="gzip")) == 0
    assert compare(tmp_path, old(1, *VALUES, codec="gzip"), old(1, *VALUES)) == 0
    mixed = old(1, *VALUES) + run(20, 4)
    assert compare(tmp_path, mixed, mixed) == 24


def test_another_timestamp_is_another_message(tmp_path: Path) -> None:
    rows = [{"offset": 3, "value": b"v", "timestamp": timestamp} for timestamp in (5, 6)]
    first, second = (encode_records([row], magic=1) for row in rows)
    with pytest.raises(ReplicaMismatchError, match="max_timestamp 5 and 6"):
        compare(tmp_path, first, second)


def test_a_copy_is_compared_where_it_counts(tmp_path: Path) -> None:
    data = run(0, 20), run(0, 10) + run(50, 10, producer_id=4)
    own, other = (stored(write(tmp_path / name, 0, one)) for name, one in zip("ab", data, strict=True))
    with pytest.raises(ReplicaMismatchError):
        compare_copies(split_of(own, 0, None, others=(other,)), Places())
    counting = replace(other, end_offset=50)
    assert compare_copies(split_of(own, 0, None, others=(counting,)), Places()) == 10


OLD = [
    (before, before.parents[2] / "clean" / before.parent.name / before.name)
    for before in sorted(RECORDED.glob("kafka-*/before-cleaning/*/*.log"))
]


def test_what_real_cleaners_left_of_old_messages() -> None:
    num_same = 0
    for before, after in OLD:
        if before.stat().st_size and after.exists() and before.read_bytes()[16] < 2:
            own = stored(before)
            split = split_of(own, own.base_offset, None, others=(stored(after),))
            num_same += compare_copies(split, Places())
    assert num_same > 20
