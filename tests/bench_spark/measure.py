"""Run with PySpark 4.0.0: one measure in a session of its own. Standard input and output: JSON.

A task names `master`, `settings` of the session, a `warm` and a `read`: each with the source's `format`,
`options`, `path` and `query` (of `QUERIES`); `times` to measure; `memory`, whether to look at it; `other`, a
process whose CPU time is told too.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from tests.bench_spark import jobs, usage
from tests.bench_spark.stub import Stub
from tests.connector import job
from tests.io import pagecache

SETTINGS = {"spark.driver.memory": "4g", **job.SETTINGS}


def noop(frame: DataFrame) -> None:
    """All columns of all rows, and nothing done with them."""
    frame.write.format("noop").mode("overwrite").save()


def total(frame: DataFrame) -> int:
    """The sum of the values' lengths."""
    (found,) = frame.selectExpr("sum(length(value))").collect()
    return int(found[0])


def parquet(frame: DataFrame) -> None:
    """All through Spark's Parquet writer."""
    folder = tempfile.mkdtemp(dir=Path.cwd())
    try:
        frame.write.mode("overwrite").parquet(folder)
    finally:
        shutil.rmtree(folder)


def count(frame: DataFrame) -> int:
    """The rows' number."""
    return frame.count()


def count_batches(frame: DataFrame) -> int:
    """The records' number from a table of batches."""
    (found,) = frame.selectExpr("sum(numRecords)").collect()
    return int(found[0])


def planning(frame: DataFrame) -> int:
    """The number of tasks."""
    execution = frame._jdf.queryExecution().executedPlan()
    return int(execution.execute().getNumPartitions())


QUERIES: dict[str, Callable[[DataFrame], int | None]] = {
    each.__name__: each for each in (noop, total, parquet, count, count_batches, planning)
}


def session(task: dict[str, Any]) -> SparkSession:
    """The session of a measure."""
    builder = SparkSession.builder.appName("bench").master(task["master"])
    for key, value in (SETTINGS | task["settings"]).items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.dataSource.register(Stub)
    return spark


def run(spark: SparkSession, read: dict[str, Any]) -> int | None:
    """Make the frame and run the query; both are what a user waits for."""
    if read["query"] in jobs.JOBS:
        return jobs.run(spark, read)
    reader = spark.read.format(read["format"]).options(**read["options"])
    frame = reader.load(read["path"]) if read["path"] else reader.load()
    return QUERIES[read["query"]](frame)


def stages(spark: SparkSession) -> list[Any]:
    """What Spark knows of the stages that are over."""
    context = spark.sparkContext
    gateway = context._gateway
    store = context._jsc.sc().statusStore()
    none, doubles = gateway.jvm.java.util.ArrayList(), gateway.new_array(gateway.jvm.double, 0)
    found = store.stageList(none, False, False, doubles, gateway.jvm.java.util.ArrayList())
    return [found.apply(place) for place in range(found.size())]


def summed(found: list[Any]) -> dict[str, float]:
    """CPU and wall seconds of stages, and their tasks."""
    wall = sum(
        one.completionTime().get().getTime() - one.submissionTime().get().getTime()
        for one in found
        if one.completionTime().isDefined()
    )
    return {
        "task_cpu": sum(one.executorCpuTime() for one in found) / 1e9,
        "stage_wall": wall / 1e3,
        "num_tasks": sum(one.numTasks() for one in found),
    }


def measured(spark: SparkSession, task: dict[str, Any]) -> dict[str, Any]:
    """One run, with what it took."""
    known = {one.stageId() for one in stages(spark)}
    for path in task["drop"]:
        pagecache.drop(Path(path))
    before, started = usage.cpu(task["other"]), time.perf_counter()
    answer = run(spark, task["read"])
    wall, used = time.perf_counter() - started, usage.cpu(task["other"]).since(before)
    own = [one for one in stages(spark) if one.stageId() not in known]
    seconds = {
        "wall": wall,
        "jvm": used.jvm,
        "python": used.tasks,
        "planning": used.planning,
        "other": used.other,
    }
    return {"answer": answer, **seconds, **summed(own)}


def main() -> None:
    """Measure."""
    task = json.load(sys.stdin)
    spark = session(task)
    result: dict[str, Any] = {"runs": [], "error": None, "pss": [], "limits": []}
    try:
        run(spark, task["warm"])
        if task["memory"]:
            with usage.watching(0.1) as memory:
                result["runs"].append(measured(spark, task))
            result |= {"pss": sorted(memory.peaks.values()), "limits": sorted(memory.limits, key=str)}
            result["growth"] = memory.growth
        else:
            result["runs"] += [measured(spark, task) for _ in range(task["times"])]
    except Exception as error:
        result["error"] = str(error)
    finally:
        spark.stop()
    print(json.dumps(result))


if __name__ == "__main__":
    main()
