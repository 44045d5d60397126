"""Job of `kafka-segments ingest`: log directories to Parquet, partitioned by topic and partition.

Strategy: segments are listed here; a small DataFrame has one row for each task; writing it to
`sink.ParquetSink` does the work on the executors, and its commit publishes. See there for why no rows go
through Spark.
"""

from __future__ import annotations

import os
import re
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass

from pyspark import SparkContext
from pyspark.sql import SparkSession

from kafka_segments import errors
from kafka_segments.codecs import DEFAULT_MAX_DECOMPRESSED
from kafka_segments.errors import KafkaFormatError, OutputError
from kafka_segments.io.filesystems import Places
from kafka_segments.log.discovery import FileOptions
from kafka_segments.log.findings import Finding, Kind
from kafka_segments.log.model import PartitionLog, Split
from kafka_segments.log.skipped_files import SkippedFiles, log_skipped
from kafka_segments.query.query import Query, TopicPartition, Topics
from kafka_segments.query.resolve import logs_asked_for
from kafka_segments.spark.publish import check_destination, partition_path
from kafka_segments.spark.report import PartitionReport, merge, report_plan
from kafka_segments.spark.session import open_session
from kafka_segments.spark.sink import FORMAT, ParquetSink, row_of_task
from kafka_segments.spark.splits import Isolation, pack, plan_segments, splits_of
from kafka_segments.spark.topics import choose, is_internal
from kafka_segments.spark.transactional import count_uncommitted
from kafka_segments.spark.work import WorkDirectory

__all__ = ["Ingest", "IngestPlan", "ingest", "plan_ingest"]

_POLL_SECONDS = 0.2
_TASKS_PER_CORE = 4  # so that one long task at the end does not leave the other cores idle for long


@dataclass(frozen=True)
class IngestPlan:
    """Plan of a job: what is read, and where it is written.

    Attributes:
        destination: a directory.
        splits: segments to read, in order.
        reports: of all partitions, those without a segment to read too, with what planning found.
        live: partitions whose log directory a broker holds open.
        internal: topics that are there and were not named.
        uncommitted: logs of which records of aborted and open transactions are written, too.
    """

    destination: str
    splits: list[Split]
    reports: list[PartitionReport]
    live: frozenset[TopicPartition] = frozenset()
    internal: tuple[str, ...] = ()
    uncommitted: tuple[PartitionLog, ...] = ()

    @property
    def num_bytes(self) -> int:
        """Of all segments."""
        return sum(split.segment.size for split in self.splits)


@dataclass(frozen=True)
class Ingest:
    """Result of a job: reports by topic and partition, and how long Spark and its job took."""

    partitions: list[PartitionReport]
    start_seconds: float
    job_seconds: float


def plan_ingest(
    sources: Sequence[str],
    destination: str,
    topics: Topics | None = None,
    isolation: Isolation = "read_uncommitted",
) -> IngestPlan:
    """Check sources and destination, and plan, before Spark is started.

    Args:
        sources: log directories, partitions' directories, segments.
        destination: a new or empty directory.
        topics: which are written; None is all but internal ones.
        isolation: of transactions.

    Raises:
        KafkaFormatError: a source cannot be read, the destination is not empty or lies in a source, or there
            is no topic that is asked for.
        MissingExtraError: pyarrow is not installed.
    """
    import kafka_segments.segment.table  # noqa: F401  says what to install, before a worker stumbles

    places = Places()
    query = Query(topics=topics or Topics())
    skipped: list[SkippedFiles] = []
    paths = [os.path.abspath(source) for source in sources]
    is_hidden = is_internal(sources, query.topics)
    found = logs_asked_for(
        places, paths, query, FileOptions(), skipped, is_merged=lambda topic: not is_hidden(topic)
    )
    log_skipped(skipped, is_all=True)
    logs, hidden = choose(found, sources, query.topics)
    for log in logs:
        partition_path(log.topic, log.partition)
    resolved = check_destination(destination, sources)
    planned = plan_segments(logs, isolation, places)
    live = frozenset((log.topic, log.partition) for log in logs if log.end.is_live)
    reports = report_plan(logs, planned)
    names = tuple(sorted({log.topic for log in hidden}))
    uncommitted = tuple(logs) if isolation == "read_uncommitted" else ()
    return IngestPlan(resolved, splits_of(planned), reports, live, names, uncommitted)


def ingest(
    plan: IngestPlan,
    *,
    master: str = "local[*]",
    check_crc: bool = True,
    max_decompressed: int = DEFAULT_MAX_DECOMPRESSED,
    show: Callable[[int, int], None] | None = None,
    say: Callable[[str], None] = lambda _words: None,
) -> Ingest:
    """Start Spark, write the Parquet files, stop Spark.

    Args:
        plan: what `plan_ingest` returned.
        master: Spark's master. Executors on other machines must see the same files.
        check_crc: whether checksums are verified.
        max_decompressed: bytes that one batch may decompress to.
        show: is called with the numbers of tasks done and of all, now and then.
        say: is called with what people should know at once.

    Raises:
        OutputError: the destination could not be written; there is none then.
        TimestampRangeError: a timestamp is beyond microseconds in 64 bits.
        MissingExtraError: no Java, or Spark does not start.
    """
    with WorkDirectory(plan.destination) as work:
        for path in work.swept:
            say(f"{path}: removed; an ingest that was killed left it")
        options = {
            "work": work.path,
            "destination": plan.destination,
            "checkCrc": str(check_crc).lower(),
            "maxDecompressed": str(max_decompressed),
        }
        job = _Job(plan, master, options, show)
        job.run()
        reports = merge([*plan.reports, *work.reports(), *_report_uncommitted(plan)])
        return Ingest(reports, job.start_seconds, job.job_seconds)


