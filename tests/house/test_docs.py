"""The documents tell the truth: commands exist, code runs, links lead somewhere, tables match the tree."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from tools import tables

import kafka_segments

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "locks" / "README.md"])
PACKAGE = ROOT / "runtime" / "kafka_segments"


def page_id(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def targets() -> dict[str, str]:
    """Make's tasks and their sentences."""
    found = re.findall(r"^([a-z-]+):.*?## (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    return dict(found)


def code_blocks(page: Path, language: str) -> list[str]:
    return re.findall(
        rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )


def test_make_alone_lists_every_task_with_a_sentence() -> None:
    phony = re.search(r"^\.PHONY: (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert phony is not None
    shown = subprocess.run(
        ["make", "--no-print-directory"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    listed = dict(re.findall(r"^  make (\S+) +(.+)$", shown.stdout, re.MULTILINE))
    assert listed.keys() == set(phony.group(1).split())
    assert all(len(sentence) > 15 for sentence in listed.values())


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_commands_in_documents_exist(page: Path) -> None:
    named = re.findall(r"(?:^|`|\n)make ([a-z][a-z-]*)", page.read_text(encoding="utf-8"))
    assert set(named) <= targets().keys()


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_relative_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


def readme_block(language: str) -> str:
    blocks = code_blocks(ROOT / "README.md", language)
    assert blocks, f"README.md has no {language} block"
    return blocks[0]


def test_the_readme_shows_the_schema_as_it_is() -> None:
    excerpt = readme_block("yaml")
    schema = (ROOT / "schemas" / "kafka_record_batch_v2.ksy").read_text(encoding="utf-8")
    assert excerpt in schema
    assert 8 <= len(excerpt.splitlines()) <= 12


def test_the_readme_shows_commands_first_then_the_schema() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    places = [text.index(f"```{language}\n") for language in ("sh", "console", "python", "yaml")]
    assert places == sorted(places)
    assert text[: places[0]].count("\n") < 14, "the first screen"
    assert text.count("\n") <= 120


def test_tables_of_documents_are_as_the_code_has_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tables.main(["--check"]) == 0, capsys.readouterr().err
    for page in tables.TABLES:
        text = (ROOT / "docs" / page).read_text(encoding="utf-8")
        (tmp_path / page).parent.mkdir(exist_ok=True)
        (tmp_path / page).write_text(text.replace("|---|", "|---|---|"), encoding="utf-8")
    assert tables.main(["--check"], tmp_path) == 1
    assert "stale: docs/" in capsys.readouterr().err
    assert tables.main([], tmp_path) == tables.main(["--check"], tmp_path) == 0


def test_every_module_of_the_fuzz_tests_is_described() -> None:
    page = (ROOT / "tests" / "README.md").read_text(encoding="utf-8")
    section = page.partition("\n## Fuzz\n")[2].partition("\n## ")[0]
    modules = {path.name for path in (ROOT / "tests" / "fuzz").glob("*.py")}
    assert set(re.findall(r"`(\w+\.py)`", section)) == modules


def test_every_room_stands_in_the_layers() -> None:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    layers = config["contracts"][0]["layers"]
    in_layers = {module for layer in layers for module in layer.split(" | ")}
    present = {path.stem for path in PACKAGE.glob("*.py") if path.stem != "__init__"}
    present |= {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}
    assert in_layers == present


def test_the_changelog_has_the_version_of_the_project() -> None:
    version = kafka_segments.__version__
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert "## [Unreleased]" in text if ".dev" in version else f"## [{version}]" in text
