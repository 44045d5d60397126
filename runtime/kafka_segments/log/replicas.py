"""Merge of partitions' copies into logs with each offset once.

Strategy: replicas, disks and tiers legitimately overlap. The copy with the latest leader epoch, and of those
the one with the highest end, is the log, as the leader that a broker would follow; others count up to where
their lineage diverges from it (`lineage`), and are read where those before them have no segment. A tier's
segment has its own lineage, so each of them is judged by itself.

A copy without a lineage (brokers before 0.11, segments copied without their checkpoint) is judged by its
batches: it must agree with a trusted copy at the last batch of both (`replica_agreement`). If it does not, it
is unknown which one is right, and that is an error.

No segment is opened if a partition has one copy. Of several, the ends of the newest segments are read, and of
those before a segment that seems to be missing (`replica_agreement`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, groupby

from kafka_segments.core.formats.entries import Batch
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.io.loggers import get_logger
from kafka_segments.core.segment.beside.index_files import LeaderEpoch
from kafka_segments.errors import OptionError
from kafka_segments.log.findings import Finding, Kind
from kafka_segments.log.lineage import Lineage, contradiction, diverges_at
from kafka_segments.log.log_end import find_end
from kafka_segments.log.model import LogEnd, LogPiece, PartitionCopy, PartitionLog, StoredSegment
from kafka_segments.log.offset_spans import OffsetSpans
from kafka_segments.log.replica_agreement import Span, compare, find_holes, two_topics

__all__ = ["resolve"]

_log = get_logger(__name__)


def resolve(
    places: Places,
    copies: Iterable[PartitionCopy],
    *,
    is_strict: bool = True,
    otherwise: Callable[[PartitionLog, OptionError], PartitionLog] | None = None,
) -> list[PartitionLog]:
    """Merge the copies of partitions.

    Args:
        places: opens files.
        copies: of any partitions, from `discover`.
        is_strict: False lets the last batch of both differ if those before it agree; the caller compares all.
        otherwise: takes the place of the error, given a log without segments.

    Returns:
        Logs by topic and number.

    Raises:
        OptionError: copies are of different topics with one name, or contradict each other; it names both.
        ReadError: a segment cannot be opened.

    Example:
        >>> resolve(Places(), [])
        []
    """
    ordered = sorted(copies, key=lambda copy: (copy.topic, copy.partition, copy.path))
    logs, disputed = list[PartitionLog](), two_topics(ordered)
    for (topic, _), found in groupby(ordered, key=lambda copy: (copy.topic, copy.partition)):
        own = list(found)
        try:
            if topic in disputed:
                raise disputed[topic]
            logs.append(_resolved(places, own, is_strict=is_strict))
        except OptionError as error:
            if otherwise is None:
                raise
            logs.append(otherwise(_log_of(own, (), ()), error))
    return logs


@dataclass(slots=True)
class _Run:
    """Segments with one lineage: all of a broker's copy, or one of a tier's.

    Attributes:
        copy: their copy.
        spans: the segments, by offset.
        lineage: up to the end of the last one.
        holes: offset ranges of missing segments, each with the segment before it.
    """

    copy: PartitionCopy
    spans: list[Span]
    lineage: Lineage
    holes: list[Span] = field(default_factory=list)

    @property
    def start(self) -> int:
        return self.spans[0][0]

    @property
    def rank(self) -> tuple[int, int, bool]:
        """Sort key of the leader, which is the greatest; of equal ones a broker's is nearer than a tier's."""
        return self.lineage.latest, self.lineage.end_offset, not self.copy.is_tiered

    @property
    def follower_rank(self) -> tuple[int, int, int, bool]:
        """Sort key of the others, of which the greatest is trusted first.

        If the leader has deleted an epoch, a copy counts up to its checkpoint of the high watermark, and the
        lineage of the log then ends that epoch there: so the highest comes first.
        """
        latest, end_offset, is_near = self.rank
        high_watermark = self.copy.end.high_watermark
        return latest, -1 if high_watermark is None else high_watermark, end_offset, is_near

    def path(self) -> str:
        return self.spans[0][2].file.path if self.copy.is_tiered else self.copy.path


def _resolved(places: Places, copies: list[PartitionCopy], *, is_strict: bool) -> PartitionLog:
    holding = [copy for copy in copies if copy.segments]
    if len(holding) == 1 and not holding[0].is_tiered:
        pieces = [LogPiece(one.base_offset, one.end_offset, one) for one in holding[0].segments]
        return _log_of(copies, pieces, holding[0].leader_epochs)
    runs = list(chain.from_iterable(_runs(places, copy) for copy in holding))
    if not runs:
        return _log_of(copies, (), ())
    runs.sort(key=lambda run: run.rank, reverse=True)
    runs[1:] = sorted(runs[1:], key=lambda run: run.follower_rank, reverse=True)
    is_compacted = any(copy.cleaned_up_to is not None for copy in copies)
    if not is_compacted:  # else offsets may be missing anywhere
        _cut_at_holes(places, runs)
    merger = _Merger(places, runs[0], is_compacted=is_compacted, is_strict=is_strict)
    for run in runs[1:]:
        merger.add(run)
    log = _log_of(copies, list(merger.pieces()), merger.lineage.entries, merger.limits, merger.astray)
    # A reader that searches a directory for a lost segment must not find diverged records.
    whole = tuple(path for path in log.copies if path not in merger.astray)
    limits = tuple(merger.limits.items())
    return replace(log, copies=whole, limits=limits, findings=(*log.findings, *merger.left_out))


def _cut_at_holes(places: Places, runs: Sequence[_Run]) -> None:
    """Cut segments to their real ends where another copy has the missing segments after them."""
    brokers = [run.spans for run in runs if not run.copy.is_tiered]
    tiered = {run.start: run.spans[0] for run in runs if run.copy.is_tiered}
    tiers = [tiered[start] for start in sorted(tiered)]
    for run in runs:
        if run.copy.is_tiered:
            continue
        others = [spans for spans in [*brokers, tiers] if spans and spans is not run.spans]
        for at, reached in find_holes(places, run.spans, others).items():
            start, end, segment = run.spans[at]
            _log.info("%s ends before offset %d: the next segment is missing", segment.file.path, reached)
            run.spans[at] = start, reached, segment
            run.holes.append((reached, end, segment))


def _log_of(
    copies: list[PartitionCopy],
    pieces: Sequence[LogPiece],
    epochs: Sequence[LeaderEpoch],
    limits: Mapping[str, int] | None = None,
    astray: Collection[str] = (),
) -> PartitionLog:
    """Make a log of copies; `limits` has the trusted ones with their end offsets, None trusts all.

    What an astray copy notes counts up to its limit; any other may note records that it has lost.
    """
    trusted = [copy for copy in copies if limits is None or copy.path in limits]
    start = max(_noted_starts(trusted, limits), default=None)
    name = copies[0].topic, copies[0].partition
    # The checkpoint of a single copy was applied to its segments by `discover`.
    noted = start if len(copies) > 1 else None
    why = f"its records are deleted: the log starts at offset {start} by another copy's checkpoint"
    left_out = [
        Finding(
            Kind.LEFT_OUT,
            *name,
            why,
            one.start,
            (one.end or 0) - 1,
            one.segment.file.path,
            num_bytes=one.segment.size,
        )
        for one in pieces
        if _is_below(one, noted)
    ]
    return PartitionLog(
        *name,
        tuple(piece for piece in pieces if not _is_below(piece, noted)),
        topic_id=next((copy.topic_id for copy in copies if copy.topic_id), None),
        log_start_offset=start,
        end=_end_noted(trusted, {path: limits[path] for path in astray if limits and path in limits}),
        copies=tuple(copy.path for copy in copies),
        findings=(*chain.from_iterable(copy.findings for copy in copies), *left_out),
        leader_epochs=tuple(epochs),
        cleaned_up_to=max(
            (one.cleaned_up_to for one in trusted if one.cleaned_up_to is not None), default=None
        ),
        without_log=copies[0].without_log if len(copies) == 1 else (),
        swaps=copies[0].swaps if len(copies) == 1 else (),
    )


def _noted_starts(trusted: Sequence[PartitionCopy], limits: Mapping[str, int] | None) -> Iterator[int]:
    for copy in trusted:
        start = copy.log_start_offset
        if start is not None and (limits is None or start <= limits[copy.path]):
            yield start


def _is_below(piece: LogPiece, start: int | None) -> bool:
    return start is not None and piece.end is not None and piece.end <= start


def _end_noted(trusted: Sequence[PartitionCopy], limits: Mapping[str, int]) -> LogEnd:
    def greatest(of: Callable[[LogEnd], int | None]) -> int | None:
        noted = ((of(copy.end), copy.path) for copy in trusted)
        known = ((offset, path) for offset, path in noted if offset is not None)
        return max((min(offset, limits.get(path, offset)) for offset, path in known), default=None)

    is_live = any(copy.end.is_live for copy in trusted)
    return LogEnd(is_live, greatest(lambda end: end.high_watermark), greatest(lambda end: end.recovery_point))


def _runs(places: Places, copy: PartitionCopy) -> Iterator[_Run]:
    if not copy.is_tiered:
        spans = [(one.base_offset, _end_of(places, one, one.end_offset), one) for one in copy.segments]
        yield _Run(copy, spans, Lineage.of(copy.leader_epochs, spans[-1][1]))
        return
    bases = sorted({one.base_offset for one in copy.segments})
    for segment in copy.segments:
        known = segment.end_offset
        at = bisect_right(bases, segment.base_offset)
        if known is None and at < len(bases):
            known = bases[at]  # a broker looks up the last segment that begins at or before an offset
        end = _end_of(places, segment, known)
        lineage = Lineage.of(segment.leader_epochs or (), end)
        yield _Run(copy, [(segment.base_offset, end, segment)], lineage)


def _end_of(places: Places, segment: StoredSegment, known: int | None) -> int:
    return find_end(places, segment).end_offset if known is None else known


class _Merger:
    """Merger of runs into a log, one after the other.

    Attributes:
        lineage: of the log so far.
        left_out: diverged records of the runs.
        astray: their directories.
    """

    def __init__(self, places: Places, leader: _Run, *, is_compacted: bool, is_strict: bool) -> None:
        self.lineage = leader.lineage
        self.left_out: list[Finding] = []
        self.astray: set[str] = set()
        self._places = places
        self._leader = leader
        self._is_compacted, self._is_strict = is_compacted, is_strict
        self._start = leader.start
        self._trusted: list[tuple[_Run, int]] = [(leader, leader.lineage.end_offset)]

    def add(self, run: _Run) -> None:
        """Add a run up to the offset where it diverges.

        Raises:
            OptionError: it contradicts the runs before it.
        """
        if run.lineage.entries and self.lineage.entries:
            limit = self._limit_by_lineage(run)
        else:
            limit = run.lineage.end_offset
            self._compare(run, limit)
        if limit < run.lineage.end_offset:
            self._leave_out(run, limit)
        if limit > run.start:
            self._trusted.append((run, limit))
            self.lineage = self.lineage.extended(run.lineage, min(self._start, limit))
            self._start = min(self._start, run.start)

    @property
    def limits(self) -> dict[str, int]:
        """End offset up to which each copy is trusted, by its path."""
        found: dict[str, int] = {}
        for run, limit in self._trusted:
            found[run.copy.path] = max(limit, found.get(run.copy.path, limit))
        return found

    def pieces(self) -> Iterator[LogPiece]:
        """Yield the pieces of the log, by offset; brokers' copies are preferred to tiers'."""
        coverage = OffsetSpans()
        ordered = sorted(self._trusted, key=lambda one: one[0].copy.is_tiered)
        # A hole in all copies is assigned to the segment before it, whose reader reports it.
        for spans, limit in [
            *((run.spans, limit) for run, limit in ordered),
            *((run.holes, limit) for run, limit in ordered),
        ]:
            for start, end, segment in spans:
                # A reader that replaces lost records from another copy must not take diverged ones.
                counting = segment if end <= limit else replace(segment, end_offset=limit)
                coverage.add(start, min(end, limit), counting)
        found = list(coverage.pieces())
        whole = (run.spans[-1] for run, limit in self._trusted if limit == run.lineage.end_offset)
        start, _, newest = max(whole, key=lambda span: span[1])
        # A segment without a known end counts to the end of its file, with damage after the last batch.
        if newest.end_offset is None:
            if found and found[-1].segment is newest:
                found[-1] = replace(found[-1], end=None)
            elif newest.size and (not found or (found[-1].end or 0) <= start):
                found.append(LogPiece(start, None, newest))
        yield from found

    def _limit_by_lineage(self, run: _Run) -> int:
        found = None if self._is_compacted else contradiction(self.lineage, run.lineage)
        if found is not None:
            epoch, trusted, other = found
            raise OptionError(
                f"leader epoch {epoch} began at offset {other} here and at offset {trusted} in "
                f"{self._leader.path()}: these are not copies of one log; give one of the two",
                path=run.path(),
            )
        limit = diverges_at(self.lineage, run.lineage)
        if run.copy.is_tiered:
            return limit  # nothing is uploaded before it is committed
        high_watermark = run.copy.end.high_watermark
        if self.lineage.end_of(run.lineage.latest)[0] is None and high_watermark is not None:
            # The known lineage begins later. Which records were truncated before that is unknown.
            limit = min(limit, max(run.start, high_watermark))
        self._compare(run, limit)
        return limit

    def _compare(self, run: _Run, end: int) -> None:
        """Compare a run with the trusted ones, until it agrees with them up to `end`.

        A comparison with the leader alone is not enough: two runs without lineage may both agree with it and
        differ after its end.
        """
        agreed = run.start
        for trusted, limit in self._trusted:
            common = min(end, limit)
            if max(agreed, trusted.start) < common:
                answer = compare(self._places, run.spans, trusted.spans, common)
                if isinstance(answer, tuple) and not self._is_strict:
                    below = min(one.last_offset - (one.num_records or 1) + 1 for one in answer)
                    answer = compare(self._places, run.spans, trusted.spans, below) or answer
                if isinstance(answer, tuple) and not self._may_be_cleaned(answer):
                    raise self._disagreement(run, trusted, answer)
                if answer is not None:
                    agreed = common
            if agreed >= end:
                return

    def _may_be_cleaned(self, batches: tuple[Batch, Batch]) -> bool:
        """Return whether the log cleaner may have made the difference."""
        one, other = batches
        return self._is_compacted and one.partition_leader_epoch == other.partition_leader_epoch

    def _disagreement(self, run: _Run, trusted: _Run, batches: tuple[Batch, Batch]) -> OptionError:
        mine, theirs = batches
        offset = min(mine.last_offset, theirs.last_offset)
        if mine.partition_leader_epoch == theirs.partition_leader_epoch >= 0:
            why = f"of leader epoch {mine.partition_leader_epoch} in both: one was changed; give the other"
        elif run.lineage.entries and trusted.lineage.entries:
            why = (
                "where both have the same lineage (leader-epoch-checkpoint): one was changed; give the other"
            )
        else:
            why = (
                "and without a leader-epoch-checkpoint in both it is unknown which is right: give one of them"
            )
        return OptionError(
            f"the batch at offset {offset} differs from the one in {trusted.path()}, {why}", path=run.path()
        )

    def _leave_out(self, run: _Run, limit: int) -> None:
        first, end = max(run.start, limit), run.lineage.end_offset
        known = self.lineage.end_of(run.lineage.latest)[0]
        why = (
            f"leader epoch {run.lineage.latest} of this copy is older than any that is known of the log, "
            f"and its high watermark is {limit}: later records may have been truncated"
            if known is None
            else f"this copy's history diverges from the log's at offset {limit}, where leader epoch "
            f"{known} ended: later records were truncated"
        ) + f"; the log is that of {self._leader.path()}"
        _log.info("%s: offsets %d to %d are left out: %s", run.path(), first, end - 1, why)
        sizes = sum(segment.size for _, span_end, segment in run.spans if span_end > first)
        copy = run.copy
        self.astray.add(copy.path)
        self.left_out.append(
            Finding(
                Kind.DIVERGED, copy.topic, copy.partition, why, first, end - 1, run.path(), num_bytes=sizes
            )
        )
