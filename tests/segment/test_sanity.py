"""Offset and time indexes that cannot be true are findings; those that brokers left are none."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.segment.test_gaps import copied

from kafka_segments import open_partition


@pytest.mark.parametrize(
    ("suffix", "spoil"),
    [
        ("index", lambda data: data[:-3]),
        ("index", lambda data: data[8:16] + data[:8] + data[16:]),
        ("index", lambda data: data[:-4] + b"\x7f\xff\xff\xff"),
        ("index", lambda data: data[:-8] + b"\xff" * 4 + data[-4:]),
        ("timeindex", lambda data: data[:-1]),
        ("timeindex", lambda data: data[:12] + data[24:36] + data[12:24] + data[36:]),
        ("timeindex", lambda data: b"\x7f" + data[1:]),
    ],
)
def test_an_index_that_cannot_be_true(tmp_path: Path, suffix: str, spoil: Callable[[bytes], bytes]) -> None:
    log = copied(tmp_path, "multi-0")
    path = log / f"{0:020d}.{suffix}"
    path.write_bytes(spoil(path.read_bytes()))
    with open_partition(log) as partition:
        (finding,) = partition.check_indexes()
        assert finding.path == str(path)


def test_zeros_behind_the_entries_are_room(tmp_path: Path) -> None:
    log = copied(tmp_path, "multi-0")
    for suffix, size in (("index", 8), ("timeindex", 12)):
        with open(log / f"{125:020d}.{suffix}", "ab") as file:
            file.write(bytes(100 * size))
    with open_partition(log) as partition:
        assert partition.check_indexes() == []


def entries_of(log: Path, suffix: str, size: int) -> tuple[Path, list[bytes]]:
    path = log / f"{0:020d}.{suffix}"
    data = path.read_bytes()
    return path, [data[at : at + size] for at in range(0, len(data), size)]


def changed(entry: bytes, at: int, by: int) -> bytes:
    """An entry with a number changed that ends at a byte."""
    number = int.from_bytes(entry[at - 4 : at], "big") + by
    return entry[: at - 4] + number.to_bytes(4, "big") + entry[at:]


@pytest.mark.parametrize(
    ("suffix", "at", "by", "words"),
    [
        ("index", 8, 1, "where no batch begins"),
        ("index", 8, -61, "where no batch begins"),
        ("index", 4, -5, "; it is before that|follows one of"),
        ("timeindex", 8, 1, "the batch there has"),
        ("timeindex", 8, -1, "the batch there has"),
        ("timeindex", 12, 3, "the batch there has|no batch has that offset"),
    ],
)
@pytest.mark.parametrize("which", [0, 1, -1])
def test_an_entry_that_the_log_does_not_bear_out(
    tmp_path: Path, suffix: str, at: int, by: int, words: str, which: int
) -> None:
    log = copied(tmp_path, "multi-0")
    path, entries = entries_of(log, suffix, 8 if suffix == "index" else 12)
    entries[which] = changed(entries[which], at, by)
    path.write_bytes(b"".join(entries))
    with open_partition(log) as partition:
        (finding,) = partition.check_indexes()
        assert finding.path == str(path)
        assert re.search(words, str(finding)), finding


def test_indexes_of_other_segments(tmp_path: Path) -> None:
    """Of the right size and order, and not of this log."""
    log = copied(tmp_path, "multi-0")
    one, other = (log / f"{base:020d}.timeindex" for base in (0, 125))
    data = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(data)
    with open_partition(log) as partition:
        assert [finding.path for finding in partition.check_indexes()] == [str(one), str(other)]


def test_what_brokers_left_is_borne_out() -> None:
    recorded = Path(__file__).resolve().parents[1] / "vectors" / "recorded"
    directories = {path.parent for path in recorded.rglob("*.log")}
    partitions = [one for one in sorted(directories) if not one.name.endswith("-delete")]
    assert len(partitions) > 140
    for directory in partitions:
        with open_partition(directory) as partition:
            assert partition.check_indexes() == [], directory


def test_entries_that_lead_into_damage_are_not_judged(tmp_path: Path) -> None:
    log = copied(tmp_path, "multi-0")
    path = log / f"{0:020d}.log"
    data = path.read_bytes()
    path.write_bytes(data[:300] + bytes(8000) + data[8300:])
    with open_partition(log) as partition:
        assert partition.check_indexes() == []


def test_headers_with_a_wrong_checksum_say_nothing_of_an_index(tmp_path: Path) -> None:
    log = copied(tmp_path, "multi-0")
    path = log / f"{0:020d}.log"
    data = bytearray(path.read_bytes())
    data[6360 + 36] ^= 1  # max_timestamp
    path.write_bytes(data)
    with open_partition(log) as partition:
        assert partition.check_indexes() == []
