"""Generated batches, recorded files, damaged entries: rows, columns and trees are those of who wrote them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

import pytest
from hypothesis import given, settings
from tests import forms
from tests.construct.trees import assert_same_trees
from tests.made.codecs import IDS
from tests.made.encoder import Batch, Entry, encode_segment
from tests.made.recorded import FILES, Recorded
from tests.made.shapes import QUICK, segments
from tests.mutations.cases import case
from tests.properties import census
from tests.properties.readers import assert_read

CODECS = tuple(IDS)
ALL, MANY, SOME = 20_000, 2_000, 1_000
"""Batches in the full form, in the short one and in `make test-fast`, over all codecs."""
PER_SEGMENT = 4

Tell = Callable[[str, Mapping[str, int]], None]


def agree(codec: str, quick: settings) -> Counter[str]:
    """Let all readers read as many segments as the settings say."""
    counts: Counter[str] = Counter()
    distinct: set[Entry] = set()

    @quick
    @given(segments(PER_SEGMENT, codec))
    def check(entries: list[Entry]) -> None:
        distinct.update(entries)
        counts.update(census.count(entries))
        assert_entries_read(entries)

    check()
    counts["distinct batches"] = len(distinct)
    return counts


def assert_entries_read(entries: list[Entry]) -> None:
    """Both ways give what the encoder was given."""
    try:
        assert_read(encode_segment(entries), [row for entry in entries for row in entry.rows()])
    except AssertionError:
        for entry in entries:  # one that fails alone says more
            assert_read(entry.encode(), entry.rows())
        raise


@pytest.mark.parametrize("codec", CODECS)
def test_a_thousand_batches(codec: str) -> None:
    quick = settings(QUICK, max_examples=num_segments(SOME))
    assert agree(codec, quick)["batches"] >= SOME // len(CODECS)


def num_segments(num_batches: int) -> int:
    """Segments of each codec, for so many batches over all codecs."""
    return num_batches // len(CODECS) // PER_SEGMENT


@pytest.mark.long
@pytest.mark.parametrize("codec", CODECS)
def test_thousands_of_batches(codec: str, tell: Tell) -> None:
    counts = agree(codec, forms.examples(QUICK, num_segments(MANY), num_segments(ALL)))
    tell("generated batches, by shape", census.ordered(counts))
    assert counts["batches"] >= forms.pick(MANY, ALL) // len(CODECS)
    assert [name for name in (*census.SHAPES, *census.forms(codec)) if not counts[name]] == []


@pytest.mark.parametrize("codec", CODECS)
def test_a_batch_without_records_and_payload_may_name_any_codec(codec: str) -> None:
    batch = Batch(form=codec, last_offset_delta=3)
    assert_entries_read([batch, Batch(base_offset=4, last_offset_delta=0)])


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_records_equal_kafkas(file: Recorded) -> None:
    assert_read(file.data, file.rows)


def test_no_file_is_left_out() -> None:
    assert len(FILES) > 250
    assert sum(len(file.rows) for file in FILES) > 5000


@settings(QUICK, max_examples=250)
@given(segments())
def test_generated_segments(entries: list[Entry]) -> None:
    assert_same_trees(encode_segment(entries))


@pytest.mark.long
def test_damaged_entries() -> None:
    """With damage in any field, most often under a right checksum, of which trees know nothing."""
    for number in range(forms.pick(400, 4000)):
        assert_same_trees(case(f"trees:{number}").data)
