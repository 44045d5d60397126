"""Pages of docs/formats: tables of every byte are as the parser has them, written ones show true bytes."""

from __future__ import annotations

import importlib
import re
import shutil
from pathlib import Path
from types import ModuleType

import pytest
from tests.codegen.vectors import STEMS, VECTORS
from tools import docs, field_rows, format_pages

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs" / "formats"


@pytest.mark.long(short=False)
@pytest.mark.node
def test_the_tables_of_every_byte_are_as_the_parser_has_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert format_pages.main(["--check"]) == 0, capsys.readouterr().err
    for page in PAGES.glob("*.md"):
        shutil.copy(page, tmp_path)
    changed = tmp_path / "kafka_record.md"
    changed.write_text(
        changed.read_text(encoding="utf-8").replace("| 4 | `14` |", "| 5 | `14` |"), encoding="utf-8"
    )
    assert format_pages.main(["--check"], tmp_path) == 1
    assert "stale: docs/formats/ kafka_record.md" in capsys.readouterr().err
    assert format_pages.main([], tmp_path) == 0
    assert changed.read_bytes() == (PAGES / changed.name).read_bytes()


@pytest.mark.parametrize("stem", STEMS)
def test_a_page_has_a_table_of_every_byte(stem: str) -> None:
    text = (PAGES / f"{stem}.md").read_text(encoding="utf-8")
    table = text.split("\n## Every byte\n")[1]
    assert f"`{format_pages.vector_of(text)}`: " in table
    assert len(re.findall(r"^\| \d+ \| ", table, re.MULTILINE)) >= 1


@pytest.mark.parametrize("stem", STEMS)
def test_bytes_in_written_tables_are_those_of_the_vector_above(stem: str) -> None:
    text = (PAGES / f"{stem}.md").read_text(encoding="utf-8").split("\n## Every byte\n")[0]
    seen = 0
    for part in text.split("\nVector: `")[1:]:
        data = (VECTORS / stem / f"{part.partition('`')[0]}.bin").read_bytes()
        for row in re.findall(r"^\|(.+)\|$", part, re.MULTILINE):
            for shown in re.findall(r"`((?:[0-9a-f]{2} )*[0-9a-f]{2})`", "|".join(row.split("|")[:2])):
                assert bytes.fromhex(shown) in data, shown
                seen += 1
    assert seen > 0 or "| bytes |" not in text


def test_a_byte_that_no_field_takes_is_an_error() -> None:
    row = field_rows.Row("a", 0, 2, "", "")
    format_pages._check_cover([row], 2, "x")
    with pytest.raises(SystemExit, match="no field takes the bytes from 2 on, of 3"):
        format_pages._check_cover([row], 3, "x")
    with pytest.raises(SystemExit, match="byte 2 belongs to no field, or to two"):
        format_pages._check_cover([row, field_rows.Row("b", 1, 3, "", "")], 3, "x")
    format_pages._check_cover([row, field_rows.Row("b", 1, 3, "", "", is_again=True)], 2, "x")


def test_the_list_of_contents_has_every_page() -> None:
    """As `make docs` orders them, so that none comes after those that the list has."""
    assert sorted(docs.formats_in_order()) == sorted(f"docs/formats/{stem}.md" for stem in STEMS)


def names_of(stem: str) -> set[str]:
    """Names of fields and types in a schema, and in those that it imports."""
    text = (ROOT / "schemas" / f"{stem}.ksy").read_text(encoding="utf-8")
    own = set(re.findall(r"^ +(?:- id: )?(\w+):?$", text, re.MULTILINE))
    imported = re.search(r"^  imports:\n((?:    - \w+\n)+)", text, re.MULTILINE)
    return own.union(*(names_of(one) for one in re.findall(r"\w+", imported[1]))) if imported else own


@pytest.mark.parametrize("stem", STEMS)
def test_fields_in_written_tables_are_those_of_the_schema(stem: str) -> None:
    text = (PAGES / f"{stem}.md").read_text(encoding="utf-8").split("\n## Every byte\n")[0]
    named: list[str] = []
    for title, rows in re.findall(r"^(\|.*\| field \|.*\|)\n\|[-|]+\|\n((?:\|.+\n)+)", text, re.MULTILINE):
        column = [cell.strip() for cell in title.split("|")].index("field")
        for row in rows.splitlines():
            named += re.findall(r"`([a-z_.0-9]+)`", row.split("|")[column])
    parts = {part for name in named for part in name.split(".") if part and not part.isdigit()}
    assert parts - names_of(stem) == set()


@pytest.mark.parametrize("page", sorted(PAGES.glob("*.md")), ids=lambda page: page.stem)
def test_classes_that_a_page_names_exist(page: Path) -> None:
    for names in re.findall(r"`(Kafka[A-Z]\w*(?:\.[A-Z]\w*)*)`", page.read_text(encoding="utf-8")):
        outer, *inner = names.split(".")
        found = getattr(formats_modules()[outer], outer)
        for name in inner:
            found = getattr(found, name)


def formats_modules() -> dict[str, ModuleType]:
    """The modules of Kaitai classes, by the name of their class."""
    modules = (importlib.import_module(f"kafka_segments_generated.kaitai.{stem}") for stem in STEMS)
    return {stem.title().replace("_", ""): module for stem, module in zip(STEMS, modules, strict=True)}
