"""Tests of a record's content, and the bytes that a record which passes must contain."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from kafka_segments.core.formats.entries import Header, Record
from kafka_segments.errors import OptionError
from kafka_segments.search.content_tests import (
    Contains,
    HasHeader,
    HasJson,
    HasKey,
    MatchesPattern,
    compiled_pattern,
    needle_in,
)
from kafka_segments.search.json_paths import parse_json_test


def plain_record(key: bytes | None, value: bytes | None, headers: tuple[Header, ...]) -> Record:
    """A record of a batch at position 0."""
    return Record(0, 0, 0, "CreateTime", -1, key, value, headers, None)


RECORD = plain_record(b"key-1", b'{"a": 7}', ((b"trace", b"x9"), (b"trace", None), (b"empty", b"")))


@pytest.mark.parametrize(
    ("test", "holds"),
    [
        (HasKey(b"key-1"), True),
        (HasKey(b"key"), False),
        (Contains(b"ey-"), True),
        (Contains(b"ey-", "value"), False),
        (Contains(b"trac", "headers"), True),
        (Contains(b"x9", "headers"), True),
        (MatchesPattern(re.compile(rb"^key-\d$")), True),
        (MatchesPattern(re.compile(rb"^\d"), "value"), False),
        (HasHeader(b"trace"), True),
        (HasHeader(b"trace", b"x9"), True),
        (HasHeader(b"trace", b""), False),
        (HasHeader(b"empty", b""), True),
        (HasHeader(b"x9"), False),
        (HasJson(parse_json_test("$.a = 7"), ""), True),
        (HasJson(parse_json_test("$.a = 7"), "", "key"), False),
    ],
)
def test_a_record_passes_or_does_not(test, holds: bool) -> None:
    assert test.holds(RECORD) is holds


def test_null_passes_no_test() -> None:
    record = plain_record(None, None, ())
    tests = [HasKey(b""), Contains(b""), MatchesPattern(re.compile(b"")), HasJson(parse_json_test("$"), "")]
    assert [test.holds(record) for test in tests] == [False] * 4


@pytest.mark.parametrize(
    ("pattern", "needle"),
    [
        (rb"user-\d+: timeout", b": timeout"),
        (rb"colou?r", b"colo"),
        (rb"ab*cde{0,3}f", b"cd"),
        (rb"x{3}yyyy", b"yyyy"),
        (rb"[abc]def[^]x]gh", b"def"),
        (rb"\.\$\{long", b".${long"),
        (rb"\x41longer", b"longer"),
        (rb"a|b", None),
        (rb"(abc)?", None),
        (rb"(?i)abc", None),
        (rb"a+b", b"a"),
        (rb".*", None),
    ],
)
def test_the_longest_literal_of_a_pattern(pattern: bytes, needle: bytes | None) -> None:
    found = needle_in(re.compile(pattern))
    assert found == needle or (found is not None and len(found) == len(needle or b""))


PIECES = rb"a b \. . [ab] [^a] a* b? ab+ a{0,2} b{2} \w $ ^ a*? \x61 \141".split()


@given(
    st.lists(st.sampled_from(PIECES), max_size=7).map(b"".join),
    st.lists(st.sampled_from(b"ab.\n"), max_size=12).map(bytes),
)
def test_every_match_contains_the_needle(text: bytes, data: bytes) -> None:
    pattern = re.compile(text)
    needle, match = needle_in(pattern), pattern.search(data)
    assume(match is not None)
    assert needle is None or needle in match[0]


@given(
    st.sampled_from(
        rb"[ab] [ab]+ [ab]? [ab]* [ab]{2} [ab]{0,2} [ab]{,2} [^b] []b] [\]b] [ab]|c [ab]{x} ([b])?".split()
    ),
    st.lists(st.sampled_from(PIECES), max_size=4).map(b"".join),
    st.lists(st.sampled_from(b"abc.]\n"), max_size=12).map(bytes),
    st.integers(0, 12),
)
def test_matches_that_begin_with_a_class_are_those_of_re(
    first: bytes, rest: bytes, data: bytes, start: int
) -> None:
    pattern = re.compile(first + rest)
    match, test = pattern.search(data, start), MatchesPattern(pattern)
    assert test.find_raw(data, start) == (None if match is None else match.span())
    assert test.holds(plain_record(None, data, ())) is (pattern.search(data) is not None)


@pytest.mark.filterwarnings("ignore:Possible")
@given(st.text("[]^k-*\\\\?+{,1}", max_size=8), st.lists(st.sampled_from(b"[]^k-1"), max_size=8).map(bytes))
@example("[^]]*k", b"kk")
@example("[]]k", b"]k")
def test_any_expression_with_classes_is_searched_as_re_does(text: str, data: bytes) -> None:
    try:
        pattern = compiled_pattern(text)
    except OptionError:
        assume(False)
    match, test = pattern.search(data), MatchesPattern(pattern)
    assert test.find_raw(data) == (None if match is None else match.span())
    assert match is None or test.needle is None or test.needle in match[0]


@pytest.mark.parametrize("text", ["(", "a**", "[", "\\"])
def test_what_is_no_expression_is_refused(text: str) -> None:
    with pytest.raises(OptionError, match="is not a regular expression of Python's re"):
        compiled_pattern(text)
