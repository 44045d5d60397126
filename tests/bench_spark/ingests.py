"""The measures of `ingest` behind `make bench-spark`, and their goals."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tests.bench_spark import corpus
from tests.bench_spark.corpus import Corpus, made
from tests.bench_spark.judge import Figure, Row, best, faster, judge, note_of
from tests.bench_spark.runs import FETCHES, OURS, STUB, THEIRS, Read

import kafka_segments as ks

if TYPE_CHECKING:
    from tests.bench_spark.measures import Bench

# The least that ours must reach of a peer's rate.
OF_CONNECTOR, OF_STUB = 4, 0.85
# The most that figures may be.
OF_BYTES, WORKER_MIB, GROWTH, SECOND_RUN_S = 1.05, 300, 1.1, 3


def tables_of(bench: Bench, read_from: Corpus) -> Iterator[Row]:
    """`ingest` of a topic against a stub's files, and the connector's by Spark's Parquet writer."""
    num_tasks = max(1, read_from.num_records // 1_250_000)  # ours has tasks of 256 MiB
    ours = Read(OURS, read_from, "ingest")
    stub = Read(STUB, read_from, "stub_files", tasks=num_tasks)
    theirs = [Read(THEIRS, read_from, "zstd_files", settings) for settings in FETCHES.values()]
    of_ours, of_stub, *found = bench.rivals([ours, stub, *theirs])
    of_theirs = best(found)
    yield faster("ingest, zstd 3: over the connector's", of_ours, of_theirs, OF_CONNECTOR, bench.quick)
    yield faster("ingest, zstd 3: of the stub's", of_ours, of_stub, OF_STUB, bench.quick)
    sizes = of_ours.answer, of_theirs.answer
    ratio = sizes[0] / sizes[1] if sizes[0] and sizes[1] else None
    said = f"{sizes[0] or 0:,} bytes against {sizes[1] or 0:,}"
    figure = Figure("ingest: bytes over the connector's", read_from.topic, ratio, "x", OF_BYTES, said)
    yield judge(figure, bench.quick)


def memory_of(bench: Bench, read_from: Corpus) -> Iterator[Row]:
    """The memory of the Python workers, and whether it grows."""
    found = bench.measure(Read(OURS, read_from, "ingest"), memory=True)
    said = note_of(found) or ", ".join(f"{pss:.0f}" for pss in found.pss)
    title = "ingest: a Python worker's memory (PSS) at most"
    value = max(found.pss, default=None)
    yield judge(Figure(title, read_from.topic, value, "MiB", WORKER_MIB, said), bench.quick)
    title = "ingest: the largest worker in the second half of the run over the first"
    figure = Figure(title, read_from.topic, found.growth, "x", GROWTH, note_of(found), full_size=True)
    yield judge(figure, bench.quick)


def second_run(bench: Bench) -> Iterator[Row]:
    """A run that finds one new segment behind 10,000 consumed ones, in a session that is warm."""
    read_from = made(bench.corpora["segments"])
    with tempfile.TemporaryDirectory(dir=corpus.FOLDER) as work:
        logs = Path(work) / "logs"
        shutil.copytree(read_from.path, logs, copy_function=os.link)
        destination = str(Path(work) / "table")
        command = [sys.executable, "-m", "kafka_segments", "ingest", "--engine", "local"]
        words = ["-o", "columns=offset,timestamp,timestamp_type,key,value", str(logs), destination]
        subprocess.run([*command, *words], check=True, capture_output=True)
        add_segment(logs / f"{read_from.topic}-0", corpus.SEGMENTS_A_PARTITION)
        warm = Read(OURS, made(bench.corpora["tasks"]), "ingest")
        read = Read(OURS, read_from, "ingest", {"destination": destination}, address=work + "/logs")
        found = bench.measure(replace(read), warm=warm)
    title = f"ingest of one segment behind {read_from.num_records:,} consumed ones, Spark being there"
    value = None if found.error else found.wall
    said = note_of(found) or f"{found.num_tasks} tasks"
    yield judge(Figure(title, read_from.topic, value, "s", SECOND_RUN_S, said), bench.quick)


def add_segment(directory: Path, offset: int) -> None:
    """Add a segment of one record."""
    row = {"key": b"k", "value": b"v", "timestamp": corpus.T0 + offset}
    encoded = ks.encode_batch([row], base_offset=offset, partition_leader_epoch=0)
    (directory / f"{offset:020}.log").write_bytes(encoded)
