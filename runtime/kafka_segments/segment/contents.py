"""Summary of a segment: first and last offset, end position, and whether the log cleaner has been in it.

Strategy: the first and the last entries are read and verified. The last entry of the `.index` gives the
position of the latter, if there is a sound batch; without it all headers are read. The compiled scanner reads
small segments as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kafka_segments import formats
from kafka_segments.codecs import DEFAULT_MAX_DECOMPRESSED
from kafka_segments.codecs.bounds import ItemBudget
from kafka_segments.errors import MissingExtraError, ReadError, TruncatedError
from kafka_segments.formats.entries import Batch, Damage, Padding
from kafka_segments.formats.file_names import MAX_OFFSET
from kafka_segments.io.storage import WINDOW_SIZE, Source
from kafka_segments.segment.continuity import Extent, SegmentContents
from kafka_segments.segment.evidence import MOST_OFFSETS
from kafka_segments.segment.scan.entry_scan import Scan, sound_entry, with_offsets

if TYPE_CHECKING:
    from kafka_segments.segment.columnar.small_segments import SmallTimes

__all__ = [
    "LARGEST_SMALL",
    "Hint",
    "SegmentEnd",
    "SegmentStart",
    "begin_of",
    "contents_of",
    "contents_of_small",
    "end_of",
    "is_cleaned",
    "is_sound_at",
    "near_end",
    "runs_in",
    "times_of_small",
]

_MIN_FOR_COMPILED = 1 << 20  # bytes; smaller segments are walked through before machine code is loaded
_LEN_WINDOW = 64 << 10
_MAX_TAIL = 1 << 20  # bytes read after the index's last entry without searching for a later position
_NUM_RUNS = 1000
_MAX_LEADING = 64  # entries read at the beginning of a segment before its content counts as unknown

LARGEST_SMALL = 64 << 10
"""Bytes of a segment that is read at once, and faster than its indexes, at most."""

Hint = Callable[[], tuple[int, int] | None]
"""Looks up offset and position of the last entry of a segment's `.index`; None if there is none."""


def _no_hint() -> None:
    return None


def contents_of(source: Source, base_offset: int, find_hint: Hint = _no_hint) -> SegmentContents:
    """Summarize a segment.

    Args:
        source: its bytes.
        base_offset: by its name.
        find_hint: called where an index saves reading.

    Raises:
        StoreError: the store failed.
    """
    path, size = source.name, source.size
    begin = begin_of(source)
    if begin.first is None:
        return SegmentContents(path, base_offset, size, is_damaged_before=begin.is_damaged)
    end = end_of(source, base_offset, find_hint)
    first = begin.first
    last = first if end.highest_of_last is None else max(first, end.highest_of_last)
    if end.last is not None and end.last.base_offset is not None and end.last.base_offset >= 0:
        first = min(first, end.last.base_offset)
    return SegmentContents(
        path,
        base_offset,
        size,
        Extent(first, last),
        begin.is_damaged,
        end.tail is not None,
        ends_in_zeros=end.ends_in_zeros,
        misplaced=begin.misplaced,
    )


@dataclass(frozen=True, slots=True)
class SegmentEnd:
    """End of a segment.

    Attributes:
        end_offset: the offset after the highest of whole, valid batches; the base offset if there are none.
        highest: the highest offset of the batches read, whatever the segment's name; None if there are none.
        highest_of_last: that of the last two alone, for one before them may be misplaced.
        position: end position of the last batch.
        last: its header; None if there is none.
        tail: damage after it; None if there is none.
        ends_in_zeros: zeros follow it.
    """

    end_offset: int
    highest: int | None
    highest_of_last: int | None
    position: int
    last: Batch | None
    tail: Damage | None
    ends_in_zeros: bool = False

    @property
    def is_tail_pending(self) -> bool:
        """Whether the tail is an incomplete batch, which the newest segment may legitimately end with."""
        return self.tail is not None and isinstance(self.tail.error, TruncatedError)


