"""Run by test_secrets: reads from an S3 server in all the ways that take keys, and keeps what is told.

Arguments: the server's address, where the log directory lies, a directory for what was told.
"""

from __future__ import annotations

import contextlib
import io
import sys
import urllib.request
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from tests.io.conftest import settings_for

from kafka_segments.spark import take_snapshot

PAGES = ("jobs", "stages", "storage", "environment", "executors", "SQL", "api/v1/applications")
PARTS = ("environment", "sql?details=true&planDescription=true", "jobs", "stages", "allexecutors")


def session(address: str, folder: Path) -> SparkSession:
    """With a web page, an event log, and all that Spark can say on standard error."""
    (folder / "events").mkdir()
    builder = (
        SparkSession.builder.appName("secrets")
        .master("local[2]")
        .config("spark.ui.port", "0")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.eventLog.enabled", "true")
        .config("spark.eventLog.dir", (folder / "events").as_uri())
    )
    for name, value in settings_for(address).items():
        builder = builder.config(f"spark.hadoop.{name}", value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("DEBUG")
    return spark


def explained(frame: DataFrame) -> str:
    """All plans as text."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        for mode in ("extended", "formatted", "cost", "codegen"):
            frame.explain(mode)
    return text.getvalue()


def failure_of(frame: DataFrame) -> str:
    """What is said of a query that fails, with every exception behind it."""
    try:
        frame.collect()
    except Exception as error:
        return f"{error!r}\n{error}\n{getattr(error, 'desc', '')}\n{getattr(error, 'stackTrace', '')}"
    raise AssertionError("it does not fail")


def pages(spark: SparkSession) -> str:
    """The web pages, and what its interface for programs says."""
    base = str(spark.sparkContext.uiWebUrl)
    application = f"api/v1/applications/{spark.sparkContext.applicationId}"
    wanted = [*PAGES, *(f"{application}/{part}" for part in PARTS)]
    wanted += [f"SQL/execution/?id={number}" for number in range(4)]
    texts = []
    for page in wanted:
        with urllib.request.urlopen(f"{base}/{page}", timeout=30) as answer:
            texts.append(answer.read().decode())
    assert any("kafka-segments" in text for text in texts), "the pages tell of the queries"
    return "\n".join(texts)


def run(address: str, path: str, folder: Path) -> None:
    """Read by the session's keys, by a read's own, with wrong ones, and from a snapshot."""
    spark = session(address, folder)
    given = settings_for(address)

    def reader(**options: Any) -> DataFrame:
        where = {} if "snapshot" in options else {"path": path}
        return spark.read.format("kafka-segments").options(**given, **where, **options).load()

    frames = {
        "options": reader(),
        "damage": reader(view="damage"),
        "committed": reader(**{"kafka.isolation.level": "read_committed"}),
    }
    frames["filtered"] = frames["options"].filter("offset >= 1 AND topic = 'multi'")
    for name, frame in frames.items():
        (folder / f"{name}.plan").write_text(explained(frame))
        (folder / f"{name}.rows").write_text(str(frame.count()))
    take_snapshot(spark, path, str(folder / "kept.snapshot"), **given)
    frame = reader(snapshot=str(folder / "kept.snapshot"))
    (folder / "snapshot.rows").write_text(str(frame.count()))
    wrong = given | {"fs.s3a.secret.key": "canary-wrong-4"}
    refused = spark.read.format("kafka-segments").options(**wrong)
    (folder / "refused").write_text(failure_of(refused.load(path)))
    (folder / "unknown").write_text(failure_of(reader(startingOffsets='{"none": {"0": 1}}')))
    (folder / "pages").write_text(pages(spark))
    spark.stop()


if __name__ == "__main__":
    run(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
