"""What an open segment holds: its first and last offset, and whether the log cleaner has been in it.

Strategy: the first entries and the last ones are read and verified. Where those are the last entry of the
`.index` says, if a sound batch stands there; without such an entry all headers are walked through. Where many
small segments are asked for, the compiled scanner goes through each whole one.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace

from kafka_segments import formats
from kafka_segments.codecs import DEFAULT_MAX_DECOMPRESSED
from kafka_segments.codecs.bounds import ItemBudget
from kafka_segments.errors import (
    CorruptIndexError,
    KafkaFormatError,
    MissingExtraError,
    ReadError,
    raise_unless_file_at_fault,
)
from kafka_segments.formats.entries import Batch, Damage, Padding
from kafka_segments.io.storage import Source, open_source
from kafka_segments.segment.continuity import Extent, Holding
from kafka_segments.segment.index_lookup import OffsetLookup, offsets_in
from kafka_segments.segment.legacy_messages import Messages
from kafka_segments.segment.scan.entry_scan import Scan, read_payload

__all__ = [
    "SegmentStart",
    "begin_of",
    "begins_by",
    "hold",
    "hold_small",
    "is_cleaned",
    "is_sound_at",
    "last_entry",
    "near_end",
    "runs_in",
]

_MIN_FOR_COMPILED = 1 << 20  # bytes; smaller segments are walked through before machine code is loaded
_LEN_WINDOW = 64 << 10
_SMALL = 64 << 10  # bytes; read at once, and faster than an index is looked up
_MAX_TAIL = 1 << 20  # bytes that are read behind the index's last entry without looking for a later place
_NUM_RUNS = 1000
_NUM_LOOKED_AT = 64  # entries at the beginning of a segment, before its content counts as unknown


def hold(source: Source, base_offset: int, index: str | None = None) -> Holding:
    """What a segment holds.

    Args:
        source: its bytes.
        base_offset: by its name.
        index: path of its `.index`, which need not be there.

    Raises:
        StoreError: the store stopped giving it.
    """
    path, size = source.name, source.size
    begin = begin_of(source)
    if begin.first is None:
        return Holding(path, base_offset, size, is_damaged_before=begin.is_damaged)
    last, is_torn, has_zeros = _tail(source, base_offset, index)
    extent = Extent(begin.first, max(begin.first, *last))
    return Holding(
        path,
        base_offset,
        size,
        extent,
        begin.is_damaged,
        is_torn,
        ends_in_zeros=has_zeros,
        misplaced=begin.misplaced,
    )


_End = tuple[tuple[int, ...], bool, bool]


def _tail(source: Source, base_offset: int, index: str | None) -> _End:
    """How the segment ends, from the index's last entry on, or else from the last entry but one of all."""
    if source.size <= _SMALL:
        found = _last(source, 0)
        assert found is not None  # nothing was expected of its first entry
        return found
    offset, position = (-1, 0) if index is None else _hint(index, base_offset)
    found = _last(source, position, offset) if 0 <= source.size - position <= _MAX_TAIL else None
    if found is None:
        position = near_end(source, position if is_sound_at(source, offset, position) else 0)
        found = _last(source, position)
        found = found if found and found[0] else _last(source, 0)
    assert found is not None
    return found


def _hint(index: str, base_offset: int) -> tuple[int, int]:
    """What the last entry of an index says; an offset that nothing has, if there is none to be had."""
    try:
        with offsets_in(open_source(index, only_files=True), base_offset) as lookup:
            return last_entry(lookup) or (-1, 0)
    except (CorruptIndexError, ReadError) as error:
        raise_unless_file_at_fault(error)
        return -1, 0


def hold_small(source: Source, base_offset: int) -> Holding | None:
    """What the ends of a small segment show, by the compiled scanner; None unless all of it is sound."""
    try:
        from kafka_segments.segment.columnar.small_segments import LARGEST_SMALL, sound_table

        table = sound_table(source) if source.size <= LARGEST_SMALL else None
    except MissingExtraError:
        return None
    if table is None or not table.is_batch().all():
        return None
    names = "base_offset", "crc"
    bases, checksums = (table.column(name).tolist() for name in names)
    lasts = table.last_offsets().tolist()
    first, misplaced = bases[0], None
    is_overlapped = len(bases) > 1 and 0 <= bases[1] <= lasts[0]
    if is_overlapped and (bases[1], checksums[1]) != (bases[0], checksums[0]):
        first, misplaced = min(bases[:2]), bases[0]
    extent = Extent(min(first, bases[-1]), max(first, *lasts[-2:]))
    return Holding(source.name, base_offset, source.size, extent, misplaced=misplaced)


@dataclass(frozen=True, slots=True)
class SegmentStart:
    """How a segment begins.

    Attributes:
        first: the first offset; None if it holds no sound entry, as far as was looked.
        is_damaged: something in front of the first sound entry is damaged, or all is.
        misplaced: base offset of the first batch, if the one behind it has offsets that are not behind its
            own; `first` is that one's then, if it is lower.
    """

    first: int | None
    is_damaged: bool
    misplaced: int | None = None


