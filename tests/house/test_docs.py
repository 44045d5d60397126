"""The documents tell the truth: commands exist, code runs, links lead somewhere, tables match the tree."""

from __future__ import annotations

import doctest
import gzip
import importlib
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
from tests.made.directories import append, run_of
from tools import tables

import kafka_segments
from kafka_segments.cli import ingest
from kafka_segments.query.options import OPTIONS
from kafka_segments_generated.kaitai.kafka_log_segment import KafkaLogSegment

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


def test_options_that_ingest_takes_are_marked() -> None:
    marked = {row.split("`")[1] for row in tables.options() if "`ingest -o`" in row}
    assert marked == {name for name in ingest._OPTIONS if name in OPTIONS}


def test_ingest_has_columns_on_request() -> None:
    cells = {row.split("`")[1]: row.split(" | ")[6] for row in tables.columns() if row.startswith("| `")}
    assert {name for name, cell in cells.items() if cell == "on request"} == {
        "timestamp_ms",
        "leader_epoch",
        "producer_id",
        "producer_epoch",
        "sequence",
    }


RUNTIME = Path(__file__).resolve().parents[2] / "runtime"
MODULES = sorted(
    ".".join(path.relative_to(RUNTIME).with_suffix("").parts).removesuffix(".__init__")
    for path in RUNTIME.rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)
# Their examples name a broker's directory; below they are run with another.
SCANS = {
    "kafka_segments.duckdb.relations": ("relation", []),
    "kafka_segments.polars.segment_frames": ("scan_segments", ["pl"]),
    "kafka_segments.query.scan": ("scan", []),
}


@pytest.mark.parametrize("name", [name for name in MODULES if name not in SCANS])
def test_examples_print_what_they_say(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert found.attempted > 0
    assert found.failed == 0, "see above"


@pytest.mark.parametrize("name", SCANS)
def test_the_examples_of_scans_run(name: str, tmp_path: Path) -> None:
    append(tmp_path / "orders-0", *run_of(0, 3))
    function, others = SCANS[name]
    names: dict[str, Any] = {one: getattr(importlib.import_module(name), one) for one in (function, *others)}
    examples = doctest.DocTestParser().get_examples(str(names[function].__doc__))
    assert examples and all(one.options == {doctest.SKIP: True} for one in examples)
    for example in examples:
        exec(example.source.replace("/var/lib/kafka", str(tmp_path)), names)
    if "reader" in names:
        assert names["reader"].read_all().num_rows == 3


def test_there_are_examples() -> None:
    assert len(MODULES) > 15 and set(SCANS) <= set(MODULES)


RECORDED = ROOT / "tests" / "vectors" / "recorded"
PAGE = (ROOT / "docs" / "concepts" / "layout.md").read_text(encoding="utf-8")
FILE = RECORDED / "kafka-4.3" / "clean" / "compact-multi-0" / "00000000000000000125.log"
ROWS = re.findall(r"^\| (\d+) \| `([0-9a-f ]+)` \| (?:`([a-z_.\[\]0-9]+)`)? ?\| (.+) \|$", PAGE, re.MULTILINE)


def test_the_bytes_of_the_batch_are_those_of_the_file() -> None:
    data = FILE.read_bytes()
    at = 0
    for place, digits, _, _ in ROWS:
        piece = bytes.fromhex(digits)
        assert (int(place), piece) == (at, data[at : at + len(piece)])
        at += len(piece)
    assert at == KafkaLogSegment.from_bytes(data).entries[0].len_body + 12


def test_the_fields_of_the_batch_are_what_a_parser_reads() -> None:
    entry = KafkaLogSegment.from_bytes(FILE.read_bytes()).entries[0]
    batch = entry.body.content
    record, header = batch.records[0].body, batch.records[0].body.headers[0]
    seen = 0
    for place, _, name, meaning in ROWS:
        owners = (entry, batch) if int(place) < 61 else (batch.records[0], record)
        owner = next((one for one in owners if hasattr(one, name)), header)
        value = getattr(owner, name.rpartition(".")[2], None)
        value = getattr(value, "value", value)
        number = re.match(r"(?:varint )?(-?\d+)\b", meaning)
        if number and isinstance(value, int):
            assert int(number[1]) == value, name
            seen += 1
        elif meaning.startswith('"'):
            assert meaning == f'"{value.decode()}"'
            seen += 1
    assert seen == 23


@pytest.mark.parametrize(("release", "magic"), [("0.9", 0), ("0.10.2", 1)])
def test_offsets_inside_wrappers_are_the_recorded_ones(release: str, magic: int) -> None:
    path = RECORDED / f"kafka-{release}" / "clean" / "compact-gzip-0" / "00000000000000000000.log"
    entries = KafkaLogSegment.from_bytes(path.read_bytes()).entries
    row = re.search(rf"^\| {magic} \| (\d+) \| ([\d, ]+) \| .+ \| ([\d, ]+) \|$", PAGE, re.MULTILINE)
    assert row is not None
    (wrapper,) = (one for one in entries if one.base_offset == int(row[1]))
    assert wrapper.body.magic == magic
    inside = [
        one.base_offset
        for one in KafkaLogSegment.from_bytes(gzip.decompress(wrapper.body.content.value)).entries
    ]
    assert row[2] == ", ".join(map(str, inside))
    shift = wrapper.base_offset - inside[-1]
    assert row[3] == ", ".join(str(offset + shift) for offset in inside)
