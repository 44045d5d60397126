"""Offset and time indexes that cannot be true are findings; those that brokers left are none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.transactions.test_gaps import copied

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
