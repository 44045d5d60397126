"""Continuity of a partition's segments: no offsets missing, none in the wrong segment.

Strategy: the first and the last offset in each segment decide. Sorted by content they must be consecutive,
from the log start offset up to the high watermark, and lie where the segments' names say. Missing offsets are
legitimate where the log cleaner has been (`cleaner_traces`). All readers of a partition use this module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from kafka_segments.core.formats.entries import Damage
from kafka_segments.core.formats.file_names import with_ends
from kafka_segments.core.segment.cleaner_traces import Traces
from kafka_segments.errors import CorruptBatchError, DataLossError, KafkaFormatError, SegmentOrderError

__all__ = [
    "CheckpointedOffsets",
    "Extent",
    "Look",
    "SegmentContents",
    "find_gaps",
    "out_of_order",
    "swapped_out",
    "traces_in",
]

_LARGEST = (1 << 31) - 1
"""Bytes of a segment at most: LogConfig's segment.bytes is an int, and a larger file cannot be indexed."""


@dataclass(frozen=True, slots=True, order=True)
class Extent:
    """The offsets of the first and the last sound entry of a segment."""

    first: int
    last: int

    def touches(self, start: int, end: int | None) -> bool:
        """Return whether it may hold an offset in `[start, end)`."""
        return self.last >= start and (end is None or self.first < end)

    def is_within(self, start: int, end: int | None) -> bool:
        """Return whether both offsets are in `[start, end)`."""
        return self.first >= start and (end is None or self.last < end)


@dataclass(frozen=True, slots=True)
class SegmentContents:
    """Content of a segment.

    Attributes:
        path: of the segment.
        base_offset: by its name.
        size: bytes.
        extent: its offsets; None if it holds no sound entry.
        is_damaged_before: whether there is damage before the first sound entry, or only damage.
        is_damaged_after: likewise after the last one.
        is_unknown: it cannot be read, or was not examined; that is reported elsewhere.
        ends_in_zeros: whether zeros follow the last sound entry.
        misplaced: base offset of the first batch, if the next one's offsets are not greater.
    """

    path: str
    base_offset: int
    size: int
    extent: Extent | None = None
    is_damaged_before: bool = False
    is_damaged_after: bool = False
    is_unknown: bool = False
    ends_in_zeros: bool = False
    misplaced: int | None = None


Look = Callable[[SegmentContents], Sequence[Extent]]
"""A function that returns the offsets of all entries in a segment, in file order; consecutive ones merged."""


@dataclass(frozen=True, slots=True)
class CheckpointedOffsets:
    """Offsets that a broker keeps for a partition in checkpoints and other files.

    Attributes:
        log_start_offset: records below it are deleted; None if there is none.
        high_watermark: records below it are committed; None if there is none, or a broker is writing.
        recovery_point: everything below it was flushed to disk; None likewise.
        cleaned_up_to: the cleaner has cleaned up to this offset; None if there is none.
        without_log: base offsets of indexes without a segment.
        swaps: base offset and path of the cleaner's segments that a broker has yet to swap in, and whose
            originals are gone.
    """

    log_start_offset: int | None = None
    high_watermark: int | None = None
    recovery_point: int | None = None
    cleaned_up_to: int | None = None
    without_log: tuple[int, ...] = ()
    swaps: tuple[tuple[int, str], ...] = ()

    @property
    def end(self) -> tuple[int, str]:
        """An offset that the log reached once, 0 if none is noted, and the checkpoint that has it."""
        if (self.recovery_point or 0) > (self.high_watermark or 0):
            return self.recovery_point or 0, "recovery point (recovery-point-offset-checkpoint)"
        return self.high_watermark or 0, "high watermark (replication-offset-checkpoint)"


