"""The IDE that the tests of this folder share: one browser, one page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from tests.webide.web_ide import ROOT, WebIde, need_ide, new_page, served

if TYPE_CHECKING:
    from playwright.sync_api import Browser

BUNDLE = ROOT / "generated" / "webide"


@pytest.fixture(scope="session")
def ide(request: pytest.FixtureRequest) -> Iterator[WebIde]:
    """Steps 1 to 3 of the instructions: the files are in the IDE, and the main schema is compiled."""
    out = need_ide()
    browser: Browser = request.getfixturevalue("browser")
    with served(out) as address, new_page(browser) as page:
        found = WebIde(page, address)
        order = (BUNDLE / "upload-order.txt").read_text(encoding="utf-8").splitlines()
        found.upload([BUNDLE / name for name in order if not name.startswith("#")])
        found.open_file("kafka_log_segment.ksy")
        yield found
        assert found.thrown == []
