"""What an open segment holds: its first and last offset, and whether the log cleaner has been in it.

Strategy: the first entries and the last ones are read and verified. To find the last ones all headers are
walked through, unless an index says where they are (`catalog.extents`).
"""

from __future__ import annotations

from kafka_segments.continuity import Extent, Holding
from kafka_segments.entries import Batch, Damage
from kafka_segments.errors import MissingExtraError
from kafka_segments.framing import Scan
from kafka_segments.storage import Source

__all__ = ["find_first", "hold", "is_cleaned", "near_end"]

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
    last, is_torn = _last(source, near_end(source))
    if last is None:
        last, is_torn = _last(source, 0)
    return Holding(path, base_offset, size, Extent(first, max(first, last or 0)), is_damaged, is_torn)


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


def _last(source: Source, position: int) -> tuple[int | None, bool]:
    """The greatest offset of the sound entries from a position on; whether damage stands behind the last."""
    last: int | None = None
    is_torn = False
    for entry in Scan(source).entries(position):
        if isinstance(entry, Batch) and entry.crc_valid:
            own = max(entry.base_offset or 0, entry.last_offset)
            last, is_torn = max(last or 0, own), False
        elif isinstance(entry, Damage):
            is_torn = True
    return last, is_torn


def near_end(source: Source) -> int:
    """Where one of the last entries begins, by a walk through all headers; 0 if that is not to be had."""
    try:
        from kafka_segments.columnar.headers import iter_headers

        last: list[int] = []
        for piece in iter_headers(source):
            if not isinstance(piece, Damage):
                last += piece.column("position").slice(max(0, len(piece) - 2)).to_pylist()
                del last[:-2]
    except MissingExtraError:
        return 0
    return last[0] if last else 0


def is_cleaned(source: Source) -> bool:
    """Whether offsets are missing between or inside sound batches, as only the cleaner makes it."""
    following = None
    for entry in Scan(source, headers_only=True).entries():
        if not isinstance(entry, Batch) or entry.base_offset is None or entry.magic < 2:
            following = None
            continue
        num_offsets = entry.last_offset - entry.base_offset + 1
        if following not in (None, entry.base_offset) or entry.num_records != num_offsets:
            return True
        following = entry.last_offset + 1
    return False
