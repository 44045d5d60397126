"""Programs in other languages, over the classes that the Kaitai compiler makes, print what Python prints."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from tests.forms import IS_FULL, pick
from tests.languages import cases, matrix, programs
from tests.languages.reference import Reference
from tests.languages.toolchains import LANGUAGES, Language

from kafka_segments.cli.kaitai_compiler import compile_schemas

IN_SHORT = ("javascript", "java", "go")
"""Those that compile in a few seconds; two of them with integers of fixed width."""

pytestmark = [pytest.mark.languages, pytest.mark.long]


def cost(language: Language) -> pytest.MarkDecorator:
    """Languages that are slow to compile have a full form alone."""
    return pytest.mark.long(short=language.name in IN_SHORT)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """What is read."""
    folder = tmp_path_factory.mktemp("files")
    sound = cases.recorded()
    copied = [file for file in sound if file.stat().st_size < 2000][:: pick(20, 10)]
    return [*sound[:: pick(8, 1)], *cases.damaged(folder, copied, pick(40, 13)), cases.varints(folder)]


@pytest.fixture(scope="module")
def sound_files(files: list[Path]) -> list[Path]:
    """What is read where the compiler makes no checks: recorded files, and varints without an error."""
    lines = list(Reference().lines(files[-1:]))[1:]
    return [*cases.recorded()[:: pick(8, 1)], cases.sound(files[-1], lines)]


@pytest.fixture(scope="module")
def expected(files: list[Path], sound_files: list[Path]) -> dict[str, list[str]]:
    """What is to be printed, by language; "" stands for all that have no entry of their own."""
    references = {
        "": Reference(),
        "javascript": Reference(is_javascript=True),
        "rust": Reference(is_rust=True),
    }
    found = {name: list(reference.lines(files)) for name, reference in references.items()}
    return found | {"nim": list(Reference().lines(sound_files))}


def need(language: Language) -> None:
    """Skip a language that cannot be compiled here; fail it where all are required, if it is asked for."""
    reason = language.missing()
    required = {"all", "languages"} & {*os.environ.get("KAFKA_SEGMENTS_REQUIRE", "").split(",")}
    if reason is not None and required and language.is_asked_for():
        pytest.fail(f"KAFKA_SEGMENTS_REQUIRE asks for the languages tests, but {language.title}: {reason}")
    if reason is not None:
        pytest.skip(f"[languages] {language.title}: {reason}")


@pytest.mark.parametrize("language", [pytest.param(one, marks=cost(one), id=one.name) for one in LANGUAGES])
def test_a_program_prints_what_python_prints(
    language: Language,
    files: list[Path],
    sound_files: list[Path],
    expected: dict[str, list[str]],
    tmp_path: Path,
) -> None:
    need(language)
    read = files if language.is_checked else sound_files
    classes, work = tmp_path / "classes", tmp_path / "work"
    work.mkdir()
    for name, content in compile_schemas(language.name).items():
        (classes / name).parent.mkdir(parents=True, exist_ok=True)
        (classes / name).write_bytes(content)
    command = language.build(classes, work)
    done = subprocess.run([*command, *map(str, read)], capture_output=True, text=True, cwd=work)
    assert done.returncode == 0, done.stderr[-2000:]
    found, wanted = done.stdout.splitlines(), expected.get(language.name, expected[""])
    differing = [pair for pair in zip(found, wanted, strict=False) if pair[0] != pair[1]]
    assert (differing[:3], len(found)) == ([], len(wanted))
    if IS_FULL:
        matrix.note(language, read, wanted)


@pytest.mark.parametrize("change", ["record", "varint", "batch", "message"])
@pytest.mark.long(short=True)
def test_the_reference_has_every_kind_of_line(expected: dict[str, list[str]], change: str) -> None:
    assert any(line.startswith(f"{change} ") for line in expected[""])
    assert "error" in expected[""]
    assert any("inexact" in line for line in expected["javascript"])


# One standard of C++ is enough for a page.
SHORT_PROGRAMS = [one for one in LANGUAGES if one.name != "cpp_stl_98"]
IN_PYTHON = Language("python", "Python", (), "PyPI", lambda _classes, _work: [])


@pytest.mark.parametrize(
    "language",
    [
        *(pytest.param(one, marks=cost(one), id=one.name) for one in SHORT_PROGRAMS),
        pytest.param(IN_PYTHON, marks=pytest.mark.long(short=True), id="python"),
    ],
)
def test_the_short_program_of_a_page_runs(language: Language, tmp_path: Path) -> None:
    need(language)
    whole, cut = programs.write_all_kinds(tmp_path)
    folder = tmp_path / "program"
    folder.mkdir()
    program = programs.Program(language.name, folder)
    # A segment that is cut off in its last bytes is an error as a whole in Rust: docs/languages.md.
    read = {whole: [*programs.RECORDS, programs.LAST], cut: programs.RECORDS}
    for segment, records in list(read.items())[: 1 if language.name == "rust" else 2]:
        printed, (skipped, damaged) = program.printed(segment)
        assert (printed, skipped) == (records, programs.SKIPPED)
        assert damaged.startswith(programs.DAMAGED)
    printed, noted = program.printed(next(programs.RECORDED.glob("*.log")))
    assert printed + noted == programs.shown()


@pytest.mark.long(short=True)
def test_the_programs_of_the_pages_are_short() -> None:
    pages = {path.stem for path in programs.PAGES.glob("*.md")} - {"README"}
    assert pages == {one.name for one in (*SHORT_PROGRAMS, IN_PYTHON)}
    sizes = {page: programs.num_lines(next(iter(programs.files_of(page).values()))) for page in pages}
    assert {page: size for page, size in sizes.items() if not 0 < size <= programs.MOST_LINES} == {}