def find_gaps(
    segments: Sequence[SegmentContents],
    noted: CheckpointedOffsets,
    is_cleaned: Callable[[SegmentContents], bool],
    look: Look,
    name: tuple[str, int] | None = None,
) -> list[Damage]:
    """Find offsets that are in no segment, and segments with other offsets than their names say.

    Args:
        segments: all of a partition, by base offset.
        noted: the broker's checkpoints.
        is_cleaned: whether a segment shows that the cleaner has been in it; called only where offsets are
            missing, and for no more segments than needed.
        look: examines a segment that holds some of its own and some foreign offsets.
        name: topic and partition, for the errors.

    Returns:
        A `Damage` for each, at the end of the segment before the gap, or for the whole wrong segment: without
        lost offsets if all that it should hold is in other segments. Segments' readers report damaged
        regions.
    """
    found = [*_wrong_segments(segments)]
    wrong = {one.path for one in found}
    mixed = [one for one, end in with_ends(segments) if one.path in wrong and _is_mixed(one, end)]
    gaps = [*_gaps(segments, noted, {one.path: look(one) for one in mixed})]
    for gap in _swapped_gaps(segments, noted):
        if not any(one.is_certain and one.covers(gap) and not gap.covers(one) for one in gaps):
            gaps = [gap, *(one for one in gaps if not gap.covers(one))]
    if gaps:
        traces = traces_in(segments, noted.cleaned_up_to, is_cleaned)
        found += (gap.damage(name) for gap in _unlawful(gaps, traces))
    return sorted(found, key=lambda one: (one.previous_offset is None, one.previous_offset or 0))


def traces_in(
    segments: Sequence[SegmentContents], noted: int | None, is_cleaned: Callable[[SegmentContents], bool]
) -> Traces:
    """Return the cleaner's progress; arguments as of `find_gaps`, `noted` being `cleaned_up_to`."""
    held = [*_covered(segments, {})] if segments else []  # they may be gone by now
    begins = (offset for extent, one in held for offset in (extent.first, one.base_offset))
    return Traces(noted, begins, [extent.last for extent, _one in held], lambda at: is_cleaned(held[at][1]))


@dataclass(frozen=True, slots=True)
class _Gap:
    """Missing offsets; `is_certain`: the cleaner cannot have removed them."""

    before: SegmentContents
    first: int
    last: int | None
    why: str
    is_certain: bool = False
    is_at_beginning: bool = False

    def covers(self, other: _Gap) -> bool:
        """Return whether this gap includes all offsets of another gap."""
        is_to_end = self.last is None or (other.last is not None and other.last <= self.last)
        return self.first <= other.first and is_to_end

    def damage(self, name: tuple[str, int] | None) -> Damage:
        position = 0 if self.is_at_beginning else self.before.size
        which = f"offsets {self.first} to {'?' if self.last is None else self.last} are missing"
        error = DataLossError(
            f"{which}: {self.why}; take them from a replica or a backup",
            path=self.before.path,
            position=position,
            first_offset=self.first,
            last_offset=self.last,
            topic=None if name is None else name[0],
            partition=None if name is None else name[1],
        )
        following = None if self.last is None else self.last + 1
        place = self.before.path, position, position
        return Damage(*place, error, self.first, self.last, self.first - 1, following)


def _unlawful(gaps: Sequence[_Gap], traces: Traces) -> Iterator[_Gap]:
    """Yield the gaps, or the parts of them, that the cleaner did not leave."""
    for gap in sorted(gaps, key=lambda one: one.first, reverse=True):
        if gap.is_certain or gap.last is None:
            yield gap
            continue
        first = traces.lost_from(gap.first, gap.last)
        if first <= gap.last:
            yield replace(gap, first=first)


_Held = tuple[Extent, SegmentContents]
_Runs = Mapping[str, Sequence[Extent]]


def _gaps(segments: Sequence[SegmentContents], noted: CheckpointedOffsets, runs: _Runs) -> Iterator[_Gap]:
    misplaced = [*_misplaced_runs(segments, runs)]
    for gap in _gaps_by_content(segments, noted, runs):
        yield from _without(gap, misplaced)


def _gaps_by_content(
    segments: Sequence[SegmentContents], noted: CheckpointedOffsets, runs: _Runs
) -> Iterator[_Gap]:
    by_content = sorted(_covered(segments, runs), key=lambda one: one[0])
    yield from _gap_before(segments[0], by_content[0][0], noted)
    reached = by_content[0]
    zeroed = [
        Extent(one.base_offset, end - 1)
        for one, end in with_ends(segments)
        if end is not None and _is_zeros(one)
    ]
    for one in by_content[1:]:
        first = max(reached[0].last + 1, noted.log_start_offset or 0)
        if one[0].first > first:
            gap = _gap_between(reached, one, first)
            is_zeroed = any(zeros.touches(gap.first, one[0].first) for zeros in zeroed)
            yield replace(gap, is_certain=gap.is_certain or is_zeroed)
        if one[0].last >= reached[0].last:
            reached = one
    for held in segments[:-1]:
        # Last by content, but not by the names: the newest segment has the name of another one.
        if _is_zeros(held) and held.base_offset > reached[0].last:
            yield _Gap(held, held.base_offset, None, f"{held.path} holds nothing but zeros", is_certain=True)
    yield from _gap_after(segments[-1], reached, noted)


