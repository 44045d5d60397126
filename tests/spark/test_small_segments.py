"""Small segments of several partitions in one task, which are read together: each row names its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.made import build
from tests.spark.test_reader import FIRST, batches, columns, read, segment

from kafka_segments.errors import TimestampRangeError


def test_rows_of_small_segments_of_several_partitions_name_their_own(tmp_path: Path) -> None:
    for number in range(3):
        for base_offset in (0, 2):
            segment(tmp_path / f"t-{number}", base_offset, *batches(base_offset, base_offset + 1))
    rows = read(tmp_path, columns("topic", "sourceFile", "offset", "Partition", "damage"))
    assert [(row["Partition"], row["offset"]) for row in rows] == [(p, o) for p in range(3) for o in range(4)]
    assert {row["topic"] for row in rows} == {"t"} and {row["damage"] for row in rows} == {None}
    assert {(row["Partition"], row["offset"] // 2 * 2, row["sourceFile"]) for row in rows} == {
        (p, o, str(tmp_path / f"t-{p}" / f"{o:020}.log")) for p in range(3) for o in (0, 2)
    }


def test_a_timestamp_out_of_range_names_the_partition_that_has_it(tmp_path: Path) -> None:
    late = {"base_timestamp": 1 << 62, "max_timestamp": 1 << 62}
    segment(tmp_path / "t-0", 0, *batches(0, 1))
    segment(tmp_path / "t-1", 0, build.batch(0, [build.record(0)], **late))
    segment(tmp_path / "t-2", 0, *batches(0))
    with pytest.raises(TimestampRangeError, match=r"\(topic t, partition 1\)") as caught:
        read(tmp_path)
    assert caught.value.path == str(tmp_path / "t-1" / FIRST)
