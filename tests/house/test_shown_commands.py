"""Every command that a document shows is run by a test, and stands in a list here with that test."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tests.guides.test_guides import CONCEPTS, GUIDES
from tests.house.commands import ROOT, blocks, calls, pages, python_blocks
from tests.incidents.incident_pages import page_names

from kafka_segments.cli.main import _parser

HERE = "tests/house/test_shown_commands.py"
LINES = "tests/cli/test_command_lines.py"
OPERATIONS = "tests/ingest/test_operations_page.py::test_the_tests_know_all_code_of_the_page"
BROKEN_DISK = (
    "tests/salvage/test_broken_disk_page.py::test_the_page_leads_to_a_broker_that_serves_what_is_left"
)
# How a block begins, by page: the test that runs it. Those of the page on operations are in its own list.
RUN_BY = {
    "CONTRIBUTING.md": {"make test-fast": "tests/house/test_docs.py::test_commands_in_documents_exist"},
    "docs/cookbook/coming-from.md": {
        "# the batches": "tests/guides/test_coming_from.py::test_lines_for_users_of_kafka_dump_log_run",
        "# print the values": "tests/guides/test_coming_from.py::test_lines_for_users_of_kcat_run",
    },
    "docs/command-line.md": {
        "python3 kafka-segments.pyz": "tests/packaging/test_onefile.py::test_the_lines_of_the_page_run",
        "kafka-segments completion": "tests/cli/test_completion.py::test_the_lines_of_the_page_run",
        "kafka-segments ls /var": f"{LINES}::test_the_lines_about_ls_run",
        "kafka-segments ls PATH...": f"{LINES}::test_the_lines_of_all_verbs_run",
    },
    "docs/conversions.md": {"kafka-segments convert": f"{LINES}::test_the_lines_of_the_conversions_page_run"},
    "docs/find.md": {"kafka-segments find": "tests/cli/test_find.py::test_the_commands_of_the_page_run"},
    "docs/ingest.md": {
        "kafka-segments ingest SRC...": f"{LINES}::test_the_lines_of_the_ingest_page_run",
    },
    "docs/ingest-reference.md": {
        # Tables in a store: tests/ingest has a store of its own, and this line its address alone.
        "kafka-segments ingest /var/lib/kafka s3a": f"{HERE}::test_every_call_is_one_that_the_command_takes",
    },
    "docs/dump-like-kafka.md": {
        "kafka-segments dump --like-kafka": f"{LINES}::test_the_lines_of_the_page_on_kafka_dump_log_run"
    },
    "docs/install.md": {
        "make run": "tests/house/test_docs.py::test_commands_in_documents_exist",
        "source .venv/bin/activate": f"{HERE}::test_an_activated_environment_has_the_programs",
        'pip install "$(ls dist/': f"{HERE}::test_the_wheel_is_found_as_the_page_says",
        "$ kafka-segments ingest build/run": f"{HERE}::test_the_page_shows_what_make_run_runs",
    },
    "docs/jsonl.md": {"$ kafka-segments dump": f"{LINES}::test_the_line_of_the_json_lines_page_runs"},
    "docs/own-formats.md": {
        "python codegen.py --out": "tests/codegen/test_own_schemas.py::test_schemas_of_a_users_own"
    },
    "docs/languages.md": {
        "kafka-segments schemas list": "tests/cli/test_schemas.py::test_commands_of_the_page"
    },
    "docs/operations/broken-disk.md": {"": BROKEN_DISK},
    "docs/operations/cluster.md": {"": OPERATIONS},
    "docs/operations/pipeline.md": {"": OPERATIONS},
    "docs/report.md": {
        "kafka-segments report": "tests/cli/test_report_verb.py::test_the_command_of_the_page"
    },
    "docs/salvage.md": {
        "kafka-segments salvage": "tests/salvage/test_salvage_page.py::test_the_lines_about_salvage_run",
        "mkdir cut": "tests/salvage/test_salvage_page.py::test_the_lines_about_slices_run",
    },
    "docs/sizes.md": {
        "kafka-segments sizes": "tests/cli/test_sizes.py::test_the_commands_of_the_page_run",
        "$ kafka-segments sizes": "tests/cli/test_sizes.py::test_the_page_shows_what_the_command_prints",
    },
    "docs/verify.md": {
        "kafka-segments verify": "tests/verify/test_verify_command.py::test_the_commands_of_the_page"
    },
    "docs/webide.md": {
        "kafka-segments schemas export --webide": (
            "tests/cli/test_webide_export.py::test_the_command_of_the_page"
        )
    },
}

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

INGEST = "tests/ingest/test_ingest_page_code.py"
SPARK = "tests/spark/test_page_code.py"
# What a block of Python holds, by page.
PYTHON_RUN_BY = {
    "docs/ingest-reference.md": {"load_catalog": f"{INGEST}::test_the_iceberg_code_of_the_reference"},
    "docs/ingest.md": {
        "import pyarrow.dataset": f"{INGEST}::test_the_parquet_code_of_the_ingest_page",
        "import polars": f"{INGEST}::test_the_parquet_code_of_the_ingest_page",
    },
    "docs/operations/cluster.md": {"": OPERATIONS},
    "docs/operations/pipeline.md": {"": OPERATIONS},
    "docs/package.md": {"read_batches": f"{INGEST}::test_the_code_of_the_packages_page"},
    "docs/polars-duckdb.md": {
        "import polars": "tests/polars/test_polars_frames.py::test_the_code_of_the_page_runs",
        "kafka_segments.duckdb": "tests/duckdb/test_duckdb_relations.py::test_the_code_of_the_page_runs",
    },
    "docs/programs/python.md": {"from kafka_log_segment": PROGRAMS},
    "docs/cookbook/coming-from.md": {"orders = ": f"{SPARK}::test_the_code_of_the_pages_runs"},
    "docs/spark.md": {
        "history = ": f"{SPARK}::test_the_code_of_the_pages_runs",
        "take_snapshot": f"{SPARK}::test_the_code_of_the_pages_runs",
    },
    "docs/stores.md": {"Places(": "tests/io/test_stores_page.py::test_the_code_of_the_page_runs"},
    "docs/streaming.md": {
        "readStream": f"{SPARK}::test_the_stream_of_the_page_runs",
        "def into_delta": "tests/spark/test_streams.py::test_a_query_goes_on_with_its_checkpoint",
        "def starting_offsets": "tests/spark/test_streams.py::test_a_query_goes_on_with_its_checkpoint",
    },
    # A report of a fault of Spark's: tests/spark/test_reused_frames.py is about the fault.
    "docs/upstream/spark-python-filter-pushdown.md": {
        "class Numbers": f"{HERE}::test_reports_of_faults_are_valid"
    },
    "docs/writing.md": {
        "kept.write": f"{SPARK}::test_the_code_of_the_pages_runs",
        "partition_by_key": f"{SPARK}::test_the_code_of_the_pages_runs",
    },
}
RUN_BY_SERVERS = {
    "docs/cookbook/broker.md": {
        "": "tests/broker/test_broker.py::test_the_broker_takes_the_files_as_they_are"
    },
    "docs/cookbook/s3.md": {"": "tests/io/test_cookbook_page.py::test_the_recipe_for_s3_does_what_it_shows"},
}
RUN_BY |= RUN_BY_GUIDES | RUN_BY_SERVERS
PYTHON_RUN_BY |= RUN_BY_SERVERS
PYTHON_RUN_BY |= RUN_BY_GUIDES
TESTS = {test for lists in (RUN_BY, PYTHON_RUN_BY) for found in lists.values() for test in found.values()}


def test_every_block_of_commands_is_run_by_a_test() -> None:
    unknown, seen = [], set()
    for page in pages():
        name = page.relative_to(ROOT).as_posix()
        for code in blocks(page):
            start = next((one for one in RUN_BY.get(name, {}) if code.startswith(one)), None)
            if start is None:
                unknown.append(f"{name}: {code.splitlines()[0]}")
            seen.add((name, start))
    assert unknown == [], "add a test that runs it, and name that in RUN_BY"
    assert listed(RUN_BY) <= seen, "no longer shown"


def test_every_block_of_python_is_run_by_a_test() -> None:
    unknown, seen = [], set()
    for page in pages():
        name = page.relative_to(ROOT).as_posix()
        for code in python_blocks(page):
            part = next((one for one in PYTHON_RUN_BY.get(name, {}) if one in code), None)
            if part is None:
                unknown.append(f"{name}: {code.splitlines()[0]}")
            seen.add((name, part))
    assert unknown == [], "add a test that runs it, and name that in PYTHON_RUN_BY"
    assert listed(PYTHON_RUN_BY) <= seen, "no longer shown"


def listed(run_by: dict[str, dict[str, str]]) -> set[tuple[str, str | None]]:
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
