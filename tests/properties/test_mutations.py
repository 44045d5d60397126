"""Damaged segments: the targets that go on behind damage deliver the same records, name the same damage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import forms
from tests.made.recorded import distinct
from tests.made.shapes import QUICK
from tests.properties.mutations import mutated, mutated_segments, sealed_entries
from tests.properties.readers import CONSTRUCT, KAITAI, READERS
from tests.properties.reading import Reading

Tell = Callable[[str, Mapping[str, int]], None]
RESYNCING = [reader for reader in READERS if reader.resyncs]

generated = mutated_segments()
recorded = st.sampled_from(distinct()).flatmap(lambda file: mutated(file.data[:4000]))


def assert_same(data: bytes) -> Reading:
    """All say what the first one says, or what they can of it."""
    first = RESYNCING[0].read(data)
    for reader in RESYNCING[1:]:
        reading = reader.read(data)
        assert reading.rows == reader.rows(first.rows), reader.name
        assert reading.damage == first.damage, reader.name
    return first


@settings(QUICK, max_examples=400)
@given(st.one_of(generated, recorded))
def test_some_damaged_segments(data: bytes) -> None:
    assert_same(data)


@pytest.mark.long
def test_damaged_generated_segments(tell: Tell) -> None:
    errors: Counter[str] = Counter()

    @forms.examples(QUICK, 400, 4000)
    @given(generated)
    def check(data: bytes) -> None:
        found = {trouble.error for trouble in assert_same(data).damage}
        errors.update(found or {"sound all the same"}, segments=1)

    check()
    tell("damaged generated segments, by error", errors)
    expected = {"ChecksumMismatchError", "TruncatedError", "CorruptBatchError", "DecompressionError"}
    assert expected | {"LengthMismatchError", "UnsupportedMagicError"} <= errors.keys()


def assert_trees_same(data: bytes) -> None:
    """One entry with a right checksum: Construct refuses what Kaitai refuses, and else gives the same.

    But that bytes are left behind the last record, no tree says.
    """
    kaitai, construct = KAITAI.read(data), CONSTRUCT.read(data)
    if construct.damage:
        assert kaitai.damage
    else:
        assert construct.rows == kaitai.rows
        if kaitai.damage:
            assert [trouble.error for trouble in kaitai.damage] == ["CorruptBatchError"]


@pytest.mark.long
@forms.examples(QUICK, 400, 4000)
@given(sealed_entries())
def test_trees_of_damaged_entries(data: bytes) -> None:
    assert_trees_same(data)


@pytest.mark.long
@forms.examples(QUICK, 200, 2000)
@given(recorded)
def test_damaged_recorded_segments(data: bytes) -> None:
    assert_same(data)
