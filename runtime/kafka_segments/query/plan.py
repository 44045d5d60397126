"""From logs and a query to work for tasks, with what is left out and why, and what is not there.

Strategy: first the ranges of offsets, then what conditions exclude, then cuts, then tasks. Each step only
narrows offsets, so that leaving one out makes a plan longer and never wrong.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from kafka_segments.errors import KafkaFormatError, raise_unless_file_at_fault
from kafka_segments.formats.entries import Damage
from kafka_segments.io.filesystems import Places
from kafka_segments.log.astray_segments import astray_in
from kafka_segments.log.findings import Finding, Kind, of_kinds
from kafka_segments.log.header_walk import Budget
from kafka_segments.log.log_end import find_reached
from kafka_segments.log.model import PartitionLog, Split
from kafka_segments.log.opening import NUM_REQUESTS, is_remote
from kafka_segments.query.committed import Committed, Pin, read_committed
from kafka_segments.query.cut import Cutter, num_bytes_of, pack
from kafka_segments.query.noted_ends import lost_ends, lost_swaps, not_left_out
from kafka_segments.query.offsets import EndKind, LogView, Range, check_partitions, resolve
from kafka_segments.query.prune import Pruner, drop_by_offsets, drop_by_partition
from kafka_segments.query.query import Query, TopicPartition
from kafka_segments.query.resolve import select, whole_log
from kafka_segments.query.timestamps import TimeFinder, piece_end
from kafka_segments.query.whole_segments import whole_split

__all__ = ["Plan", "plan"]


@dataclass(frozen=True, slots=True)
class Plan:
    """What is read, by whom, and what is not.

    Attributes:
        tasks: the splits of each, in order; together each offset once.
        ranges: of the partitions that are asked for.
        findings: what is there and is not read; what was asked for and is not there, as far as it shows
            before reading; damage that has taken the end of a transaction; files beside the segments that
            were not used; remarks.
        committed: how the transactions of each partition ended; empty at `read_uncommitted`.
        num_bytes: of the segments that are read, by the hints there are.
    """

    tasks: tuple[tuple[Split, ...], ...]
    ranges: tuple[Range, ...] = ()
    findings: tuple[Finding, ...] = ()
    committed: Mapping[TopicPartition, Committed] = field(default_factory=dict)
    num_bytes: int = 0

    def of(self, *kinds: Kind) -> list[Finding]:
        """The findings of some kinds."""
        return of_kinds(self.findings, *kinds)

    def warnings(self) -> Iterator[str]:
        """What costs no record that was asked for and that a caller should know, for people."""
        for partition, committed in self.committed.items():
            if committed.pin is not None:
                yield _pinned(partition, committed.last_stable_offset, committed.pin)
        yield from map(str, self.of(Kind.DIVERGED, Kind.AFTER_END, Kind.REMARK, Kind.UNUSED))


def plan(
    logs: Iterable[PartitionLog],
    query: Query,
    places: Places,
    committed: Mapping[TopicPartition, Committed] | None = None,
) -> Plan:
    """Plan a query.

    Args:
        logs: the partitions that there are.
        query: what is asked for.
        places: where files are opened.
        committed: how transactions ended, where that is known already (from a snapshot).

    Raises:
        OptionError: the query asks for what there is not, contradicts itself, or would take more reading than
            a planner may do.
        ReadError: a file that is needed for planning cannot be read, or one that would help may not be.
        StoreError: a store has stopped giving files, even such as only help.
    """
    return _Planner(query, places, dict(committed or {})).plan(logs)


class _Planner:
    """One plan in the making."""

    def __init__(self, query: Query, places: Places, committed: dict[TopicPartition, Committed]) -> None:
        self._query, self._places = query, places
        self._known = committed
        self._committed: dict[TopicPartition, Committed] = {}
        self._findings: list[Finding] = []
        self._unused: dict[TopicPartition, list[KafkaFormatError]] = {}
        self._budget = Budget(query.limits.max_walk_bytes)
        self._open_ends: dict[TopicPartition, int] = {}
        self._views: dict[TopicPartition, LogView] = {}

    def plan(self, logs: Iterable[PartitionLog]) -> Plan:
        ordered = sorted(logs, key=lambda log: (log.topic, log.partition))
        chosen, self._findings = select(ordered, self._query.topics)
        check_partitions(chosen, self._query)
        ranges: list[Range] = []
        splits: list[Split] = []
        for log in chosen:
            why = drop_by_partition(log.topic, log.partition, self._query.conditions)
            if why is not None:
                self._findings.append(whole_log(log, why))
                continue
            self._findings += log.findings
            if log.pieces:
                splits += self._of_log(log, ranges)
        splits = self._cut(splits)
        self._findings += [
            Finding.of_error(Kind.UNUSED, *key, error) for key, own in self._unused.items() for error in own
        ]
        limits = self._query.limits
        tasks = pack(splits, limits.max_partition_bytes, limits.min_partitions, limits.max_records)
        tasks = self._bounded([tuple(self._reopened(split) for split in task) for task in tasks])
        return Plan(
            tuple(tasks),
            tuple(ranges),
            tuple(_once(self._findings)),
            self._committed,
            sum(map(num_bytes_of, splits)),
        )

    def _of_log(self, log: PartitionLog, ranges: list[Range]) -> list[Split]:
        """The splits of a partition, a segment each, without what conditions exclude."""
        key = (log.topic, log.partition)
        unused = self._unused.setdefault(key, [])
        committed = self._committed_of(log, unused)
        view = LogView(log, self._places, TimeFinder(self._places, self._budget, unused), committed)
        self._views[key] = view
        if (why := view.why_all_deleted()) is not None:
            self._findings.append(Finding(Kind.REMARK, *key, why))
        found = resolve(view, self._query)
        if found.end is None and self._query.limits.max_records is not None:
            found = replace(found, end=view.end, log_end_offset=view.end)
            self._open_ends[key] = view.end
        ranges.append(found)
        own = [*view.findings, *lost_ends(view, found)]
        doubts = () if committed is None else committed.doubts
        own += [Finding.of_damage(one, *key) for one in doubts if _concerns(one, found)]
        left_out = of_kinds(view.findings, Kind.AFTER_END)
        visible = min((one.first_offset or 0 for one in left_out), default=None)
        splits = list(self._whole_splits(log, found, visible, own))
        is_from_start = self._query.start.kind == "earliest"
        lost = [(one.first_offset or 0, one.last_offset or 0) for one in of_kinds(own, Kind.LOST)]
        own += lost_swaps(view, found, lost, is_from_start=is_from_start)
        splits, left_out = drop_by_offsets(splits, self._query.conditions, self._log_end)
        own += left_out
        pruner = Pruner(
            self._places,
            self._query.conditions,
            self._query.max_timestamp_skew_ms,
            self._budget,
            unused,
        )
        splits = pruner.prune(splits, lambda: astray_in(self._places, log))
        own += pruner.left_out
        self._findings += own
        return splits

    def _log_end(self, split: Split) -> int:
        return self._views[split.topic, split.partition].end

    def _committed_of(self, log: PartitionLog, unused: list[KafkaFormatError]) -> Committed | None:
        if self._query.isolation == "read_uncommitted":
            return None
        key = (log.topic, log.partition)
        known = self._known.get(key)
        if known is None:
            most = self._query.limits.max_walk_bytes
            known = read_committed(log, self._places, most, unused)
        self._committed[key] = known
        if known.num_unread:
            why = (
                f"which transactions were committed is as .txnindex files have it: the headers of "
                f"{known.num_unread} bytes were not gone through, and an entry that an index lacks does not "
                "show (a higher maxWalkBytes or a snapshot by kafka_segments.spark.take_snapshot lets the "
                "headers decide)"
            )
            self._findings.append(Finding(Kind.REMARK, *key, why))
        return known

    def _whole_splits(
        self, log: PartitionLog, found: Range, visible: int | None, findings: list[Finding]
    ) -> Iterator[Split]:
        """A split for each segment that holds offsets of the range; the others are noted.

        From the offset `visible` on that was done already.
        """
        for at, piece in enumerate(log.pieces):
            end = piece_end(log, at)
            following = log.pieces[at + 1].start if at + 1 < len(log.pieces) else None
            if following is not None and end is not None and end < following:
                findings += _gap(log, found, end, following)
            # An end that only counting needed: the newest segment is read to its own, whatever is there.
            is_open = (log.topic, log.partition) in self._open_ends
            why = None if is_open and following is None else _why_outside(found, piece.start, end)
            start = log.log_start_offset or 0
            if end is not None and end <= start and len(log.copies) == 1:
                # It counts because it holds more than its name says; its reader tells what nobody reads.
                split = whole_split(log, at, (piece.start, None), is_from_beginning=False)
                asked_end = found.end if found.limit is None else found.limit
                yield replace(split, asked=(found.start, None if is_open else asked_end))
                continue
            if why is not None:
                if visible is not None and piece.start >= visible:
                    continue
                last = None if end is None else end - 1
                file = piece.segment.file
                key, size = (log.topic, log.partition), piece.segment.size
                findings.append(
                    Finding(Kind.LEFT_OUT, *key, why, piece.start, last, file.path, num_bytes=size)
                )
                continue
            asked = found.start, found.end
            is_from_beginning = self._query.start.kind == "earliest"
            split = whole_split(log, at, asked, is_from_beginning=is_from_beginning)
            is_limited = is_open or found.limit is not None
            yield replace(split, asked=(split.asked[0], found.limit)) if is_limited else split

    def _cut(self, splits: Sequence[Split]) -> list[Split]:
        limits = self._query.limits
        max_bytes = limits.max_partition_bytes
        if limits.min_partitions is not None:
            max_bytes = min(max_bytes, max(1, sum(map(num_bytes_of, splits)) // limits.min_partitions))
        is_strict = limits.min_partitions is not None
        cutter = Cutter(self._places, max_bytes, limits.max_records, self._budget, is_strict=is_strict)
        cut = cutter.cut_all(splits)
        parts, left_out = drop_by_offsets(cut, self._query.conditions, self._log_end)
        self._findings += [*left_out, *cutter.findings]
        return self._with_excluded(parts) if self._committed else parts

    def _reopened(self, split: Split) -> Split:
        """The last split of a log with an open end, which only counting needed to be closed.

        So its reader sees what is behind the last sound batch, and tells it.
        """
        is_last = split.end is not None and self._open_ends.get((split.topic, split.partition)) == split.end
        return replace(split, end=None, end_position=None) if is_last and split.following is None else split

    def _bounded(self, tasks: Sequence[tuple[Split, ...]]) -> list[tuple[Split, ...]]:
        """Tasks whose open splits know how far the log went when it was planned.

        A consumer fixes the latest offset once, too. The end stays open all the same, so that whoever reads
        sees what is behind the last sound batch.
        """
        is_open = [split for task in tasks for split in task if split.end is None and split.following is None]
        near = [split for split in is_open if not is_remote(split.segment.file)]
        far = [split for split in is_open if is_remote(split.segment.file)]
        found = [self._reached(split) for split in near]
        if far:
            with ThreadPoolExecutor(NUM_REQUESTS) as pool:
                found += pool.map(self._reached, far)
        reached = dict(zip(map(id, [*near, *far]), found, strict=True))
        return [
            tuple(
                replace(split, reached=reached[id(split)]) if id(split) in reached else split
                for split in task
            )
            for task in tasks
        ]

    def _reached(self, split: Split) -> int | None:
        """Behind the last offset that is there; None if that is not to be had, which the reader will see."""
        if split.asked[1] is not None:
            return max(split.start, split.asked[1])  # names are wrong: another segment may have it
        try:
            found = find_reached(self._places, split.segment)
        except KafkaFormatError as error:
            raise_unless_file_at_fault(error)
            return None
        return None if found is None else max(found, split.start)

    def _with_excluded(self, splits: Sequence[Split]) -> list[Split]:
        by_partition: dict[TopicPartition, list[Split]] = {}
        for split in splits:
            by_partition.setdefault((split.topic, split.partition), []).append(split)
        found = []
        for key, own in by_partition.items():
            excluded = self._committed[key].excluded_of([(split.start, split.end) for split in own])
            found += [replace(split, excluded=one) for split, one in zip(own, excluded, strict=True)]
        return found


def _gap(log: PartitionLog, found: Range, first: int, behind: int) -> Iterator[Finding]:
    """The offsets between two segments that no segment holds."""
    first = max(first, found.start, log.cleaned_up_to or 0)
    behind = behind if found.end is None else min(behind, found.end)
    why = "no segment among those found holds them"
    for start, end in not_left_out(log, first, behind):
        yield Finding(Kind.LOST, log.topic, log.partition, why, start, end - 1)


def _why_outside(found: Range, start: int, end: int | None) -> str | None:
    """Why a segment is not read for a range; None if it is."""
    if end is not None and end <= found.log_start_offset:
        return f"deleted: the log starts at offset {found.log_start_offset}"
    if end is not None and end <= found.start:
        return f"before offset {found.start}, where reading begins"
    if found.end is not None and start >= found.end:
        return f"from offset {found.end} on nothing is read: {found.end_is}"
    if found.end is not None and found.start >= found.end:
        return f"nothing is read between offset {found.start} and {found.end_is}, {found.end}"
    return None


def _concerns(doubt: Damage, found: Range) -> bool:
    """Whether what a doubt leaves out or holds back is of a range."""
    first, last = doubt.first_lost_offset or 0, doubt.last_lost_offset
    is_held_back = found.end_is.kind is EndKind.STABLE and first == found.end
    is_before_end = found.end is None or first < found.end or is_held_back
    return is_before_end and (last is None or last >= found.start)


def _once(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Findings without those that say the same of the same file, as of one that several partitions have."""
    seen = set()
    for one in findings:
        if one.kind is Kind.UNUSED:
            if (one.path, one.detail) in seen:
                continue
            seen.add((one.path, one.detail))
        yield one


def _pinned(partition: tuple[str, int], offset: int, pin: Pin) -> str:
    text = (
        f"{partition[0]}-{partition[1]} is read up to its last stable offset, {offset}: producer "
        f"{pin.producer_id} has had a transaction open since offset {pin.first_offset}"
    )
    if pin.timestamp is None or pin.timestamp < 0:
        return text
    # A producer sets these times, and a copy of a log is read long after them.
    return f"{text}, by its records' timestamps for {max(0, int(time.time() - pin.timestamp / 1000))} seconds"
