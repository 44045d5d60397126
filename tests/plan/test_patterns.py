"""Java's patterns for topics: what is spelt otherwise, what is the same, what is refused."""

from __future__ import annotations

import pytest

from kafka_segments.errors import OptionError
from kafka_segments.log.java_regex import java_pattern

NAMES = ["a", "A", "a.b", "a-b_c", "x1", "1", "aa", "[", "a&b"]


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        (r"\Qa.b\E", ["a.b"]),
        (r"^\Qa.\Eb$", ["a.b"]),
        (r"\Qa.b", ["a.b"]),
        (r"^(?<one>a)\k<one>$", ["aa"]),
        (r"(?<=a)\.b", ["a.b"]),
        (r"(?<!a)\d", ["x1", "1"]),
        (r"^a\z", ["a"]),
        (r"^a\Z", ["a"]),
        (r"^\p{Lower}$", ["a"]),
        (r"^\p{IsUppercase}$", ["A"]),
        (r"^[\p{Alpha}.]+$", ["a", "A", "a.b", "aa"]),
        (r"\P{L}", ["a.b", "a-b_c", "x1", "1", "[", "a&b"]),
        (r"^\pN$", ["1"]),
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
    assert [name for name in NAMES if java_pattern(pattern).search(name)] == found


@pytest.mark.parametrize(
    "pattern",
    ["[a-z&&[^x]]", "[a[b]]", r"[a&&b]", r"\p{IsGreek}", r"[\P{L}]", "(", "a{99999999999}", r"\h", "*"],
)
def test_what_is_refused(pattern: str) -> None:
    with pytest.raises(OptionError, match=r"is no pattern \(java.util.regex.Pattern\)"):
        java_pattern(pattern)
