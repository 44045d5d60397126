"""Debian's Chromium, driven by playwright: one for all tests of a process, as playwright's driver is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tools.browser import chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser

TIMEOUT_MS = 300_000
"""Other tests may need both cores."""

# A test may run as root in a container. What a page asks for from elsewhere (a font), it does not get.
_ARGUMENTS = ["--no-sandbox", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]


@contextmanager
def started_browser() -> Iterator[Browser]:
    """Start a browser with nothing stored, which reaches this machine alone."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=chromium(), args=_ARGUMENTS, timeout=TIMEOUT_MS)
        try:
            yield opened
        finally:
            opened.close()
