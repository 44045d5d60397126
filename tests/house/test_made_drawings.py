"""Drawings of the formats: as the schemas have them, in a page with words, readable in light and dark."""

from __future__ import annotations

import re
import shutil
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tools import drawings
from tools.drawn_svg import DARK, LIGHT

if TYPE_CHECKING:
    from playwright.sync_api import Browser

DOCS = Path(__file__).resolve().parents[2] / "docs"
NAMES = sorted(path.name for path in drawings.DRAWINGS.glob("*.svg"))
TEXT = re.compile(r'<text class="(\w)" x="([\d.]+)" y="([\d.]+)"[^>]*>([^<]+)</text>')


def test_drawings_are_as_the_schemas_have_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert drawings.main(["--check"]) == 0, capsys.readouterr().err
    made = tmp_path / "drawings"
    shutil.copytree(drawings.DRAWINGS, made)
    (made / "record.svg").write_text("changed", encoding="utf-8")
    (made / "message.svg").unlink()
    (made / "orphan.svg").write_text("", encoding="utf-8")
    assert drawings.main(["--check"], made) == 1
    assert "docs/drawings/ message.svg, orphan.svg, record.svg; run" in capsys.readouterr().err
    assert drawings.main([], made) == 0
    assert {path.name: path.read_bytes() for path in made.iterdir()} == {
        path.name: path.read_bytes() for path in drawings.DRAWINGS.iterdir()
    }


def positions(name: str) -> dict[str, list[str]]:
    """The positions that a drawing shows beside the names of fields."""
    lines: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for kind, _, y, text in TEXT.findall((drawings.DRAWINGS / name).read_text(encoding="utf-8")):
        lines[y].append((kind, text))
    found: dict[str, list[str]] = defaultdict(list)
    for texts in lines.values():
        for kind, text in texts:
            if kind == "n":
                found[text] += [number for kind, number in texts if kind == "m" and number.isdigit()]
    return found


def test_positions_are_those_of_kafkas_documentation() -> None:
    batch = positions("record_batch.svg")
    assert (batch["magic"], batch["crc"], batch["attributes"]) == (["16"], ["17"], ["21"])
    assert (batch["num_records"], batch["record"]) == (["57"], ["61"])
    message = positions("message.svg")
    assert (message["crc"], message["timestamp"], message["value"]) == (["12"], ["18"], [])
    text = (drawings.DRAWINGS / "record_batch.svg").read_text(encoding="utf-8")
    assert "From partition_leader_epoch to the end: len_body counts." in text
    assert "From attributes to the end: crc covers." in text


@pytest.mark.parametrize("name", NAMES)
def test_a_page_shows_the_drawing_and_says_what_it_shows(name: str) -> None:
    pages = "".join(page.read_text(encoding="utf-8") for page in DOCS.rglob("*.md"))
    words = re.findall(rf"!\[([^\]]*)\]\([^)]*drawings/{re.escape(name)}\)", pages)
    assert words, f"no page of docs/ shows drawings/{name}"
    assert min(map(len, words)) > 40


def luminance(colour: str) -> float:
    """The relative luminance of a colour, as WCAG defines it."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_texts_and_lines_stand_out(colours: dict[str, str]) -> None:
    for front, back, least in (
        *((text, back, 4.5) for text in ("text", "soft", "span") for back in ("page", "frame")),
        *(("text", back, 4.5) for back in ("fixed", "varying", "data")),
        *(("line", back, 3.0) for back in ("page", "frame", "fixed", "varying", "data")),
    ):
        dark, light = sorted((luminance(colours[front]), luminance(colours[back])))
        assert (light + 0.05) / (dark + 0.05) >= least, (front, back)


@pytest.mark.browser
def test_no_text_leaves_its_drawing_or_lies_on_another(browser: Browser) -> None:
    page = browser.new_page()
    for name in NAMES:
        page.set_content((drawings.DRAWINGS / name).read_text(encoding="utf-8"))
        problems = page.evaluate(
            """() => {
            const whole = document.querySelector('svg').getBoundingClientRect();
            const texts = [...document.querySelectorAll('text')].map(
                one => ({text: one.textContent, box: one.getBoundingClientRect()}));
            const out = texts.filter(({box}) => box.left < whole.left || box.right > whole.right
                || box.top < whole.top || box.bottom > whole.bottom).map(({text}) => text);
            const onto = texts.flatMap((a, i) => texts.slice(i + 1).filter(b =>
                Math.min(a.box.right, b.box.right) - Math.max(a.box.left, b.box.left) > 1 &&
                Math.min(a.box.bottom, b.box.bottom) - Math.max(a.box.top, b.box.top) > 5
            ).map(b => a.text + ' / ' + b.text));
            return [...out, ...onto];
        }"""
        )
        assert problems == [], name
