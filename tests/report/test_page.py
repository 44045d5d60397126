"""The page: no message content unless asked for, nothing from elsewhere, bounded, readable in both themes."""

from __future__ import annotations

import base64
import hashlib
import importlib
import re
import sys
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest
from tests.made.build import batch, record
from tests.report import logs

from kafka_segments.cli.main import main
from kafka_segments.errors import MissingExtraError

STYLE = Path(__file__).parents[2] / "runtime/kafka_segments/report/page_files/style.css"
VOID = {"meta", "br", "link", "hr"}


class Page(HTMLParser):
    """Elements, texts and attributes of a page; elements must be closed in their order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: Counter[str] = Counter()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes |= {name for name, _value in attrs}
        self.ids += [value or "" for name, value in attrs if name == "id"]
        self.links += [value or "" for name, value in attrs if name in ("href", "src", "xlink:href")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log directory with a partition of each kind."""
    folder = tmp_path_factory.mktemp("logs")
    logs.plain_and_gzip(folder / "orders-0")
    logs.transactions(folder / "payments-0")
    logs.damaged(folder / "orders-1")
    logs.horizons(folder / "state-0")
    return folder


def made(directory: Path, output: Path, *words: str) -> str:
    status = main(["report", str(directory), "-o", str(output), *words])
    assert status == 1
    return output.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def plain(directory: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page without message content."""
    return made(directory, tmp_path_factory.mktemp("pages") / "plain.html")


@pytest.fixture(scope="module")
def full(directory: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page with message content."""
    return made(directory, tmp_path_factory.mktemp("pages") / "full.html", "--with-payload")


def forms_of(text: str) -> set[str]:
    """A text as bytes of a file may appear in a page: as it is, in hexadecimal, in base64."""
    data = text.encode()
    encoded = base64.b64encode(data).decode().rstrip("=")
    return {text, data.hex(), data.hex(" "), encoded[:-2]}


def bytes_shown(text: str) -> str:
    """The bytes in a page's text, in hexadecimal, from one line to the next."""
    return "".join(re.findall(r"^ *\d+  ((?:[0-9a-f]{2} )+)", text, re.MULTILINE)).replace(" ", "")


def test_no_message_content_leaves_the_disk(plain: str) -> None:
    assert [form for secret in logs.SECRETS for form in forms_of(secret) if form in plain] == []
    assert bytes_shown(Page(plain).text) == ""
    assert "No message content is in this page." in plain


def test_message_content_is_shown_on_request(full: str) -> None:
    page = Page(full)
    assert "key-of-the-message-0" in page.text
    assert "head-of-the-message-0: held-of-the-message-0" in page.text
    # The damaged batch is in the bytes alone, of which a byte was changed.
    assert b"key-of-the-message-1".hex() in bytes_shown(page.text)
    assert "message content (--with-payload)" in page.text


def test_nothing_is_loaded_and_no_script_runs(plain: str, full: str) -> None:
    for text in (plain, full):
        page = Page(text)
        assert page.tags["script"] == page.tags["img"] == page.tags["iframe"] == page.tags["link"] == 0
        assert [name for name in page.attributes if name.startswith("on") or name == "style"] == []
        assert [link for link in page.links if not link.startswith("#")] == []
        assert "url(" not in text
        assert "@import" not in text


def test_the_policy_allows_this_style_alone(plain: str) -> None:
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', plain)
    (style,) = re.findall(r"<style>(.*?)</style>", plain, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy.startswith("default-src 'none'; ")
    assert f"style-src 'sha256-{digest}';" in policy
    assert "unsafe" not in policy


def test_links_and_labels_lead_somewhere(full: str) -> None:
    page = Page(full)
    assert {one: count for one, count in Counter(page.ids).items() if count > 1} == {}
    assert {link.removeprefix("#") for link in page.links} <= set(page.ids)
    assert set(re.findall(r'aria-labelledby="([^"]+)"', full)) <= set(page.ids)
    assert sum(link.startswith("#log-") and "damage" in link for link in page.links) >= 1
    assert '<html lang="en">' in full


def test_charts_have_names_and_tables_beside_them(plain: str) -> None:
    page = Page(plain)
    assert page.tags["svg"] == page.tags["figure"] == page.tags["figcaption"] > 8
    assert len(re.findall(r'<svg[^>]* ?role="group" aria-label="[^"]+"', plain)) == page.tags["svg"]
    marks = re.findall(r'<rect[^>]*role="img"[^>]*><title>', plain)
    assert len(marks) > 50
    assert all("aria-label=" in mark for mark in marks)
    assert plain.count("<title>") == len(marks) + 1, "each has a tooltip"
    for words in ("time (UTC)", "records in a bin", "bytes of a batch", "position in the segment, "):
        assert words in plain


def test_tables_have_captions_and_times_their_zone(full: str) -> None:
    page = Page(full)
    assert page.tags["table"] == full.count("<caption>") > 8
    assert re.search(r"<small>[\d: -]+ to [\d: -]+ UTC</small>", full), "the totals"
    times = re.findall(
        r"\d\d:\d\d:\d\d(?:\.\d+)?(?![\d.]| to | UTC|<|, in bins)", full.partition("<body>")[2]
    )
    assert times == [], "a time is in a column that says UTC, or is followed by it"


def test_figures_are_in_the_tables(plain: str) -> None:
    text = re.sub(r"\s+", " ", Page(plain).text)
    assert "Something is wrong: 1 damaged place, 1 range of lost offsets." in text
    for words in ("in doubt", "committed", "aborted", "1 batch with a delete horizon", "leader epochs"):
        assert words in text
    assert re.search(r"ChecksumMismatchError", text)


def test_the_same_input_gives_the_same_page(directory: Path, plain: str, tmp_path: Path) -> None:
    again = made(directory, tmp_path / "again.html")
    without_time = re.compile(r"Made at [\d :.-]+ UTC")
    assert without_time.sub("", again) == without_time.sub("", plain)


def test_an_old_topic_does_not_squeeze_the_others(tmp_path: Path) -> None:
    year = 8766 * logs.HOUR
    logs.spread(tmp_path / "logs" / "orders-0", 5000, 80)
    logs.spread(tmp_path / "logs" / "old-0", 240 * logs.HOUR, start=logs.START - 9 * year)
    logs.spread(tmp_path / "logs" / "gone-0", 0, 3, start=logs.START - 30 * year)
    output = tmp_path / "page.html"
    assert main(["report", str(tmp_path / "logs"), "-o", str(output)]) == 0
    text = output.read_text(encoding="utf-8")
    text = text[text.index('id="time"') : text.index('id="codecs"')]
    charts = re.findall(r'aria-label="Records over time".*?</svg>', text, re.DOTALL)
    labels = [re.findall(r">([^<]*)</text>", chart) for chart in charts]
    seconds = [f"22:13:{second}" for second in range(20, 26)]
    assert labels == [[*seconds, "0", "1", "2"], ["2014-11-16", "2014-11-23", "0", "1"]]
    assert "2014-11-24 16:13:32 UTC: 60 records of old</summary>" in text
    assert "1993-11-14 10:13:20.125 UTC: 3 records of gone</p>" in text


def test_a_page_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    offset, entries = 0, []
    for number in range(3000):
        fields = {"producer_id": number, "producer_epoch": 0, "leader_epoch": number, **logs.at(number)}
        entries.append(batch(offset, [record()] * 2, **fields))
        offset += 3
    data = bytearray(b"".join(entries))
    size = len(entries[0])
    for number in range(0, 3000, 5):
        data[number * size + 70] ^= 0xFF
    logs.write(tmp_path / "logs" / "many-0", 0, bytes(data))
    text = made(tmp_path / "logs", tmp_path / "many.html")
    assert len(text) < 1_500_000
    for words in ("100 of 600 are shown", "100 of 600 findings are shown", "60 of 2,", "producers are shown"):
        assert words in text


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_contrast_is_that_of_wcag(theme: int) -> None:
    block = re.findall(r":root \{(.*?)\}", STYLE.read_text(encoding="utf-8"), re.DOTALL)[theme]
    colours = dict(re.findall(r"--([a-z0-9]+): (#[0-9a-f]{6})", block))
    for ground in ("paper", "panel"):
        assert contrast(colours["ink"], colours[ground]) >= 7
        for name in ("soft", "link", "bad"):
            assert contrast(colours[name], colours[ground]) >= 4.5, name
    for name in ("good", "warn", "muted", *(f"c{number}" for number in range(8))):
        assert contrast(colours[name], colours["paper"]) >= 3, name


@pytest.mark.parametrize("package", ["jinja2", "vl_convert"])
def test_a_missing_package_is_named(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import kafka_segments.report

    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=r"pip install 'kafka-segments\[report\]'") as found:
        importlib.reload(kafka_segments.report)
    assert found.value.extra == "report"
    monkeypatch.undo()
    importlib.reload(kafka_segments.report)
