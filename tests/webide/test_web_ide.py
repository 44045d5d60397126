"""The real Kaitai Web IDE in a browser: every step of its instructions."""

from __future__ import annotations

import pytest
from tests.webide import expected
from tests.webide.web_ide import WebIde, opened

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("name", expected.SCHEMAS)
def test_lines_of_the_samples(ide: WebIde, name: str) -> None:
    """Steps 3 to 12."""
    opened(ide, name, expected.SCHEMAS[name])
    found = {}
    for path, line in expected.LINES[name].items():
        ide.expand(*(path if line.endswith("<no value>") else path[:-1]))
        found[path] = ide.line(*path)
    assert found == expected.LINES[name]


@pytest.mark.parametrize("name", ["plain.log", "damaged.log"])
def test_entries_open_by_a_double_click(ide: WebIde, name: str) -> None:
    """Step 4."""
    opened(ide, name)
    ide.fold()
    ide.word("entries").click()
    assert ide.lines() == ["entries"], "a single click opens nothing"
    ide.word("entries").dblclick()
    ide.node("entries", 0).wait_for()
    lines = [line for path, line in expected.LINES[name].items() if len(path) == 2]
    assert ide.lines() == ["entries", *(f"  {line}" for line in lines)]


def test_the_bytes_that_are_marked(ide: WebIde) -> None:
    """Steps 5, 6 and 7."""
    opened(ide, "plain.log")
    record = expected.RECORD
    ide.expand(*record, "body")
    below = [line.strip().split(" ")[0] for line in ide.lines_below(*record)]
    assert below == ["lenBody", "body", *expected.BELOW_BODY]
    ide.word(*record, "body", "key").click()
    assert ide.marked() == expected.KEY_BYTES
    ide.word(*record, "body", "offset").click()
    assert ide.marked() == expected.KEY_BYTES, "what is computed has no bytes"
    ide.click_byte(68)
    assert ide.selected().startswith("entries/0/body/content/records/0/body/value")


def test_records_that_cannot_be_read_have_a_warning_sign(ide: WebIde) -> None:
    """Step 11."""
    opened(ide, "damaged.log")
    ide.expand(*expected.DAMAGED_RECORDS)
    assert ide.word(*expected.DAMAGED_RECORDS).locator(".glyphicon").count() == 1
