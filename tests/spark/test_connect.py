"""The same rows through Spark Connect: the client has no JVM; planner and workers are the server's."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.spark import kafka_rows

pytestmark = [pytest.mark.spark, pytest.mark.cluster]

NAME = "kafka-4.3/clean"


def test_connect(workers_path: None, tmp_path: Path) -> None:
    pytest.importorskip("grpc", reason="Spark Connect's client needs grpcio: pip install 'pyspark[connect]'")
    source = str(kafka_rows.RECORDED / NAME)
    command = [sys.executable, "-m", "tests.spark.connect_job", source, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    expected = kafka_rows.rows(NAME)
    assert kafka_rows.of_arrow(pq.read_table(tmp_path / "read.parquet")) == expected
    told = json.loads((tmp_path / "told.json").read_text())
    late = [row.offset for row in expected if row.topic == "multi" and row.offset >= 100]
    assert told["false"] == told["true"] == late
    assert 0 < told["committed"] < len(expected)
    assert told["batches"] == len(expected)
    assert "OptionError: unknown option startingoffset; did you mean startingOffsets?" in told["error"]
