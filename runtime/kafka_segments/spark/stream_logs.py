"""Partitions of a stream: where they begin, how far they go now, and the tasks between two positions.

Strategy: of each log only what lies after the position is looked at, from the segment that holds the offset
before it, so that a batch costs the same however much was read before. What was read is compared with the log
each time (`query.continuation`): the stream ends with an error where the log does not go on.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.io.loggers import get_logger
from kafka_segments.core.segment.columnar.entry_counts import EntryMark
from kafka_segments.errors import (
    DataLossError,
    ExpiredOffsetsError,
    OptionError,
    RecreatedTopicError,
    TruncatedLogError,
)
from kafka_segments.log.findings import Kind, of_kinds
from kafka_segments.log.model import LogEnd, PartitionLog
from kafka_segments.log.opening import Budget
from kafka_segments.query.committed import Committed, read_committed
from kafka_segments.query.continuation import (
    PartitionState,
    WaysOut,
    check_continues,
    log_from,
    mark_at,
)
from kafka_segments.query.offsets import EndKind, LogView, Range, check_partitions, lost_ends, resolve
from kafka_segments.query.plan import plan
from kafka_segments.query.query import (
    EARLIEST,
    INTERNAL_TOPICS,
    LATEST,
    Bound,
    Query,
    TopicPartition,
    Topics,
    at_offsets,
)
from kafka_segments.query.resolve import logs_asked_for, select
from kafka_segments.query.timestamps import TimeFinder
from kafka_segments.spark.planning import Task, tasks_of
from kafka_segments.spark.policy import apply_to_plan
from kafka_segments.spark.read_options import ReadOptions
from kafka_segments.spark.settings import driver_settings
from kafka_segments.spark.stream_offsets import Positions

__all__ = ["StreamLogs"]

_log = get_logger(__name__)

_MOST_TOLD = 10_000  # a query may run for months

_ANEW = "Read it by a new query, with another checkpoint"
_WAYS_OUT: WaysOut = {
    RecreatedTopicError: _ANEW,
    TruncatedLogError: _ANEW,
    ExpiredOffsetsError: "failOnDataLoss=false continues at the log's start, without the deleted offsets",
}

Logs = dict[TopicPartition, PartitionLog]


class StreamLogs:
    """What there is to read at the paths of a stream.

    Args:
        options: of the stream.
    """

    def __init__(self, options: ReadOptions) -> None:
        self._options = options
        self._query = options.query
        self._places = Places(driver_settings(options.settings))
        self._logs: Logs = {}
        self._told: dict[str, None] = {}

    def beginnings(self) -> dict[TopicPartition, PartitionState]:
        """Return the positions where a new query begins.

        Raises:
            OptionError: `startingOffsets` of other partitions than those that are read, no record at or after
                a time, or a topic that does not exist.
            DataLossError: an offset is missing, if that is an error.
            KafkaFormatError: a file cannot be read.
        """
        latest = self._options.stream.latest
        query, logs = self._query, self._list(())
        if latest is not None and latest.kind == "offsets":
            known = {key: EARLIEST if at == LATEST else at for key, at in latest.by_partition.items()}
            query = replace(query, start=at_offsets(known))
        check_partitions(list(logs.values()), query)
        found = {}
        for key, log in logs.items():
            if not log.pieces:
                continue
            is_latest = latest is not None and (
                latest.kind == "latest" or latest.by_partition.get(key) == LATEST
            )
            found[key] = _position(log, self._end_of(log, 0) if is_latest else self._start_of(log, query))
        return found

    def log_ends(self) -> dict[TopicPartition, int]:
        """Return the ends of all logs, whatever transactions are open.

        Raises:
            KafkaFormatError: a file cannot be read.
        """
        query = replace(self._query, isolation="read_uncommitted", start=Bound("earliest"))
        logs = self._list(None).items()
        return {key: _end(*self._resolved(log, query)) for key, log in logs if log.pieces}

    def ends(self, positions: Positions) -> dict[TopicPartition, int]:
        """Return where reading can end now, by partition.

        Partitions that are new are at their beginning: what they hold comes with the next batch, so that the
        offset where each range begins is in the checkpoint. Those that are gone stay where they are.

        Args:
            positions: where the last batch ended.

        Raises:
            LogChangedError: a log does not continue where the last batch ended.
            DataLossError: a partition is gone, if that is an error.
            KafkaFormatError: a file cannot be read.
        """
        self._logs = self._list(positions)
        found = {}
        for key, known in positions.items():
            log = self._checked(known)
            found[key] = known.next_offset
            if log is not None and log.pieces:
                found[key] = max(known.next_offset, self._end_of(log, known.next_offset))
        for key in self._logs.keys() - positions.keys():
            if self._logs[key].pieces:
                query = replace(self._query, start=Bound("earliest"))
                found[key] = self._start_of(self._logs[key], query)
        return found

    def moved(
        self, positions: Positions, ends: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, PartitionState]:
        """Return the positions after reading up to some of the ends that `ends` has returned last.

        Raises:
            KafkaFormatError: a file cannot be read.
        """
        found = {}
        for key, end in ends.items():
            known, log = positions.get(key), self._logs.get(key)
            if known is not None and (log is None or known.next_offset == end):
                found[key] = known
            elif log is not None:
                last = None if known is None else mark_at(log, end - 1, self._places) or known.last
                found[key] = _position(log, end, known, last)
        return found

    def tasks(self, start: Positions, end: Positions) -> list[Task]:
        """Return the tasks that read from some positions to others.

        Args:
            start: of the batch; a partition without one is not read.
            end: of the batch, which may have been planned by an earlier process.

        Raises:
            LogChangedError: a log was recreated, truncated, or its offsets have expired, since.
            DataLossError: offsets or partitions are gone otherwise, if that is an error.
            KafkaFormatError: a file cannot be read, or what is damaged is an error.
        """
        keys = [key for key in start if key in end and end[key].next_offset > start[key].next_offset]
        if not keys:
            return []
        self._logs = self._list(start)
        there = [log for key in keys if (log := self._checked(start[key])) is not None]
        for log in there:
            self._checked(end[log.topic, log.partition])
        starts = {(log.topic, log.partition): start[log.topic, log.partition].next_offset for log in there}
        ends = {key: end[key].next_offset for key in starts}
        if not starts:
            return []
        # The end was decided when the batch was planned: a high watermark of today plays no part.
        logs = [replace(log_from(log, starts[log.topic, log.partition]), end=LogEnd()) for log in there]
        topics = Topics(partitions=frozenset(starts))
        query = replace(self._query, topics=topics, start=at_offsets(starts), end=at_offsets(ends))
        found = plan(logs, query, self._places)
        for one in found.ranges:
            _check_whole(one, ends[one.topic, one.partition])
        due = apply_to_plan(found.findings, self._options)
        for finding in found.of(Kind.DIVERGED, Kind.REMARK, Kind.UNUSED):
            self._tell(str(finding))
        return [*([Task((), tuple(due))] if due else []), *tasks_of(found)]

    def _list(self, known: Collection[TopicPartition] | None) -> Logs:
        """List the logs that are asked for; those that were known (None: all of them) may be gone."""
        query = self._query
        try:
            chosen = self._select(query)
        except OptionError:
            topics = self._still_there(query.topics, known)
            if topics == query.topics:
                raise
            chosen = [] if topics is None else self._select(replace(query, topics=topics))
        hidden = INTERNAL_TOPICS if query.topics == Topics() else frozenset()
        return {(log.topic, log.partition): log for log in chosen if log.topic not in hidden}

    def _select(self, query: Query) -> list[PartitionLog]:
        logs = logs_asked_for(self._places, self._options.paths, query, self._options.files)
        return select(logs, query.topics)[0]

    def _still_there(self, topics: Topics, known: Collection[TopicPartition] | None) -> Topics | None:
        """The topics without those that were known and are gone; None if nothing is left."""
        query = replace(self._query, topics=Topics())
        logs = logs_asked_for(
            self._places, self._options.paths, query, self._options.files, is_merged=lambda _topic: False
        )
        there = {(log.topic, log.partition) for log in logs}
        # What was never there is left in, for the error's text.
        left = there if known is None else there | ((topics.partitions or frozenset()) - frozenset(known))
        if topics.names is not None:
            kept = {topic for topic, _ in there}
            kept |= set() if known is None else topics.names - {topic for topic, _ in known}
            return Topics(names=topics.names & kept) if topics.names & kept else None
        if topics.partitions is not None:
            return Topics(partitions=topics.partitions & left) if topics.partitions & left else None
        return None if topics.pattern is not None and (known is None or known) else topics

    def _checked(self, known: PartitionState) -> PartitionLog | None:
        """The log of a position, which goes on there; None if it is gone, and that is not an error."""
        log = self._logs.get((known.topic, known.partition))
        is_strict = self._query.fail_on_data_loss
        if log is not None:
            check_continues(log, known, self._places, _WAYS_OUT, may_have_expired=not is_strict)
            return log
        text = (
            f"{known.topic}-{known.partition}, to be read from offset {known.next_offset} on, is no longer "
            "at the paths: its topic was deleted, or its directory moved"
        )
        if is_strict:
            where = {"topic": known.topic, "partition": known.partition, "first_offset": known.next_offset}
            raise DataLossError(f"{text}; failOnDataLoss=false continues without it", **where)
        self._tell(text)
        return None

    def _end_of(self, log: PartitionLog, offset: int) -> int:
        """The end of what can be read from an offset on."""
        query = replace(self._query, start=Bound("earliest"))
        view, found = self._resolved(log_from(log, offset), query)
        for one in lost_ends(view, found):
            self._tell(f"{one}; a stream waits for these offsets")
        end = _end(view, found)
        if end == view.end and view.is_damaged_after:
            name = f"{log.topic}-{log.partition}"
            self._tell(f"{name}: there is damage where offset {end} is expected; a later batch reports it")
        return end

    def _start_of(self, log: PartitionLog, query: Query) -> int:
        if query.start.kind in ("earliest", "offsets"):
            query = replace(query, isolation="read_uncommitted")  # how transactions ended plays no part
        view, found = self._resolved(log, query)
        apply_to_plan(of_kinds(view.findings, Kind.LOST), self._options)
        return found.start

    def _resolved(self, log: PartitionLog, query: Query) -> tuple[LogView, Range]:
        most = query.limits.max_walk_bytes
        committed = None
        if query.isolation == "read_committed":
            committed = read_committed(log, self._places, most, [])
            self._tell_pin(log, committed)
        view = LogView(log, self._places, TimeFinder(self._places, Budget(most)), committed)
        return view, resolve(view, query)

    def _tell_pin(self, log: PartitionLog, committed: Committed) -> None:
        if (pin := committed.pin) is not None:
            self._tell(
                f"{log.topic}-{log.partition} is read up to its last stable offset, "
                f"{committed.last_stable_offset}: producer {pin.producer_id} has had a transaction open "
                f"since offset {pin.first_offset}"
            )

    def _tell(self, text: str) -> None:
        """Log a warning, if it is not among the last ones."""
        if text not in self._told:
            if len(self._told) == _MOST_TOLD:
                del self._told[next(iter(self._told))]
            self._told[text] = None
            _log.warning("%s", text)


def _end(view: LogView, found: Range) -> int:
    """The end of a range as a number."""
    if found.end is not None:
        return found.end
    return view.end if found.limit is None else found.limit


def _position(
    log: PartitionLog, offset: int, known: PartitionState | None = None, last: EntryMark | None = None
) -> PartitionState:
    topic_id = log.topic_id or (None if known is None else known.topic_id)
    epochs = log.leader_epochs or (() if known is None else known.leader_epochs)
    return PartitionState(log.topic, log.partition, offset, topic_id, tuple(epochs), last)


def _check_whole(found: Range, end: int) -> None:
    """Check that a range reaches the end that was planned for it."""
    if found.end is not None and found.end < end and found.end_is.kind is EndKind.STABLE:
        raise TruncatedLogError(
            f"a batch of {found.topic}-{found.partition} was planned up to offset {end}, but its last "
            f"stable offset is now {found.end}. {_ANEW}",
            topic=found.topic,
            partition=found.partition,
        )
