"""Spark's own `kafka` source as the judge: started with PySpark 4.0.0 and a broker, and what it answered.

Its answers are recorded (tests/vectors/connector): a table for each query, or its words where it failed. Rows
are in the order of topic, partition and offset.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from tests.connector import served
from tests.connector.queries import Query
from tests.oracle import jvm
from tests.recording.server import RecordingError
from tests.recording.sets import VECTORS
from tools import spark_versions

HERE = Path(__file__).resolve().parent
ANSWERS = VECTORS / "connector"
# Of a failure; beside it stands no table.
ERRORS = "errors.json"
ORDER = [(name, "ascending") for name in ("topic", "partition", "offset")]


def ask(queries: Sequence[Query], work: Path) -> list[pa.Table | str]:
    """Start a broker on copies of the recorded set that the queries are of, and ask the source.

    Args:
        queries: of one set.
        work: an absent folder for the broker and what it says.

    Returns:
        For each query its rows, or what went wrong.

    Raises:
        RecordingError: the broker or Spark did not start.
    """
    (name,) = {query.set_name for query in queries}
    with served.serving(name, work) as bootstrap, tempfile.TemporaryDirectory(dir=work) as folder:
        files = [Path(folder) / f"{number}.parquet" for number in range(len(queries))]
        errors = _run(
            [_task(query, bootstrap, file) for query, file in zip(queries, files, strict=True)], work
        )
        return [
            error if error is not None else pq.read_table(file).sort_by(ORDER)
            for error, file in zip(errors, files, strict=True)
        ]


def recorded(query: Query) -> pa.Table | str:
    """What the source answered when it was recorded: rows, or what went wrong."""
    failed = failures(query.set_name).get(query.name)
    return failed or pq.read_table(ANSWERS / query.set_name / f"{query.name}.parquet")


def failures(name: str) -> dict[str, str]:
    """The queries of a set that the source refused, with its words."""
    file = ANSWERS / name / ERRORS
    words: dict[str, str] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    return words


def _task(query: Query, bootstrap: str, out: Path) -> dict[str, object]:
    common = {"kafka.bootstrap.servers": bootstrap, "includeHeaders": "true"}
    common["kafkaConsumer.pollTimeoutMs"] = "30000"
    return {"options": common | dict(query.options), "settings": dict(query.settings), "out": str(out)}


def _run(tasks: Sequence[dict[str, object]], work: Path) -> list[str | None]:
    python = spark_versions.python_of(spark_versions.CONNECTOR)
    task = {"jars": str(jvm.fetch_jars(HERE / "pom.xml")), "queries": list(tasks)}
    done = subprocess.run(
        [str(python), "-m", "tests.connector.job"],
        input=json.dumps(task),
        env=spark_versions.variables(python),
        cwd=work,
        capture_output=True,
        text=True,
        timeout=900,
    )
    if done.returncode:
        raise RecordingError(
            f"Spark {spark_versions.CONNECTOR} with its kafka source:\n{done.stderr[-3000:]}"
        )
    errors: list[str | None] = json.loads(done.stdout)
    return errors
