"""The documents tell the truth: commands exist, code runs, links lead somewhere, tables match the tree."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tests.packaging import readme
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


def run_here(program: str, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name(program)), *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True)


def test_the_readme_is_short_where_it_counts() -> None:
    programs = readme.programs()
    assert len(programs["write"].splitlines()) <= 5
    assert len(programs["events"].splitlines()) <= 5
    assert len(code_blocks(ROOT / "README.md", "python")[6].splitlines()) <= 3, "PySpark, with a session"


def test_the_readme_shows_output_first_then_the_schema_then_code() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    places = [text.index(f"```{language}\n") for language in ("console", "yaml", "python")]
    assert places == sorted(places)
    assert text[: places[0]].count("\n") < 12, "the first screen"


def test_the_readme_runs_in_a_clone(tmp_path: Path) -> None:
    readme.check(readme.run_without_spark(run_here, tmp_path))


@pytest.mark.spark
@pytest.mark.long(short=False)  # what it does with the wheel, packaging/test_readme.py asks in every run
def test_the_readme_runs_in_pyspark(tmp_path: Path) -> None:
    programs = readme.programs()
    assert run_here("python", "-c", programs["write"], cwd=tmp_path).returncode == 0
    done = run_here("python", "-c", programs["spark"], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "|orders|    2|" in done.stdout


def test_tables_of_documents_are_as_the_code_has_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tables.main(["--check"]) == 0, capsys.readouterr().err
    for page in tables.TABLES:
        text = (ROOT / "docs" / page).read_text(encoding="utf-8")
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
