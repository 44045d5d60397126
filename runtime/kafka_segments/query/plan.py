"""Plan of a query: splits by task, with findings for excluded and missing offsets.

Strategy: offset ranges, then conditions, then cuts, then tasks. Each step only narrows offsets: without one
of them a plan is larger, and still correct.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kafka_segments.core.formats.entries import Damage
from kafka_segments.core.formats.file_names import SEGMENT_NAME
from kafka_segments.core.io.filesystems import Places
from kafka_segments.errors import KafkaFormatError, NotingFaults
from kafka_segments.log.findings import Finding, Kind, of_kinds
from kafka_segments.log.log_end import find_reached
from kafka_segments.log.model import PartitionLog, Split, lower
from kafka_segments.log.opening import Budget, is_remote
from kafka_segments.log.partition_dirs import run_at_once
from kafka_segments.log.segment_extents import astray_in
from kafka_segments.query.committed import Committed, Pin, read_committed
from kafka_segments.query.cut import Cutter, num_bytes_of, pack
from kafka_segments.query.offsets import (
    EndKind,
    LogView,
    Range,
    check_partitions,
    lost_ends,
    lost_swaps,
    not_left_out,
    resolve,
)
from kafka_segments.query.prune import Pruner, drop_by_offsets, drop_by_partition
from kafka_segments.query.query import Query, TopicPartition
from kafka_segments.query.resolve import select, whole_log
from kafka_segments.query.timestamps import TimeFinder, piece_end

__all__ = ["Plan", "plan"]


@dataclass(frozen=True, slots=True)
class Plan:
    """Splits by task, and findings of planning.

    Attributes:
        tasks: splits by task, in order; each offset is in one split.
        ranges: of the selected partitions.
        findings: excluded segments and offsets; missing offsets, if known before reading; transactions whose
            end was lost to damage; unused index files; remarks.
        committed: transaction outcomes by partition; empty at `read_uncommitted`.
        num_bytes: estimated bytes to read.
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
        """Texts of warnings: findings that cost no requested record."""
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
        logs: all partitions.
        query: the request.
        places: filesystems by path.
        committed: transaction outcomes known from a snapshot.

    Raises:
        OptionError: the query selects missing topics or partitions, contradicts itself, or needs more reading
            than its limits allow.
        ReadError: a needed file cannot be read, or access to an optional one is denied.
        StoreError: a store refused or failed, for optional files too.
    """
    return _Planner(query, places, dict(committed or {})).plan(logs)


class _Planner:
    """State of planning one query."""

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
        """Splits of a partition, one for each segment, narrowed by conditions."""
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
                ".txnindex files decided which transactions were committed: the headers of "
                f"{known.num_unread} bytes were not read, so entries missing in an index are not detected "
                "(raise maxWalkBytes or use a snapshot by kafka_segments.spark.take_snapshot to read them)"
            )
            self._findings.append(Finding(Kind.REMARK, *key, why))
        return known

    def _whole_splits(
        self, log: PartitionLog, found: Range, visible: int | None, findings: list[Finding]
    ) -> Iterator[Split]:
        """Yield a split for each segment with offsets of the range; add findings for the others.

        Segments from the offset `visible` on already have a finding.
        """
        for at, piece in enumerate(log.pieces):
            end = piece_end(log, at)
            following = log.pieces[at + 1].start if at + 1 < len(log.pieces) else None
            if following is not None and end is not None and end < following:
                findings += _gap(log, found, end, following)
            # With an end for counting only, the newest segment is still read to its own end.
            is_open = (log.topic, log.partition) in self._open_ends
            why = None if is_open and following is None else _why_outside(found, piece.start, end)
            start = log.log_start_offset or 0
            if end is not None and end <= start and len(log.copies) == 1:
                # A misnamed segment: its reader reports offsets that no other split reads.
                split = _whole_split(log, at, end, (piece.start, None), is_from_beginning=False)
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
            split = _whole_split(log, at, end, asked, is_from_beginning=is_from_beginning)
            is_limited = is_open or found.limit is not None
            yield replace(split, asked=(split.asked[0], found.limit)) if is_limited else split

    def _cut(self, splits: Sequence[Split]) -> list[Split]:
        limits = self._query.limits
        max_bytes = limits.max_partition_bytes
        if limits.min_partitions is not None:
            max_bytes = min(max_bytes, max(1, sum(map(num_bytes_of, splits)) // limits.min_partitions))
        is_strict = limits.min_partitions is not None
        cutter = Cutter(
            self._places,
            max_bytes,
            limits.max_records,
            self._budget,
            limits.max_compressed_bytes,
            is_strict=is_strict,
            only_by_index=limits.only_by_index,
        )
        cut = cutter.cut_all(splits)
        parts, left_out = drop_by_offsets(cut, self._query.conditions, self._log_end)
        self._findings += [*left_out, *cutter.findings]
        return self._with_excluded(parts) if self._committed else parts

    def _reopened(self, split: Split) -> Split:
        """Reopen the end of a log's last split that was closed for counting only.

        Its reader then reports damage after the last valid batch.
        """
        is_last = split.end is not None and self._open_ends.get((split.topic, split.partition)) == split.end
        return replace(split, end=None, end_position=None) if is_last and split.following is None else split

    def _bounded(self, tasks: Sequence[tuple[Split, ...]]) -> list[tuple[Split, ...]]:
        """Pin the log end of open splits at planning, as a consumer fixes the latest offset once.

        The end stays open, so that the reader reports damage after the last valid batch.
        """
        is_open = [split for task in tasks for split in task if split.end is None and split.following is None]
        far = next((split.segment.path for split in is_open if is_remote(split.segment.file)), "")
        found = run_at_once(far, self._reached, is_open)
        reached = dict(zip(map(id, is_open), found, strict=True))
        return [
            tuple(
                replace(split, reached=reached[id(split)]) if id(split) in reached else split
                for split in task
            )
            for task in tasks
        ]

    def _reached(self, split: Split) -> int | None:
        """After the last available offset; None if it cannot be read, which the reader reports."""
        if split.asked[1] is not None:
            return max(split.start, split.asked[1])  # misnamed segments: another one may hold it
        found = None
        with NotingFaults():
            found = find_reached(self._places, split.segment)
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


def _whole_split(
    log: PartitionLog, at: int, end: int | None, asked: tuple[int, int | None], *, is_from_beginning: bool
) -> Split:
    """Return the split for one piece of a log.

    Args:
        log: the partition.
        at: index of the piece.
        end: see `piece_end`.
        asked: the requested range of offsets of the log.
        is_from_beginning: the range begins at the log start, and not at a requested offset or time.
    """
    piece = log.pieces[at]
    start = max(piece.start, asked[0])
    lowest = min(asked[0], log.log_start_offset or 0) if is_from_beginning else asked[0]
    return Split(
        log.topic,
        log.partition,
        start,
        lower(end, asked[1]),
        piece.segment,
        piece.others,
        following=log.pieces[at + 1].start if at + 1 < len(log.pieces) else None,
        cleaned_up_to=log.cleaned_up_to,
        copies=log.copies,
        preceding=_preceding_offset(log, at),
        asked=(lowest, asked[1]),
        floor=lowest if at == 0 and start == piece.segment.base_offset else None,
    )


def _preceding_offset(log: PartitionLog, at: int) -> int | None:
    """Base offset of the previous piece, if its segment is in the same log directory."""
    if at == 0:
        return None
    own, before = log.pieces[at].segment, log.pieces[at - 1].segment
    directory, _, name = own.file.path.rpartition("/")
    is_same = before.file.path.rpartition("/")[0] == directory and SEGMENT_NAME.fullmatch(name) is not None
    return before.base_offset if is_same else None


def _gap(log: PartitionLog, found: Range, first: int, stop: int) -> Iterator[Finding]:
    """Report the offsets between two segments as lost."""
    first = max(first, found.start, log.cleaned_up_to or 0)
    stop = stop if found.end is None else min(stop, found.end)
    why = "no segment holds them"
    for start, end in not_left_out(log, first, stop):
        yield Finding(Kind.LOST, log.topic, log.partition, why, start, end - 1)


def _why_outside(found: Range, start: int, end: int | None) -> str | None:
    """Reason why a segment is outside a range; None if it is inside."""
    if end is not None and end <= found.log_start_offset:
        return f"deleted: the log starts at offset {found.log_start_offset}"
    if end is not None and end <= found.start:
        return f"before offset {found.start}, where reading begins"
    if found.end is not None and start >= found.end:
        return f"reading ends at offset {found.end}: {found.end_is}"
    if found.end is not None and found.start >= found.end:
        return f"nothing is read between offset {found.start} and {found.end_is}, {found.end}"
    return None


def _concerns(doubt: Damage, found: Range) -> bool:
    """Whether a range contains offsets that a doubtful transaction excludes or holds back."""
    first, last = doubt.first_lost_offset or 0, doubt.last_lost_offset
    is_held_back = found.end_is.kind is EndKind.STABLE and first == found.end
    is_before_end = found.end is None or first < found.end or is_held_back
    return is_before_end and (last is None or last >= found.start)


def _once(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield findings without repeated ones of a file that several partitions share."""
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
    # Producers set these times, and copies of a log are read long after them.
    return f"{text}, by its records' timestamps for {max(0, int(time.time() - pin.timestamp / 1000))} seconds"
