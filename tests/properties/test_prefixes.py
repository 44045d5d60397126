"""Cut files: everything in front of the cut entry is delivered, by both ways, and the cut one is named;
trees have it too.

Files up to 4 KiB are cut at every byte, the others around every boundary; in the short form at a 40th
of the bytes and around a 20th of the boundaries.
"""

from __future__ import annotations

import zlib
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from typing import NamedTuple

import pytest
from tests import forms
from tests.construct.trees import assert_same_trees
from tests.made.encoder import LOG_OVERHEAD, V2_HEADER
from tests.made.recorded import Recorded, distinct
from tests.properties.readers import Reading, Trouble, given_by, read_columns, read_rows

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


Tell = Callable[[str, Mapping[str, int]], None]

FILES = distinct()
NAMES = [file.name for file in FILES]
small = [file for file in FILES if len(file.data) <= SMALL]
large = [file for file in FILES if len(file.data) > SMALL]


def name_of(file: Recorded) -> str:
    return file.name


def assert_cuts(file: Recorded, cuts: Iterable[Cut]) -> Counter[str]:
    """Have all these read; returns how many there were, and how many ended in an entry."""
    counts: Counter[str] = Counter()
    for cut in cuts:
        data, right = file.data[cut.start : cut.end], expected(file, cut)
        by_rows, by_columns = read_rows(data), read_columns(data)
        assert is_right(by_rows, right), cut
        assert by_columns == Reading(given_by("columns", by_rows.rows), by_rows.damage), cut
        for trouble in right.damage:  # whole entries have their trees in test_parse.py
            assert_same_trees(data[trouble.position :])
        counts.update({"cuts": 1, "inside an entry": bool(right.damage)})
    return counts


def is_right(reading: Reading, right: Reading) -> bool:
    """Whether records and damage are as expected; lost offsets are only compared among readers."""
    places = [trouble.place() for trouble in reading.damage]
    return reading.rows == right.rows and places == [trouble.place() for trouble in right.damage]


@pytest.mark.long
@pytest.mark.parametrize("file", small[:: forms.pick(16, 4)], ids=name_of)
def test_around_the_boundaries_of_some_small_files(file: Recorded) -> None:
    assert_cuts(file, [*around_entries(file), *around_fields(file)])


def some(file: Recorded, cuts: Iterable[Cut], one_of: int) -> list[Cut]:
    """One of so many, the same in every run."""
    return list(cuts)[zlib.crc32(file.name.encode()) % one_of :: one_of]


@pytest.mark.long
@pytest.mark.parametrize("file", forms.pick(small[::2], small), ids=name_of)
def test_every_prefix_of_small_files(file: Recorded, tell: Tell) -> None:
    counts = assert_cuts(file, some(file, every_prefix(file), forms.pick(40, 2)))
    tell(f"files up to 4 KiB, every {forms.pick('fortieth', 'other')} prefix", counts | {"files": 1})
    assert counts["cuts"] >= (len(file.data) + 1) // forms.pick(40, 2)


@pytest.mark.long
@pytest.mark.parametrize("file", large, ids=name_of)
def test_around_the_boundaries_of_large_files(file: Recorded, tell: Tell) -> None:
    cuts = some(file, [*around_entries(file), *around_fields(file)], forms.pick(20, 1))
    counts = assert_cuts(file, cuts)
    tell(f"larger files, around every {forms.pick('twentieth ', '')}boundary", counts | {"files": 1})
    assert counts["cuts"] > forms.pick(5, 100)


def test_there_are_files_of_all_sizes() -> None:
    assert len(small) > 150
    assert len(large) > 25
    assert sum(len(file.data) for file in small) > 100_000
