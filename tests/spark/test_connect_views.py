"""Views, snapshots and SQL through Spark Connect: the server lists the files, and writes the snapshot."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.spark import kafka_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.connect, pytest.mark.long(short=False)]

CLEAN = kafka_rows.RECORDED / "kafka-4.3/clean"
FORMAT = "kafka-segments"


def test_snapshot_and_views_through_connect(connect: SparkSession, tmp_path: Path) -> None:
    from kafka_segments.spark import take_snapshot

    expected = kafka_rows.source_rows("kafka-4.3/clean")
    view = f"CREATE TEMPORARY VIEW heads USING `{FORMAT}` OPTIONS (path '{CLEAN}', view 'batches')"
    connect.sql(view)
    counted = connect.sql("SELECT sum(numRecords) FROM heads WHERE NOT isControl").first()
    assert counted is not None
    assert counted[0] == len(expected)
    pinned = str(tmp_path / "now.snapshot")
    take_snapshot(connect, str(CLEAN), pinned)
    reader = connect.read.format(FORMAT)
    committed = reader.options(snapshot=pinned, isolationLevel="read_committed").load()
    assert 0 < committed.count() < len(expected)
    with pytest.raises(
        Exception, match=r"OptionError: unknown option startingoffset; did you mean startingOffsets\?"
    ):
        connect.read.format(FORMAT).option("startingOffset", "earliest").load(str(CLEAN)).count()
