"""The session of a job: whose Spark it is, which Python the workers are, and who stops it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_segments.errors import MissingExtraError
from kafka_segments.spark import task_engine as session


class Builder:
    """Notes what is asked of Spark's builder."""

    def __init__(self, error: Exception | None = None) -> None:
        self.asked: dict[str, str] = {}
        self.num_stopped = 0
        self._error = error

    def appName(self, _name: str) -> Builder:  # noqa: N802
        return self

    def master(self, url: str) -> Builder:
        return self.config("spark.master", url)

    def config(self, name: str, value: str) -> Builder:
        self.asked[name] = value
        return self

    def getOrCreate(self) -> Any:  # noqa: N802
        if self._error is not None:
            raise self._error
        return self

    def stop(self) -> None:
        self.num_stopped += 1


@pytest.fixture
def builder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Builder:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.touch(mode=0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    for name in ("PYSPARK_GATEWAY_PORT", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "SPARK_LOCAL_IP"):
        monkeypatch.setenv(name, "")  # so that it is taken back afterwards
        monkeypatch.delenv(name)
    found = Builder()
    monkeypatch.setattr(session, "SparkSession", SimpleNamespace(builder=found))
    return found


@pytest.mark.parametrize("master", [None, "local[*]"])
def test_a_session_of_its_own_is_stopped(builder: Builder, master: str | None) -> None:
    os.environ["PYSPARK_PYTHON"] = "/another/python"
    with session.open_session(master):
        assert builder.asked["spark.master"] == "local[*]"
        assert os.environ["PYSPARK_PYTHON"] == sys.executable
        assert builder.num_stopped == 0
    assert builder.num_stopped == 1


@pytest.mark.parametrize(
    ("named", "found"), [(None, sys.executable), ("environment/bin/python", "environment/bin/python")]
)
def test_a_cluster_keeps_the_python_that_was_named_for_it(
    builder: Builder, named: str | None, found: str
) -> None:
    if named is not None:
        os.environ["PYSPARK_PYTHON"] = named
    with session.open_session("spark://host:7077"):
        assert os.environ["PYSPARK_PYTHON"] == found
        assert "spark.driver.host" not in builder.asked


def test_the_spark_of_spark_submit_is_used_and_left_running(builder: Builder) -> None:
    os.environ.update(PYSPARK_GATEWAY_PORT="7", PYSPARK_PYTHON="environment/bin/python")
    with session.open_session(None):
        assert builder.asked == {}, "its own settings count"
        assert os.environ["PYSPARK_PYTHON"] == "environment/bin/python"
    assert builder.num_stopped == 0


def test_a_submitted_spark_that_gives_no_session_is_our_error(
    builder: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.environ["PYSPARK_GATEWAY_PORT"] = "7"
    monkeypatch.setattr(session, "SparkSession", SimpleNamespace(builder=Builder(RuntimeError("gone"))))
    with pytest.raises(MissingExtraError, match="has no session: gone"), session.open_session(None):
        pass
