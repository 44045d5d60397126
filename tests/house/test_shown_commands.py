"""Every command that a document shows is run by a test, and stands in `shown.toml` with that test."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from tests.guides.test_guides import CONCEPTS, GUIDES
from tests.house.commands import ROOT, blocks, calls, pages, python_blocks
from tests.incidents.incident_pages import page_names

from kafka_segments.cli.main import _parser

SHOWN = tomllib.loads(Path(__file__).with_name("shown.toml").read_text(encoding="utf-8"))
# How a block begins, and what a block of Python holds, by page: the test that runs it.
RunBy = dict[str, dict[str, str]]
RUN_BY, PYTHON_RUN_BY = SHOWN["commands"], SHOWN["python"]

# Pages about incidents are scripts: all their commands are run, in their order.
INCIDENTS = "tests/incidents/test_incidents.py::test_the_commands_print_what_the_page_shows"
RUN_BY |= {f"docs/operations/incidents/{name}.md": {"": INCIDENTS} for name in page_names()}

# So are guides, with their Python.
GUIDE = "tests/guides/test_guides.py::test_a_guide_does_what_it_shows"
RUN_BY_GUIDES = {page.relative_to(ROOT).as_posix(): {"": GUIDE} for page in [*GUIDES, *CONCEPTS]}

PROGRAMS = "tests/languages/test_languages.py::test_the_short_program_of_a_page_runs"
RUN_BY |= {
    page.relative_to(ROOT).as_posix(): {"": PROGRAMS}
    for page in (ROOT / "docs" / "programs").glob("*.md")
    if page.name != "README.md"
}

RUN_BY |= RUN_BY_GUIDES
PYTHON_RUN_BY |= RUN_BY_GUIDES
TESTS = {test for lists in (RUN_BY, PYTHON_RUN_BY) for found in lists.values() for test in found.values()}


@pytest.mark.parametrize(
    ("run_by", "blocks_in", "is_it"),
    [(RUN_BY, blocks, str.startswith), (PYTHON_RUN_BY, python_blocks, str.__contains__)],
    ids=["commands", "python"],
)
def test_every_block_is_run_by_a_test(
    run_by: RunBy, blocks_in: Callable[[Path], Iterable[str]], is_it: Callable[[str, str], bool]
) -> None:
    unknown, seen = [], set()
    for page in pages():
        name = page.relative_to(ROOT).as_posix()
        for code in blocks_in(page):
            part = next((one for one in run_by.get(name, {}) if is_it(code, one)), None)
            if part is None:
                unknown.append(f"{name}: {code.splitlines()[0]}")
            seen.add((name, part))
    assert unknown == [], "add a test that runs it, and name that in shown.toml"
    assert listed(run_by) <= seen, "no longer shown"


def listed(run_by: RunBy) -> set[tuple[str, str | None]]:
    """The blocks of a list; a guide may have none of a kind."""
    return {(name, part) for name in run_by.keys() - RUN_BY_GUIDES.keys() for part in run_by[name]}


def test_reports_of_faults_are_valid() -> None:
    for page in (ROOT / "docs" / "upstream").glob("*.md"):
        for code in python_blocks(page):
            compile(code, page.name, "exec")


@pytest.mark.parametrize("test", sorted(TESTS))
def test_the_tests_that_are_named_exist(test: str) -> None:
    file, function = test.split("::")
    assert re.search(rf"^def {function}\(", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)


def test_every_call_is_one_that_the_command_takes(capsys: pytest.CaptureFixture[str]) -> None:
    refused, taken = [], 0
    for page in pages():
        for code in blocks(page):
            for words in calls(code):
                try:
                    arguments = _parser().parse_args(words)
                except SystemExit:
                    refused.append(f"{page.name}: {words}: {capsys.readouterr().err.splitlines()[-1:]}")
                else:
                    taken += arguments.run is not None
    assert refused == []
    assert taken > 20


def test_a_call_that_the_command_refuses_is_found() -> None:
    (words,) = calls("kafka-segments dump FILE... --formats text   # no option\n")
    assert words == ["dump", "file.log", "--formats", "text"]
    with pytest.raises(SystemExit):
        _parser().parse_args(words)
    assert list(calls("$ kafka-segments audit a b\nkafka-segments: said\n")) == [["audit", "a", "b"]]
    assert list(calls("flock x kafka-segments compact T && kafka-segments audit T 2>>log\n")) == [
        ["compact", "T"],
        ["audit", "T"],
    ]


def block_of(start: str) -> str:
    (found,) = [code for code in blocks(ROOT / "docs" / "install.md") if code.startswith(start)]
    return found


def test_an_activated_environment_has_the_programs() -> None:
    if not (ROOT / ".venv" / "bin" / "kafka-segments").exists():
        pytest.skip("no environment in this clone: make run makes it")
    command = f"{block_of('source ')}command -v kafka-segments python python3\n"
    done = subprocess.run(["bash", "-ec", command], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    programs = [Path(line) for line in done.stdout.splitlines()]
    assert [path.parent for path in programs] == [ROOT / ".venv" / "bin"] * 3


def test_the_wheel_is_found_as_the_page_says(tmp_path: Path) -> None:
    """A pip that prints its arguments; packaging/test_extras.py installs wheels with their extras."""
    (tmp_path / "dist").mkdir()
    wheel = "dist/kafka_segments-0.1.0.dev0-py3-none-any.whl"
    (tmp_path / wheel).touch()
    program = tmp_path / "bin" / "pip"
    program.parent.mkdir()
    program.write_text(f'#!{sys.executable}\nimport sys\nprint(*sys.argv[1:], sep="\\n")\n')
    program.chmod(0o755)
    path = os.pathsep.join([str(program.parent), os.environ["PATH"]])
    done = subprocess.run(
        ["sh", "-ec", block_of("pip ")],
        cwd=tmp_path,
        env={"PATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == ["install", f"{wheel}[all]"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert "all" in project["optional-dependencies"]


def test_the_page_shows_what_make_run_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    from tools import run as make_run

    called: list[list[str]] = []

    def note(*words: str) -> bytes:
        called.append([*words])
        return b"Spark started in 1.0 s"

    monkeypatch.setattr(make_run, "run", note)
    monkeypatch.setattr(make_run.java, "find", lambda: make_run.java.Java(Path("/"), 21))
    monkeypatch.setattr(make_run.java, "spark_home", lambda found: Path("/"))
    monkeypatch.setenv("JAVA_HOME", os.environ.get("JAVA_HOME", ""))
    for name in ("copy_logs", "show_rows"):
        monkeypatch.setattr(make_run, name, lambda *arguments: None)
    monkeypatch.setattr(make_run.shutil, "rmtree", lambda *arguments, **options: None)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False, raising=False)
    make_run.main()
    assert called == list(calls(block_of("$ kafka-segments ingest build/run")))