def _report_uncommitted(plan: IngestPlan) -> Iterator[PartitionReport]:
    """Add remarks to partitions whose files contain records that are not committed."""
    for key, count in count_uncommitted(plan.uncommitted, plan.splits, Places()).items():
        report = PartitionReport(*key)
        number = "an unknown number" if count is None else f"{count:,}"
        words = (
            f"{number} of the records written are not committed (their transactions were aborted or are "
            "open, or they follow an open one); --isolation read_committed leaves them out"
        )
        report.add_finding(Finding(Kind.REMARK, *key, words))
        yield report


class _Job:
    """Spark's part.

    All talk with the JVM is in threads of its own. An interrupt then finds the caller's thread at rest, and
    is not taken by Spark, which does so where it is started in the main thread. A JVM whose parent leaves
    while it starts would stay for ever: so it is let start, then stopped.
    """

    def __init__(
        self,
        plan: IngestPlan,
        master: str,
        options: dict[str, str],
        show: Callable[[int, int], None] | None,
    ) -> None:
        self.start_seconds = self.job_seconds = 0.0
        self._splits, self._live = plan.splits, plan.live
        self._master = master
        self._options = options
        self._show = show
        self._context: SparkContext | None = None
        self._num_tasks = 0
        self._group = f"kafka-segments-{uuid.uuid4().hex}"
        self._is_cancelled = threading.Event()

    def run(self) -> None:
        """Do the job; an interrupt cancels it and is raised when Spark is down."""
        with ThreadPoolExecutor(2) as pool:
            job = pool.submit(self._start_and_save)
            pool.submit(self._watch, job)
            try:
                wait([job])
            except BaseException:
                self._is_cancelled.set()
                raise
            job.result()

    def _start_and_save(self) -> None:
        started = time.monotonic()
        with open_session(self._master) as session:
            self.start_seconds = time.monotonic() - started
            if not self._is_cancelled.is_set():
                try:
                    self._save(session)
                except Exception as error:
                    raise _our_error(error) from error
        self.job_seconds = time.monotonic() - started - self.start_seconds

    def _save(self, session: SparkSession) -> None:
        context = session.sparkContext
        tasks = pack(self._splits, at_least=_TASKS_PER_CORE * context.defaultParallelism)
        rows = [(row_of_task(task, self._live),) for task in tasks]
        # This makes the session the active one of this thread, where Spark looks for our format.
        frame = session.createDataFrame(context.parallelize(rows, max(1, len(rows))), "task string")
        session.dataSource.register(ParquetSink)
        context.setJobGroup(self._group, "kafka-segments ingest")
        self._num_tasks, self._context = len(tasks), context
        frame.write.format(FORMAT).options(**self._options).mode("append").save()

    def _watch(self, job: Future[None]) -> None:
        """Show how far the job is; cancel it, again and again in case it is only about to begin."""
        while wait([job], timeout=_POLL_SECONDS).not_done:
            if self._context is None:
                continue
            with suppress(Exception):  # Spark is going down; the job itself says why
                if self._is_cancelled.is_set():
                    # A cancelled job makes Spark log errors, which are of no use to the user.
                    self._context.setLogLevel("OFF")
                    self._context.cancelJobGroup(self._group)
                elif self._show is not None:
                    self._show(min(self._num_done(self._context), self._num_tasks), self._num_tasks)
        if self._show is not None and job.exception() is None and self._num_tasks:
            self._show(self._num_tasks, self._num_tasks)

    def _num_done(self, context: SparkContext) -> int:
        """Tasks done, as Spark's status tracker has it."""
        tracker = context.statusTracker()
        jobs = [tracker.getJobInfo(number) for number in tracker.getJobIdsForGroup(self._group)]
        stages = [tracker.getStageInfo(number) for job in jobs if job for number in job.stageIds]
        return sum(stage.numCompletedTasks for stage in stages if stage)


_RAISED = re.compile(r"^(?:pyspark\.\S+: )?kafka_segments\.errors\.(\w+): (.*)$", re.MULTILINE)
_CAUSE = re.compile(r"^(?:Caused by: )?((?:[A-Za-z_$][\w$]*\.)*\w*(?:Error|Exception)\b.*)$", re.MULTILINE)


def _our_error(error: Exception) -> KafkaFormatError:
    """The error of ours that a worker raised: what Spark hands on is the text of its traceback."""
    raised = _RAISED.findall(str(error))
    if not raised:
        lines = str(error).splitlines()[:3]
        causes = [cause for cause in _CAUSE.findall(str(error)) if cause not in lines]
        return OutputError(f"Spark's job failed: {' / '.join([*lines, *causes[-1:]])}")
    name, detail = raised[-1]
    kind = getattr(errors, name)
    own: KafkaFormatError = kind(detail)
    return own
