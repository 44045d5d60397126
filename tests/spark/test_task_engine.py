"""Tasks on Spark: their results, their errors, and the same files and accounts as from the local engine."""

from __future__ import annotations

import multiprocessing
import os
from typing import TYPE_CHECKING

import pytest
from tests.ingest.ingested import request_of
from tests.ingest.test_engines import Echo, Failing, contents
from tests.spark import kafka_rows

from kafka_segments.core.io.jobs import Engine, LocalEngine
from kafka_segments.core.segment.columnar.arrow_schema import SCHEMA
from kafka_segments.errors import OutputError, TimestampRangeError
from kafka_segments.ingest.job import Ingest, ingest
from kafka_segments.ingest.run_plan import plan_ingest
from kafka_segments.query.query import Query, Topics
from kafka_segments.spark import task_engine
from kafka_segments.spark.task_engine import SparkEngine

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.spark
def test_results_come_in_order(workers_path: None, engine: SparkEngine) -> None:
    shown: list[tuple[int, int]] = []
    found = engine.run([Echo(number) for number in range(5)], lambda *numbers: shown.append(numbers))
    assert [number for number, _ in found] == list(range(5))
    assert os.getpid() not in {pid for _, pid in found}
    assert shown[-1] == (5, 5)


@pytest.mark.spark
def test_an_error_of_a_task(workers_path: None, engine: SparkEngine) -> None:
    with pytest.raises(TimestampRangeError, match="too far"):
        engine.run([Echo(0), Failing()])


@pytest.mark.spark
@pytest.mark.parametrize("name", kafka_rows.SETS)
def test_both_engines_write_the_same(
    workers_path: None, engine: SparkEngine, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kafka_segments.ingest.splits._TASK_BYTES", 16 << 20)  # several tasks
    topics = frozenset(kafka_rows.split_name(one)[0] for one in kafka_rows.partitions(name))
    query, source = Query(topics=Topics(names=topics)), (str(kafka_rows.RECORDED / name),)

    def run(place: str, by: Engine) -> Ingest:
        return ingest(plan_ingest(request_of(source, str(tmp_path / place), query, tuple(SCHEMA.names))), by)

    here, there = run("here", LocalEngine(1)), run("there", engine)
    assert here.run.accounts == there.run.accounts
    assert here.partitions == there.partitions
    assert contents(tmp_path / "here") == contents(tmp_path / "there")
    assert multiprocessing.active_children() == []


def test_errors_come_home_as_they_were() -> None:
    text = (
        'An error occurred while calling o1.\n  File "x.py"\nkafka_segments.errors.ReadError: inner\n\n'
        "The above exception was the direct cause of the following exception:\n\n"
        "kafka_segments.errors.TimestampRangeError: /a/b.log: offset 3: too far\n\n\tat org.apache.spark\n"
    )
    found = task_engine._our_error(Exception(text))
    assert type(found) is TimestampRangeError
    assert str(found) == "/a/b.log: offset 3: too far"
    other = task_engine._our_error(
        Exception("Job aborted\njava.lang.OutOfMemoryError: Java heap space\n\tat x")
    )
    assert type(other) is OutputError
    assert "java.lang.OutOfMemoryError" in str(other)


def test_a_failure_that_is_not_ours_names_its_cause() -> None:
    text = (
        "An exception was thrown from the Python worker:\nTraceback (most recent call last):\n"
        '  File "x.py", line 1, in write\nOSError: [Errno 28] No space left on device\n\n\tat org.apache.x\n'
    )
    assert "[Errno 28] No space left on device" in str(task_engine._our_error(Exception(text)))
    text = "Job aborted.\n\tat a\n\tat b\nCaused by: java.io.IOException: No space left on device\n\tat c\n"
    assert "No space left on device" in str(task_engine._our_error(Exception(text)))
