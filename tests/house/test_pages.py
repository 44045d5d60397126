"""Lists in documents are whole: extras, verbs, folders, markers, decisions, incidents; each stands once."""

from __future__ import annotations

import argparse
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.house.commands import ROOT, blocks, calls, pages
from tests.incidents.incident import incidents
from tests.incidents.incident_pages import INDEX, commands_of, page_names, page_of, promises_of, words_of

from kafka_segments.cli.main import _parser
from kafka_segments.like_kafka.tool_options import _OPTIONS

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = PROJECT["project"]["optional-dependencies"]
WORDS = {6: "six", 7: "seven"}


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def first_cells(page: str, title: str) -> list[str]:
    """The names in the first column of the table that begins with a title."""
    rows = text_of(page).split(f"\n| {title} |", 1)[1].split("\n\n")[0].splitlines()[2:]
    return [name for row in rows for name in re.findall(r"`([^`]+)`|\(none\)", row.split("|")[1]) if name]


def test_the_page_on_installation_describes_every_extra() -> None:
    named = first_cells("docs/install.md", "extra")
    assert sorted(named) == sorted(f"[{name}]" for name in EXTRAS)
    number = WORDS[len(PROJECT["project"]["dependencies"])]
    assert f"needs {number} small packages" in text_of("docs/install.md")


def test_the_page_of_the_package_describes_every_extra() -> None:
    named = {name.removeprefix("kafka-segments") for name in first_cells("docs/package.md", "install")}
    assert named == {"", *(f"[{name}]" for name in EXTRAS)}


def test_the_page_on_the_command_line_shows_every_verb() -> None:
    (verbs,) = [one.choices for one in _parser()._actions if isinstance(one.choices, dict)]
    shown = {words[0] for code in blocks(ROOT / "docs" / "command-line.md") for words in calls(code)}
    assert shown == set(verbs)


def test_every_folder_of_tests_is_described_once() -> None:
    named = first_cells("tests/README.md", "folder")
    inside = [path for path in (ROOT / "tests").iterdir() if path.name != "__pycache__"]
    folders = [f"{path.name}/" for path in inside if any(path.glob("*.*"))]
    assert sorted(set(named) & set(folders)) == sorted(folders)
    assert [name for name in named if named.count(name) > 1] == []


def test_every_marker_is_described_once() -> None:
    markers = PROJECT["tool"]["pytest"]["ini_options"]["markers"]
    names = [re.split(r"\W", one)[0] for one in markers]
    assert sorted(first_cells("CONTRIBUTING.md", "marker")) == sorted(names)


def test_decisions_are_listed_in_their_order() -> None:
    listed = re.findall(r"^\| \[(\d{4})\]\((.+?)\) \|", text_of("docs/decisions/README.md"), re.MULTILINE)
    files = sorted(path.name for path in (ROOT / "docs" / "decisions").glob("0*.md"))
    assert [name for _, name in listed] == files
    assert [number for number, _ in listed] == [name[:4] for name in files]


@pytest.mark.parametrize(
    "page", sorted((ROOT / "docs" / "decisions").glob("0*.md")), ids=lambda one: one.stem
)
def test_a_decision_has_its_number_in_its_title(page: Path) -> None:
    assert page.read_text(encoding="utf-8").startswith(f"# {page.name[:4]}: ")


def test_readme_leads_to_every_page_of_docs() -> None:
    """Straight, by the list of contents (a README.md) of a folder, or to a reference by way of its guide."""
    linked = linked_pages(ROOT / "README.md")
    for page in sorted(one for one in linked if one.is_file()):
        found = linked_pages(page)
        linked |= {
            one for one in found if page.name == "README.md" or one.name == f"{page.stem}-reference.md"
        }
    missing = {page for page in (ROOT / "docs").rglob("*.md") if page not in linked}
    # Both linked in the page on ingest; the text of a package index; a report of a fault of Spark's.
    others = {
        "pipeline.md", "operations/cluster.md", "package.md", "upstream/spark-python-filter-pushdown.md"
    }  # fmt: skip
    assert missing == {ROOT / "docs" / name for name in others}


def linked_pages(page: Path) -> set[Path]:
    """The pages that a page links to."""
    links = re.findall(r"\]\((?!https?:|#)([^)#]+\.md)", page.read_text(encoding="utf-8"))
    return {(page.parent / link).resolve() for link in links}


# Longer than a guide may be, as one looks things up in them.
REFERENCES = {
    "docs/conversions.md",
    "docs/ingest-reference.md",
    "docs/sizes-reference.md",
    "docs/spark-reference.md",
    "docs/verify-reference.md",
}
MOST_LINES = 200


def test_guides_are_short() -> None:
    """Pages of formats have made tables of every byte, and are no guides."""
    found = {path.relative_to(ROOT).as_posix(): path for path in (ROOT / "docs").rglob("*.md")}
    guides = {name for name in found if not name.startswith("docs/formats/")} - REFERENCES
    lengths = {name: len(found[name].read_text(encoding="utf-8").splitlines()) for name in guides}
    assert {name: number for name, number in lengths.items() if number > MOST_LINES} == {}
    assert found.keys() >= REFERENCES


def test_the_source_archive_has_what_readme_leads_to() -> None:
    included = PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    linked = set(re.findall(r"\]\((?!https?:|#)([^)#]+)", text_of("README.md")))
    assert linked
    assert [one for one in sorted(linked) if not f"/{one}".startswith(tuple(included))] == []


# Flags of other programs: spark-submit, flock, pytest, Nim's compiler, ddrescue, rsync, Kafka's scripts,
# codegen.py, those of tests; a colour of a style.
OTHERS = (
    "archives broker-id check checksum conf config count create deploy-mode describe election-type fill-mode "
    "first from-beginning full good ignore-formatted isolation-level max-messages no-scrape nonblock "
    "out overflowChecks parallel partitions py-files randomly-seed reader-property replication-factor "
    "require reset-offsets resume retry-passes start-offset target verb"
)


def test_flags_that_documents_name_exist() -> None:
    known = {*flags(_parser()), *(f"--{name}" for name in [*_OPTIONS, *OTHERS.split()])}
    for page in pages():
        named = re.findall(r"(?<![\w-])--[a-zA-Z][\w-]*", page.read_text(encoding="utf-8"))
        assert set(named) <= known, page.name


def flags(parser: argparse.ArgumentParser) -> Iterator[str]:
    """The flags of a parser, and of the verbs below it."""
    for action in parser._actions:
        yield from action.option_strings
        if isinstance(action.choices, dict):
            for verb in action.choices.values():
                yield from flags(verb)


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
