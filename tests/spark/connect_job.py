"""Run by test_connect: a client that has no JVM, and a server on loopback. Arguments: source, directory."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from pyspark.sql.connect.session import SparkSession as ConnectSession

from kafka_segments.spark import take_snapshot

FORMAT = "kafka-segments"


def run(source: str, found: Path) -> None:
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    spark = SparkSession.builder.remote("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    assert isinstance(spark, ConnectSession), type(spark)
    try:
        frame = spark.read.format(FORMAT).option("includeHeaders", "true").load(source)
        pq.write_table(frame.toArrow(), found / "read.parquet")
        told = {}
        for pushdown in ("false", "true"):
            spark.conf.set("spark.sql.python.filterPushdown.enabled", pushdown)
            rows = frame.filter("topic = 'multi' AND offset >= 100").select("offset").collect()
            told[pushdown] = [row.offset for row in rows]
        spark.sql(f"CREATE TEMPORARY VIEW v USING `{FORMAT}` OPTIONS (path '{source}', view 'batches')")
        told["batches"] = spark.sql("SELECT sum(numRecords) FROM v WHERE NOT isControl").first()[0]
        pinned = str(found / "now.snapshot")
        take_snapshot(spark, source, pinned)
        reader = spark.read.format(FORMAT).options(snapshot=pinned, isolationLevel="read_committed")
        told["committed"] = reader.load().count()
        try:
            spark.read.format(FORMAT).option("startingOffset", "earliest").load(source).count()
        except Exception as error:
            told["error"] = str(error)
        (found / "told.json").write_text(json.dumps(told))
    finally:
        spark.stop()


if __name__ == "__main__":
    run(sys.argv[1], Path(sys.argv[2]))