def _covered(segments: Sequence[SegmentContents], runs: _Runs) -> Iterator[_Held]:
    """Yield what each segment holds, including its damage; its name counts if it holds nothing.

    Of an examined segment only its own offsets count, if it has any.
    """
    for one, end in with_ends(segments):
        base, own_last = one.base_offset, None if end is None else end - 1
        if one.is_unknown or (one.extent is None and one.is_damaged_before):
            yield Extent(base, base if own_last is None else own_last), one
        elif one.extent is None:
            yield Extent(base, base - 1), one
        else:
            found = runs.get(one.path, ())
            own = [each for each in found if each.is_within(base, end)]
            extent = one.extent
            if own:
                extent = Extent(min(each.first for each in own), max(each.last for each in own))
            elif found:
                yield from ((each, one) for each in found)
                continue
            first = min(base, extent.first) if one.is_damaged_before else extent.first
            last = max(extent.last, own_last or 0) if one.is_damaged_after else extent.last
            yield Extent(first, last), one


def _is_mixed(one: SegmentContents, end: int | None) -> bool:
    return one.extent is not None and one.extent.touches(one.base_offset, end)


def _misplaced_runs(segments: Sequence[SegmentContents], runs: _Runs) -> Iterator[Extent]:
    """Yield the foreign offsets in segments that also hold some of their own."""
    for one, end in with_ends(segments):
        found = runs.get(one.path, ())
        if any(each.is_within(one.base_offset, end) for each in found):
            yield from (each for each in found if not each.is_within(one.base_offset, end))


def _without(gap: _Gap, misplaced: Sequence[Extent]) -> Iterator[_Gap]:
    """Yield what remains of a gap after subtracting offsets that are not missing."""
    first, last = gap.first, gap.last
    for one in sorted(misplaced):
        if one.last < first or (last is not None and one.first > last):
            continue
        if one.first > first:
            yield replace(gap, first=first, last=one.first - 1)
        first = one.last + 1
    if last is None or first <= last:
        yield replace(gap, first=first)


def _gap_before(lowest: SegmentContents, covered: Extent, noted: CheckpointedOffsets) -> Iterator[_Gap]:
    start, first = noted.log_start_offset, min(lowest.base_offset, covered.first)
    if start is not None and start < first:
        why = f"the log starts at offset {start} by its checkpoints, the segments at {first}"
        why += ", unless a tier holds them (remote.storage.enable)"
        yield _Gap(lowest, start, first - 1, why, is_certain=True, is_at_beginning=True)
    low = max(lowest.base_offset, start or 0)
    if covered.first > low:
        why = f"{lowest.path} begins with offset {low} by its name, and the first batch with {covered.first}"
        yield _Gap(lowest, low, covered.first - 1, why, is_at_beginning=True)


def _gap_between(before: _Held, after: _Held, first: int) -> _Gap:
    (extent, one), (following, other) = before, after
    last = following.first - 1
    if _is_zeros(one):
        return _Gap(one, first, last, f"{one.path} holds nothing but zeros", is_certain=True)
    if one.extent is None and not _is_reported(one):
        return _Gap(one, first, last, f"{one.path} is empty")  # the cleaner may leave it so
    if one.ends_in_zeros:
        # A broker truncates a preallocated file when it rolls.
        return _Gap(one, first, last, f"{one.path} ends in zeros", is_certain=True)
    by_name = " by its name" if other.extent is None else ""
    begins = f"{other.path} begins with {following.first}{by_name}"
    why = f"{one.path} ends with offset {extent.last}, {begins}, and no "
    return _Gap(one, first, last, f"{why}trace of the cleaner explains the gap")


