"""Measures, each in a process of its own: reads of the stub, of Spark's `kafka` source, and of ours."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tests.bench_spark.broker import Serving
from tests.bench_spark.cache import segments_of
from tests.bench_spark.corpus import LEN_VALUE, NUM_PARTITIONS, Corpus
from tests.connector import connector
from tests.oracle import jvm
from tools import spark_versions

NUM_CORES = 2
STUB, THEIRS, OURS = "stub", "connector", "ours"
# The consumer's own settings and Spark's 500 records a poll; and larger ones of all sorts.
FETCHES: dict[str, dict[str, str]] = {
    "default": {},
    "large": {
        "kafka.max.poll.records": "20000",
        "kafka.max.partition.fetch.bytes": str(16 << 20),
        "kafka.fetch.max.bytes": str(64 << 20),
        "kafka.receive.buffer.bytes": str(1 << 20),
    },
}
# What a task of ours reads: the default, and as much as one of the consumer's and the stub's.
SIZES: dict[str, dict[str, str]] = {"default": {}, "large": {"maxPartitionBytes": "1g"}}


@dataclass(frozen=True)
class Read:
    """A query of a source.

    Attributes:
        side: whose source.
        corpus: what is read.
        query: of `measure.QUERIES`.
        options: of the source, beyond where the data are.
        tasks: of the stub.
        num_records: that the options leave to be read; None for all.
        address: where ours finds the data, if not at the corpus' path.
        is_cold: whether the segments are to be read from the disk.
    """

    side: str
    corpus: Corpus
    query: str
    options: Mapping[str, str] = field(default_factory=dict)
    tasks: int = NUM_PARTITIONS
    num_records: int | None = None
    address: str | None = None
    is_cold: bool = False

    @property
    def expected(self) -> int | None:
        """What the query must answer; None where it answers nothing that is known."""
        num_records = self.corpus.num_records if self.num_records is None else self.num_records
        if self.query == "total":
            return num_records * LEN_VALUE
        return num_records if self.query in ("count", "count_batches") else None


@dataclass(frozen=True)
class Measured:
    """One run, in seconds; or why there is none.

    Attributes:
        wall: from asking to the end.
        jvm: CPU of Spark's JVM.
        python: CPU of the Python workers that run tasks.
        planning: CPU of those that plan.
        broker: CPU of the broker.
        task_cpu: CPU of the tasks in the JVM, as Spark counts it.
        stage_wall: of the stages alone.
        num_tasks: in them.
        pss: MiB of memory of each Python worker at most, if that was looked at.
        limits: MiB of address space they were allowed; None for no limit.
        growth: the largest process in the second half of the run over that in the first.
        error: what went wrong.
    """

    read: Read
    wall: float = 0
    jvm: float = 0
    python: float = 0
    planning: float = 0
    broker: float = 0
    task_cpu: float = 0
    stage_wall: float = 0
    num_tasks: int = 0
    answer: int | None = None
    pss: tuple[float, ...] = ()
    limits: tuple[float | None, ...] = ()
    growth: float | None = None
    error: str | None = None

    @property
    def cpu(self) -> float:
        """CPU of Spark and its workers, without the broker's."""
        return self.jvm + self.python + self.planning

    @property
    def mrps(self) -> float | None:
        """Million records a second of wall time."""
        return None if self.error else self.read.corpus.num_records / self.wall / 1e6

    @property
    def mrp_cpu(self) -> float | None:
        """Million records a CPU second, without the broker's."""
        return None if self.error else self.read.corpus.num_records / self.cpu / 1e6

    @property
    def work(self) -> float:
        """CPU of the tasks, in the JVM and in Python."""
        return self.task_cpu + self.python


class Runner:
    """Starts measures, and tells of them as they come. Without a broker none of Spark's `kafka` source."""

    def __init__(self, broker: Serving | None, work: Path) -> None:
        self._broker = broker
        self._work = work
        self._python = spark_versions.python_of(spark_versions.CONNECTOR)
        self._jars = jvm.fetch_jars(connector.HERE / "pom.xml")

    def measure(
        self,
        read: Read,
        *,
        warm: Read | None = None,
        master: str = "local[2]",
        settings: Mapping[str, str] | None = None,
        memory: bool = False,
        times: int = 1,
    ) -> Measured:
        """Measure a read in a new session, after one that warms it up (by default a part of the same).

        Of several times the quickest is told.
        """
        task = {
            "master": master,
            "settings": {"spark.driver.extraClassPath": f"{self._jars}/*"} | dict(settings or {}),
            "warm": self._source(warm or read, a_part=warm is None),
            "read": self._source(read, a_part=False),
            "times": times,
            "memory": memory,
            "drop": [str(path) for path in segments_of(read.corpus)] if read.is_cold else [],
            "other": self._broker.pid if self._broker and read.side == THEIRS else None,
        }
        done = subprocess.run(
            [str(self._python), "-m", "tests.bench_spark.measure"],
            input=json.dumps(task),
            env=spark_versions.variables(self._python),
            cwd=self._work,
            capture_output=True,
            text=True,
        )
        found = _measured(read, done)
        said = found.error or f"{found.wall:.2f} s, CPU {found.cpu:.1f} s, broker's {found.broker:.1f} s"
        what = f"{read.side} {read.corpus.topic} {read.query}{' from the disk' if read.is_cold else ''}"
        print(f"bench-spark: {what}: {said}", file=sys.stderr, flush=True)
        return found

    def _source(self, read: Read, a_part: bool) -> dict[str, Any]:
        """Where a side's data are; of a part, the first partition's."""
        topic, path = read.corpus.topic, None
        options: dict[str, str] = dict(read.options)
        if read.side == STUB:
            # As many rows as the others have to warm up with: the JVM compiles what it does by and by.
            tasks = NUM_CORES if a_part else read.tasks
            rows = read.corpus.a_partition if a_part else read.corpus.num_records
            options |= {"tasks": str(tasks), "rows": str(rows // tasks)}
        elif read.side == THEIRS:
            options |= {"kafka.bootstrap.servers": self._broker.bootstrap if self._broker else "nowhere:1"}
            options |= {"assign": json.dumps({topic: [0]})} if a_part else {"subscribe": topic}
        else:
            whole = read.address or str(read.corpus.path)
            path = f"{whole}/{topic}-0" if a_part else whole
        if a_part:
            # A part that is one task would leave a worker to be started in the run that counts.
            sized = "maxPartitionBytes"
            for name in [name for name in options if name.startswith(("starting", "ending", sized))]:
                del options[name]
        form = {STUB: "stub", THEIRS: "kafka", OURS: "kafka-segments"}[read.side]
        return {"format": form, "options": options, "path": path, "query": read.query}


def _measured(read: Read, done: subprocess.CompletedProcess[str]) -> Measured:
    if done.returncode:
        return Measured(read, error=first_words(done.stderr[-500:]))
    result = json.loads(done.stdout)
    if result["error"] is not None:
        return Measured(read, error=first_words(result["error"]))
    best = min(result["runs"], key=lambda run: run["wall"])
    best["broker"] = best.pop("other")
    if read.expected not in (None, best["answer"]):
        return Measured(read, error=f"answered {best['answer']} instead of {read.expected}")
    found = Measured(read, **best)
    return replace(
        found, pss=tuple(result["pss"]), limits=tuple(result["limits"]), growth=result.get("growth")
    )


def first_words(text: str) -> str:
    """The last line of an error that names one, shortened: that is where Python says what it was."""
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    named = [line for line in lines if "Error: " in line or "Exception: " in line]
    return (named or lines or ["says nothing"])[-1][:160]