def end_of(source: Source, base_offset: int, find_hint: Hint = _no_hint) -> SegmentEnd:
    """Find the end of a segment, from the last entry of its index on, or else from the last entry but one."""
    is_far = source.descriptor < 0 and not source.is_memory
    hint = None if source.size <= LARGEST_SMALL and not is_far else find_hint()
    position = 0
    if hint is not None and 0 <= hint[1] < source.size:
        if is_far or source.size - hint[1] <= _MAX_TAIL:
            found = _scanned(source, base_offset, hint[1], hint[0])
            if found is not None:
                return found
        elif is_sound_at(source, *hint):
            position = hint[1]
    if not is_far and source.size > LARGEST_SMALL:
        position = near_end(source, position)
    found = _scanned(source, base_offset, position)
    if found is None or (found.last is None and position):
        found = _scanned(source, base_offset, 0)
    assert found is not None  # nothing was expected of its first entry
    return found


def _scanned(source: Source, base_offset: int, position: int, offset: int | None = None) -> SegmentEnd | None:
    """Find the end by all batches from a position on; None if the first one contradicts the index."""
    highest: int | None = None
    lasts: tuple[int, ...] = ()
    last: Batch | None = None
    tail: Damage | None = None
    entry: Batch | Damage | Padding | None = None
    len_window = WINDOW_SIZE if source.descriptor < 0 else _LEN_WINDOW
    for number, entry in enumerate(Scan(source, len_window=len_window).entries(position)):
        if number == 0 and offset is not None and not _begins_by(entry, offset):
            return None
        if isinstance(entry, Damage):
            tail = tail or entry
        elif isinstance(entry, Batch) and entry.crc_valid:
            last, tail = entry, None
            is_wrapper = entry.base_offset is None
            greatest = entry.last_offset if is_wrapper else max(entry.base_offset or 0, entry.highest_offset)
            if lasts and lasts[-1] < base_offset + MOST_OFFSETS <= greatest:
                continue  # a changed base offset: indexes cannot have it
            lasts = (*lasts[-1:], min(greatest, MAX_OFFSET))
            highest = max(*lasts, lasts[0] if highest is None else highest)
            position = entry.end_position
    end_offset = base_offset if highest is None else max(base_offset, highest + 1)
    of_last = max(lasts, default=None)
    return SegmentEnd(end_offset, highest, of_last, position, last, tail, isinstance(entry, Padding))


def contents_of_small(source: Source, base_offset: int) -> SegmentContents | None:
    """Summarize a small segment by the compiled scanner; None unless all of it is sound and in order."""
    try:
        from kafka_segments.segment.columnar.small_segments import sound_table

        table = sound_table(source) if source.size <= LARGEST_SMALL else None
    except MissingExtraError:
        return None
    if table is None or not table.is_batch().all() or table.exceeds_last_offsets().any():
        return None
    extent = Extent(int(table.column("base_offset")[0]), int(table.last_offsets()[-1]))
    if table.is_disordered().any() or not extent.is_within(0, base_offset + MOST_OFFSETS):
        return None
    return SegmentContents(source.name, base_offset, source.size, extent)


def times_of_small(
    data: memoryview, ends: Sequence[int], earliest_from: int | None = None
) -> list[SmallTimes | None]:
    """Read the timestamps of small segments, see `small_segments.read_times`; None without its packages."""
    try:
        from kafka_segments.segment.columnar.small_segments import read_times
    except MissingExtraError:
        return [None] * len(ends)
    return read_times(data, ends, earliest_from)


@dataclass(frozen=True, slots=True)
class SegmentStart:
    """Beginning of a segment.

    Attributes:
        first: the first offset; None if there is no sound entry among the first ones.
        is_damaged: there is damage before the first sound entry, or only damage.
        misplaced: base offset of the first batch, if the next one's offsets are not greater; `first` is then
            the lower of the two.
    """

    first: int | None
    is_damaged: bool
    misplaced: int | None = None


def begin_of(source: Source) -> SegmentStart:
    """Find the first offset of a segment."""
    scan, is_damaged = Scan(source, len_window=_LEN_WINDOW), False
    for num, entry in enumerate(scan.entries()):
        if isinstance(entry, Batch) and entry.crc_valid:
            first = scan.first_offset(entry)
            first = entry.last_offset if first is None else first
            following = _overlapped(source, entry)
            if following is None:
                return SegmentStart(first, is_damaged)
            return SegmentStart(min(first, following), is_damaged, misplaced=first)
        is_damaged = is_damaged or isinstance(entry, Damage)
        if num == _MAX_LEADING:
            break
    return SegmentStart(None, is_damaged)


