"""The documents tell the truth: commands exist, code runs, links lead somewhere, tables match the tree."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

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


def test_the_readme_runs_in_python() -> None:
    code = code_blocks(ROOT / "README.md", "python")[0]
    assert len(code.splitlines()) <= 5
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def run_python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_readme_reads_columns_and_builds() -> None:
    """Arrow, then Construct; the block before them has a test of its own."""
    arrow, construct = code_blocks(ROOT / "README.md", "python")[1:3]
    lines = run_python(f"import kafka_segments\n{arrow}").splitlines()
    assert len(lines) == 2 and lines[1].startswith("[{'base_offset': ")
    assert bytes.fromhex(run_python(construct))


def test_the_readme_writes() -> None:
    code = code_blocks(ROOT / "README.md", "python")[4]
    message, written = run_python(code).splitlines()
    assert bytes.fromhex(message)
    assert "num_batches=2, num_records=3" in written


@pytest.mark.spark
def test_the_readme_runs_in_pyspark() -> None:
    code = code_blocks(ROOT / "README.md", "python")[3]
    assert len(code.splitlines()) <= 3
    session = "from pyspark.sql import SparkSession\nspark = SparkSession.builder.getOrCreate()\n"
    assert "|" in run_python(session + code), "no table was shown"


def test_the_design_lists_every_module() -> None:
    text = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    table = text.split("## Modules of the runtime", 1)[1].split("\n## ", 1)[0]
    documented = set(re.findall(r"^\| `([\w/]+)`", table, re.MULTILINE))
    present = {f"{path.name}/" for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}
    present |= {path.stem for path in PACKAGE.glob("*.py") if path.stem != "__init__"}
    assert documented == present


def test_the_layers_are_those_of_the_design() -> None:
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