def begin_of(source: Source) -> SegmentStart:
    """How a segment begins."""
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
        if num == _NUM_LOOKED_AT:
            break
    return SegmentStart(None, is_damaged)


def _overlapped(source: Source, batch: Batch) -> int | None:
    """The base offset of the batch behind one, if that is not above it; None if it is in order.

    A batch that stands there twice is; a negative offset says nothing of the batch in front of it.
    """
    position = batch.end_position
    if batch.magic < 2 or position + formats.LEN_PREFIX > source.size:
        return None
    with suppress(ReadError):
        prefix = formats.read_prefix(source.read(position, formats.LEN_PREFIX))
        if prefix.magic < 2 or not 0 <= prefix.base_offset <= batch.last_offset:
            return None
    following = next(Scan(source).entries(position), None)
    if not isinstance(following, Batch) or not following.crc_valid:
        return None
    is_same = (following.base_offset, following.crc) == (batch.base_offset, batch.crc)
    return None if is_same else following.base_offset


def _last(source: Source, position: int, offset: int | None = None) -> _End | None:
    """The last offsets of the last two sound entries from a position on; whether damage, or zeros, follow.

    None if the first entry is no sound one that begins at an offset or before, where one is given.
    """
    last: tuple[int, ...] = ()
    is_torn = has_zeros = False
    for entry in Scan(source, len_window=_LEN_WINDOW).entries(position):
        if offset is not None and not begins_by(entry, offset):
            return None
        offset = None
        if isinstance(entry, Batch) and entry.crc_valid:
            last, is_torn = (*last[-1:], max(entry.base_offset or 0, entry.last_offset)), False
        elif isinstance(entry, Damage):
            is_torn = True
        has_zeros = isinstance(entry, Padding)
    return None if offset is not None else (last, is_torn, has_zeros)


def near_end(source: Source, position: int = 0) -> int:
    """Where one of the last entries begins, by a walk through all headers from a position on.

    Small files are walked through without the compiled scanner, which takes longer to load than they do.
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


def last_entry(lookup: OffsetLookup) -> tuple[int, int] | None:
    """Offset and position of the last entry of a `.index`; None if it has none."""
    return lookup.entry(len(lookup) - 1) if len(lookup) else None


def is_sound_at(source: Source, offset: int, position: int) -> bool:
    """Whether a valid batch stands at a position, and begins at or before an offset."""
    if not 0 <= position < source.size:
        return False
    return begins_by(next(Scan(source, len_window=_LEN_WINDOW).entries(position), None), offset)


def begins_by(entry: Batch | Damage | Padding | None, offset: int) -> bool:
    """Whether an entry is a valid batch that begins at or before an offset, as an index says.

    Where a wrapper of the old formats begins only its messages know; brokers before 2.0 noted that offset,
    not the last one.
    """
    if not isinstance(entry, Batch) or not entry.crc_valid:
        return False
    return entry.base_offset is None or entry.base_offset <= offset


def _is_sound(source: Source, position: int) -> bool:
    """Whether the checksum of the entry at a position is right."""
    entry = next(Scan(source).entries(position), None)
    return isinstance(entry, Batch) and bool(entry.crc_valid) and entry.position == position


def _with_offsets(source: Source, entry: Batch, items: ItemBudget) -> Batch | None:
    """An entry with its first offset and its number of records; None if a wrapper cannot be asked."""
    if entry.magic >= 2:
        return entry
    if entry.compression == "none":
        return replace(entry, base_offset=entry.last_offset, num_records=1)
    try:
        payload, bound = read_payload(source, entry), DEFAULT_MAX_DECOMPRESSED
        return Messages(entry, payload, max_decompressed=bound, check_crc=False, items=items).batch
    except KafkaFormatError as error:
        raise_unless_file_at_fault(error)  # whoever reads the segment tells of it
        return None


def runs_in(source: Source) -> list[Extent]:
    """The offsets of all entries by their headers, in file order; entries that follow on each other are one.

    Of a segment with more than 1,000 of them the last one takes in all the rest.
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
    """Whether offsets are missing between or inside sound batches, as only the cleaner makes it.

    It keeps batches in order. Where one stands behind another with a higher offset, an offset was changed,
    or a batch was put there, and what seems to be missing in front of the two says nothing.
    """
    before: Batch | None = None
    is_pending = False  # offsets are missing in front of `before`
    items = ItemBudget(DEFAULT_MAX_DECOMPRESSED)
    for found in Scan(source, headers_only=True).entries():
        entry = _with_offsets(source, found, items) if isinstance(found, Batch) else None
        if entry is None or entry.base_offset is None:
            before = None
            continue
        missing = 0 if before is None else entry.base_offset - before.last_offset - 1
        if is_pending and missing >= 0:
            return True
        is_whole = entry.num_records == entry.last_offset - entry.base_offset + 1
        is_pending = False
        # A bit that was flipped in a header looks like the cleaner's work: the checksum tells.
        if (missing or not is_whole) and not _is_sound(source, entry.position):
            before = None
            continue
        if not is_whole:
            return True
        if missing > 0 and before is not None:
            is_pending = _is_sound(source, before.position)
        before = None if missing < 0 else entry
    return is_pending
