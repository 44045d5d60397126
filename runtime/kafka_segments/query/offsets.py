"""Offset range to read of each partition, and requested offsets that are missing.

Strategy: as Spark's connector resolves its options (KafkaOffsetReaderAdmin), with files instead of a broker:
the earliest offset is the log start; the latest is the last stable offset at `read_committed`, else the high
watermark where a broker is writing, else the end of the last complete valid batch. That end stays open for
the reader to find, unless its number is needed here.

A broker writes the high watermark of each partition (replication-offset-checkpoint) every few seconds, its
recovery point (recovery-point-offset-checkpoint) every minute, and both at shutdown. A log that ends before
them, with no broker running, has lost its end. Segments excluded by the caller (by file names or options) are
not lost. A running broker may have more in its checkpoints than on the disk: its log is skipped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from operator import itemgetter

from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.segment.continuity import swapped_out
from kafka_segments.errors import OptionError
from kafka_segments.log.findings import Finding, Kind, of_kinds
from kafka_segments.log.log_end import find_end
from kafka_segments.log.model import PartitionLog
from kafka_segments.log.segment_extents import astray_in, extent_of
from kafka_segments.query.committed import Committed, Pin
from kafka_segments.query.query import EARLIEST, LATEST, Bound, Query
from kafka_segments.query.timestamps import TimeFinder

__all__ = [
    "EndKind",
    "LogView",
    "Range",
    "check_partitions",
    "lost_ends",
    "lost_swaps",
    "not_left_out",
    "resolve",
]


class EndKind(Enum):
    """Kinds of ends of a range."""

    LOG_END = "the end of the log"
    STABLE = "the last stable offset"
    HIGH_WATERMARK = "the high watermark"
    NO_HIGH_WATERMARK = "the high watermark, which is not known yet (endingOffsets=log-end reads to the end)"
    OFFSET = "the ending offset"
    TIMESTAMP = "the first record at or after"


@dataclass(frozen=True, slots=True)
class RangeEnd:
    """Reason for the end of a range; `str` gives a text.

    Attributes:
        kind: kind of end.
        pin: the open transaction at the last stable offset.
        timestamp: the requested time.
    """

    kind: EndKind
    pin: Pin | None = None
    timestamp: int | None = None

    def __str__(self) -> str:
        if self.pin is not None:
            whose = f"producer {self.pin.producer_id} has had a transaction open since offset"
            return f"{self.kind.value} ({whose} {self.pin.first_offset})"
        return self.kind.value if self.timestamp is None else f"{self.kind.value} {self.timestamp}"


@dataclass(frozen=True, slots=True)
class Range:
    """Offsets to read of a partition.

    Attributes:
        topic: name.
        partition: number.
        start: first offset.
        end: after the last offset; None is the end of the log.
        log_start_offset: first offset of the log.
        log_end_offset: end of the log, if it is known.
        end_is: reason for the end.
        limit: end of the offsets returned from an open range, where misnamed segments after it may hold lower
            offsets; None is no limit.
    """

    topic: str
    partition: int
    start: int
    end: int | None
    log_start_offset: int
    log_end_offset: int | None
    end_is: RangeEnd
    limit: int | None = None


def check_partitions(logs: Sequence[PartitionLog], query: Query) -> None:
    """Check that offsets or times by partition are given for exactly the partitions that are read.

    Raises:
        OptionError: a partition without one, or one that is not read (asserted by KafkaOffsetReaderAdmin).
    """
    there = {(log.topic, log.partition) for log in logs}
    for side, bound in (("starting", query.start), ("ending", query.end)):
        if bound.kind not in ("offsets", "timestamps"):
            continue
        different = sorted(there ^ bound.by_partition.keys())
        if different:
            (topic, partition), is_there = different[0], different[0] in there
            what = "is read but has none" if is_there else "has one but is not read"
            raise OptionError(
                f"{side} {bound.kind} must be given for exactly the partitions that are read: "
                f"{topic}-{partition} {what} ({len(different)} such); -1 is the latest offset, -2 the first"
            )


@dataclass
class LogView:
    """A log as a query sees it, with start and ends determined on first use.

    Attributes:
        log: the partition, with one piece or more.
        places: filesystems by path.
        finder: of offsets by times.
        committed: outcome of its transactions; None at `read_uncommitted`.
        findings: requested offsets that are missing, and offsets after the end of reading.
    """

    log: PartitionLog
    places: Places
    finder: TimeFinder
    committed: Committed | None = None
    findings: list[Finding] = field(default_factory=list)

    @property
    def start(self) -> int:
        """The first available offset."""
        return max(self.log.log_start_offset or 0, self.log.pieces[0].start)

    @cached_property
    def end(self) -> int:
        """After the last complete valid batch, but not below the start."""
        return self._written_end if self._is_pinned else max(self._written_end, self.start)

    @property
    def _is_pinned(self) -> bool:
        return self.committed is None and self.log.pieces[-1].end is not None

    @cached_property
    def _written_end(self) -> int:
        piece = self.log.pieces[-1]
        if self.committed is not None:
            return self.committed.end_offset
        return _end_of(self.log, self.places, self.finder) if piece.end is None else piece.end

    def why_all_deleted(self) -> str | None:
        """Text of a remark if the log start is after all offsets in the files, else None."""
        start = self.log.log_start_offset
        if start is None or not self.may_be_after_end(start) or start <= self._written_end:
            return None
        return (
            f"nothing is read: the log starts at offset {start} (log-start-offset-checkpoint), and its "
            f"segments end at offset {self._written_end}; if they are older than the checkpoint, as in an "
            "archive, read them from a directory without it"
        )

    @cached_property
    def is_damaged_after(self) -> bool:
        """Whether damage follows the end, other than an incomplete batch."""
        piece = self.log.pieces[-1]
        if piece.end is not None or self.log.end.is_live:
            return False
        found = find_end(self.places, piece.segment)
        return found.tail is not None and not (piece.segment.is_newest and found.is_tail_pending)

    def is_misnamed_after(self, offset: int) -> bool:
        """Whether segments named after an offset hold lower ones."""
        pieces = self.log.pieces
        if offset <= self.end:
            # The high watermark of a live broker may still be before its new segment.
            pieces = tuple(piece for piece in pieces if piece.start >= offset)
        return bool(pieces) and bool(astray_in(self.places, replace(self.log, pieces=pieces)))

    def may_be_after_end(self, offset: int) -> bool:
        """Whether an offset may be after the end, by names alone, without reading."""
        return offset > self.log.pieces[-1].start

    def lose(self, first: int, stop: int, why: str) -> None:
        """Add the finding that offsets `[first, stop)` are lost."""
        if first < stop:
            where = self.log.topic, self.log.partition
            self.findings.append(Finding(Kind.LOST, *where, why, first, stop - 1))


def resolve(view: LogView, query: Query) -> Range:
    """Resolve the range of one partition; findings are added to the view.

    Raises:
        OptionError: no record at or after the starting time, a range that begins after its end, or a high
            watermark that is not known.
        KafkaFormatError: a needed file cannot be read.
    """
    visible, why = _visible_end(view, query)
    end, end_is = _ending(view, query.end, visible, why)
    start = _starting(view, query, visible)
    if query.start.kind == "earliest" and end is not None:
        start = min(start, end)
    if end_is != why and end is not None and start > end:
        raise OptionError(
            f"the range of {view.log.topic}-{view.log.partition} begins at offset {start}, which is after "
            f"its end: {end_is}, {end}"
        )
    start, end = _there(view, query, start, end)
    if visible is not None and (end is None or end > visible):
        end, end_is = visible, why
    start = start if end is None else min(start, end)
    limit = view.log.end.high_watermark
    if end_is.kind is EndKind.HIGH_WATERMARK and view.log.end.is_live and limit is not None:
        is_misnamed = query.end.kind == "latest" and view.is_misnamed_after(limit)
        limit, end = (limit, None) if is_misnamed else (None, end)
    else:
        limit = None
    log_end = view.__dict__.get("end")
    return Range(view.log.topic, view.log.partition, start, end, view.start, log_end, end_is, limit)


def _visible_end(view: LogView, query: Query) -> tuple[int | None, RangeEnd]:
    """The highest end of reading and its reason; None is the end of the log."""
    log_end = view.log.end
    candidates: list[tuple[int, RangeEnd]] = []
    if query.end.kind == "high-watermark" or (log_end.is_live and query.end.kind != "log-end"):
        if log_end.high_watermark is not None:
            high_watermark = max(log_end.high_watermark, view.start)
            candidates.append((min(high_watermark, view.end), RangeEnd(EndKind.HIGH_WATERMARK)))
        elif log_end.is_live and query.end.kind != "high-watermark":
            # A broker begins with it at the log start, and writes it every few seconds.
            candidates.append((view.start, RangeEnd(EndKind.NO_HIGH_WATERMARK)))
        else:
            raise OptionError(
                f"the high watermark of {view.log.topic}-{view.log.partition} is not known: no "
                "replication-offset-checkpoint has it; endingOffsets=log-end reads to the end of the log"
            )
    if view.committed is not None:
        candidates.append((view.committed.last_stable_offset, RangeEnd(EndKind.STABLE, view.committed.pin)))
    if not candidates:
        return None, RangeEnd(EndKind.LOG_END)
    end, why = min(candidates, key=itemgetter(0))
    if end >= view.end and view.is_damaged_after:
        return None, RangeEnd(EndKind.LOG_END)  # for the reader to report the damage
    if end < view.end:
        newest = view.log.pieces[-1].segment.file.path
        size = sum(piece.segment.size for piece in view.log.pieces if piece.start >= end)
        key = view.log.topic, view.log.partition
        found = Finding(Kind.AFTER_END, *key, f"after {why}", end, view.end - 1, newest, num_bytes=size)
        view.findings.append(found)
    return end, why


def _ending(view: LogView, bound: Bound, visible: int | None, why: RangeEnd) -> tuple[int | None, RangeEnd]:
    offset = _number(bound, view.log)
    if offset is not None and offset != LATEST:
        return offset, RangeEnd(EndKind.OFFSET)
    timestamp = _timestamp(bound, view.log)
    if timestamp is not None:
        found = view.finder.find(view.log, timestamp, view.start, is_start=False)
        if found is not None and (visible is None or found < visible):
            return found, RangeEnd(EndKind.TIMESTAMP, timestamp=timestamp)
    return visible, why


def _starting(view: LogView, query: Query, visible: int | None) -> int:
    offset = _number(query.start, view.log)
    if offset is not None and offset != EARLIEST:
        return offset
    timestamp = _timestamp(query.start, view.log)
    if timestamp is None:
        return view.start
    found = view.finder.find(view.log, timestamp, view.start, is_start=True)
    if found is not None and (visible is None or found < visible):
        return found
    if query.no_match == "error":
        raise OptionError(
            f"no record of {view.log.topic}-{view.log.partition} has timestamp {timestamp} or a later one; "
            "startingOffsetsByTimestampStrategy=latest reads nothing there"
        )
    return view.end if visible is None else visible


def _number(bound: Bound, log: PartitionLog) -> int | None:
    return bound.by_partition[log.topic, log.partition] if bound.kind == "offsets" else None


def _timestamp(bound: Bound, log: PartitionLog) -> int | None:
    if bound.kind == "timestamps":
        return bound.by_partition[log.topic, log.partition]
    return bound.timestamp


def _there(view: LogView, query: Query, start: int, end: int | None) -> tuple[int, int | None]:
    """The available part of a range; requested offsets outside it are lost."""
    by_start, by_end = (
        _number(bound, view.log) not in (None, special)
        for bound, special in ((query.start, EARLIEST), (query.end, LATEST))
    )
    if by_start and start < view.start:
        stop = view.start if end is None else min(view.start, end)
        view.lose(start, stop, f"the log starts at offset {view.start}")
        start = stop
    if by_end and end is not None and view.may_be_after_end(end) and end > view.end:
        view.lose(max(start, view.end), end, f"the log ends at offset {view.end}")
        end = view.end
    if by_start and view.may_be_after_end(start) and start > view.end:
        if not by_end:
            view.lose(view.end, start, f"the log ends at offset {view.end}")
        start = view.end
    return start, end


def _end_of(log: PartitionLog, places: Places, finder: TimeFinder) -> int:
    """End of the last complete valid batch of the newest segment, or of all if that is misnamed."""
    newest = log.pieces[-1]
    highest = find_end(places, newest.segment, finder.unused).highest
    if highest is not None and highest < newest.segment.base_offset:
        extents = (extent_of(places, piece.segment) for piece in log.pieces)
        highest = max((one.last for one in extents if one is not None), default=highest)
    return newest.start if highest is None else max(newest.start, highest + 1)


_LOG_ENDS = (EndKind.LOG_END, EndKind.STABLE)
"""Kinds of ends (`Range.end_is`) of ranges that read to the end of the log."""


def lost_ends(view: LogView, found: Range) -> Iterator[Finding]:
    """Report offsets between the end of a log and its checkpoints (high watermark, recovery point).

    Args:
        view: the log.
        found: the range that is read.
    """
    log, (noted, what) = view.log, view.log.noted.end
    if found.end_is.kind not in _LOG_ENDS or noted <= (view.end if noted else 0):
        return
    why = f"the log ends at offset {view.end}, but a broker noted {noted} as its {what.partition(' (')[0]}"
    for first, stop in not_left_out(log, max(view.end, found.start), noted):
        yield Finding(Kind.LOST, log.topic, log.partition, why, first, stop - 1)


def lost_swaps(
    view: LogView, found: Range, known: Sequence[tuple[int, int]], *, is_from_start: bool
) -> Iterator[Finding]:
    """Report offsets that only `.swap` files hold; see `continuity.swapped_out`.

    Args:
        view: the log.
        found: the range that is read.
        known: the offsets that are reported as lost already.
        is_from_start: the range begins at the log start; a `.swap` file may hold offsets before it.
    """
    log = view.log
    if log.end.is_live or not log.swaps:
        return
    key = log.topic, log.partition
    start = 0 if is_from_start else found.start
    for first, stop, why in swapped_out(log.noted, [piece.segment.base_offset for piece in log.pieces]):
        last = first if stop is None else stop
        is_known = any(one[0] <= first and last <= one[1] for one in known)
        is_asked = last >= start and (found.end in (None, view.end) or first < found.end)
        if is_asked and not is_known:
            yield Finding(Kind.LOST, *key, why, first, last)


def not_left_out(log: PartitionLog, first: int, stop: int) -> Iterator[tuple[int, int]]:
    """Yield the parts of an offset range outside deliberately excluded segments, as `[first, stop)`.

    Args:
        log: the partition.
        first: the first offset.
        stop: the end, exclusive.
    """
    chosen_out = [
        (one.first_offset, stop if one.last_offset is None else one.last_offset + 1)
        for one in of_kinds(log.findings, Kind.LEFT_OUT)
        if one.first_offset is not None
    ]
    for start, end in sorted(chosen_out):
        if first < min(start, stop):
            yield first, min(start, stop)
        first = max(first, end)
    if first < stop:
        yield first, stop
