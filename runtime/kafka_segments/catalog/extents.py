"""The first and the last offset in a segment, by its content and not by its name.

Strategy: the first and the last sound entry tell. Files are renamed or swapped by hand, by recovery tools and
by copies that failed half-way, but the batches in them keep their offsets. What was found is kept for as long
as the file stays the same, since many ranges of one directory ask for it.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock

from kafka_segments.catalog.ends import find_end
from kafka_segments.catalog.model import StoredSegment
from kafka_segments.catalog.opening import open_stored
from kafka_segments.entries import Batch
from kafka_segments.errors import KafkaFormatError, pass_over
from kafka_segments.framing import Scan
from kafka_segments.places import Places

__all__ = ["Extent", "extent_of"]

_NUM_KEPT = 20_000
_NUM_LOOKED_AT = 64  # entries at the beginning of a segment, before its content counts as unknown

_kept: OrderedDict[tuple[str, str, int], Extent | None] = OrderedDict()
_lock = Lock()


@dataclass(frozen=True, slots=True)
class Extent:
    """The offsets in a segment.

    Attributes:
        first: of its first sound entry.
        last: of its last sound entry.
    """

    first: int
    last: int

    def touches(self, start: int, end: int | None) -> bool:
        """Whether it may hold an offset in `[start, end)`."""
        return self.last >= start and (end is None or self.first < end)


def extent_of(places: Places, segment: StoredSegment) -> Extent | None:
    """The offsets that a segment holds; None if it holds no sound entry, or cannot be read."""
    file = segment.file
    key = file.path, file.identity, file.size
    with _lock:
        if key in _kept:
            _kept.move_to_end(key)
            return _kept[key]
    found = _extent(places, segment)
    with _lock:
        _kept[key] = found
        if len(_kept) > _NUM_KEPT:
            _kept.popitem(last=False)
    return found


def _extent(places: Places, segment: StoredSegment) -> Extent | None:
    try:
        first = _first(places, segment)
        last = None if first is None else find_end(places, segment).last
    except KafkaFormatError as error:
        pass_over(error)
        return None  # whoever reads the offsets that its name stands for tells of it
    if first is None or last is None:
        return None
    return Extent(
        first, max(first, last.highest_offset if last.base_offset is not None else last.last_offset)
    )


def _first(places: Places, segment: StoredSegment) -> int | None:
    source = open_stored(places, segment)
    try:
        scan = Scan(source)
        for num, entry in enumerate(scan.entries()):
            if isinstance(entry, Batch) and entry.crc_valid:
                first = scan.first_offset(entry)
                return entry.last_offset if first is None else first
            if num == _NUM_LOOKED_AT:
                break
        return None
    finally:
        source.close()
