"""Settings for stores: where they are found, which go before which, and that no text holds their values."""

from __future__ import annotations

import pickle
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from tests.io import server
from tests.io.conftest import settings_for
from tests.spark import kafka_rows
from tests.spark.planned import reader_of
from tests.spark.test_reader import batches, flipped

from kafka_segments.errors import KafkaFormatError
from kafka_segments.spark.settings import driver_settings, task_settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SITE = """<?xml version="1.0"?><configuration>
<property><name>fs.s3a.endpoint</name><value>http://site</value></property>
<property><name>fs.s3a.access.key</name><value> of-site </value></property>
<property><name>io.file.buffer.size</name><value>4096</value></property>
</configuration>"""
DEFAULTS = """# a comment
spark.hadoop.fs.s3a.endpoint   http://defaults
spark.hadoop.fs.s3a.endpoint.region=eu
spark.master local
"""


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "core-site.xml").write_text(SITE)
    (tmp_path / "spark-defaults.conf").write_text(DEFAULTS)
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    return tmp_path


def test_driver(files: Path) -> None:
    assert dict(driver_settings({})) == {
        "fs.s3a.endpoint": "http://defaults",
        "fs.s3a.access.key": "of-site",
        "fs.s3a.endpoint.region": "eu",
    }
    assert driver_settings({"fs.s3a.endpoint": "http://option"})["fs.s3a.endpoint"] == "http://option"


def test_files_that_cannot_be_read(files: Path, caplog: pytest.LogCaptureFixture) -> None:
    (files / "core-site.xml").write_text("<configuration><property>canary</configuration>")
    assert "fs.s3a.access.key" not in driver_settings({})
    assert "core-site.xml cannot be read" in caplog.text
    assert "canary" not in caplog.text
    (files / "core-site.xml").unlink()
    (files / "spark-defaults.conf").unlink()
    assert dict(driver_settings({})) == {}


def test_task(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    properties = {"spark.hadoop.fs.s3a.endpoint": "http://session", "spark.job.description": "x"}
    context = SimpleNamespace(_localProperties=properties)
    monkeypatch.setattr("pyspark.TaskContext.get", lambda: context)
    found = task_settings({"fs.s3a.endpoint.region": "of-option"})
    assert found["fs.s3a.endpoint"] == "http://session"
    assert (found["fs.s3a.endpoint.region"], found["fs.s3a.access.key"]) == ("of-option", "of-site")
    assert "http://session" not in repr(found)
    assert pickle.loads(pickle.dumps(found)) == found


@pytest.fixture(scope="module")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A store with a log directory, and a damaged partition beside."""
    with server.running(tmp_path_factory.mktemp("s3")) as store:
        shutil.copytree(kafka_rows.RECORDED / "kafka-4.3/clean/multi-0", store.folder / "logs" / "multi-0")
        (store.folder / "logs" / "bad-0").mkdir()
        one, two, three = batches(0, 1, 2)
        (store.folder / "logs" / "bad-0" / f"{0:020}.log").write_bytes(one + flipped(two) + three)
        yield store


@pytest.mark.s3
def test_rows_and_errors_of_a_store(bucket: server.Store, caplog: pytest.LogCaptureFixture) -> None:
    options = {**settings_for(f"127.0.0.1:{bucket.port}"), "path": "s3a://logs"}

    def read(**more: str) -> list[int]:
        reader = pickle.loads(pickle.dumps(reader_of(**options | {"columns": "offset"} | more)))
        tasks = reader.partitions()
        texts.append(repr(tasks) + repr(reader._options) + str(vars(reader)))
        found = [batch for task in tasks for batch in reader.read(task)]
        return [row["offset"] for batch in found for row in batch.to_pylist()]

    texts: list[str] = []
    expected = [row.offset for row in kafka_rows.rows("kafka-4.3/clean") if row.topic == "multi"]
    assert read(subscribe="multi") == expected
    assert read(subscribe="multi", startingOffsets='{"multi":{"0":100}}') == [
        one for one in expected if one >= 100
    ]
    for wrong in ({}, {"fs.s3a.secret.key": server.SECRET_KEY + "-not"}):
        with pytest.raises(KafkaFormatError) as caught:
            read(**wrong)
        texts.append(str(caught.value) + repr(caught.value) + str(caught.value.__dict__))
    assert "canary" not in caplog.text + "".join(texts)


@pytest.mark.s3
@pytest.mark.spark
def test_no_text_of_sparks_holds_a_secret(
    bucket: server.Store, spark: SparkSession, capfd: pytest.CaptureFixture[str]
) -> None:
    settings = settings_for(f"127.0.0.1:{bucket.port}")
    # The session's settings reach tasks alone; planning is given the options.
    reader = spark.read.format("kafka-segments").options(**settings)
    frame, good = reader.load("s3a://logs"), reader.load("s3a://logs/multi-0")
    assert good.count() == sum(row.topic == "multi" for row in kafka_rows.rows("kafka-4.3/clean"))
    with pytest.raises(Exception, match="ChecksumMismatchError") as caught:
        frame.collect()
    good.explain(extended=True)
    frame.createOrReplaceTempView("stored")
    spark.sql("EXPLAIN FORMATTED SELECT * FROM stored").show(truncate=False)
    texts = [str(caught.value), repr(frame), frame._jdf.queryExecution().toString()]  # type: ignore[operator]
    said = capfd.readouterr()
    assert "canary" not in "".join([*texts, said.out, said.err])
    assert "stored" in said.out or "BatchScan" in said.out
