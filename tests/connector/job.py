"""Run with PySpark 4.0.0: rows of Spark's own `kafka` source, as Parquet.

Standard input: JSON with `jars` (a folder) and `queries`: each with `options` of the source, `settings` of
the session and the file `out`. Standard output: JSON, for each query what went wrong, or null.
"""

from __future__ import annotations

import json
import re
import sys
from typing import Any

import pyarrow.parquet as pq
from pyspark.sql import SparkSession

# Of every session that Spark's own source is asked in: quiet, on this machine alone, in UTC.
SETTINGS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.log.level": "OFF",
}
# Of a long trace the last cause is what the source said.
CAUSE = "Caused by: "


def session(jars: str) -> SparkSession:
    """A small session with the source's jars, in UTC."""
    builder = SparkSession.builder.appName("connector").master("local[2]")
    settings = {
        "spark.driver.extraClassPath": f"{jars}/*",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        **SETTINGS,
    }
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def answer(spark: SparkSession, query: dict[str, Any]) -> str | None:
    """Run one query; the words of its error."""
    for key, value in query["settings"].items():
        spark.conf.set(key, value)
    try:
        table = spark.read.format("kafka").options(**query["options"]).load().toArrow()
    except Exception as error:
        lines = str(error).splitlines()
        causes = [line.removeprefix(CAUSE) for line in lines if line.startswith(CAUSE)]
        return re.sub(r"127\.0\.0\.1:\d+", "the broker", (causes or lines)[-1].strip())
    finally:
        for key in query["settings"]:
            spark.conf.unset(key)
    pq.write_table(table, query["out"])
    return None


def main() -> None:
    """Run the queries one after the other."""
    task = json.load(sys.stdin)
    spark = session(task["jars"])
    try:
        print(json.dumps([answer(spark, query) for query in task["queries"]]))
    finally:
        spark.stop()


if __name__ == "__main__":
    main()
