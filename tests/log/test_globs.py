"""Patterns mean what they mean to Spark's file options, which take Hadoop's."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.log.memory import MemoryPlaces

from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.io.globs import compile_glob, expand, is_glob
from kafka_segments.errors import OptionError


@pytest.mark.parametrize(
    ("pattern", "name", "matches"),
    [
        ("*.log", "00.log", True),
        ("*.log", "00.log.deleted", False),
        ("*", "", True),
        ("0?.log", "01.log", True),
        ("0?.log", "0.log", False),
        ("a.b", "axb", False),
        ("[ab]0", "b0", True),
        ("[a-c]0", "c0", True),
        ("[^a]0", "a0", False),
        ("[!a]0", "b0", True),
        ("[!a]0", "a0", False),
        ("a!", "a!", True),
        ("^a$", "^a$", True),
        ("{a,b{c,d}}x", "bdx", True),
        ("{a,b{c,d}}x", "bx", False),
        ("a,b", "a,b", True),
        ("a}", "a}", True),
        (r"a\*", "a*", True),
        (r"a\*", "ab", False),
        ("(a|b)+", "(a|b)+", True),
        ("*", "a\nb", True),
        ("[a^]", "^", True),
        (r"[\]]", "]", True),
    ],
)
def test_names(pattern: str, name: str, matches: bool) -> None:
    assert bool(compile_glob(pattern).fullmatch(name)) is matches


@pytest.mark.parametrize("pattern", ["[a", "{a", "a\\", "[z-a]", "[]", "[", "[a\\"])
def test_what_is_no_pattern(pattern: str) -> None:
    with pytest.raises(OptionError, match="is invalid") as caught:
        compile_glob(pattern)
    assert repr(pattern) in str(caught.value)


def test_what_is_a_pattern_at_all() -> None:
    assert all(map(is_glob, ["a*", "a?", "{a}", "[a]", "\\a"]))
    assert not is_glob("/data/kafka-1/t-0^!,")


def test_paths(tmp_path: Path) -> None:
    for name in ("d1/t-0/a.log", "d1/u-0/b.log", "d2/t-0/c.log", "d3"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()

    def found(pattern: str) -> list[str]:
        return [
            str(Path(entry.path).relative_to(tmp_path)) for entry in expand(Places(), f"{tmp_path}/{pattern}")
        ]

    assert found("d*/t-*") == ["d1/t-0", "d2/t-0"]
    assert found("d*/*/*.log") == ["d1/t-0/a.log", "d1/u-0/b.log", "d2/t-0/c.log"]
    assert found("{d1/u,d2/t}-0") == ["d1/u-0", "d2/t-0"]
    assert found("d[12]/t-0/{a,c}.log") == ["d1/t-0/a.log", "d2/t-0/c.log"]
    assert found("d3/*") == []
    assert found("nothing*") == []
    assert found("{d1,no}/t-0") == ["d1/t-0"]


def test_relative_paths_and_addresses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t-0").mkdir()
    monkeypatch.chdir(tmp_path)
    assert [entry.name for entry in expand(Places(), "t-*")] == ["t-0"]
    assert [entry.path for entry in expand(Places(), f"file:{tmp_path}/t-*")] == [str(tmp_path / "t-0")]
    places = MemoryPlaces({"s3a://bucket/a/t-0/x": b"", "s3a://bucket/b/t-0/x": b""})
    found = [entry.path for entry in expand(places, "s3a://bucket/*/t-0")]
    assert found == ["s3a://bucket/a/t-0", "s3a://bucket/b/t-0"]
