"""`scan` gives the rows that the Spark source gives, on all recorded directories at both isolation levels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.spark import kafka_rows
from tests.spark.test_reader import columns, read

import kafka_segments


@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
@pytest.mark.parametrize(
    "folder", sorted(kafka_rows.RECORDED.glob("*/clean")), ids=lambda path: path.parent.name
)
def test_scan_has_the_same_rows(folder: Path, isolation: Any) -> None:
    wanted = columns("topic", "partition", "offset", "timestampMs", "key", "value", "leaderEpoch")
    names = ["topic", "partition", "offset", "timestamp_ms", "key", "value", "leader_epoch"]
    rows = read(folder, wanted, **{"kafka.isolation.level": isolation})
    found = kafka_segments.scan(folder, columns=names, isolation=isolation).read_all()
    assert [tuple(row.values()) for row in rows] == [tuple(row.values()) for row in found.to_pylist()]
    assert rows
