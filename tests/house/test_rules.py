"""Rules that no linter knows: who opens files, and who reads the schemas."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

RUNTIME = Path(__file__).resolve().parents[2] / "runtime"
# Segments are opened by `storage` alone. The others write: the ingest job its work and Parquet files; the
# console opens the null device; `native` keeps compiled decoders; an arena is memory that no file is behind;
# `writing` makes segments, under names that no broker reads; of a broker's lock only the lock is asked for;
# Spark's and Hadoop's settings stand in files of theirs.
OPENERS = {
    "cli/console.py",
    "columnar/arena.py",
    "native/cache.py",
    "places/locks.py",
    "spark/parquet.py",
    "spark/publish.py",
    "spark/settings.py",
    "storage.py",
    "writing/files.py",
}


def calls() -> Iterator[tuple[str, str]]:
    """File and function name (`open`, `os.open`, `int.from_bytes`) of every call in the runtime."""
    for path in sorted((RUNTIME / "kafka_segments").rglob("*.py")):
        name = path.relative_to(RUNTIME / "kafka_segments").as_posix()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                yield name, ast.unparse(node.func)


def test_only_storage_opens_segments() -> None:
    opening = {"open", "os.open", "io.open", "os.fdopen", "mmap.mmap", "gzip.open", "lz4.frame.open"}
    found = {
        name
        for name, function in calls()
        if function in opening or function.endswith(("read_bytes", "read_text"))
    }
    assert found == OPENERS


def test_nothing_at_run_time_reads_the_schemas() -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in RUNTIME.rglob("*.py")}
    assert [path.name for path, text in texts.items() if ".ksy" in text or "import yaml" in text] == []
