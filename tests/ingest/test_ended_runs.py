"""How a run of `ingest` ends before its time: full disks, signals; and what it leaves: a table as it was."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests import work
from tests.ingest.ingested import Run, parquet_rows
from tests.ingest.killed import HEEDING, no_file_above
from tests.made.directories import append, run_of
from tests.python import environment
from tests.spark import kafka_rows

from kafka_segments.ingest.runs.run_log import RunLog

CLEAN = kafka_rows.RECORDED / "kafka-4.3/clean"


@pytest.mark.parametrize("num_bytes", [0, 300, 1200])
def test_a_full_disk_leaves_the_table_as_it_was(
    ingest: Run, audit: Run, tmp_path: Path, num_bytes: int
) -> None:
    logs, out = tmp_path / "logs", tmp_path / "out"
    append(logs / "t-0", *run_of(0, 9))
    with no_file_above(num_bytes):
        status, table, err = ingest(logs, out)
    assert (status, table) == (3, {}), err
    assert re.search(re.escape(os.strerror(27)), err), err
    assert not out.exists()
    ingest(logs, out)
    append(logs / "t-0", *run_of(9, 900))
    with no_file_above(num_bytes):
        assert ingest(logs, out)[0] == 3
    assert [row.offset for row in parquet_rows(out)] == list(range(9))
    assert os.listdir(out / "_kafka_segments") == ["runs"]
    assert ingest(logs, out)[1]["t", 0]["records"] == "891"
    assert audit(out, logs)[0] == 0


def test_what_was_swept_is_told(ingest: Run, tmp_path: Path) -> None:
    logs, out = append(tmp_path / "logs" / "t-0", *run_of(0, 9)).parent, tmp_path / "out"

    def left_by_a_run() -> Path:
        log = RunLog(str(out))
        path = Path(log.staging_of(log.begin(0)))
        path.mkdir(parents=True)
        (path / "part.parquet").touch()
        return path

    left_by_a_run()
    ingest(logs, out)
    left = left_by_a_run()
    status, _, err = ingest(logs, out)
    assert status == 0
    assert f"{left}: removed; a killed ingest had left it" in err


SLOW = """
import sys, time
from kafka_segments.cli.main import main
from kafka_segments.ingest import job
class Slow(job.WriteTask):
    def run(self):
        print("at work", file=sys.stderr, flush=True)
        time.sleep(3000)
job.WriteTask = Slow
sys.exit(main())
"""


@pytest.mark.parametrize(
    ("number", "words"),
    [(signal.SIGINT, "interrupted"), (signal.SIGTERM, "terminated"), (signal.SIGHUP, "terminated")],
)
@pytest.mark.parametrize("is_first", [False, True])
def test_a_signal_ends_it(
    ingest: Run, tmp_path: Path, number: signal.Signals, words: str, is_first: bool
) -> None:
    out = tmp_path / "out"
    if not is_first:
        ingest(CLEAN / "multi-0", out)
    before = sorted(out.rglob("*"))
    command = [sys.executable, "-c", HEEDING + SLOW, "ingest", "--engine", "local", str(CLEAN), str(out)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment()) as process:
        assert process.stderr is not None
        assert any(line == "at work\n" for line in process.stderr)
        process.send_signal(number)
        rest = process.stderr.read()
        status = process.wait(timeout=work.HANGS)
    assert rest == f"kafka-segments: {words}\n"
    assert status == 128 + number
    assert sorted(out.rglob("*")) == before
