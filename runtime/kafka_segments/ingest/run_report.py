"""Report of a run of `ingest` for machines: what it did, how long that took, and how far it came.

Strategy: `RunMeter` watches a run from its beginning, and so can report one that fails, too. Nothing of it is
part of the table: a run is the same with and without.

OpenMetrics text is what Prometheus' text parsers read, too: gauges alone, without timestamps, because
node_exporter's textfile collector refuses timestamps, and knows the types of the older text format only. All
are of the last run; `# EOF` ends the text (OpenMetrics 1.0).
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, TypeVar

from kafka_segments.core.io.jobs import Engine, Progress, RunnableTask
from kafka_segments.core.io.store_requests import RequestCounts, requests_so_far
from kafka_segments.errors.escaping import shown
from kafka_segments.ingest.job import Ingest
from kafka_segments.ingest.run_plan import IngestPlan
from kafka_segments.ingest.runs.account import Account, PartitionReport
from kafka_segments.ingest.task import Output, SplitTime
from kafka_segments.log.model import PartitionLog
from kafka_segments.query.committed import Committed
from kafka_segments.query.offsets import Range
from kafka_segments.query.table_words import COUNTS

__all__ = ["RunMeter", "RunReport", "report_to_json", "to_open_metrics"]

_FORMAT = "kafka-segments ingest report"
_VERSION = 1
_PREFIX = "kafka_segments_ingest"
_Samples = Iterable[tuple[Mapping[str, object], float | int]]

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class OpenPin:
    """The transaction that holds the last stable offset of a partition back.

    Attributes:
        producer_id: of its producer.
        first_offset: of its first batch.
        timestamp_ms: the greatest of that batch, in milliseconds since 1970; None if it has none.
        age_seconds: since then, by the clock of this machine; None without a timestamp.
    """

    producer_id: int
    first_offset: int
    timestamp_ms: int | None
    age_seconds: float | None


@dataclass(frozen=True, slots=True)
class PartitionProgress:
    """How far the table is in one partition.

    Attributes:
        account: of the run; empty, at the next offset, if the run failed.
        bytes_out: of the files written.
        damaged_places: that could not be read.
        timestamps_beyond: see `PartitionReport`.
        high_watermark: as its broker noted it last; None if there is no note.
        log_end_offset: after the last offset of the log; None if it was not looked for.
        lag: offsets that a consumer could read and the table does not have: up to the high watermark where a
            broker holds the log open, else up to the log's end; None if that is unknown.
        open_transaction: what a run at `read_committed` stopped at; else None.
    """

    account: Account
    bytes_out: int
    damaged_places: int
    timestamps_beyond: int
    high_watermark: int | None
    log_end_offset: int | None
    lag: int | None
    open_transaction: OpenPin | None


@dataclass(frozen=True, slots=True)
class RunSeconds:
    """What the phases of a run took.

    Attributes:
        plan: listing, opening, checking, planning; with the end of what a killed run left.
        engine_start: of Spark.
        tasks: reading and writing.
        commit: committing and publishing; at `read_uncommitted` also counting what is not committed.
    """

    plan: float = 0.0
    engine_start: float = 0.0
    tasks: float = 0.0
    commit: float = 0.0


@dataclass(frozen=True, slots=True)
class RunReport:
    """What a run did.

    Attributes:
        destination: of the table, as it was given.
        status: exit status.
        error: class of the error that ended the run; None if it was not ended by one.
        message: of that error.
        started_ms: when it began, in milliseconds since 1970.
        ended_ms: when it ended.
        run: number of the newest run of the table; 0 without any, or if it was not found out.
        committed_ms: when that was committed; None without any.
        seconds: of the phases.
        num_tasks: tasks.
        num_files: files that were written and are part of the table.
        requests: to stores.
        slowest_split: the one that took longest; None without any.
        partitions: by topic and number.
    """

    destination: str
    status: int
    error: str | None
    message: str | None
    started_ms: int
    ended_ms: int
    run: int
    committed_ms: int | None
    seconds: RunSeconds
    num_tasks: int
    num_files: int
    requests: RequestCounts
    slowest_split: SplitTime | None
    partitions: tuple[PartitionProgress, ...]

    def total(self, name: str) -> int:
        """Return the sum of a number of the partitions, or of their accounts."""
        return sum(getattr(one if hasattr(one, name) else one.account, name) for one in self.partitions)


class RunMeter:
    """Watches a run.

    Args:
        destination: of the table.
    """

    def __init__(self, destination: str) -> None:
        self._destination = destination
        self._plan: IngestPlan | None = None
        self._started_ms = time.time_ns() // 1_000_000
        self._started, self._before = time.monotonic(), requests_so_far()
        self._planned: float | None = None
        self._work = _MeteredEngine()

    def planned(self, plan: IngestPlan) -> None:
        """Note that a run is planned."""
        self._plan, self._planned = plan, time.monotonic()

    def metered(self, engine: Engine) -> Engine:
        """Return the engine, which is watched."""
        self._work.engine = engine
        return self._work

    def report(
        self, status: int, *, done: Ingest | None = None, error: BaseException | None = None
    ) -> RunReport:
        """Return the report of the run, which has ended.

        Args:
            status: exit status.
            done: its result; None if it failed.
            error: that ended it.
        """
        newest = done.run if done is not None else (None if self._plan is None else self._plan.before)
        is_new = done is not None and (self._plan is None or done.run is not self._plan.before)
        work = self._work
        requests = requests_so_far().since(self._before).since(work.own_requests) + work.requests
        return RunReport(
            shown(self._destination),
            status,
            None if error is None else type(error).__name__,
            None if error is None else shown(str(error)),
            self._started_ms,
            time.time_ns() // 1_000_000,
            0 if newest is None else newest.number,
            None if newest is None else newest.written_ms,
            self._seconds(),
            work.num_tasks,
            len(newest.files) if newest is not None and is_new else 0,
            requests,
            work.slowest,
            tuple(self._partitions(() if done is None else done.partitions)),
        )

    def _seconds(self) -> RunSeconds:
        now, work = time.monotonic(), self._work
        plan = (now if self._planned is None else self._planned) - self._started
        whole = 0.0 if self._planned is None else now - self._planned
        tasks = max(0.0, work.seconds - work.start_seconds)
        found = plan, work.start_seconds, tasks, max(0.0, whole - work.seconds)
        return RunSeconds(*(round(seconds, 6) for seconds in found))

    def _partitions(self, reports: Sequence[PartitionReport]) -> Iterator[PartitionProgress]:
        plan = self._plan
        if plan is None:
            return
        known = {} if plan.before is None else plan.before.by_partition()
        found = {(one.account.topic, one.account.partition): one for one in reports}
        ranges = {(one.topic, one.partition): one for made in plan.planned.plans for one in made.ranges}
        outcomes = {key: one for made in plan.planned.plans for key, one in made.committed.items()}
        for log in sorted(plan.logs, key=lambda one: (one.topic, one.partition)):
            key = log.topic, log.partition
            at = known[key].next_offset if key in known else 0
            report = found.get(key, PartitionReport(Account(*key, at, at)))
            yield _progress(report, log, ranges.get(key), outcomes.get(key), is_read=key in found)


def _progress(
    report: PartitionReport,
    log: PartitionLog,
    found: Range | None,
    outcome: Committed | None,
    *,
    is_read: bool,
) -> PartitionProgress:
    end = report.account.end_offset
    log_end = None if found is None else found.log_end_offset
    if outcome is not None:
        log_end = outcome.end_offset
    elif log_end is None and found is not None and found.end is None and is_read:
        log_end = end  # it was read to its end
    high_watermark = log.end.high_watermark
    reachable = high_watermark if log.end.is_live or log_end is None else log_end
    lag = None if reachable is None else max(0, reachable - end)
    pin, opened = None if outcome is None else outcome.pin, None
    if pin is not None:
        timestamp = None if pin.timestamp is None or pin.timestamp < 0 else pin.timestamp
        age = None if timestamp is None else max(0.0, round(time.time() - timestamp / 1000, 3))
        opened = OpenPin(pin.producer_id, pin.first_offset, timestamp, age)
    return PartitionProgress(
        report.account,
        report.bytes_out,
        report.num_damaged,
        report.timestamps_beyond,
        high_watermark,
        log_end,
        lag,
        opened,
    )


@dataclass(slots=True)
class _MeteredEngine:
    """An engine that is watched, and what it has done up to now.

    Attributes:
        engine: it; None before it is needed.
        seconds: that it took, with its start.
        start_seconds: of its start.
        num_tasks: tasks.
        slowest: the split that took longest; None without any.
        requests: to stores, by tasks.
        own_requests: those that this process has counted meanwhile; it may have run tasks.
    """

    engine: Engine | None = None
    seconds: float = 0.0
    start_seconds: float = 0.0
    num_tasks: int = 0
    slowest: SplitTime | None = None
    requests: RequestCounts = field(default_factory=RequestCounts)
    own_requests: RequestCounts = field(default_factory=RequestCounts)

    def run(self, tasks: Sequence[RunnableTask[R]], show: Progress | None = None) -> list[R]:
        assert self.engine is not None
        started, before = time.monotonic(), requests_so_far()
        self.num_tasks = len(tasks)
        try:
            results = self.engine.run(tasks, show)
        finally:
            self.seconds += time.monotonic() - started
            self.start_seconds = self.engine.start_seconds
            # Tasks that ran in this process report these themselves.
            self.own_requests = requests_so_far().since(before)
        for one in results:
            if isinstance(one, Output):
                self.requests += one.requests
                times = [time for time in (self.slowest, one.slowest) if time is not None]
                self.slowest = max(times, key=lambda time: time.seconds, default=None)
        return results


def report_to_json(report: RunReport) -> bytes:
    """Return a report as a document of JSON, with the sums of all partitions."""
    totals: dict[str, Any] = {name: report.total(name) for name in (*COUNTS, "batches", "crc_failures")}
    totals["bytes_in"] = report.total("num_bytes")
    totals |= {name: report.total(name) for name in ("bytes_out", "damaged_places", "timestamps_beyond")}
    partitions = []
    for one in report.partitions:
        content = asdict(one)
        account = content.pop("account")
        account["bytes_in"] = account.pop("num_bytes")
        partitions.append(account | content)
    content = {"format": _FORMAT, "version": _VERSION, **asdict(replace(report, partitions=()))}
    del content["partitions"]
    content |= {"totals": totals, "partitions": partitions}
    return json.dumps(content, indent=1).encode() + b"\n"


def to_open_metrics(report: RunReport) -> bytes:
    """Return a report as OpenMetrics text; each sample has the label `destination`."""
    lines = []
    for name, words, samples in _families(report):
        full = f"{_PREFIX}_{name}"
        unit = next((unit for unit in ("seconds", "bytes") if name.endswith(f"_{unit}")), None)
        found = [f"{full}{{{_labels(report, labels)}}} {value}" for labels, value in samples]
        if found:
            units = [] if unit is None else [f"# UNIT {full} {unit}"]
            lines += [f"# TYPE {full} gauge", *units, f"# HELP {full} {words}", *found]
    return "\n".join([*lines, "# EOF", ""]).encode("utf-8", "backslashreplace")


def _labels(report: RunReport, more: Mapping[str, object]) -> str:
    labels: dict[str, object] = {"destination": report.destination, **more}
    return ",".join(f'{name}="{_escaped(str(value))}"' for name, value in labels.items())


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def _families(report: RunReport) -> Iterator[tuple[str, str, _Samples]]:
    """Names, help and samples."""
    yield "exit_status", "Exit status of the last run.", [({}, report.status)]
    if report.error is not None:
        yield "error", "Class of the error that ended the last run.", [({"class": report.error}, 1)]
    yield "start_timestamp_seconds", "When the last run began.", [({}, report.started_ms / 1000)]
    yield "end_timestamp_seconds", "When the last run ended.", [({}, report.ended_ms / 1000)]
    yield "run", "Number of the newest run of the table.", [({}, report.run)]
    committed = [] if report.committed_ms is None else [report.committed_ms / 1000]
    words = "When the newest run of the table was committed."
    yield "commit_timestamp_seconds", words, [({}, seconds) for seconds in committed]
    phases = asdict(report.seconds).items()
    yield "phase_seconds", "Duration of each phase of the last run.", [({"phase": n}, s) for n, s in phases]
    yield "tasks", "Tasks of the last run.", [({}, report.num_tasks)]
    yield "offsets", "Offsets that the last run processed.", [({"kind": n}, report.total(n)) for n in COUNTS]
    yield "read_bytes", "Bytes of sound batches that were read.", [({}, report.total("num_bytes"))]
    yield "written_bytes", "Bytes of files that were written.", [({}, report.total("bytes_out"))]
    yield "files", "Files that were written.", [({}, report.num_files)]
    yield "crc_failures", "Batches with a wrong checksum.", [({}, report.total("crc_failures"))]
    yield "damaged_places", "Places that could not be read.", [({}, report.total("damaged_places"))]
    words = "Timestamps that the table's type cannot hold."
    yield "timestamps_beyond", words, [({}, report.total("timestamps_beyond"))]
    yield "store_requests", "Requests to stores, including repeated ones.", [({}, report.requests.requests)]
    yield "store_retries", "Repeated requests to stores.", [({}, report.requests.retries)]
    if (one := report.slowest_split) is not None:
        where = {"topic": one.topic, "partition": one.partition}
        yield "slowest_split_seconds", "Duration of the slowest split.", [(where, one.seconds)]
    yield from _of_partitions(report)


def _of_partitions(report: RunReport) -> Iterator[tuple[str, str, _Samples]]:
    where = [
        ({"topic": one.account.topic, "partition": one.account.partition}, one) for one in report.partitions
    ]
    ends = [(labels, one.account.end_offset) for labels, one in where]
    yield "partition_next_offset", "Offset at which the next run begins.", ends
    lags = [(labels, one.lag) for labels, one in where if one.lag is not None]
    yield "partition_lag", "Offsets that can be read but are not in the table yet.", lags
    pins = [
        ({**labels, "producer_id": one.open_transaction.producer_id}, one.open_transaction)
        for labels, one in where
        if one.open_transaction is not None
    ]
    firsts = [(labels, one.first_offset) for labels, one in pins]
    yield "open_transaction_first_offset", "First offset of the transaction that holds runs back.", firsts
    ages = [(labels, one.age_seconds) for labels, one in pins if one.age_seconds is not None]
    yield "open_transaction_age_seconds", "Age of that transaction, since its first batch.", ages
