"""The documentation as pages of HTML (`make docs`): no warning, no dead link, nothing of another host."""

from __future__ import annotations

import json
import re
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import pytest
from tests.chromium import TIMEOUT_MS
from tools import docs

import kafka_segments

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.xdist_group("site")  # the pages are built once

ROOT = Path(__file__).resolve().parents[2]


class Page(HTMLParser):
    """The links, anchors, resources and paragraphs of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.resources: list[str] = []
        self.anchors: set[str] = set()
        self.paragraphs: list[str] = []
        self._in_paragraph = False
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.anchors |= {str(found[name]) for name in ("id", "name") if found.get(name)}
        if tag == "a" and found.get("href"):
            self.links.append(str(found["href"]))
        if tag in ("script", "img", "iframe") and found.get("src"):
            self.resources.append(str(found["src"]))
        if tag == "link" and found.get("rel") not in ("canonical", "next", "prev"):
            self.resources.append(str(found["href"]))
        if tag == "p":
            self._in_paragraph = True
            self.paragraphs.append("")

    def handle_endtag(self, tag: str) -> None:
        self._in_paragraph = self._in_paragraph and tag != "p"

    def handle_data(self, data: str) -> None:
        if self._in_paragraph:
            self.paragraphs[-1] += data


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, Page]:
    build = tmp_path_factory.mktemp("site") / "build"
    assert docs.main(build) == 0, "MkDocs warned: see above"
    found = {path.resolve(): Page(path) for path in (build / docs.SITE).rglob("*.html")}
    assert len(found) > 60
    return found


def page(site: dict[Path, Page], name: str) -> str:
    (path,) = [path for path in site if path.as_posix().endswith(f"build/docs/{name}")]
    return path.read_text(encoding="utf-8")


def test_nothing_is_loaded_from_another_host(site: dict[Path, Page]) -> None:
    loaded = {one for found in site.values() for one in found.resources}
    assert loaded
    assert [one for one in loaded if urlsplit(one).scheme or urlsplit(one).netloc] == []
    # For diagrams alone the theme fetches a library.
    assert not [path.name for path in site if 'class="mermaid"' in path.read_text(encoding="utf-8")]


def test_every_link_within_the_site_leads_somewhere(site: dict[Path, Page]) -> None:
    dead = defaultdict(list)
    for path, found in site.items():
        for link in {*found.links, *found.resources}:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or path.name == "404.html":
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            anchor = unquote(parts.fragment)
            if not target.is_file() or (
                anchor and target in site and anchor not in site[target].anchors and anchor != "__skip"
            ):
                dead[path.name].append(link)
    assert dict(dead) == {}


def test_lists_are_lists(site: dict[Path, Page]) -> None:
    """A list needs an empty line before it here, and none in the repository's own view."""
    found = {
        path.name: text[:80]
        for path, one in site.items()
        for text in one.paragraphs
        if "\n- " in text or "\n* " in text or "\n1. " in text or "\n|" in text
    }
    assert found == {}


def test_no_code_shows_an_escape_of_the_page(site: dict[Path, Page]) -> None:
    """In a table, GitHub reads an escaped bar in code as a bar, and MkDocs shows the escape."""
    texts = {path.name: path.read_text(encoding="utf-8") for path in site}
    assert [name for name, text in texts.items() if re.search(r"<td>(?:[^\n]*)<code>[^<]*\\\|", text)] == []


def test_every_format_shows_its_vectors_modules_schema_and_every_byte(site: dict[Path, Page]) -> None:
    for schema in (ROOT / "schemas").glob("*.ksy"):
        text = page(site, f"docs/formats/{schema.stem}.html")
        assert 'id="every-byte"' in text and 'id="the-schema"' in text
        assert text.count("<td>") > 5
        for vector in (ROOT / "tests" / "vectors" / schema.stem).glob("*.bin"):
            assert f"<td><code>{vector.stem}</code></td>" in text
        assert f"<code>kafka_segments_generated.kaitai.{schema.stem}</code>" in text
        assert f"<code>kafka_segments_generated.construct.{schema.stem}</code>" in text


