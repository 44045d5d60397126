"""The demonstration behind `make run`: recorded segments of a real broker, through Spark, to Parquet rows.

Always ingests anew: what an earlier run wrote below `build/run` is removed first. Prints the command's own
table, three of the rows read back, and where the time went.
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

SOURCE = Path("tests/vectors/recorded/kafka-4.3/clean")
DESTINATION = Path("build/run/parquet")
SHOWN_TOPIC = "codec-zstd"
# The types are said, not guessed: there is a topic named 007.
PARTITIONS = pa.schema([("topic", pa.string()), ("partition", pa.int32())])


def ingest() -> float:
    """Run `kafka-segments ingest`; return how long Spark's own start took, in seconds.

    Raises:
        SystemExit: the command's exit status, where it is not 0.
    """
    shutil.rmtree(ROOT / DESTINATION.parent, ignore_errors=True)
    (ROOT / DESTINATION.parent).mkdir(parents=True)
    words = ["kafka-segments", "ingest", str(SOURCE), str(DESTINATION), "--timings"]
    words += ["--progress"] if sys.stderr.isatty() else []
    print(f"$ {shlex.join(words)}", flush=True)
    program = Path(sys.executable).with_name(words[0])
    said = b""
    with subprocess.Popen([str(program), *words[1:]], cwd=ROOT, stderr=subprocess.PIPE) as command:
        assert command.stderr is not None
        while chunk := os.read(command.stderr.fileno(), 65536):
            said += chunk
            sys.stderr.buffer.write(chunk)
            sys.stderr.flush()
    if command.returncode != 0:
        raise SystemExit(command.returncode)
    start = re.search(rb"Spark started in ([\d.]+) s", said)
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
    """Find Java, ingest, show, and say where the time went."""
    started = float(os.environ.get("KAFKA_SEGMENTS_STARTED", time.time()))
    found = java.find() or java.install()
    if found is None:
        raise SystemExit(java.BY_HAND)
    os.environ["JAVA_HOME"] = str(java.spark_home(found))
    print(f"environment and Java {found.version} ready after {time.time() - started:.1f} s", flush=True)
    spark_start = ingest()
    show_rows(3)
    whole = time.time() - started
    print(f"\nwhole run {whole:.1f} s, of which Spark's own start {spark_start:.1f} s")


if __name__ == "__main__":
    main()
