"""The page in a real browser: nothing of it runs or loads, links lead somewhere, themes, keyboard.

The browser is Debian's Chromium, driven by playwright (marker `browser`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.chromium import TIMEOUT_MS
from tests.made.build import batch, patched, record
from tests.report import logs
from tests.report.test_page import bytes_shown

from kafka_segments.cli.main import main
from kafka_segments.core.io.filesystems import Places
from kafka_segments.log.discovery import discover
from kafka_segments.log.replicas import resolve
from kafka_segments.report.log_summary import summarize_log
from kafka_segments.report.page import PageFacts, page_of
from kafka_segments.report.report_totals import ReportTotals

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

# What a key may hold, and in part a name: markup, an entity, the ends of an attribute and of a comment, a
# piece of a template, marks that turn writing round, null, and what terminals obey.
SCRIPT = "window.hurt=1"
IMAGE = f"<img src=x onerror={SCRIPT}>"
MARKUP = f"</title></style></pre></svg><script>{SCRIPT}</script>{IMAGE}<svg onload={SCRIPT}>"
HOSTILE = (
    f"{MARKUP}\"' onmouseover={SCRIPT} x='{{{{7*7}}}}&lt;b&gt;--><!--]]>\u202egnp.exe\u2066\u0000\x1b[2J"
)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with message content, of a log directory and a file whose names and contents are hostile."""
    folder = tmp_path_factory.mktemp("hostile")
    # A slash cannot be in a name, and a partition's directory has Kafka's characters alone.
    directory = folder / f"{IMAGE}\"'\u202e&lt;{{{{7*7}}}}"
    text = HOSTILE.encode()
    entries = [
        batch(2 * at, [record(0, text, text, ((text, text),)), record(1, None, text)]) for at in range(3)
    ]
    logs.write(directory / "orders-0", 0, patched(b"".join(entries), len(entries[0]) + 100, b"\xff"))
    file = directory / f"{IMAGE}.log"
    file.write_bytes(logs.transactions(folder / "made-0").read_bytes())
    sources = [str(directory / "orders-0"), str(file)]
    assert main(["report", *sources, "-o", str(folder / "page.html"), "--with-payload"]) == 1
    return folder / "page.html"


@pytest.fixture(scope="module")
def topic_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of a log whose topic is hostile, which no directory could name."""
    folder = tmp_path_factory.mktemp("topic")
    logs.damaged(folder / "t-0")
    places = Places(keep_cache=True)
    (log,) = resolve(places, discover(places, [str(folder / "t-0")], prefer_names=True))
    totals = ReportTotals(1)
    named = replace(log, topic=HOSTILE, copies=(HOSTILE,))
    totals.add(summarize_log(places, named, check_crc=True, with_payload=False))
    facts = PageFacts((HOSTILE,), HOSTILE, 0, True, False, (HOSTILE,))
    (folder / "page.html").write_text(page_of(totals, facts), encoding="utf-8")
    return folder / "page.html"


@contextmanager
def opened(browser: Browser, path: Path, **options: Any) -> Iterator[tuple[Page, list[str]]]:
    """A page in a tab, and what it does that it should not: requests, messages, dialogs, new tabs."""
    context = browser.new_context(**options)
    context.set_default_timeout(TIMEOUT_MS)
    page, seen = context.new_page(), list[str]()
    page.on("request", lambda request: seen.append(f"request {request.url}"))
    page.on("console", lambda message: seen.append(f"console {message.text}"))
    page.on("pageerror", lambda error: seen.append(f"error {error}"))
    page.on("dialog", lambda dialog: (seen.append(f"dialog {dialog.message}"), dialog.dismiss()))
    page.on("popup", lambda other: seen.append(f"popup {other.url}"))
    page.goto(path.as_uri())
    assert seen == [f"request {path.as_uri()}"]
    seen.clear()
    yield page, seen
    context.close()


def text_after_use(browser: Browser, path: Path) -> str:
    """The page's text after everything in it was opened and touched; nothing may come of that."""
    with opened(browser, path) as (page, seen):
        page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
        page.evaluate(
            "document.querySelectorAll('*').forEach(one => one.dispatchEvent(new MouseEvent('mouseover')))"
        )
        assert page.evaluate("window.hurt") is None
        assert page.locator("script, img, iframe, object, embed, svg svg, [onload], [onerror]").count() == 0
        text = page.locator("body").inner_text()
        assert seen == []
    assert not set("\u202e\u2066\x00\x1b") & set(text)
    return text


def test_hostile_messages_and_files_run_nothing(browser: Browser, path: Path) -> None:
    text = text_after_use(browser, path)
    assert MARKUP in text, "it is shown as text"
    assert f"{IMAGE}.log" in text
    assert "{{7*7}}" in text
    assert "\\u202egnp.exe\\u2066\\x00\\x1b[2J" in text


def test_a_hostile_topic_runs_nothing(browser: Browser, topic_path: Path) -> None:
    text = text_after_use(browser, topic_path)
    assert text.count(MARKUP) >= 8


def test_a_damaged_place_is_opened_by_keyboard(browser: Browser, path: Path) -> None:
    with opened(browser, path) as (page, seen):
        link = page.locator("svg a[href*=damage]").first
        target = page.locator((link.get_attribute("href") or "").replace("#", "#", 1))
        assert not target.is_visible()
        for _press in range(200):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.getAttribute('href')") == link.get_attribute("href"):
                break
        else:
            pytest.fail("the link cannot be reached by Tab")
        page.keyboard.press("Enter")
        target.wait_for(state="visible")
        assert "ChecksumMismatchError" in target.inner_text()
        assert b"]]>".hex() in bytes_shown(target.inner_text()), "the bytes"
        assert seen == []


def test_tables_can_be_scrolled_by_keyboard(browser: Browser, path: Path) -> None:
    with opened(browser, path, viewport={"width": 700, "height": 700}) as (page, _seen):
        table = page.locator(".table[aria-label=Partitions]").first
        table.focus()
        before = table.evaluate("one => one.scrollLeft")
        for _press in range(5):
            page.keyboard.press("ArrowRight")
        page.wait_for_function("one => one.scrollLeft > 0", arg=table.element_handle())
        assert before == 0
        assert page.evaluate("document.documentElement.scrollWidth") <= 700, "the page itself is not wider"


def test_both_themes(browser: Browser, path: Path) -> None:
    found = {}

    def get(page: Page, name: str, key: str) -> str:
        return str(page.locator(name).first.evaluate(f"one => getComputedStyle(one)['{key}']"))

    for scheme in ("light", "dark"):
        with opened(browser, path, color_scheme=scheme) as (page, _seen):
            colours = get(page, "body", "backgroundColor"), get(page, "body", "color")
            found[scheme] = (*colours, get(page, "svg rect[role=img]", "fill"), get(page, "svg text", "fill"))
    assert found["light"][0] == "rgb(255, 255, 255)"
    assert all(light != dark for light, dark in zip(found["light"], found["dark"], strict=True))
    assert found["dark"][3] == found["dark"][1], "axes have the colour of text"


def test_links_of_the_page_lead_somewhere(browser: Browser, path: Path) -> None:
    with opened(browser, path) as (page, seen):
        for link in page.locator("nav a, main table a").all():
            link.evaluate("one => one.click()")
            name = (link.get_attribute("href") or "")[1:]
            assert page.evaluate(
                "name => location.hash.slice(1) === name && !!document.getElementById(name)", name
            )
        assert seen == []
