"""Any entry has one tree, by the Kaitai classes and by the Construct declarations, sound or damaged."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from tests import forms
from tests.construct.trees import assert_same_trees
from tests.made.encoder import Entry, encode_segment
from tests.made.shapes import QUICK, segments
from tests.mutations.cases import case


@settings(QUICK, max_examples=250)
@given(segments())
def test_generated_segments(entries: list[Entry]) -> None:
    assert_same_trees(encode_segment(entries))


@pytest.mark.long
def test_damaged_entries() -> None:
    """With damage in any field, most often under a right checksum, of which trees know nothing."""
    for number in range(forms.pick(400, 4000)):
        assert_same_trees(case(f"trees:{number}").data)
