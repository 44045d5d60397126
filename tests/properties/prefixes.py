"""Where files are cut off, and what a reader must say of what is left.

The expectation is made from Kafka's reading of the whole file and the contract of `dump`, by no reader of
ours: whole entries give their records; of a cut one nothing is delivered, and it is named as truncated; zeros
to the end are padding, and so is a long enough run of them behind a cut entry.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

from tests.made.encoder import LOG_OVERHEAD, V2_HEADER
from tests.made.recorded import Recorded
from tests.properties.readers import Reading, Trouble

SMALL = 4 << 10
"""Up to this many bytes a file is cut everywhere."""
LEN_PREFIX = 17
"""Bytes up to an entry's magic: no fewer zeros count as padding behind a cut entry."""
LEGACY_PLACES = (8, 12, 16, 17, 18, 22, 26, 30)
"""Boundaries between fields of a message of magic 0 or 1, up to the key's length."""


class Cut(NamedTuple):
    """The bytes `[start, end)` of a file; `start` is where an entry begins."""

    start: int
    end: int


def every_prefix(file: Recorded) -> Iterator[Cut]:
    """All of them, the empty one and the whole file included."""
    return (Cut(0, end) for end in range(len(file.data) + 1))


def around_entries(file: Recorded) -> Iterator[Cut]:
    """Prefixes that end where an entry ends, or the file; and near those of the first and last entries."""
    ends = [*file.starts, len(file.data)]
    return (Cut(0, end) for end in {*ends, *_around([*ends[:3], *ends[-3:]], 0, len(file.data))})


def around_fields(file: Recorded) -> Iterator[Cut]:
    """Around every boundary: of entries, of fields in headers, of records that are not compressed.

    What is in front of the entry before the cut one is left out: a reader that needed it would be a strange
    one, and a file of many entries would take the square of the time.
    """
    for index, (start, stop) in enumerate(pairwise(file.starts)):
        places = [start, *(start + place for place in _places(file.data[start:stop])), stop]
        for end in _around(places, start, stop):
            yield Cut(file.starts[max(0, index - 1)], end)


def expected(file: Recorded, cut: Cut) -> Reading:
    """What every reader must say of it; positions are counted from the cut's start."""
    first = bisect_left(file.starts, cut.start)
    behind = bisect_right(file.starts, cut.end) - 1
    rows = file.rows[file.row_counts[first] : file.row_counts[behind]]
    position = file.starts[behind]
    rest = file.data[position : cut.end]
    if not any(rest):
        return Reading(rows, [])
    kept = len(rest.rstrip(b"\0"))
    end = position + kept if len(rest) - kept >= LEN_PREFIX else cut.end
    return Reading(rows, [Trouble(position - cut.start, end - cut.start, "TruncatedError")])


def _around(places: Iterable[int], least: int, most: int) -> list[int]:
    near = {place + step for place in places for step in (-1, 0, 1)}
    return sorted(place for place in near if least <= place <= most)


def _places(entry: bytes) -> Iterator[int]:
    """Boundaries in an entry, from its start."""
    if entry[16] < 2:
        yield from (place for place in LEGACY_PLACES if place < len(entry))
        return
    yield from (8, LOG_OVERHEAD, 16, 17, 21, 23, 27, 35, 43, 51, 53, 57, V2_HEADER)
    if entry[22] & 7 == 0:
        yield from _record_ends(entry)


def _record_ends(entry: bytes) -> Iterator[int]:
    position = V2_HEADER
    while position < len(entry):
        length = shift = 0
        while True:
            byte = entry[position]
            position += 1
            length |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        position += length >> 1
        yield position
