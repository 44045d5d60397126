"""Pruning of splits by a query's conditions, with findings for what is excluded.

Strategy: only proven exclusions count. No record of a batch is later than the greatest timestamp in its
header: the broker sets it (LogValidator), the cleaner recomputes it, and the checksum covers it. So a lower
bound excludes batches and, by a sound `.timeindex`, beginnings of segments or whole ones. An upper bound
excludes batches with LogAppendTime, where all records have the header's timestamp; for CreateTime it needs
`max_timestamp_skew_ms`: no record is earlier than one before it by more than this. Timestamps of transaction
markers and emptied batches are not those of records. Offsets of misnamed segments are never pruned by times.

Headers are read of local files only, within a budget.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import chain, groupby, repeat

from kafka_segments.core.formats.entries import Damage
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.segment.continuity import Extent
from kafka_segments.core.segment.header_summaries import HeaderSummary, iter_header_summaries
from kafka_segments.errors import KafkaFormatError, NotingFaults
from kafka_segments.log.findings import Finding, Kind
from kafka_segments.log.index_claims import (
    TimeClaims,
    is_before,
    iter_claims,
    position_of,
    verify_claim,
)
from kafka_segments.log.model import Split, lower
from kafka_segments.log.opening import Budget, is_remote, is_small, open_stored, open_times
from kafka_segments.log.segment_extents import touches_any
from kafka_segments.query.cut import num_bytes_of
from kafka_segments.query.query import Condition

__all__ = ["Pruner", "drop_by_offsets", "drop_by_partition"]

_LEAST_GAP = 1 << 20  # bytes excluded between two splits; reading fewer is faster than another split


def drop_by_partition(topic: str, partition: int, conditions: Iterable[Condition]) -> str | None:
    """Reason why no row of a partition can fulfil the conditions; None if some can."""
    for condition in conditions:
        value: str | int | None = None
        if condition.column in ("topic", "partition"):
            value = topic if condition.column == "topic" else partition
        if value is not None and not condition.holds(value):
            return f"the query asks for {condition}"
    return None


def drop_by_offsets(
    splits: Iterable[Split], conditions: Iterable[Condition], log_end: Callable[[Split], int]
) -> tuple[list[Split], list[Finding]]:
    """Narrow splits to the bounds of the conditions on offsets.

    Findings of a part of a segment have no bytes: that would take an index.

    Args:
        splits: of any partitions.
        conditions: those on offsets are used.
        log_end: gives the end of a split's log, for conditions that end an open split; it stays open if the
            condition's bound is after that end, as such offsets are not lost.
    """
    conditions = [one for one in conditions if one.column == "offset"]
    if not conditions:
        return list(splits), []
    why = f"the query asks for {' and '.join(str(one) for one in conditions)}"
    kept, left_out = [], []
    for split in splits:
        narrowed: Split | None = split
        for condition in conditions:
            narrowed = narrowed and _narrowed(narrowed, condition)
        if narrowed and narrowed.end is not None and split.end is None and narrowed.end > log_end(split):
            narrowed = replace(narrowed, end=None)
        if narrowed is None:
            left_out.append(_left_out(split, why))
            continue
        kept.append(narrowed)
        edge = replace(split, end_position=split.position)
        if narrowed.start > split.start:
            left_out.append(_left_out(replace(edge, end=narrowed.start), why))
        if narrowed.end is not None and narrowed.end != split.end:
            left_out.append(_left_out(replace(edge, start=narrowed.end), why))
    return kept, left_out


def _narrowed(split: Split, condition: Condition) -> Split | None:
    last = None if split.end is None else split.end - 1
    if not condition.touches(split.start, last):
        return None
    lows, highs = _bounds(condition)
    start = max([split.start, *lows])
    return replace(split, start=start, end=lower(split.end, *(high + 1 for high in highs)))


def _bounds(condition: Condition) -> tuple[list[int], list[int]]:
    """Lower and upper bounds of a condition, from its bounds and its values."""
    values = [value for value in condition.values or () if isinstance(value, int)]
    lows = [one for one in (condition.lowest, min(values, default=None)) if one is not None]
    highs = [one for one in (condition.highest, max(values, default=None)) if one is not None]
    return lows, highs


def _left_out(split: Split, why: str) -> Finding:
    last = None if split.end is None else split.end - 1
    path = split.segment.file.path
    where = split.topic, split.partition
    return Finding(Kind.LEFT_OUT, *where, why, split.start, last, path, num_bytes=num_bytes_of(split))


@dataclass
class Pruner:
    """Narrows splits by conditions on timestamps.

    Attributes:
        places: filesystems by path.
        conditions: those on timestamps are used.
        max_skew: see `Query.max_timestamp_skew_ms`.
        budget: for reading headers.
        unused: receives the errors of indexes.
        left_out: findings for what was excluded.
    """

    places: Places
    conditions: Sequence[Condition]
    max_skew: int | None
    budget: Budget
    unused: list[KafkaFormatError]
    left_out: list[Finding] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._times = [one for one in self.conditions if one.column == "timestamp"]
        bounds = [_bounds(one) for one in self._times]
        self._lowest = max((low for lows, _highs in bounds for low in lows), default=None)
        self._highest = min((high for _lows, highs in bounds for high in highs), default=None)
        self._asked = " and ".join(str(one) for one in self._times)

    def prune(self, splits: Sequence[Split], find_astray: Callable[[], Sequence[Extent]]) -> list[Split]:
        """Narrow the splits of one partition.

        Args:
            splits: in the order of the log.
            find_astray: gives the offsets of misnamed segments; called only if something would be excluded.
        """
        if not self._times:
            return list(splits)
        num_before = len(self.left_out)
        kept = self._prune(splits)
        if len(self.left_out) == num_before or not (astray := find_astray()):
            return kept
        del self.left_out[num_before:]
        kept = []
        for is_kept, group in groupby(splits, lambda one: touches_any(astray, one.start, one.end)):
            run = list(group)
            kept += run if is_kept else self._prune(run)
        return kept

    def _prune(self, splits: Sequence[Split]) -> list[Split]:
        kept: list[Split] = []
        reached: tuple[int, int] | None = None  # a timestamp after which all records are too late
        claims: Iterator[TimeClaims | None] = repeat(None)
        if self._lowest is not None:
            segments = [split.segment for split in splits]
            claims = iter_claims(self.places, segments, self._lowest, self.unused)
        for split in splits:
            if reached is not None:
                self._drop(split, self._why_over(reached))
            else:
                is_high_known = False
                rest, is_low_known = self._by_lower(split, next(claims))
                if rest is not None:
                    reached, is_high_known = self._reached(rest)
                    rest = rest if reached is None else self._ended(rest, reached)
                if rest is not None:
                    kept += self._by_headers(rest, is_low_known, is_high_known)
        return kept

    def _drop(self, split: Split, why: str) -> None:
        self.left_out.append(_left_out(split, why))

    def _by_lower(self, split: Split, claims: TimeClaims | None) -> tuple[Split | None, bool]:
        """Exclude what the time index proves to be too early; also return whether it had an answer."""
        if claims is None:
            return split, True
        if claims.before is None or (claims.before < split.start and not claims.is_all):
            return split, claims.before is not None
        why = f"no timestamp is above {claims.greatest} (.timeindex), "
        why += f"and the query asks for {self._asked}"
        if claims.is_all or (split.end is not None and claims.before + 1 >= split.end):
            self._drop(split, why)
            return None, True
        position = self._position(split, claims.before + 1)
        self._drop(replace(split, end=claims.before + 1, end_position=position), why)
        return replace(split, start=claims.before + 1), True

    def _reached(self, split: Split) -> tuple[tuple[int, int] | None, bool]:
        """Timestamp and offset after which records are too late; and whether the index had an answer."""
        if self._highest is None or self.max_skew is None:
            return None, self._highest is None
        least = self._highest + self.max_skew + 1
        if least < 0:
            return None, True  # in headers -1 stands for everything below, too
        with NotingFaults(self.unused):
            times = open_times(self.places, split.segment)
            if times is None:
                return None, False
            with times:
                claim, is_any = times.first_not_below(least), len(times) > 0
            if claim is None:
                return None, is_any and not split.segment.is_newest
            verify_claim(self.places, split.segment, claim, needs_records=True)
            return claim, True
        return None, False

    def _why_over(self, reached: tuple[int, int]) -> str:
        return (
            f"offset {reached[1]} has timestamp {reached[0]}, after it none is earlier by more than "
            f"{self.max_skew} ms (maxTimestampSkewMs), and the query asks for {self._asked}"
        )

    def _ended(self, split: Split, reached: tuple[int, int]) -> Split | None:
        end = max(reached[1] + 1, split.start)
        if split.end is not None and split.end <= end:
            return split
        position = self._position(split, end)
        self._drop(replace(split, start=end, position=position), self._why_over(reached))
        return replace(split, end=end) if end > split.start else None

    def _position(self, split: Split, offset: int) -> int:
        """Lowest position of the batch with an offset, by the index."""
        return max(split.position, position_of(self.places, split.segment, offset, self.unused))

    def _by_headers(self, split: Split, is_low_known: bool, is_high_known: bool) -> list[Split]:
        """Exclude batches by their headers, of a local file and within the budget."""
        if split.segment.form != "plain" or is_remote(split.segment.file):
            return [split]
        if is_low_known and self._highest is None:
            return [split]
        with closing(open_stored(self.places, split.segment)) as source:
            position = split.position if is_small(split.segment) else self._position(split, split.start)
            if not is_before(source, position, split.start):
                position = split.position
            heads, begun = iter_header_summaries(source, position), list[HeaderSummary | Damage]()
            while not (begun and isinstance(begun[-1], HeaderSummary)) and (head := next(heads, None)):
                begun.append(head)
            is_append_time = not begun or isinstance(begun[-1], Damage) or begun[-1].is_append_time
            is_of_use = is_append_time or (self.max_skew is not None and not is_high_known)
            is_of_use = not is_low_known or (self._highest is not None and is_of_use)
            if not is_of_use or not self.budget.spend(split.segment.file, position):
                return [split]
            runs = _Walk(self._times, self.max_skew, split).runs(chain(begun, heads))
        return [split] if runs is None else self._parts(split, runs)

    def _parts(self, split: Split, runs: Sequence[_Run]) -> list[Split]:
        parts = []
        before, position = split.start, split.position
        for run in runs:
            if run.start > before:
                self._drop_gap(split, before, run.start, (position, run.position))
            place = {"position": run.position, "end_position": run.end_position}
            parts.append(replace(split, start=run.start, end=run.end, **place))  # type: ignore[arg-type]
            if run.end is None:
                return parts
            before, position = run.end, run.end_position
        if split.end is None or before < split.end:
            self._drop_gap(split, before, split.end, (position, split.segment.size))
        return parts

    def _drop_gap(self, split: Split, start: int, end: int | None, place: tuple[int, int]) -> None:
        gap = replace(split, start=start, end=end, position=place[0], end_position=place[1])
        self._drop(gap, f"by the batches' headers no timestamp fulfils {self._asked}")


@dataclass(slots=True)
class _Run:
    """Consecutive batches to read."""

    start: int
    end: int | None
    position: int
    end_position: int


@dataclass(slots=True)
class _Walk:
    """One pass over the headers of a split."""

    conditions: Sequence[Condition]
    max_skew: int | None
    split: Split
    latest: int = -1
    """Greatest timestamp of a record so far."""

    def runs(self, heads: Iterable[HeaderSummary | Damage]) -> list[_Run] | None:
        """Runs to read, with small gaps closed; None where offsets do not ascend."""
        runs: list[_Run] = []
        reached: int | None = None  # the last offset so far
        damage: Damage | None = None
        for head in heads:
            if isinstance(head, Damage):
                damage = damage or head
                continue
            first = head.first_offset
            if first is None:
                first = 0 if reached is None else reached + 1
            if reached is not None and not reached < first <= head.last_offset:
                return None
            if self.split.end is not None and first >= self.split.end:
                break
            if damage is not None:
                self._keep(runs, (reached or 0, first), (damage.position, head.position))
                damage = None
            if self._may_hold(head):
                self._keep(runs, (first, head.last_offset + 1), (head.position, head.end_position))
            if head.has_records:
                self.latest = max(self.latest, head.max_timestamp)
            reached = head.last_offset
        if damage is not None:
            end = self.split.end
            self._keep(runs, (reached or 0, end), (damage.position, self.split.segment.size))
        return runs

    def _keep(self, runs: list[_Run], offsets: tuple[int, int | None], place: tuple[int, int]) -> None:
        """Add offsets of the split to the runs."""
        start, end = max(offsets[0], self.split.start), offsets[1]
        if end is None or (self.split.end is not None and end > self.split.end):
            end = self.split.end
        if end is not None and start >= end:
            return
        if runs and place[0] - runs[-1].end_position < _LEAST_GAP:
            runs[-1].end, runs[-1].end_position = end, place[1]
        else:
            runs.append(_Run(start, end, *place))

    def _may_hold(self, head: HeaderSummary) -> bool:
        lowest: int | None = None
        if head.is_append_time:
            lowest = head.max_timestamp
        elif self.max_skew is not None and self.latest >= 0:
            lowest = self.latest - self.max_skew
        return all(one.touches(lowest, head.max_timestamp) for one in self.conditions)
