"""Nothing goes beyond an array's end: shown with guarded memory, and with every access checked."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from tests.python import run_python

ROOT = Path(__file__).resolve().parents[2]

# A span that ends beyond the data, which no caller may give: a checked access notices.
BEYOND = """
import numpy as np
from tests.columns import driver
from tests.columns.samples import BATCHES, header_of, table_row
from kafka_segments_generated.columns import kafka_log_segment, kafka_record
payload = BATCHES[0].content()
table = np.array(table_row(kafka_log_segment, **header_of(BATCHES[0])))
driver.decode(kafka_record, payload[:-9], [(0, len(payload), 0)], table, compiled=True)
"""

BEHIND = """
import ctypes
import numpy as np
from tests.columns.guarded import guarded
array = guarded(np.arange(5, dtype=np.uint8))
assert ctypes.string_at(array.ctypes.data, 5) == bytes(range(5))
ctypes.string_at(array.ctypes.data, 6)
"""

CHECKED = {"KAFKA_SEGMENTS_CHECK_BOUNDS": "1", "KAFKA_SEGMENTS_MACHINE_CODE": "jit"}


@pytest.mark.long(short=False)
def test_no_access_beyond_the_end_of_memory() -> None:
    done = run_python("-m", "tests.columns.guarded", cwd=ROOT)
    assert int(done.stdout.split()[0]) > 1000


def test_memory_is_guarded() -> None:
    run_python("-c", BEHIND, status=-signal.SIGSEGV, cwd=ROOT)


@pytest.mark.long(short=False)  # in every run, a job of the fuzzing compiles with checks
def test_all_accesses_are_within_their_arrays() -> None:
    names = ("test_decoder_damage", "test_room", "test_encoder_room", "test_encoder_refusals")
    tests = [f"tests/columns/{name}.py" for name in (*names, "test_decoder_varints")]
    options = ["-q", "-p", "no:xdist", "-k", "compiled"]
    done = run_python("-m", "pytest", *options, *tests, status=None, cwd=ROOT, env=CHECKED)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


def test_the_check_stops_an_access_that_is_not() -> None:
    done = run_python("-c", BEYOND, status=None, cwd=ROOT, env=CHECKED)
    assert done.returncode < 0, done.stdout + done.stderr
