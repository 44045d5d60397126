"""Each door gives the rows that a log has, or the error; `scan`, polars, DuckDB, Spark, `ingest`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.doors.answers import DOORS, options
from tests.doors.questions import QUESTIONS, Question
from tests.spark import kafka_rows

from kafka_segments.errors import OptionError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ASKED = [(question, door) for question in QUESTIONS for door in DOORS]
SKIPPED = [(one, door) for one, door in ASKED if one.error is not OptionError or door == "ingest"]
RAISED = [(one, door) for one, door in ASKED if one.error is not None and door != "ingest"]


def test_every_recorded_set_is_asked_for() -> None:
    found = kafka_rows.RECORDED.rglob("meta.properties")
    sets = {path.parent.relative_to(kafka_rows.RECORDED).as_posix() for path in found}
    assert sets == {*kafka_rows.SETS, kafka_rows.EXTREME}


@pytest.mark.parametrize(("question", "door"), SKIPPED, ids=str)
def test_rows(question: Question, door: str, tmp_path: Path) -> None:
    found = DOORS[door](question, question.make(tmp_path / "logs"), True, tmp_path)
    assert found is None or found == question.rows()


@pytest.mark.parametrize(("question", "door"), RAISED, ids=str)
def test_errors(question: Question, door: str, tmp_path: Path) -> None:
    paths, error = question.make(tmp_path / "logs"), question.error
    assert error is not None
    with pytest.raises(Exception) as caught:  # DuckDB has ours as text
        DOORS[door](question, paths, False, tmp_path)
    assert isinstance(caught.value, error) or (door == "duckdb" and error.__name__ in str(caught.value))


@pytest.mark.spark
def test_rows_of_frames(spark: SparkSession, tmp_path: Path) -> None:
    """All questions in one job."""
    asked = [one for one in QUESTIONS if one.error is not OptionError and one.name != "many and large"]
    frames = []
    for number, question in enumerate(asked):
        (tmp_path / str(number)).mkdir()
        given = options(question, question.make(tmp_path / str(number)), is_skipping=True)
        frame = spark.read.format("kafka-segments").options(includeHeaders="true", **given).load()
        frames.append(frame.selectExpr(f"{number} AS question", "*"))
    union = frames[0]
    for frame in frames[1:]:
        union = union.unionAll(frame)
    table = union.toArrow()
    numbers = table["question"].to_pylist()
    rows = kafka_rows.of_arrow(table.drop_columns("question"))
    for number, question in enumerate(asked):
        found = [row for row, own in zip(rows, numbers, strict=True) if own == number]
        assert found == question.rows(), question
