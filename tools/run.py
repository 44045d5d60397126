"""The demonstration of `make run`: recorded segments of a real broker, through Spark, to Parquet rows.

Two runs into a new table: the log directory as it was before a segment was rolled and a topic was created,
and as it is. Then the audit, three of the rows read back, and where the time went.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools import java  # noqa: E402  the root is no package

RECORDED = Path("tests/vectors/recorded/kafka-4.3/clean")
LOGS, DESTINATION = Path("build/run/logs"), Path("build/run/parquet")
SHOWN_TOPIC = "codec-zstd"
# Files that the second run finds: a topic, a segment, and the checkpoints that know of them.
LATER = ("codec-zstd-0", "multi-0/*125.*", "[lr]*-offset-checkpoint")
# The types are given, not guessed: there is a topic named 007.
PARTITIONS = pa.schema([("topic", pa.string()), ("partition", pa.int32())])


def copy_logs(*left_out: str) -> None:
    """Copy the recorded log directory, as it was before the files that match some patterns were written."""
    shutil.rmtree(ROOT / LOGS, ignore_errors=True)
    shutil.copytree(
        ROOT / RECORDED, ROOT / LOGS, ignore=lambda folder, names: _matching(folder, names, left_out)
    )


def _matching(folder: str, names: list[str], patterns: tuple[str, ...]) -> list[str]:
    return [name for name in names if any(Path(folder, name).match(pattern) for pattern in patterns)]


def run(*words: str) -> bytes:
    """Run a command of `kafka-segments`; return what it said on standard error.

    Raises:
        SystemExit: the command's exit status, where it is not 0.
    """
    print(f"\n$ {shlex.join(['kafka-segments', *words])}", flush=True)
    program = Path(sys.executable).with_name("kafka-segments")
    said = b""
    with subprocess.Popen([str(program), *words], cwd=ROOT, stderr=subprocess.PIPE) as command:
        assert command.stderr is not None
        while chunk := os.read(command.stderr.fileno(), 65536):
            said += chunk
            sys.stderr.buffer.write(chunk)
            sys.stderr.flush()
    if command.returncode != 0:
        raise SystemExit(command.returncode)
    return said


def ingest(*more: str) -> float:
    """Take what is new; return how long Spark's own start took, in seconds."""
    words = ["ingest", str(LOGS), str(DESTINATION), "--timings", *more]
    words += ["--progress"] if sys.stderr.isatty() else []
    start = re.search(rb"Spark started in ([\d.]+) s", run(*words))
    if start is None:
        raise SystemExit("run: ingest did not say how long Spark took to start")
    return float(start.group(1))


def show_rows(count: int) -> None:
    """Read the first rows of one topic back from the Parquet files and print them."""
    partitioning = pa.dataset.partitioning(PARTITIONS, flavor="hive")
    rows = pa.dataset.dataset(ROOT / DESTINATION, partitioning=partitioning)
    found = rows.filter(pa.dataset.field("topic") == SHOWN_TOPIC).to_table().sort_by("offset").slice(0, count)
    total = rows.count_rows()
    print(f"\n{count} of {total:,} rows, read back from {DESTINATION}:")
    for row in found.to_pylist():
        headers = [(header["key"], header["value"]) for header in row["headers"] or []]  # keys may repeat
        print(f"  {row['topic']}-{row['partition']} {row['offset']}  {row['timestamp']}", end="")
        print(f"  key={row['key']}  value={row['value']}  headers={headers}")
    if found.num_rows < count:
        raise SystemExit(f"run: {SHOWN_TOPIC} has {found.num_rows} rows")


def main() -> None:
    """Find Java, ingest twice, audit, show rows, and say where the time went."""
    started = float(os.environ.get("KAFKA_SEGMENTS_STARTED", time.time()))
    found = java.find() or java.install()
    if found is None:
        raise SystemExit(java.BY_HAND)
    os.environ["JAVA_HOME"] = str(java.spark_home(found))
    print(f"environment and Java {found.version} ready after {time.time() - started:.1f} s", flush=True)
    shutil.rmtree(ROOT / DESTINATION.parent, ignore_errors=True)
    copy_logs(*LATER)
    spark_start = ingest()
    copy_logs()
    spark_start += ingest()
    run("audit", str(DESTINATION), str(LOGS))
    show_rows(3)
    whole = time.time() - started
    print(f"\nwhole run {whole:.1f} s, of which Spark's own starts {spark_start:.1f} s")


if __name__ == "__main__":
    main()