def _overlapped(source: Source, batch: Batch) -> int | None:
    """Return the base offset of the next batch if it overlaps this one; None if they are in order.

    A duplicate of the batch is in order; a negative offset proves nothing about the batch before it.
    """
    position = batch.end_position
    if batch.magic < 2 or position + formats.LEN_PREFIX > source.size:
        return None
    with suppress(ReadError):
        prefix = formats.read_prefix(source.read(position, formats.LEN_PREFIX))
        if prefix.magic < 2 or not 0 <= prefix.base_offset <= batch.last_offset:
            return None
    following = sound_entry(source, position)
    if following is None:
        return None
    is_same = (following.base_offset, following.crc) == (batch.base_offset, batch.crc)
    return None if is_same else following.base_offset


def near_end(source: Source, position: int = 0) -> int:
    """Find the position of one of the last entries by reading all headers from a position on.

    Small files are read without the compiled scanner, for loading it takes longer.
    """
    if source.size - position >= _MIN_FOR_COMPILED:
        with suppress(MissingExtraError):
            from kafka_segments.segment.columnar.header_table import find_last

            found = find_last(source, position)
            return position if found is None else found
    last = before = position
    for entry in Scan(source, headers_only=True).entries(position):
        if isinstance(entry, Batch):
            before, last = last, entry.position
    return before


def is_sound_at(source: Source, offset: int, position: int) -> bool:
    """Return whether there is a valid batch at a position that begins at or before an offset."""
    return _begins_by(sound_entry(source, position), offset)


def _begins_by(entry: Batch | Damage | Padding | None, offset: int) -> bool:
    """Return whether an entry is a valid batch that begins at or before an offset of an index.

    The header of a wrapper of the old formats does not have its first offset, which brokers before 2.0 wrote
    to the index instead of the last one.
    """
    if not isinstance(entry, Batch) or not entry.crc_valid:
        return False
    return entry.base_offset is None or entry.base_offset <= offset


def runs_in(source: Source) -> list[Extent]:
    """Return the offsets of all entries by their headers, in file order; consecutive ones are merged.

    There are 1,000 ranges at most; the last one includes all the rest.
    """
    runs: list[Extent] = []
    for entry in Scan(source, headers_only=True).entries():
        if not isinstance(entry, Batch):
            continue
        first = entry.last_offset if entry.magic < 2 else entry.base_offset
        assert first is not None
        last = max(first, entry.last_offset)
        if runs and (first == runs[-1].last + 1 or len(runs) == _NUM_RUNS):
            runs[-1] = Extent(min(runs[-1].first, first), max(runs[-1].last, last))
        else:
            runs.append(Extent(first, last))
    return runs


def is_cleaned(source: Source) -> bool:
    """Return whether offsets are missing between or inside sound batches, as only the cleaner makes it.

    It keeps batches in order. Where one follows another with a higher offset, an offset was changed or a
    batch was inserted, and offsets missing before the two prove nothing.
    """
    before: Batch | None = None
    is_pending = False  # offsets are missing before `before`
    items = ItemBudget(DEFAULT_MAX_DECOMPRESSED)
    for found in Scan(source, headers_only=True).entries():
        entry = with_offsets(source, found, items) if isinstance(found, Batch) else None
        if entry is None or entry.base_offset is None:
            before = None
            continue
        missing = 0 if before is None else entry.base_offset - before.last_offset - 1
        if is_pending and missing >= 0:
            return True
        is_whole = entry.num_records == entry.last_offset - entry.base_offset + 1
        is_pending = False
        # A flipped bit in a header looks like the cleaner's work: the checksum decides.
        if (missing or not is_whole) and sound_entry(source, entry.position) is None:
            before = None
            continue
        if not is_whole:
            return True
        if missing > 0 and before is not None:
            is_pending = sound_entry(source, before.position) is not None
        before = None if missing < 0 else entry
    return is_pending