def test_the_api_has_all_that_is_exported_with_its_words(site: dict[Path, Page]) -> None:
    text = "".join(page(site, f"api/{name}.html") for name in docs.API)
    for name in set(kafka_segments.__all__) - {"__version__"}:
        assert f'id="kafka_segments.{name}"' in text, name
    assert "Open a segment (" in text
    assert text.count('<span class="doc-section-title">Examples:</span>') >= 5
    assert "<blockquote>" not in text, "an example that is no code"
    for kind in (kafka_segments.Batch, kafka_segments.Record, kafka_segments.Damage, kafka_segments.Padding):
        for field in fields(kind):
            assert f'id="kafka_segments.{kind.__name__}.{field.name}"' in text, "a field that is not shown"
    more = "".join(page(site, f"api/{name}.html") for name in docs.MODULES)
    for name in ("query.scan.PartitionSummary", "write.convert.Conversion.to_bytes", "spark.take_snapshot"):
        assert f'id="kafka_segments.{name}"' in more, name
    assert 'id="kafka_segments.core.segment.beside.index_files.read_offset_index"' in more
    # Each value that a function returns is one item, whatever lines describe it.
    returned = re.findall(r'<span class="doc-section-title">Returns:</span>.*?</ul>', text, re.DOTALL)
    assert returned and {one.count("<li") for one in returned} == {1}


def test_every_page_has_a_title_of_its_own(site: dict[Path, Page]) -> None:
    """Not that of another page, and not what MkDocs calls a README whose first line is no heading."""
    titles = {
        path: re.findall(r"<title>(.*?)</title>", path.read_text(encoding="utf-8"))[0]
        for path in site
        if path.name != "404.html"
    }
    assert [path for path, title in titles.items() if title.startswith(("Index", "None"))] == []
    assert sorted(titles.values()) == sorted(set(titles.values()))


def test_the_search_ranks_guides_above_references_above_decisions(site: dict[Path, Page]) -> None:
    root = next(path.parent for path in site if path.name == "404.html")
    index = json.loads((root / "search" / "search_index.json").read_text(encoding="utf-8"))
    boosts = {one["location"].partition("#")[0]: one["boost"] for one in index["docs"]}
    assert boosts.keys() == {path.relative_to(root).as_posix() for path in site} - {"404.html"}
    guides = [boosts[f"docs/{name}.html"] for name in ("spark", "sizes", "ingest", "operations/pipeline")]
    references = [boost for name, boost in boosts.items() if re.match("api/|.*-reference", name)]
    inside = [boost for name, boost in boosts.items() if re.match("docs/decisions/|tests/|CHANGELOG", name)]
    assert min(guides) > max(references) and min(references) > 2 * max(inside) and len(inside) > 30


@pytest.mark.long(short=False)
@pytest.mark.browser
def test_pages_are_served_and_searched_in_a_browser(site: dict[Path, Page], browser: Browser) -> None:
    root = next(path.parent for path in site if path.name == "404.html")
    with served(root) as address:
        for scheme, width in (("light", 420), ("dark", 1500)):
            page = browser.new_page(color_scheme=scheme, viewport={"width": width, "height": 900})
            page.set_default_timeout(TIMEOUT_MS)
            asked, errors = [], []
            page.on("request", lambda request, asked=asked: asked.append(request.url))
            page.on("pageerror", lambda error, errors=errors: errors.append(str(error)))
            for name in ("index.html", "docs/spark.html", "docs/formats/kafka_log_segment.html"):
                page.goto(f"{address}/{name}")
                assert page.evaluate("document.documentElement.scrollWidth") == width, "wider than the window"
                shade = page.evaluate("getComputedStyle(document.body).backgroundColor")
                assert (shade == "rgb(255, 255, 255)") == (scheme == "light")
            page.goto(f"{address}/index.html#__search")
            page.locator("input.md-search__input").fill("machine code")
            first = page.locator(".md-search-result__link").first
            first.wait_for()
            # Without boosts, decision 0029 comes first.
            assert "docs/performance.html" in str(first.get_attribute("href"))
            assert errors == []
            page.close()
            assert [url for url in asked if not url.startswith((address, "data:", "blob:"))] == []


@contextmanager
def served(root: Path) -> Iterator[str]:
    """Serve a folder on this machine; its address."""
    handler = partial(QuietHandler, directory=str(root))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class QuietHandler(SimpleHTTPRequestHandler):
    """A server that prints nothing."""

    def log_message(self, *arguments: object) -> None:
        pass


def test_a_warning_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As is a link that leads nowhere."""
    monkeypatch.setattr(docs, "copy_pages", lambda source: write(source, "[gone](gone.md)"))
    monkeypatch.setattr(docs, "write_api", lambda source: None)
    assert docs.main(tmp_path) == 1
    monkeypatch.setattr(docs, "copy_pages", lambda source: write(source, "here"))
    assert docs.main(tmp_path) == 0


def write(source: Path, text: str) -> None:
    source.mkdir(parents=True)
    (source / "README.md").write_text(f"# Title\n\n{text}\n", encoding="utf-8")
