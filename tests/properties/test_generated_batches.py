"""Generated batches: every target reads what the independent encoder wrote; 20,000, counted by shape."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

import pytest
from hypothesis import given, settings
from tests.properties import census
from tests.properties.agreement import assert_entries_read
from tests.properties.codecs import IDS
from tests.properties.encoder import Batch, Entry
from tests.properties.readers import READERS
from tests.properties.shapes import QUICK, segments

CODECS = tuple(IDS)
ALL, SOME = 20_000, 1_000
"""Batches in the long form and in the short one, over all codecs."""
PER_SEGMENT = 4

Tell = Callable[[str, Mapping[str, int]], None]


def agree(codec: str, num_batches: int) -> Counter[str]:
    """Let all readers read that many batches."""
    counts: Counter[str] = Counter()
    distinct: set[Entry] = set()

    @settings(QUICK, max_examples=num_batches // len(CODECS) // PER_SEGMENT)
    @given(segments(PER_SEGMENT, codec))
    def check(entries: list[Entry]) -> None:
        counts.update(census.count(entries))
        distinct.update(entries)
        counts.update(assert_entries_read(READERS, entries))

    check()
    counts["distinct batches"] = len(distinct)
    return counts


@pytest.mark.parametrize("codec", CODECS)
def test_a_thousand_batches(codec: str) -> None:
    assert agree(codec, SOME)["batches"] >= SOME // len(CODECS)


@pytest.mark.properties
@pytest.mark.parametrize("codec", CODECS)
def test_twenty_thousand_batches(codec: str, tell: Tell) -> None:
    counts = agree(codec, ALL)
    tell("generated batches, by shape", counts)
    assert counts["batches"] >= ALL // len(CODECS)
    assert [name for name in (*census.SHAPES, *census.forms(codec)) if not counts[name]] == []


@pytest.mark.parametrize("codec", CODECS)
def test_a_batch_without_records_and_payload_may_name_any_codec(codec: str) -> None:
    batch = Batch(form=codec, last_offset_delta=3)
    assert_entries_read(READERS, [batch, Batch(base_offset=4, last_offset_delta=0)])
