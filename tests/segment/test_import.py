"""Importing the package is cheap: what is large is imported when it is first needed."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.python import run_python

RECORDED = Path(__file__).resolve().parents[1] / "vectors" / "recorded"
SEGMENT = RECORDED / "kafka-4.3" / "clean" / "codec-lz4-0" / "00000000000000000000.log"
# Each takes longer to import than all of ours may (0.15 s), and is needed for columns or Spark alone.
LARGE = frozenset({"llvmlite", "numba", "numpy", "pandas", "pyarrow", "pyspark", "tqdm"})
SHOW = "import sys; print(*sorted({name.partition('.')[0] for name in sys.modules}))"


@pytest.mark.parametrize(
    "what", ["import kafka_segments", "from kafka_segments.cli import main; main._parser()"]
)
def test_an_import_brings_nothing_large_with_it(what: str) -> None:
    imported = run_python("-c", f"{what}; {SHOW}").stdout.split()
    assert "kafka_segments" in imported
    assert LARGE.isdisjoint(imported)


def test_headers_alone_are_dumped_without_anything_large() -> None:
    dump = f"main(['dump', '--headers-only', {str(SEGMENT)!r}])"
    code = f"from kafka_segments.cli.main import main; {dump}; {SHOW}"
    *batches, imported = run_python("-c", code).stdout.splitlines()
    assert batches
    assert LARGE.isdisjoint(imported.split())


def test_a_large_import_would_be_seen() -> None:
    pytest.importorskip("pyarrow")
    done = run_python("-c", f"import kafka_segments.core.segment.table; {SHOW}")
    assert "pyarrow" in done.stdout.split()


def test_a_verb_is_imported_without_the_others() -> None:
    code = "import sys\nfrom kafka_segments.cli.main import main\nmain(['ls', '--help'])\n"
    code += "print(*[name for name in sys.modules if name.startswith('kafka_segments.')])"
    imported = run_python("-c", code).stdout.splitlines()[-1].split()
    assert "kafka_segments.cli.ls" in imported
    assert {"kafka_segments.cli.dump", "kafka_segments.verify", "kafka_segments.ingest"}.isdisjoint(imported)
