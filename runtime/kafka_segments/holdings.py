"""What an open segment holds: its first and last offset, and whether the log cleaner has been in it.

Strategy: the first entries and the last ones are read and verified. To find the last ones all headers are
walked through, unless an index says where they are (`catalog.extents`).
"""

from __future__ import annotations

from contextlib import suppress

from kafka_segments.continuity import Extent, Holding
from kafka_segments.entries import Batch, Damage, Padding
from kafka_segments.errors import MissingExtraError
from kafka_segments.framing import Scan
from kafka_segments.storage import Source

__all__ = ["find_first", "hold", "is_cleaned", "near_end"]

_MIN_FOR_COMPILED = 1 << 20  # bytes; smaller segments are walked through before machine code is loaded
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
    first, is_damaged = find_first(source)
    if first is None:
        return Holding(path, base_offset, size, is_damaged_before=is_damaged)
    position, highest, at = _walk(source)
    last, is_torn, has_zeros = _last(source, position)
    if last is None:
        last, is_torn, has_zeros = _last(source, 0)
    last = first if last is None else last
    strays_to = highest if highest > last and _is_sound(source, at) else None
    return Holding(
        path,
        base_offset,
        size,
        Extent(first, max(first, last)),
        is_damaged,
        is_torn,
        ends_in_zeros=has_zeros,
        strays_to=strays_to,
    )


def find_first(source: Source) -> tuple[int | None, bool]:
    """The first offset of the first sound entry, and whether something is damaged in front of it."""
    scan, is_damaged = Scan(source), False
    for num, entry in enumerate(scan.entries()):
        if isinstance(entry, Batch) and entry.crc_valid:
            first = scan.first_offset(entry)
            return (entry.last_offset if first is None else first), is_damaged
        is_damaged = is_damaged or isinstance(entry, Damage)
        if num == _NUM_LOOKED_AT:
            break
    return None, is_damaged


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
    """Whether offsets are missing between or inside sound batches, as only the cleaner makes it."""
    before: Batch | None = None
    for entry in Scan(source, headers_only=True).entries():
        if not isinstance(entry, Batch) or entry.base_offset is None or entry.magic < 2:
            before = None
            continue
        num_offsets = entry.last_offset - entry.base_offset + 1
        is_behind = before is None or before.last_offset + 1 == entry.base_offset
        # A bit that was flipped in a header looks like the cleaner's work: the checksum tells.
        if not is_behind or entry.num_records != num_offsets:
            is_sound = _is_sound(source, entry.position)
            is_sound_before = is_behind or before is None or _is_sound(source, before.position)
            if is_sound and is_sound_before:
                return True
            before = entry if is_sound else None
            continue
        before = entry
    return False
