"""The compiled search of a byte string finds what Python's own search finds."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("pyarrow")
pytest.importorskip("numba")

from kafka_segments.search import byte_search
from kafka_segments.search.byte_search import ByteSearch

FEW = st.lists(st.sampled_from(b"ab\0\xff"), max_size=900).map(bytes)


@given(FEW, st.lists(st.sampled_from(b"ab\0\xff"), min_size=1, max_size=9).map(bytes), st.data())
def test_a_string_is_found_where_python_finds_it(data: bytes, needle: bytes, more: st.DataObject) -> None:
    start = more.draw(st.integers(0, len(data)))
    end = more.draw(st.integers(start, len(data)))
    assert ByteSearch(needle).find(memoryview(data), start, end) == data.find(needle, start, end)


@pytest.mark.parametrize("length", [1, 2, 3, 31, 32, 33, 64, 200])
def test_all_places_are_found_in_order(length: int) -> None:
    random = Random(length)
    needle = random.randbytes(length - 1) + b"\x99"
    data = bytearray(random.randbytes(20_000))
    for at in (0, 400, 7000, 9999, 20_000 - length):
        data[at : at + length] = needle
    search, found, at = ByteSearch(needle), [], 0
    while (at := search.find(memoryview(data), at, len(data))) >= 0:
        found.append(at)
        at += 1
    places = [at for at in range(len(data)) if data[at : at + length] == needle]
    assert found == places
    assert len(found) >= 5


def test_data_in_which_every_place_nearly_matches_is_left_to_python() -> None:
    data, needle = b"ab" * 50_000 + b"ba", b"ab" * 40 + b"ba"
    search = ByteSearch(needle)
    assert search.find(memoryview(data), 0, len(data)) == data.find(needle)
    search._state[byte_search.AT], search._state[byte_search.END] = 0, len(data)
    assert search._find() == byte_search.COSTLY