def _gap_after(newest: SegmentContents, reached: _Held, noted: CheckpointedOffsets) -> Iterator[_Gap]:
    if _is_reported(newest) or newest.is_damaged_after:
        return
    end, own, (noted_end, what) = reached[0].last + 1, reached[1], noted.end
    if noted_end > end:
        why = f"the {what} is {noted_end}, and the segments end before offset {end}"
        yield _Gap(own, end, noted_end - 1, why, is_certain=True)
    end = max(end, noted_end)
    beyond = [offset for offset in noted.without_log if offset >= end]
    if beyond:
        last = beyond[0] - 1 if beyond[0] > end else None
        why = f"there are indexes of a segment {beyond[0]:020d}, but it is gone itself"
        yield _Gap(own, end, last, why, is_certain=True)


def swapped_out(
    noted: CheckpointedOffsets, base_offsets: Sequence[int]
) -> Iterator[tuple[int, int | None, str]]:
    """Yield the offsets that exist only in segments which a broker has yet to swap in (LogLoader, `.swap`).

    The cleaner gives its output this name before it renames the originals, in order: so if a segment of the
    same base offset exists, all originals do.

    Args:
        noted: the broker's checkpoints.
        base_offsets: of the existing segments, ascending.

    Yields:
        The first offset, the last one (None if unknown), and the reason.
    """
    for base_offset, path in noted.swaps:
        following = next((one for one in base_offsets if one > base_offset), noted.end[0])
        if following > (noted.log_start_offset or 0) or following <= base_offset:
            last = following - 1 if following > base_offset else None
            first = max(base_offset, noted.log_start_offset or 0)
            why = f"{path} has them, which a broker swaps in when it starts (.swap)"
            why += ": to read it, rename it on a copy"
            yield first, last, why


def _swapped_gaps(segments: Sequence[SegmentContents], noted: CheckpointedOffsets) -> Iterator[_Gap]:
    bases = [one.base_offset for one in segments]
    for first, last, why in swapped_out(noted, bases):
        before = [one for one in segments if one.base_offset < first]
        one = before[-1] if before else segments[0]
        yield _Gap(one, first, last, why, is_certain=True, is_at_beginning=not before)


def _is_reported(one: SegmentContents) -> bool:
    """Return whether the reader of a segment without a sound entry reports the reason."""
    return one.is_unknown or (one.extent is None and one.is_damaged_before)


def _is_zeros(one: SegmentContents) -> bool:
    """Return whether a segment holds only zeros, which the cleaner never writes."""
    return one.extent is None and one.size > 0 and not _is_reported(one)


def _wrong_segments(segments: Sequence[SegmentContents]) -> Iterator[Damage]:
    """Yield segments with offsets that belong to others by the names, and impossible runs of zeros."""
    for one, end in with_ends(segments):
        if one.extent is None:
            if one.size > _LARGEST and not _is_reported(one):
                detail = f"{one.size} bytes of zeros: a broker makes no segment of more than {_LARGEST} bytes"
                yield _wrong(one, CorruptBatchError(detail, path=one.path, position=0))
            continue
        first, last = one.extent.first, one.extent.last
        if one.misplaced is not None:
            detail = (
                f"the first batch has the offset {one.misplaced}, but offsets after it are not above its "
                "last: its base offset was changed, which no checksum covers, or it was inserted"
            )
            yield _wrong(one, SegmentOrderError(detail, path=one.path, position=0))
        elif not one.extent.is_within(one.base_offset, end):
            should = f"those from {one.base_offset} on" if end is None else f"{one.base_offset} to {end - 1}"
            detail = (
                f"holds offsets {first} to {last}, and by the segments' names it should hold {should}: files "
                "were swapped or renamed, or segments overlap"
            )
            yield _wrong(one, SegmentOrderError(detail, path=one.path, position=0))


def out_of_order(gaps: Iterable[Damage]) -> dict[str, Damage]:
    """Select the reports of segments that hold offsets of other segments, by path."""
    return {gap.path: gap for gap in gaps if isinstance(gap.error, SegmentOrderError)}


def _wrong(one: SegmentContents, error: KafkaFormatError) -> Damage:
    before = None if one.extent is None else one.extent.first - 1
    return Damage(one.path, 0, one.size, error, None, None, before, None)
