"""Snapshots taken with Spark: a list of files and the outcomes of transactions, for several reads.

Strategy: to know which transactions were committed, all headers of a partition have to be read where its
indexes do not suffice. A planner may not start a job, so it does that for little only; here it is a job, a
partition a task. With Spark Connect the files are not where this process runs: then a task lists them, and
writes the snapshot.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql import SparkSession

from kafka_segments.core.io.filesystems import Places
from kafka_segments.errors import KafkaFormatError
from kafka_segments.log.model import PartitionLog
from kafka_segments.query.committed import Committed, read_committed
from kafka_segments.query.query import TopicPartition
from kafka_segments.query.resolve import select
from kafka_segments.query.snapshot import take_snapshot as pin
from kafka_segments.query.snapshot import write_snapshot
from kafka_segments.spark.planning import logs_at
from kafka_segments.spark.read_options import ReadOptions
from kafka_segments.spark.settings import of_session, task_settings

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["take_snapshot"]

_ANY_BYTES = 1 << 62

Work = tuple[Callable[..., Any], tuple[Any, ...]]


def take_snapshot(spark: SparkSession, paths: str | Sequence[str], destination: str, **options: str) -> None:
    """Record the files at some paths, and how their transactions ended, in a new file.

    `.option("snapshot", destination)` then reads these files and nothing newer, at either isolation level.

    Args:
        spark: a session, classic or of Spark Connect.
        paths: what `load` would be given.
        destination: the new file, on a disk that the driver sees.
        options: options of the source for topics, files and stores, as in `**{"fs.s3a.endpoint":
            "http://..."}`.

    Raises:
        OptionError: an option is wrong, or the file exists.
        KafkaFormatError: a file cannot be read. An error in a task is raised as Spark's own, with our text.

    Example:
        `take_snapshot(spark, "/var/lib/kafka/data", "/tmp/now.snapshot", subscribe="orders")`
    """
    listed = [paths] if isinstance(paths, str) else list(paths)
    read = ReadOptions.parse({**options, "paths": json.dumps(listed)}).for_batch()
    # A session of Connect has no JVM at hand.
    places = Places(of_session(spark, read.settings)) if hasattr(spark, "_jsparkSession") else None
    if places is not None:
        logs = _list(read, places)
    else:
        (logs,) = _in_tasks(spark, [(_list, (read,))])
    work: list[Work] = [(_judge, (read, log)) for log in logs if log.pieces]
    judged = [one for one in _in_tasks(spark, work) if one is not None]
    committed = {(topic, partition): one for topic, partition, one in judged}
    if places is not None:
        _write(read, logs, committed, destination, places)
    else:
        _in_tasks(spark, [(_write, (read, logs, committed, destination))])


def _list(read: ReadOptions, places: Places | None = None) -> list[PartitionLog]:
    logs = logs_at(read, (), places or Places(task_settings(read.settings)))
    return select(logs, read.query.topics)[0]


def _judge(read: ReadOptions, log: PartitionLog) -> tuple[str, int, Committed]:
    unused: list[KafkaFormatError] = []
    places = Places(task_settings(read.settings))
    return log.topic, log.partition, read_committed(log, places, _ANY_BYTES, unused)


def _write(
    read: ReadOptions,
    logs: Sequence[PartitionLog],
    committed: Mapping[TopicPartition, Committed],
    destination: str,
    places: Places | None = None,
) -> None:
    snapshot = pin(logs, places or Places(task_settings(read.settings)), committed=committed)
    write_snapshot(snapshot, destination)


def _in_tasks(spark: SparkSession, work: Sequence[Work]) -> list[Any]:
    """What some functions return, each called in a task of its own."""
    if not work:
        return []
    pickled = [pickle.dumps(one) for one in work]
    frame = spark.createDataFrame(list(enumerate(pickled)), "number int, work binary")
    done = frame.repartition(len(pickled), "number").mapInArrow(_do_all, "number int, work binary").collect()
    return [pickle.loads(row.work) for row in sorted(done, key=lambda row: int(row.number))]


def _do_all(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    for batch in batches:
        numbers, work = batch.columns
        results = [pickle.dumps(do(*arguments)) for do, arguments in map(pickle.loads, work.to_pylist())]
        yield pa.RecordBatch.from_arrays([numbers, pa.array(results, pa.binary())], names=["number", "work"])
