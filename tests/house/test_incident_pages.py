"""Every page about an incident has its re-enactment, and the reverse; the list of pages has all of them."""

from __future__ import annotations

import re

import pytest
from tests.incidents.incident import incidents
from tests.incidents.incident_pages import INDEX, commands_of, page_names, page_of, promises_of, words_of


def test_pages_and_incidents_are_the_same() -> None:
    assert page_names() == [one.name for one in incidents()]


def test_the_list_has_every_page() -> None:
    linked = re.findall(
        r"^\| .+ \| \[.+\]\(([\w-]+)\.md\) \|$", INDEX.read_text(encoding="utf-8"), re.MULTILINE
    )
    assert sorted(linked) == page_names()


def test_no_two_incidents_share_a_topic() -> None:
    topics = [topic for one in incidents() for topic in one.topics]
    assert len(topics) == len(set(topics))


@pytest.mark.parametrize("name", page_names())
def test_a_page_has_all_parts(name: str) -> None:
    text = page_of(name).read_text(encoding="utf-8")
    sections = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert [title for title in sections if title.startswith("What ")] == [
        "What you see",
        "What to type",
        "What is lost",
    ]
    assert re.search(r"^Reported as \[.+\]\(https://.+\)", text, re.MULTILINE)
    assert words_of(name)
    assert commands_of(name)
    assert promises_of(name)
