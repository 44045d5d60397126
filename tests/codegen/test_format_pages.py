"""Pages of docs/formats: tables of every byte are as the parser has them, written ones show true bytes."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from tests.codegen.vectors import STEMS, VECTORS
from tools import field_rows, format_pages

PAGES = Path(__file__).resolve().parents[2] / "docs" / "formats"


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
