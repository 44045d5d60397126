"""One stem per format: schema, class, vectors and page belong together, and the vectors read as they say."""

from __future__ import annotations

from pathlib import Path

import kaitaistruct
import pytest
from kaitaistruct import KaitaiStream
from tests.codegen.kafka_java import make_vectors
from tests.codegen.trees import python_class
from tests.codegen.vectors import STEMS, VECTORS, Vector, all_vectors, look_up

ROOT = Path(__file__).resolve().parents[2]
GENERATED = ROOT / "generated" / "kafka_segments_generated" / "kaitai"
PAGES = ROOT / "docs" / "formats"
VECTORS_OF_ALL = all_vectors()


@pytest.mark.parametrize("stem", STEMS)
def test_a_format_has_all_its_parts(stem: str) -> None:
    descriptions = {path.stem for path in (VECTORS / stem).glob("*.toml")}
    binaries = {path.stem for path in (VECTORS / stem).glob("*.bin")}
    assert (GENERATED / f"{stem}.py").is_file()
    assert descriptions and descriptions == binaries, "every .bin needs its .toml, and the reverse"
    assert (PAGES / f"{stem}.md").is_file()


def test_no_part_is_without_its_schema() -> None:
    classes = {path.stem for path in GENERATED.glob("*.py")} - {"__init__"}
    pages = {path.stem for path in PAGES.glob("*.md")} - {"README"}
    # Crashers are whole segments, of no one schema.
    vectors = {path.parent.name for path in VECTORS.glob("*/*.bin")} - {"crashers"}
    assert classes == pages == vectors == set(STEMS)


@pytest.mark.parametrize("vector", VECTORS_OF_ALL, ids=str)
def test_vector_reads_as_it_says(vector: Vector) -> None:
    stream = KaitaiStream(vector.file.open("rb"))
    with stream:
        if vector.error is not None:
            with pytest.raises(getattr(kaitaistruct, vector.error)):
                python_class(vector.schema)(*vector.params, stream)
            return
        found = python_class(vector.schema)(*vector.params, stream)
        assert {place: look_up(found, place) for place in vector.expect} == vector.expect
        assert (stream.pos() < stream.size()) == vector.leaves_bytes


@pytest.mark.parametrize("vector", VECTORS_OF_ALL, ids=str)
def test_vector_says_where_it_comes_from(vector: Vector) -> None:
    assert vector.about and not vector.about.endswith(".")
    assert bool(vector.expect) != bool(vector.error), "either what is expected or which error"
    if "recorded" in vector.source:
        assert vector.source.keys() == {"writer", "recorded", "position", "size"}
        assert vector.source["size"] == vector.file.stat().st_size
    else:
        assert vector.source.keys() == {"writer", "computed"}


@pytest.mark.parametrize("stem", STEMS)
def test_page_shows_a_vector(stem: str) -> None:
    """The hex dump on a format's page is that of a vector, byte for byte."""
    page = (PAGES / f"{stem}.md").read_text(encoding="utf-8")
    shown = [line.split("`")[1] for line in page.splitlines() if line.startswith("Vector: `")]
    assert shown, "the page names no vector"
    for name in shown:
        data = (VECTORS / stem / f"{name}.bin").read_bytes()
        assert hex_dump(data) in page, f"the page does not hold the bytes of {name}.bin"


def hex_dump(data: bytes) -> str:
    """Sixteen bytes a line, as ``xxd -g1`` prints them."""
    lines = []
    for at in range(0, len(data), 16):
        row = data[at : at + 16]
        text = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)
        lines.append(f"{at:08x}: {row.hex(' '):<47}  {text}")
    return "\n".join(lines)


@pytest.mark.oracle
def test_computed_vectors_are_what_kafka_writes(tmp_path: Path) -> None:
    make_vectors(tmp_path)
    written = {path.relative_to(tmp_path).as_posix(): path.read_bytes() for path in tmp_path.rglob("*.bin")}
    kept = {
        f"{vector}.bin": vector.file.read_bytes()
        for vector in VECTORS_OF_ALL
        if vector.source.get("computed", "").startswith("tests/codegen/java/MakeVectors.java")
    }
    assert written == kept
    assert written
