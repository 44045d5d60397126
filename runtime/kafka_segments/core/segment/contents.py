"""Summary of a segment: first and last offset, end position, and whether the log cleaner has been in it.

Strategy: the first and the last entries are read and verified. The last entry of the `.index` gives the
position of the latter, if there is a sound batch; without it all headers are read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, islice

from kafka_segments.core.codecs import DEFAULT_MAX_DECOMPRESSED
from kafka_segments.core.codecs.bounds import ItemBudget
from kafka_segments.core.formats.entries import Batch, Damage, Padding
from kafka_segments.core.io.storage import WINDOW_SIZE, Source
from kafka_segments.core.segment.continuity import Extent, SegmentContents
from kafka_segments.core.segment.evidence import FEW, FileOrder, bounds_of, judge
from kafka_segments.core.segment.header_summaries import head_of, iter_header_summaries, run_of
from kafka_segments.core.segment.scan.entry_scan import Scan, sound_entry, with_offsets
from kafka_segments.core.segment.scan.walk import Walk, find_last
from kafka_segments.core.segment.verified.sound_runs import Found, SoundRun, joined
from kafka_segments.errors import TruncatedError

__all__ = [
    "LARGEST_SMALL",
    "Beside",
    "SegmentEnd",
    "contents_of",
    "end_of",
    "is_cleaned",
    "is_sound_at",
    "runs_in",
    "scan_end",
]

_LEN_WINDOW = 64 << 10
_MAX_TAIL = 1 << 20  # bytes read after the index's last entry without searching for a later position
_NUM_RUNS = 1000
_NUM_LAST = FEW + 2  # entries that decide which of them are in their places
_MAX_LEADING = 64  # entries read at the beginning of a segment before its content counts as unknown

LARGEST_SMALL = 64 << 10
"""Bytes of a segment that is read at once, and faster than its indexes, at most."""


@dataclass(frozen=True, slots=True)
class Beside:
    """What other files say of a segment, read where that is needed.

    Attributes:
        find_hint: looks up offset and position of the last entry of its `.index`; None if there is none.
        last_named: returns the last offset that it had by them; -1 if they name none.
    """

    find_hint: Callable[[], tuple[int, int] | None] = lambda: None
    last_named: Callable[[], int] = lambda: -1


_NOTHING = Beside()


def contents_of(source: Source, base_offset: int, beside: Beside = _NOTHING) -> SegmentContents:
    """Summarize a segment.

    Args:
        source: its bytes.
        base_offset: by its name.
        beside: what other files say of it.

    Raises:
        StoreError: the store failed.
    """
    begun = _begun(source, base_offset)
    if begun.extent is None:
        return begun
    end, first = end_of(source, base_offset, beside), begun.extent.first
    extent = Extent(first, first if end.highest is None else max(first, end.highest))
    if end.last is not None and end.last.base_offset is not None and end.last.base_offset >= 0:
        extent = replace(extent, first=min(first, end.last.base_offset))
    is_damaged = end.tail is not None
    return replace(begun, extent=extent, is_damaged_after=is_damaged, ends_in_zeros=end.ends_in_zeros)


@dataclass(slots=True)
class SegmentEnd:
    """End of a segment.

    Attributes:
        end_offset: the offset after the highest of whole, valid batches that are not put aside
            (`segment.evidence`); the base offset if there are none.
        position: end position of the last batch.
        highest: the highest of these offsets, whatever the segment's name; None if there are none.
        is_certain: whether headers agree on where batches end.
        last: the header of the last batch; None if there is none.
        tail: damage after it; None if there is none.
        ends_in_zeros: zeros follow it.
    """

    end_offset: int
    position: int = 0
    highest: int | None = None
    is_certain: bool = True
    last: Batch | None = None
    tail: Damage | None = None
    ends_in_zeros: bool = False

    @property
    def is_tail_pending(self) -> bool:
        """Whether the tail is an incomplete batch, which the newest segment may legitimately end with."""
        return self.tail is not None and isinstance(self.tail.error, TruncatedError)

    def runs(self, entries: Iterable[Batch | Damage | Padding]) -> Iterator[Found]:
        """Note entries; yield sound ones as runs, and damage in its place."""
        for entry in entries:
            self.ends_in_zeros = isinstance(entry, Padding)
            if isinstance(entry, Damage):
                self.tail = self.tail or entry
                yield entry
            elif isinstance(entry, Batch) and entry.crc_valid:
                self.last, self.tail, self.position = entry, None, entry.end_position
                self.is_certain = self.is_certain and entry.highest_offset == entry.last_offset
                yield run_of(head_of(entry))


def end_of(source: Source, base_offset: int, beside: Beside = _NOTHING) -> SegmentEnd:
    """Find the end of a segment, from the last entry of its index on, or else by its last entries."""
    is_far = source.descriptor < 0 and not source.is_memory
    hint = None if source.size <= LARGEST_SMALL and not is_far else beside.find_hint()
    position = 0
    if hint is not None and 0 <= hint[1] < source.size:
        if is_far or source.size - hint[1] <= _MAX_TAIL:
            found = scan_end(source, base_offset, beside, hint[1], hint[0])
            if found is not None:
                return found
        elif is_sound_at(source, *hint):
            position = hint[1]
    if not is_far and source.size > LARGEST_SMALL:
        position = find_last(source, position, _NUM_LAST)
    found = scan_end(source, base_offset, beside, position)
    if found is None or (found.last is None and position):
        found = scan_end(source, base_offset, beside)
    assert found is not None  # nothing was expected of its first entry
    return found


def scan_end(
    source: Source, base_offset: int, beside: Beside, position: int = 0, offset: int | None = None
) -> SegmentEnd | None:
    """Find the end by all batches from a position on.

    Args:
        source: the segment's bytes.
        base_offset: by its name.
        beside: what other files say of it.
        position: of an entry.
        offset: of the index for this position; None if it has none.

    Returns:
        None if the log contradicts the index.
    """
    len_window = WINDOW_SIZE if source.descriptor < 0 else _LEN_WINDOW
    entries = Scan(source, len_window=len_window).entries(position)
    first = next(entries, None)
    if offset is not None and not _begins_by(first, offset):
        return None
    end = SegmentEnd(base_offset, position)

    def last_named() -> int:  # no header of a wrapper has its first offset
        return -1 if end.last is None or end.last.base_offset is None else beside.last_named()

    before = None if offset is None or not isinstance(first, Batch) else (first.base_offset or 0) - 1
    order = FileOrder(base_offset, last_named=last_named, before=before)
    runs = joined(end.runs(entries if first is None else chain([first], entries)))
    bounds = bounds_of(judge(runs, order, is_inside=position > 0))
    if bounds is not None:
        end.highest, end.end_offset = bounds[1] - 1, max(base_offset, bounds[1])
    return None if offset is not None and end.end_offset <= offset else end


def _begun(source: Source, base_offset: int) -> SegmentContents:
    """Summarize the beginning of a segment, with the first offset alone."""
    begun = SegmentContents(source.name, base_offset, source.size)
    scan = Scan(source, len_window=_LEN_WINDOW)
    for entry in islice(scan.entries(), _MAX_LEADING):
        if isinstance(entry, Batch) and entry.crc_valid:
            first = scan.first_offset(entry)
            first = entry.last_offset if first is None else first
            following = _overlapped(source, entry)
            least, misplaced = (first, None) if following is None else (min(first, following), first)
            return replace(begun, extent=Extent(least, least), misplaced=misplaced)
        begun = replace(begun, is_damaged_before=begun.is_damaged_before or isinstance(entry, Damage))
    return begun


def _overlapped(source: Source, batch: Batch) -> int | None:
    """Return the base offset of the next batch if it overlaps this one; None if they are in order.

    A duplicate of the batch is in order; a negative offset proves nothing about the batch before it.
    """
    position = batch.end_position
    following = next(Scan(source, headers_only=True).entries(position), None)
    if batch.magic < 2 or not isinstance(following, Batch) or following.magic < 2:
        return None
    is_same = (following.base_offset, following.crc) == (batch.base_offset, batch.crc)
    is_overlapped = 0 <= (following.base_offset or 0) <= batch.last_offset and not is_same
    return following.base_offset if is_overlapped and sound_entry(source, position) is not None else None


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
    heads = iter_header_summaries(source)
    pieces = joined(run_of(one) for one in heads if not isinstance(one, Damage))
    runs = [Extent(one.first, one.last) for one in pieces if isinstance(one, SoundRun)]
    rest = runs[_NUM_RUNS - 1 :]
    if len(rest) > 1:
        rest = [Extent(min(one.first for one in rest), max(one.last for one in rest))]
    return [*runs[: _NUM_RUNS - 1], *rest]


def is_cleaned(source: Source) -> bool:
    """Return whether offsets are missing between or inside sound batches, as only the cleaner makes it.

    It keeps batches in order. Where one follows another with a higher offset, an offset was changed or a
    batch was inserted, and offsets missing before the two prove nothing.
    """
    before: Batch | None = None
    is_pending = False  # offsets are missing before `before`
    items = ItemBudget(DEFAULT_MAX_DECOMPRESSED)
    for found in Walk(source).entries():
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
