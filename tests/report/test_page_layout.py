"""How a page looks in a browser: screens, themes, sound and damaged logs, of seconds and of years."""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from PIL import Image
from tests.forms import pick
from tests.made.samples import RECORDED
from tests.report import logs

from kafka_segments.cli.main import main

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser

SCRIPT = Path(__file__).with_name("layout.js").read_text(encoding="utf-8")
DAY = 24 * logs.HOUR
WIDTHS, THEMES = (1500, 800, 390), ("light", "dark")
PAPER = {"light": (255, 255, 255), "dark": (20, 24, 31)}
LONG_NAME = "kafka-logs-of-a-broker-with-a-name-that-has-no-end-and-no-blank-" * 2


def sound(folder: Path) -> None:
    for name in ("multi-0", "transactions-0", "codec-zstd-0", "timestamps-0"):
        shutil.copytree(RECORDED / "kafka-4.3/clean" / name, folder / name)


def damaged(folder: Path) -> None:
    logs.damaged(folder / "orders-1")
    logs.transactions(folder / f"{'payments-' * 20}0")
    logs.horizons(folder / "state-0")


def five_seconds(folder: Path) -> None:
    logs.spread(folder / "orders-0", 5000)


def ten_years(folder: Path) -> None:
    logs.spread(folder / "audit-0", 3652 * DAY, 400)
    logs.spread(folder / "orders-0", 5000)


CASES = [
    (make, width, theme)
    for make in (sound, damaged, five_seconds, ten_years)
    for width in WIDTHS
    for theme in THEMES
]
IN_SHORT = [
    (damaged, 390, "dark"),
    (damaged, 1500, "light"),
    (five_seconds, 390, "light"),
    (ten_years, 800, "dark"),
]


@pytest.fixture(scope="module")
def page_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Callable[[Path], None]], Path]:
    """The page of a kind of logs, made once."""
    made: dict[str, Path] = {}

    def page(make: Callable[[Path], None]) -> Path:
        if make.__name__ not in made:
            folder = tmp_path_factory.mktemp(make.__name__)
            make(folder / LONG_NAME)
            main(["report", str(folder / LONG_NAME), "-o", str(folder / "page.html"), "--with-payload"])
            made[make.__name__] = folder / "page.html"
        return made[make.__name__]

    return page


@pytest.mark.parametrize(("make", "width", "theme"), pick(IN_SHORT, CASES))
def test_everything_can_be_read(
    browser: Browser,
    page_of: Callable[[Callable[[Path], None]], Path],
    make: Callable[[Path], None],
    width: int,
    theme: str,
) -> None:
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=theme)  # type: ignore[arg-type]
    page.goto(page_of(make).as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
    assert page.evaluate(SCRIPT) == []
    screen = Image.open(io.BytesIO(page.screenshot(full_page=True))).convert("RGB")
    page.close()
    assert screen.width == width, "nothing makes the page wider than the screen"
    for left in (0, width - 3):
        margin = screen.crop((left, 0, left + 3, screen.height))
        assert margin.getcolors(2) == [(3 * screen.height, PAPER[theme])], "nothing is drawn on the margins"
