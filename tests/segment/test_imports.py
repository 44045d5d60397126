"""What reading does not import: a process that reads one segment would wait for it."""

from __future__ import annotations

from pathlib import Path

from tests.python import run_python

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import sys
from tests.made.codecs import gzip_member
from tests.made.segments import some_segment
from kafka_segments import open_segment
with open_segment(some_segment(50)) as segment:
    assert sum(batch.num_rows for batch in segment.read_batches())
    assert segment.read_headers().num_rows
print(*(name for name in ("numba", "pandas", "construct", "pyspark") if name in sys.modules))
"""


def test_neither_compiler_nor_pandas():
    for _ in range(2):  # the first one may have to compile
        done = run_python("-c", PROGRAM, cwd=ROOT)
    assert done.stdout.split() == []
