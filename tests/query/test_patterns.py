"""Patterns of topics: what Java and Python take for the same, and what is refused."""

from __future__ import annotations

import pytest

from kafka_segments.errors import OptionError
from kafka_segments.query.query import topic_pattern

NAMES = ["a", "A", "a.b", "a-b_c", "x1", "1", "aa", "[", "a&b"]


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        (r"^a\.b$", ["a.b"]),
        (r"^(a)\1$", ["aa"]),
        (r"(?<=a)\.b", ["a.b"]),
        (r"(?<!a)\d", ["x1", "1"]),
        (r"^a\Z", ["a"]),
        (r"^[^a-z]$", ["A", "1", "["]),
        (r"^a&b", ["a&b"]),
        (r"^\[$", ["["]),
        (r"^[\[x]", ["x1", "["]),
        (r"(?i)^A$", ["a", "A"]),
        (r"a++", ["a", "a.b", "a-b_c", "aa", "a&b"]),
        (r"^a&&b", []),
    ],
)
def test_what_is_found(pattern: str, found: list[str]) -> None:
    assert [name for name in NAMES if topic_pattern(pattern).search(name)] == found


@pytest.mark.parametrize(
    "pattern",
    [
        *("[a-z&&[^x]]", "[a[b]]", "[[]", r"[a&&b]", r"[\]a[b]]", "(", "a{99999999999}", r"\h", "*", "(?u)a"),
        *(r"\p{Lower}", r"\p{IsGreek}", r"[\P{L}]", r"\pN", r"\Qa.b\E", r"^(?<one>a)\k<one>$"),
        *(r"(?P<a>b)", "(?#c)a", "m{,3}", "{a", "(b|{a)"),
    ],
)
def test_what_is_refused(pattern: str) -> None:
    with pytest.raises(OptionError, match=r"subscribePattern .* cannot be used: .*Java's syntax"):
        topic_pattern(pattern)
