"""The job behind `kafka-segments ingest`: log directories to Parquet, partitioned by topic and partition.

Strategy: segments are listed here; a small DataFrame has one row for each task; writing it to
`sink.ParquetSink` does the work on the executors, and its commit publishes. See there for why no rows go
through Spark.
"""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession

from kafka_segments import errors
from kafka_segments.compression import DEFAULT_MAX_DECOMPRESSED
from kafka_segments.errors import KafkaFormatError
from kafka_segments.logdir import list_partitions
from kafka_segments.spark.progress import Progress
from kafka_segments.spark.publish import WorkDirectory, check_destination, partition_path
from kafka_segments.spark.report import PartitionReport, merge
from kafka_segments.spark.session import open_session
from kafka_segments.spark.sink import FORMAT, ParquetSink, row_of_task
from kafka_segments.spark.splits import SegmentSplit, pack, segment_splits

__all__ = ["Ingest", "Plan", "ingest", "plan_ingest"]

_TASKS_PER_CORE = 4  # so that one long task at the end does not leave the other cores idle for long


@dataclass(frozen=True)
class Plan:
    """What is to be read, and where it goes."""

    destination: str
    splits: list[SegmentSplit]
    empty: list[PartitionReport]
    """All partitions, those without a segment to read too."""

    @property
    def num_bytes(self) -> int:
        """Of all segments."""
        return sum(split.size for split in self.splits)


@dataclass(frozen=True)
class Ingest:
    """What was done: reports by topic and partition, and how long Spark and its job took."""

    partitions: list[PartitionReport]
    start_seconds: float
    job_seconds: float


def plan_ingest(sources: Sequence[str], destination: str) -> Plan:
    """Look at sources and destination, before Spark is started.

    Raises:
        KafkaFormatError: a source cannot be read, the destination is not empty or lies in a source.
    """
    partitions = list_partitions(sources)
    for partition in partitions:
        partition_path(partition.topic, partition.partition)
    return Plan(
        check_destination(destination, sources),
        segment_splits(partitions),
        [PartitionReport(partition.topic, partition.partition) for partition in partitions],
    )


def ingest(
    plan: Plan,
    *,
    master: str = "local[*]",
    check_crc: bool = True,
    max_decompressed: int = DEFAULT_MAX_DECOMPRESSED,
    show: Callable[[int, int], None] | None = None,
) -> Ingest:
    """Start Spark, write the Parquet files, stop Spark.

    Args:
        plan: what `plan_ingest` returned.
        master: Spark's master. Executors on other machines must see the same files.
        check_crc: whether checksums are verified.
        max_decompressed: bytes that one batch may decompress to.
        show: is called with the numbers of tasks done and of all, from another thread.

    Raises:
        OutputError: the destination could not be written; there is none then.
        TimestampRangeError: a timestamp is beyond microseconds in 64 bits.
        MissingExtraError: no Java, or Spark does not start.
    """
    started = time.monotonic()
    with WorkDirectory(plan.destination) as work, open_session(master) as session:
        start_seconds = time.monotonic() - started
        options = {
            "work": work.path,
            "destination": plan.destination,
            "checkCrc": str(check_crc).lower(),
            "maxDecompressed": str(max_decompressed),
        }
        _run(session, plan, options, show or _show_nothing)
        done = merge([*plan.empty, *work.reports()])
        return Ingest(done, start_seconds, time.monotonic() - started - start_seconds)


def _run(
    session: SparkSession, plan: Plan, options: dict[str, str], show: Callable[[int, int], None]
) -> None:
    context = session.sparkContext
    tasks = pack(plan.splits, at_least=_TASKS_PER_CORE * context.defaultParallelism)
    rows = [(row_of_task(task),) for task in tasks]
    frame = session.createDataFrame(context.parallelize(rows, len(rows)), "task string")
    session.dataSource.register(ParquetSink)
    group = f"kafka-segments-{uuid.uuid4().hex}"
    context.setJobGroup(group, "kafka-segments ingest", interruptOnCancel=False)
    show(0, len(tasks))
    try:
        with Progress(context, group, lambda done: show(min(done, len(tasks)), len(tasks))):
            frame.write.format(FORMAT).options(**options).mode("append").save()
    except Exception as error:
        ours = _our_error(error)
        if ours is None:
            raise
        raise ours from error
    show(len(tasks), len(tasks))


def _show_nothing(_done: int, _total: int) -> None:
    pass


_RAISED = re.compile(r"^(?:pyspark\.\S+: )?kafka_segments\.errors\.(\w+): (.*)$", re.MULTILINE)


def _our_error(error: Exception) -> KafkaFormatError | None:
    """The error of ours that a worker raised: what Spark hands on is the text of its traceback."""
    raised = _RAISED.findall(str(error))
    if not raised:
        return None
    name, detail = raised[-1]
    kind = getattr(errors, name)
    own: KafkaFormatError = kind(detail)
    return own
