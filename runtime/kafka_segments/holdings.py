"""What an open segment holds: its first and last offset, and whether the log cleaner has been in it.

Strategy: the first entries and the last ones are read and verified. To find the last ones all headers are
walked through, unless an index says where they are. Where many small segments are asked for, the compiled
scanner goes through each whole one.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from kafka_segments import layout
from kafka_segments.continuity import Extent, Holding
from kafka_segments.entries import Batch, Damage, Padding
from kafka_segments.errors import MissingExtraError, ReadError
from kafka_segments.framing import Scan
from kafka_segments.storage import Source

__all__ = ["Beginning", "begin_of", "hold", "hold_small", "is_cleaned", "near_end"]

_MIN_FOR_COMPILED = 1 << 20  # bytes; smaller segments are walked through before machine code is loaded
_LEN_WINDOW = 64 << 10
_NUM_LOOKED_AT = 64  # entries at the beginning of a segment, before its content counts as unknown


def hold(source: Source, base_offset: int) -> Holding:
    """What a segment holds.

    Args:
        source: its bytes.
        base_offset: by its name.

    Raises:
        StoreError: the store stopped giving it.
    """
    path, size = source.name, source.size
    begin = begin_of(source)
    if begin.first is None:
        return Holding(path, base_offset, size, is_damaged_before=begin.is_damaged)
    position, highest, at = _walk(source)
    last, is_torn, has_zeros = _last(source, position)
    if last is None:
        last, is_torn, has_zeros = _last(source, 0)
    last = begin.first if last is None else last
    strays_to = highest if highest > last and _is_sound(source, at) else None
    return Holding(
        path,
        base_offset,
        size,
        Extent(begin.first, max(begin.first, last)),
        begin.is_damaged,
        is_torn,
        ends_in_zeros=has_zeros,
        strays_to=strays_to,
        misplaced=begin.misplaced,
    )


def hold_small(source: Source, base_offset: int) -> Holding | None:
    """What the ends of a small segment show, by the compiled scanner; None unless all of it is sound."""
    try:
        from kafka_segments.columnar.small import LARGEST_SMALL, sound_table
    except MissingExtraError:
        return None
    table = sound_table(source) if source.size <= LARGEST_SMALL else None
    if table is None or not table.is_batch().all():
        return None
    names = "base_offset", "crc"
    bases, checksums = (table.column(name).tolist() for name in names)
    lasts = table.last_offsets().tolist()
    first, misplaced = bases[0], None
    if len(bases) > 1 and bases[1] <= lasts[0] and (bases[1], checksums[1]) != (bases[0], checksums[0]):
        first, misplaced = min(bases[:2]), bases[0]
    extent = Extent(min(first, bases[-1]), max(first, *lasts[-2:]))
    return Holding(source.name, base_offset, source.size, extent, misplaced=misplaced)


@dataclass(frozen=True, slots=True)
class Beginning:
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


def begin_of(source: Source) -> Beginning:
    """How a segment begins."""
    scan, is_damaged = Scan(source, len_window=_LEN_WINDOW), False
    for num, entry in enumerate(scan.entries()):
        if isinstance(entry, Batch) and entry.crc_valid:
            first = scan.first_offset(entry)
            first = entry.last_offset if first is None else first
            following = _overlapped(source, entry)
            if following is None:
                return Beginning(first, is_damaged)
            return Beginning(min(first, following), is_damaged, misplaced=first)
        is_damaged = is_damaged or isinstance(entry, Damage)
        if num == _NUM_LOOKED_AT:
            break
    return Beginning(None, is_damaged)


def _overlapped(source: Source, batch: Batch) -> int | None:
    """The base offset of the batch behind one, if that is not above it; None if it is in order.

    A batch that stands there twice is.
    """
    position = batch.end_position
    if batch.magic < 2 or position + layout.LEN_PREFIX > source.size:
        return None
    with suppress(ReadError):
        prefix = layout.read_prefix(source.read(position, layout.LEN_PREFIX))
        if prefix.magic < 2 or prefix.base_offset > batch.last_offset:
            return None
    following = next(Scan(source).entries(position), None)
    if not isinstance(following, Batch) or not following.crc_valid:
        return None
    is_same = (following.base_offset, following.crc) == (batch.base_offset, batch.crc)
    return None if is_same else following.base_offset


def _last(source: Source, position: int) -> tuple[int | None, bool, bool]:
    """The greatest offset of sound entries from a position on; whether damage, and zeros, stand behind."""
    last: int | None = None
    is_torn = has_zeros = False
    for entry in Scan(source).entries(position):
        if isinstance(entry, Batch) and entry.crc_valid:
            own = max(entry.base_offset or 0, entry.last_offset)
            last, is_torn = max(last or 0, own), False
        elif isinstance(entry, Damage):
            is_torn = True
        has_zeros = isinstance(entry, Padding)
    return last, is_torn, has_zeros


def near_end(source: Source) -> int:
    """Where one of the last entries begins, by a walk through all headers; 0 if that is not to be had."""
    return _walk(source)[0]


def _walk(source: Source) -> tuple[int, int, int]:
    """Where one of the last entries begins; the greatest base offset by the headers, and where that stands.

    Small files are walked through without the compiled scanner, which takes longer to load than they do.
    """
    if source.size >= _MIN_FOR_COMPILED:
        with suppress(MissingExtraError):
            return _compiled_walk(source)
    last: list[int] = []
    highest = at = 0
    for entry in Scan(source, headers_only=True).entries():
        if isinstance(entry, Batch):
            last = [*last[-1:], entry.position]
            base = entry.last_offset if entry.base_offset is None else entry.base_offset
            if base > highest:
                highest, at = base, entry.position
    return (last[0] if last else 0), highest, at


def _compiled_walk(source: Source) -> tuple[int, int, int]:
    from kafka_segments.columnar.headers import iter_headers

    last: list[int] = []
    highest = at = 0
    for piece in iter_headers(source):
        if isinstance(piece, Damage):
            continue
        positions, bases = piece.column("position"), piece.column("base_offset")
        last += positions.slice(max(0, len(piece) - 2)).to_pylist()
        del last[:-2]
        offsets = bases.to_numpy(zero_copy_only=False)
        row = int(offsets.argmax()) if len(offsets) else -1
        if row >= 0 and offsets[row] > highest:
            highest, at = int(offsets[row]), positions[row].as_py()
    return (last[0] if last else 0), highest, at


def _is_sound(source: Source, position: int) -> bool:
    """Whether the checksum of the entry at a position is right."""
    entry = next(Scan(source).entries(position), None)
    return isinstance(entry, Batch) and bool(entry.crc_valid) and entry.position == position


def is_cleaned(source: Source) -> bool:
    """Whether offsets are missing between or inside sound batches, as only the cleaner makes it.

    It keeps batches in order. Where one stands behind another with a higher offset, an offset was changed,
    or a batch was put there, and what seems to be missing in front of the two says nothing.
    """
    before: Batch | None = None
    is_pending = False  # offsets are missing in front of `before`
    for entry in Scan(source, headers_only=True).entries():
        if not isinstance(entry, Batch) or entry.base_offset is None or entry.magic < 2:
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
