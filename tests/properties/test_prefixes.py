"""Cut files: everything in front of the cut entry is delivered, by both ways, and the cut one is named;
trees have it too.

Files up to 4 KiB are cut at every byte, the others around every boundary; in the short form at a 40th
of the bytes and around a 20th of the boundaries.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

import pytest
from tests import forms
from tests.construct.trees import assert_same_trees
from tests.made.recorded import Recorded, distinct
from tests.properties import prefixes
from tests.properties.prefixes import SMALL, Cut
from tests.properties.readers import Reading, given_by, read_columns, read_rows

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
        data, right = file.data[cut.start : cut.end], prefixes.expected(file, cut)
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
    assert_cuts(file, [*prefixes.around_entries(file), *prefixes.around_fields(file)])


def some(file: Recorded, cuts: Iterable[Cut], one_of: int) -> list[Cut]:
    """One of so many, the same in every run."""
    return list(cuts)[zlib.crc32(file.name.encode()) % one_of :: one_of]


@pytest.mark.long
@pytest.mark.parametrize("file", forms.pick(small[::2], small), ids=name_of)
def test_every_prefix_of_small_files(file: Recorded, tell: Tell) -> None:
    counts = assert_cuts(file, some(file, prefixes.every_prefix(file), forms.pick(40, 2)))
    tell(f"files up to 4 KiB, every {forms.pick('fortieth', 'other')} prefix", counts | {"files": 1})
    assert counts["cuts"] >= (len(file.data) + 1) // forms.pick(40, 2)


@pytest.mark.long
@pytest.mark.parametrize("file", large, ids=name_of)
def test_around_the_boundaries_of_large_files(file: Recorded, tell: Tell) -> None:
    cuts = some(file, [*prefixes.around_entries(file), *prefixes.around_fields(file)], forms.pick(20, 1))
    counts = assert_cuts(file, cuts)
    tell(f"larger files, around every {forms.pick('twentieth ', '')}boundary", counts | {"files": 1})
    assert counts["cuts"] > forms.pick(5, 100)


def test_there_are_files_of_all_sizes() -> None:
    assert len(small) > 150
    assert len(large) > 25
    assert sum(len(file.data) for file in small) > 100_000
