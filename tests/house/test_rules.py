"""Rules that no linter knows: who opens files, who reads the schemas, who may go on after an error, words."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

RUNTIME = Path(__file__).resolve().parents[2] / "runtime"
# Segments are opened by `storage` alone. The others write: the ingest job its runs and Parquet files; the
# console opens the null device; `native` keeps compiled decoders; `arena` maps memory without a file behind;
# `outputs` makes segments, under names that no broker reads; of a broker's lock only the lock is asked for;
# Spark's and Hadoop's settings stand in files of theirs; `local_files` maps what `storage` holds open, to ask
# which of its pages are cached; `schema_files` and `exported_files` give out the schemas as they are.
OPENERS = {
    "cli/console.py",
    "cli/kaitai_compiler.py",
    "cli/exported_files.py",
    "core/formats/schema_files.py",
    "core/native/arena.py",
    "core/native/cache.py",
    "core/native/library.py",
    "core/io/outputs.py",
    "ingest/runs/local_table_files.py",
    "core/io/local_files.py",
    "salvage/manifest.py",
    "spark/settings.py",
    "core/io/storage.py",
}


# The usual ways to open a file.
OPENS = frozenset(
    f"{module}.{name}"
    for module, names in {
        "os": ("open", "fdopen"),
        "io": ("open", "open_code", "FileIO"),
        "tempfile": ("mkstemp", "NamedTemporaryFile", "SpooledTemporaryFile", "TemporaryFile"),
        "pa": ("memory_map", "OSFile"),
        "mmap": ("mmap",),
        "gzip": ("open",),
        "lz4.frame": ("open",),
    }.items()
    for name in names
)
METHODS = ("read_bytes", "read_text", "write_bytes", "write_text")


def is_opening(function: str) -> bool:
    """Whether a function that is called by this name opens a file."""
    return function == "open" or function in OPENS or function.endswith(METHODS)


def calls() -> Iterator[tuple[str, str]]:
    """File and function name (`open`, `os.open`, `int.from_bytes`) of every call in the runtime."""
    for path in sorted((RUNTIME / "kafka_segments").rglob("*.py")):
        name = path.relative_to(RUNTIME / "kafka_segments").as_posix()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                yield name, ast.unparse(node.func)


def test_only_storage_opens_segments() -> None:
    assert {name for name, function in calls() if is_opening(function)} == OPENERS


def test_the_ways_to_open_are_noticed() -> None:
    for function in ("open", "os.open", "tempfile.TemporaryFile", "Path('x').read_bytes", "mmap.mmap"):
        assert is_opening(function)
    assert not is_opening("self.open")


# They list and export the files, and look for no layout in them.
HANDS_OUT_SCHEMAS = ("kaitai_compiler.py", "schema_files.py", "schemas.py")


def test_nothing_at_run_time_reads_the_schemas() -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in RUNTIME.rglob("*.py")}
    found = [path.name for path, text in texts.items() if ".ksy" in text or "import yaml" in text]
    assert sorted(found) == sorted(HANDS_OUT_SCHEMAS)


# Who takes any error of ours for an answer: commands say it; the fast ways leave it to the slow one,
# `entry_check` to the scan, which raises it; threads hand it over; where memory is short, a size
# is a courtesy. What a run of ingest left stays there if it cannot be removed. `like_kafka` ends as Kafka's
# tool does. `verify` names each file that cannot be opened, and goes on with the others.
TAKERS = {
    "cli/aborted.py",
    "cli/find.py",
    "core/io/jobs.py",
    "cli/ls.py",
    "cli/main.py",
    "cli/opened_files.py",
    "cli/report.py",
    "cli/sizes.py",
    "cli/sources.py",
    "cli/verify.py",
    "ingest/runs/table_files.py",
    "ingest/committing.py",
    "ingest/runs/run_log.py",
    "ingest/transactional.py",
    "core/io/stored_objects.py",
    "core/io/threads.py",
    "core/segment/columnar/reader.py",
    "core/segment/scan/entry_check.py",
    "like_kafka/tool.py",
    "spark/reading.py",
    "verify/partition_checks.py",
    "verify/segment_checks.py",
    "write/batch_options.py",
    "write/python_rows.py",
}
ROOTS = {"KafkaFormatError", "StoreError", "Exception", "BaseException"}


def is_swallowing(handler: ast.ExceptHandler) -> bool:
    """Whether it catches a `StoreError` and raises nothing, nor asks anybody who would."""
    if handler.type is not None and not ROOTS & {
        node.id for node in ast.walk(handler.type) if isinstance(node, ast.Name)
    }:
        return False
    inside = [node for statement in handler.body for node in ast.walk(statement)]
    asked = [ast.unparse(node.func) for node in inside if isinstance(node, ast.Call)]
    raises = any(isinstance(node, ast.Raise) for node in inside)
    return not raises and not any(
        name.endswith(("raise_unless_file_at_fault", "damage_of")) for name in asked
    )


def test_a_store_that_stops_answering_is_taken_for_nothing_else() -> None:
    found = {
        path.relative_to(RUNTIME / "kafka_segments").as_posix()
        for path in sorted((RUNTIME / "kafka_segments").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ExceptHandler) and is_swallowing(node)
    }
    assert found == TAKERS


def test_handlers_that_swallow_are_noticed() -> None:
    def handler(caught: str, body: str) -> ast.ExceptHandler:
        (tried,) = ast.parse(f"try:\n    f()\nexcept {caught}:\n    {body}\n").body
        assert isinstance(tried, ast.Try)
        return tried.handlers[0]

    assert is_swallowing(handler("KafkaFormatError", "pass"))
    assert is_swallowing(handler("(ValueError, StoreError)", "found = None"))
    assert not is_swallowing(handler("KafkaFormatError as error", "raise_unless_file_at_fault(error)"))
    assert not is_swallowing(handler("KafkaFormatError", "raise"))
    assert not is_swallowing(handler("ValueError", "pass"))


def test_docstrings_of_readers_and_codecs_begin_plainly() -> None:
    """A noun phrase or an imperative: `Return ...`, not `What ...`."""
    named = ast.Module | ast.ClassDef | ast.FunctionDef
    docstrings = [
        f"{path.name}: {ast.get_docstring(node)}"
        for folder in ("core/codecs", "core/segment/columnar", "core/segment/scan")
        for path in sorted((RUNTIME / "kafka_segments" / folder).glob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, named) and ast.get_docstring(node) is not None
    ]
    assert len(docstrings) > 100
    assert [one for one in docstrings if one.partition(": ")[2].startswith(("What", "How", "Where "))] == []


# To end what hangs, as `work.HANGS` says; to see that a wait was long enough, or that an interrupt took less
# than the run; to plant a fault; to print.
WATCHERS = {
    "fuzz/test_machinery.py",
    "ingest/test_engines.py",
    "invariant/test_interrupts.py",
    "io/test_s3.py",
    "io/test_threads.py",
    "native/test_cache.py",
    "sizes/test_samples.py",
}
CLOCK = re.compile(r"\b(process_time|perf_counter|thread_time|monotonic)(_ns)?\(")


def test_no_test_is_judged_by_a_clock() -> None:
    """On a slow or busy machine it would fail: `tests/work.py` counts and compares, benchmarks measure."""
    tests = RUNTIME.parent / "tests"
    paths = [path for path in tests.rglob("test_*.py") if not path.parent.name.startswith("bench")]
    found = {path for path in paths if CLOCK.search(path.read_text(encoding="utf-8"))}
    assert {path.relative_to(tests).as_posix() for path in found} == WATCHERS
