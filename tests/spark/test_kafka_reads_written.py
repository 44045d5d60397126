"""Kafka's own classes read what `df.write` wrote. Of its indexes a broker judges (`tests/broker`)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.oracle.run import oracle
from tests.spark import kafka_rows
from tests.spark.written_frames import recorded_batches, write

pytestmark = pytest.mark.oracle

SET = "kafka-4.3/clean"


def test_kafka_reads_the_same_records(tmp_path: Path) -> None:
    """The recorded partitions, written anew by two tasks, in segments of 128 KiB at most."""
    written = tmp_path / "to"
    batches = recorded_batches(SET, num_rows=1000)
    options = {"compression": "lz4", "batchSize": "2k", "segmentBytes": "128k"}
    write(written, batches[:1], batches[1:], **options)
    files = sorted(str(path.relative_to(written)) for path in written.glob("*/*.log"))
    done = oracle(files, cwd=written)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    found = [
        kafka_rows._row(line, *kafka_rows.split_name(line["path"].partition("/")[0]))
        for line in lines
        if line["type"] == "record"
    ]
    expected = [
        row._replace(timestamp_type=max(0, row.timestamp_type))
        for row in kafka_rows.source_rows(SET)
        if row.timestamp >= -1000
    ]
    assert len(found) > 1000
    assert sorted(found, key=str) == sorted(expected, key=str)
