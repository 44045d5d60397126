"""Small files whose cost was out of proportion: a message of zeros, a JSON document of brackets."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

from tests.in_process import run_main

LIMITS = Path(__file__).parents[1] / "vectors" / "cases" / "limits"
NAME = f"{0:020}.log"
PEAK = """
import sys
from kafka_segments.cli.main import main
status = main(sys.argv[1:])
# `ru_maxrss` would begin with what the parent had when it made this process.
peak, = (line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM:"))
print(peak, file=sys.stderr)
sys.exit(status)
"""


def test_a_message_of_millions_of_bytes_in_some_hundred(tmp_path: Path) -> None:
    """Many such batches took minutes; none of them is parsed."""
    data = (LIMITS / "consumer_offsets_10s.log").read_bytes()
    (tmp_path / NAME).write_bytes(data * 20)
    words = ["dump", "--like-kafka", "--offsets-decoder", "--files", str(tmp_path / NAME)]
    started = time.process_time()
    status, _, error = run_main(words)
    assert (status, "than are read by default" in error) == (1, True)
    assert time.process_time() - started < 3


def test_a_document_of_brackets_is_named_and_not_read(tmp_path: Path) -> None:
    path = shutil.copy(LIMITS / "json_bomb_1040MiB.log", tmp_path / NAME)
    done = subprocess.run(
        [sys.executable, "-c", PEAK, "find", "--json", "$.a", str(path)], capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "the JSON document has more than 524,288 values" in done.stdout
    assert int(done.stderr.splitlines()[-1]) < 400 << 10
