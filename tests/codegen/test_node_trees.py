"""The Web IDE's engine and the Python classes see the same in every recorded segment and in every vector."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.codegen.plain_copies import plain_copy
from tests.codegen.trees import Job, _camel, count_leaves, differences, javascript_trees, python_tree
from tests.codegen.vectors import BESIDE, VECTORS, Vector, all_vectors

pytestmark = pytest.mark.node

RECORDED = VECTORS / "recorded"


@dataclass
class Comparison:
    """What came of comparing some files."""

    files: int = 0
    leaves: int = 0
    differences: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def add(self, job: Job, python: Any, javascript: Any) -> None:
        self.files += 1
        self.leaves += count_leaves(python)
        self.differences += [f"{job.file}{place}" for place in differences(python, javascript)]
        self.errors += [f"{job.file}{place}" for place in errors_in(python)]


def errors_in(tree: Any, place: str = "") -> Iterator[str]:
    """Where a tree has something that could not be read."""
    if isinstance(tree, dict):
        if "error" in tree:
            yield f"{place}: {tree['error']}"
        for name, part in tree.items():
            yield from errors_in(part, f"{place}/{name}")
    elif isinstance(tree, list):
        for index, part in enumerate(tree):
            yield from errors_in(part, f"{place}/{index}")


def compare(jobs: list[Job], kind: str) -> Comparison:
    """Compare the trees of files, and say how much there was to compare (``pytest -rP`` shows it)."""
    result = Comparison()
    for job, javascript in zip(jobs, javascript_trees(jobs), strict=True):
        result.add(job, python_tree(job), javascript)
    print(f"{kind}: {result.files} files, {result.leaves} values compared")
    assert result.files == len(jobs)
    return result


def segments() -> list[Path]:
    """Every recorded file that holds entries."""
    found = [path for path in RECORDED.rglob("*") if path.suffix in (".log", ".checkpoint")]
    # Transient ones too: 00000000000000000000.log.deleted and the like.
    found += [path for path in RECORDED.rglob("*.log.*") if path.is_file()]
    return sorted(found)


def test_every_recorded_segment_opens_and_is_the_same() -> None:
    files = segments()
    result = compare([Job("kafka_log_segment", path) for path in files], "segments")
    assert result.differences == []
    assert result.errors == [], "the Web IDE would not open all of it"
    assert result.files >= 100


def test_every_compressed_record_is_the_same(tmp_path: Path) -> None:
    jobs = []
    for number, path in enumerate(segments()):
        plain = plain_copy(path)
        if plain:
            copy = tmp_path / f"{number} {path.parent.name} {path.name}"
            copy.write_bytes(plain)
            jobs.append(Job("kafka_log_segment", copy))
    result = compare(jobs, "decompressed copies")
    assert result.differences == []
    assert result.errors == []
    assert result.files >= 30


@pytest.mark.parametrize("schema", BESIDE)
def test_every_file_beside_the_segments_is_the_same(schema: str) -> None:
    pattern, least = BESIDE[schema]
    result = compare([Job(schema, path) for path in sorted(RECORDED.rglob(pattern))], schema)
    assert result.differences == []
    assert result.errors == []
    assert result.files >= least


def test_every_vector_is_the_same() -> None:
    vectors = all_vectors()
    result = compare([Job(vector.schema, vector.file, vector.params) for vector in vectors], "vectors")
    assert result.differences == []
    # Both must refuse what is to be refused, and nothing else.
    assert {error.split(": ")[0] for error in result.errors} == {
        place for vector in vectors for place in refused_places(vector)
    }


def refused_places(vector: Vector) -> Iterator[str]:
    """What a vector says that cannot be read, as a place in the trees."""
    if vector.error is not None:
        yield str(vector.file)
    for place, found in vector.expect.items():
        # What is no UTF-8 is replaced in JavaScript, and so in the trees.
        if isinstance(found, dict) and found.get("error", "UnicodeDecodeError") != "UnicodeDecodeError":
            yield "/".join([str(vector.file), *map(_camel, place.split("."))])


def test_a_difference_would_be_seen() -> None:
    """The comparison itself: it must not be content with less than the same."""
    tree = {"a": [1, {"b": True}], "key": {"hex": "00"}}
    assert list(differences(tree, tree)) == []
    for other in ({"a": [1, {"b": 1}]}, {"a": [2, {"b": True}]}, {"a": [1]}, {"a": [1, {}]}, {"a": None}):
        assert list(differences(tree, {**tree, **other}))
    assert list(differences(tree, {**tree, "key": {"hex": "01"}}))
    assert list(differences(tree, {**tree, "more": 0}))
    assert list(differences({"error": "EOFError"}, tree))
    assert list(differences({"v": 2**53 + 1}, {"v": float(2**53)})) == []
    assert list(differences({"v": 2**53 - 1}, {"v": 2**53}))
    assert list(differences({"v": 2**60}, {"v": 2**60 + 2**12}))
