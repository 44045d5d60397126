"""The Kaitai Web IDE in Debian's Chromium: its build served on 127.0.0.1, driven as a user does.

The IDE is on no package registry, and its licence is the GPL: its build comes from the folder that
`KAITAI_WEBIDE_OUT` names, and from nowhere else.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.chromium import TIMEOUT_MS

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

ROOT = Path(__file__).resolve().parents[2]
VARIABLE = "KAITAI_WEBIDE_OUT"
SIZE = {"width": 1440, "height": 860}

_LINES = """() => [...document.querySelectorAll('#parsedDataTree .jstree-anchor')].map(anchor => {
  let level = -1;
  for (let at = anchor; at.id !== 'parsedDataTree'; at = at.parentElement) level += at.tagName === 'LI';
  return '  '.repeat(level) + anchor.innerText.trim();
})"""
# A click on a schema compiles it half a second later, and parses the file anew; a click on a file parses it.
_SETTLED = """name => kaitaiIde.root && (name.endsWith('.ksy')
  ? `${kaitaiIde.app.compilerService.ksySchema.meta.id}.ksy` : kaitaiIde.app.inputFsItem.fn) === name"""


def need_ide() -> Path:
    """The build of the IDE: without a folder of it a test is skipped, with a wrong one it fails."""
    named = os.environ.get(VARIABLE)
    if not named:
        pytest.skip(f"[browser] {VARIABLE} names no build of the Kaitai Web IDE, which is on no registry")
    if not Path(named, "index.html").is_file():
        pytest.fail(
            f"{VARIABLE} names no build of the Kaitai Web IDE: {named} has no index.html", pytrace=False
        )
    return Path(named)


@contextmanager
def served(out: Path) -> Iterator[str]:
    """Serve the build of the IDE; gives its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(out)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


class _Quiet(SimpleHTTPRequestHandler):
    """Handler that logs nothing."""

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (the host's own name)
        pass


@contextmanager
def new_page(browser: Browser) -> Iterator[Page]:
    """A page of a browser, with nothing stored."""
    page = browser.new_page(viewport=SIZE)
    try:
        page.set_default_timeout(TIMEOUT_MS)
        yield page
    finally:
        page.close()


class WebIde:
    """The IDE in a page.

    Args:
        page: of a browser, empty.
        address: where the IDE is served.
    """

    def __init__(self, page: Page, address: str) -> None:
        self.page = page
        self.thrown: list[str] = []
        page.on("pageerror", lambda error: self.thrown.append(str(error)))
        page.goto(address)
        page.click("#welcomeModal button.btn-primary")
        page.wait_for_function("() => window.kaitaiIde && kaitaiIde.root")

    def upload(self, files: Sequence[Path]) -> None:
        """Upload files at once, by the button below the file tree."""
        with self.page.expect_file_chooser() as chooser:
            self.page.click("#uploadFile")
        chooser.value.set_files(list(files))
        for path in files:
            self.file(path.name).wait_for(state="attached")

    def file(self, name: str) -> Locator:
        """A file in the file tree."""
        return self.page.locator(
            "#fileTree .jstree-anchor", has_text=re.compile(rf"^\s*{re.escape(name)}\s*$")
        )

    def open_file(self, name: str) -> None:
        """Click a schema or a file in the file tree, and wait for the object tree."""
        self.page.evaluate("() => { kaitaiIde.root = null; }")
        self.file(name).click()
        self.page.wait_for_function(_SETTLED, arg=name)
        self.page.wait_for_selector("#parsedDataTree .jstree-anchor")

    def open_schema(self, stem: str) -> None:
        """Click a schema in the file tree, unless it is open: then nothing would happen."""
        opened = self.page.evaluate("() => kaitaiIde.app.compilerService.ksySchema.meta.id")
        if opened != stem:
            self.open_file(f"{stem}.ksy")

    def fold(self) -> None:
        """Close all nodes: the IDE keeps open over files what was."""
        self.page.evaluate("() => kaitaiIde.app.ui.parsedDataTreeHandler.jstree.close_all(null, 0)")

    def node(self, *path: str | int) -> Locator:
        """A node of the object tree, by the names on the way to it."""
        return self.page.locator(f'[id="{"-".join(["inputField", *map(str, path)])}"]')

    def word(self, *path: str | int) -> Locator:
        """What is clicked of a node."""
        return self.page.locator(f'[id="{"-".join(["inputField", *map(str, path)])}_anchor"]')

    def expand(self, *path: str | int) -> None:
        """Open a node by its arrow, after those above it."""
        for end in range(1, len(path) + 1):
            node = self.node(*path[:end])
            node.wait_for(state="attached")
            if "jstree-closed" in (node.get_attribute("class") or ""):
                node.locator("> i.jstree-ocl").click()
            self.page.wait_for_function(
                "id => !/jstree-(closed|loading)/.test(document.getElementById(id).className)",
                arg=node.get_attribute("id"),
            )

    def lines(self) -> list[str]:
        """The lines of the object tree, two spaces a level."""
        found: list[str] = self.page.evaluate(_LINES)
        return found

    def lines_below(self, *path: str | int) -> list[str]:
        """The lines of the nodes below a node."""
        node = self.node(*path).locator(".jstree-anchor")
        return [text.strip() for text in node.all_inner_texts()[1:]]

    def line(self, *path: str | int) -> str:
        """The line of one node."""
        return self.word(*path).inner_text().strip()

    def error(self) -> str | None:
        """What the IDE shows as an error."""
        found: str | None = self.page.evaluate(
            "() => { const shown = document.querySelector('.errorWindow'); return shown && shown.innerText; }"
        )
        return found

    def marked(self) -> tuple[int, int]:
        """First and last of the bytes that are marked."""
        first, last = self.page.evaluate(
            "() => { const at = kaitaiIde.app.ui.hexViewer; return [at.selectionStart, at.selectionEnd]; }"
        )
        return first, last

    def selected(self) -> str:
        """The path of the field that is selected."""
        return self.page.locator("#parsedPath").inner_text()

    def click_byte(self, position: int) -> None:
        """Click a byte in the hex view."""
        find = (
            "at => [...document.querySelectorAll('#hexViewer .hexcell')].find(cell => cell.dataOffset === at)"
        )
        cell = self.page.evaluate_handle(find, position).as_element()
        assert cell is not None, "the byte is not in view"
        cell.click()


def opened(ide: WebIde, name: str, schema: str = "kafka_log_segment") -> None:
    """Open a file with a schema; the IDE shows no error."""
    ide.open_schema(schema)
    ide.open_file(name)
    assert ide.error() is None
