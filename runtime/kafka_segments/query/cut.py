"""Tasks from splits: cut large splits at offsets, pack small ones together.

Strategy: a cut is an offset, with a position from the index as a hint. An entry of a `.index` has the last
offset of an append (until Kafka 1.1 the first) and the append's position, so all greater offsets stand at
that position or after it: the cut is made after that offset, and the reader verifies the position. One index
entry is read for each cut, by interpolation, or by binary search where batches differ in size. Without an
index, cuts come from the headers within a budget, else there are none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import accumulate

from kafka_segments.core.formats import LEN_HEAD
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.segment.beside.index_lookup import OffsetLookup
from kafka_segments.core.segment.header_summaries import HeaderSummary, iter_header_summaries
from kafka_segments.errors import KafkaFormatError, NotingFaults, OptionError, raise_unless_file_at_fault
from kafka_segments.log.findings import Finding, Kind
from kafka_segments.log.log_end import find_reached
from kafka_segments.log.model import Split
from kafka_segments.log.opening import Budget, is_remote, open_offsets, open_stored
from kafka_segments.log.partition_dirs import run_at_once

__all__ = ["MAX_CUTS", "Cutter", "num_bytes_of", "pack"]

_OPEN_COST = 1 << 20  # bytes that could be read while a file is opened
MAX_CUTS = 1_000_000
"""Most splits of a plan besides one a segment: 10,000 segments of 1 GiB, cut at 64 MiB, have 160,000."""
_MANY_CUTS = 1000  # of one segment by `max_records`, before its end is looked up
_MANY = 1.5  # times the wanted bytes of a task, before an index is searched

Cut = tuple[int, int]
"""First offset after the cut, and a position at or before that of every offset from it on."""


def num_bytes_of(split: Split) -> int:
    """Estimate the bytes of its segment that a split reads."""
    end = split.segment.size if split.end_position is None else split.end_position
    return max(0, end - split.position)


@dataclass
class Cutter:
    """Cuts splits into smaller ones.

    Attributes:
        places: filesystems by path.
        max_bytes: of a segment that one split reads, about.
        max_records: offsets of one split; None for any number.
        budget: for reading headers where there is no index.
        max_compressed_bytes: instead of `max_bytes`, if the first batch is compressed; None is the same.
        is_strict: also cut splits that are less than 1.5 times too large.
        only_by_index: do not cut by headers.
        num_cuts: number of cuts so far, including refused ones.
        findings: indexes that were not used.
    """

    places: Places
    max_bytes: int
    max_records: int | None
    budget: Budget
    max_compressed_bytes: int | None = None
    is_strict: bool = False
    only_by_index: bool = False
    num_cuts: int = 0
    findings: list[Finding] = field(default_factory=list)

    def cut_all(self, splits: Sequence[Split]) -> list[Split]:
        """Cut every split that is too large; splits of remote segments in parallel.

        Args:
            splits: one for each segment, in order.
        """
        far = next((split.segment.path for split in splits if is_remote(split.segment.file)), "")
        return [part for parts in run_at_once(far, self.cut, splits) for part in parts]

    def cut(self, split: Split) -> list[Split]:
        """Cut a split into one or more that together read the same offsets, in order."""
        size = num_bytes_of(split)
        most = self._most(split, size)
        is_inside = split.start > split.segment.base_offset and split.position == 0 and size > _OPEN_COST
        is_large = size > most * (1 if self.is_strict else _MANY)
        if not (is_inside or is_large or self._is_too_long(split)):
            return [split]
        try:
            lookup = open_offsets(self.places, split.segment)
            if lookup is not None:
                with lookup:
                    if len(lookup):
                        return self._by_index(split, lookup, most)
        except OptionError:
            raise
        except KafkaFormatError as error:
            raise_unless_file_at_fault(error)
            self.findings.append(Finding.of_error(Kind.UNUSED, split.topic, split.partition, error))
        return self._by_headers(split, most)

    def _most(self, split: Split, size: int) -> int:
        """Bytes of a part, about."""
        most = self.max_compressed_bytes
        if most is None or size <= most:
            return self.max_bytes
        head = None
        with NotingFaults(), closing(open_stored(self.places, split.segment)) as source:
            head = next(iter_header_summaries(source, split.position), None)
        return most if isinstance(head, HeaderSummary) and head.compression_id else self.max_bytes

    def _is_too_long(self, split: Split) -> bool:
        return self.max_records is not None and (
            split.end is None or split.end - split.start > self.max_records
        )

    def _by_index(self, split: Split, lookup: OffsetLookup, most: int) -> list[Split]:
        split = _placed(split, lookup)
        self._count(min(num_bytes_of(split) // most, len(lookup)))
        cuts = list(_cuts_by_size(split, lookup, most))
        return [part for one in _divided(split, cuts) for part in self._by_number(one, lookup, most)]

    def _by_number(self, split: Split, lookup: OffsetLookup, most: int) -> list[Split]:
        """Cut after each `max_records` offsets."""
        if self.max_records is None or split.end is None:
            return [split]
        end = split.end
        if (end - split.start) // self.max_records > _MANY_CUTS:
            # The range is from names; the segment may end long before the next one begins.
            end = min(end, find_reached(self.places, split.segment) or split.start)
            if (end - split.start) // self.max_records > split.segment.size // LEN_HEAD:
                return self._by_headers(split, most)
        self._count((end - split.start) // self.max_records)
        cuts = []
        for offset in range(split.start + self.max_records, end, self.max_records):
            below = lookup.last_below(offset)
            cuts.append((offset, split.position if below is None else max(split.position, below[1])))
        return _divided(split, cuts)

    def _count(self, num_cuts: int) -> None:
        """Count cuts; raise above `MAX_CUTS`."""
        self.num_cuts += num_cuts
        if self.num_cuts > MAX_CUTS:
            raise OptionError(
                f"this makes more than {MAX_CUTS} splits: give a larger maxRecordsPerPartition or "
                "maxPartitionBytes, or a smaller minPartitions"
            )

    def _by_headers(self, split: Split, most: int) -> list[Split]:
        """Cut at the positions of batches, by reading all headers once here instead of in each task."""
        is_near = split.segment.form == "plain" and not is_remote(split.segment.file)
        if self.only_by_index or not is_near or not self.budget.spend(split.segment.file, split.position):
            return [split]
        with closing(open_stored(self.places, split.segment)) as source:
            heads = [
                head
                for head in iter_header_summaries(source, split.position)
                if isinstance(head, HeaderSummary)
            ]
        cuts = list(_cuts_in_walk(split, heads, most, self.max_records))
        self._count(len(cuts))
        return _divided(split, cuts)


def _placed(split: Split, lookup: OffsetLookup) -> Split:
    """The split with positions from the index as hints."""
    size = split.segment.size
    if split.start > split.segment.base_offset:
        below = lookup.last_below(split.start)
        if below is not None and split.position < below[1] < size:
            split = replace(split, position=below[1])
    if split.end not in (None, split.following) and split.end_position is None:
        assert split.end is not None
        # After the append with the last offset, which ends where the append of the next entry begins.
        num = lookup.num_below(split.end - 1) + 1
        if num < len(lookup):
            end = lookup.entry(num)[1]
            split = replace(split, end_position=end if split.position < end < size else None)
    return split


def _cuts_by_size(split: Split, lookup: OffsetLookup, max_bytes: int) -> Iterator[Cut]:
    """Cuts at index entries, evenly spaced by position.

    An index out of order gives fewer or uneven cuts, but always ascending ones within the split.
    """
    size, whole = num_bytes_of(split), max(split.segment.size, 1)
    num = min(-(-size // max_bytes), len(lookup) + 1)
    wanted = [split.position + size * part // num for part in range(1, num)]
    guesses = lookup.entries([min(len(lookup) * one // whole, len(lookup) - 1) for one in wanted])
    reached, position = split.start, split.position
    for one, guess in zip(wanted, guesses, strict=True):
        cut = _entry_near(lookup, guess, one, max_bytes)
        if cut is None or cut[0] <= reached or not position < cut[1] < whole:
            continue
        if split.end is not None and cut[0] >= split.end:
            return
        yield cut
        reached, position = cut


def _entry_near(lookup: OffsetLookup, guess: Cut, wanted: int, max_bytes: int) -> Cut | None:
    """The cut at an entry near the wanted position."""
    offset, position = guess
    if abs(position - wanted) > max_bytes * (_MANY - 1) / 2:
        at = lookup.num_before(wanted)
        if at >= len(lookup):
            return None
        offset, position = lookup.entry(at)
    return offset + 1, position


def _cuts_in_walk(
    split: Split, heads: Sequence[HeaderSummary], max_bytes: int, max_records: int | None
) -> Iterator[Cut]:
    """Cuts before batches that have all lower offsets before them and all greater ones after."""
    first, begun, highest = split.start, split.position, split.start - 1
    # Damaged base offsets, or batches of another segment, must not separate other batches from their range.
    firsts = [head.last_offset if head.first_offset is None else head.first_offset for head in heads]
    lowest = list(accumulate(reversed(firsts), min))[::-1]
    for head, least in zip(heads, lowest, strict=True):
        if head.first_offset is None or head.first_offset <= highest or least < head.first_offset:
            highest = max(highest, head.last_offset)
            continue
        if split.end is not None and head.first_offset >= split.end:
            return
        is_full = head.end_position - begun > max_bytes
        is_long = max_records is not None and head.last_offset >= first + max_records
        if (is_full or is_long) and head.first_offset > first:
            yield head.first_offset, head.position
            first, begun = head.first_offset, head.position
        highest = max(highest, head.last_offset)


def _divided(split: Split, cuts: Iterable[Cut]) -> list[Split]:
    cuts = list(cuts)
    if not cuts:
        return [split]
    starts = [(split.start, split.position), *cuts]
    ends = [*cuts, (split.end, split.end_position)]
    return [
        replace(split, start=start, position=position, end=end, end_position=end_position)
        for (start, position), (end, end_position) in zip(starts, ends, strict=True)
    ]


def pack(
    splits: Sequence[Split], max_bytes: int, min_tasks: int | None = None, max_records: int | None = None
) -> list[tuple[Split, ...]]:
    """Pack splits into tasks, in order; a large split is a task by itself.

    Args:
        splits: in order.
        max_bytes: of a task, about.
        min_tasks: least number of tasks, if there are enough splits; None for any number.
        max_records: offsets of a task; None for any number.
    """
    total = sum(num_bytes_of(split) + _OPEN_COST for split in splits)
    limit = max_bytes if min_tasks is None else min(max_bytes, total // min_tasks)
    tasks: list[tuple[Split, ...]] = []
    task: list[Split] = []
    weight = num_offsets = 0
    for at, split in enumerate(splits):
        more = num_bytes_of(split) + _OPEN_COST
        offsets = 0 if split.end is None else split.end - split.start
        is_short = min_tasks is not None and len(splits) - at <= min_tasks - len(tasks) - 1
        is_long = max_records is not None and num_offsets + offsets > max_records
        if task and (weight + more > limit or is_short or is_long):
            tasks.append(tuple(task))
            task, weight, num_offsets = [], 0, 0
        task.append(split)
        weight, num_offsets = weight + more, num_offsets + offsets
    if task:
        tasks.append(tuple(task))
    return tasks
