"""The measures behind `make bench-spark`, and their goals."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from tests.bench_spark import corpus, day_of, ingests
from tests.bench_spark.cache import held
from tests.bench_spark.corpus import T0, Corpus, made
from tests.bench_spark.judge import Figure, Row, best, faster, judge, note_of, raw
from tests.bench_spark.runs import FETCHES, OURS, SIZES, STUB, THEIRS, Measured, Read, Runner
from tests.io import faults, server
from tests.io.conftest import settings_for

# The least that ours must reach of a peer's rate.
OF_STUB, OF_CONNECTOR, OF_PARQUET, OF_COUNT = 0.88, 3.9, 1.6, 30
# The most that figures may be.
SELECTED_PERCENT, TASK_MS, PLANNING_S, WORKER_MIB = 5, 40, 3, 300
COUNTING_S, DAY_S = 10, 0.5
LIMIT = "768m"
DELAY_MS = 20
PARTS = ("scans", "ingest", "selections", "tasks", "planning", "tiny", "day", "memory")


@dataclass
class Bench:
    """One run of the benchmark."""

    runner: Runner
    corpora: dict[str, Corpus]
    rounds: int
    quick: bool
    runs: list[Measured] = field(default_factory=list)

    def measure(self, read: Read, **options: object) -> Measured:
        """Measure, and keep the figures."""
        self.runs.append(self.runner.measure(read, **options))  # type: ignore[arg-type]
        return self.runs[-1]

    def everything(self, parts: Sequence[str]) -> list[Row]:
        """The measures of parts, and the raw figures of all their runs."""
        rows = [row for part in parts for row in getattr(self, part)()]
        return rows + [raw(found) for found in self.runs]

    def rivals(self, reads: list[Read]) -> list[Measured]:
        """Measure reads in turns, so that what else the machine does meets all; the best of each."""
        turns = [[self.measure(read) for read in reads] for _ in range(self.rounds)]
        return [best(of_one) for of_one in zip(*turns, strict=True)]

    def scans(self) -> Iterator[Row]:
        """All rows of a topic, in four ways with its segments in the page cache, and in two from the disk."""
        for topic in corpus.CODECS:
            read_from = made(self.corpora[topic])
            with held(read_from):
                yield from self.scans_of(read_from)
            yield from self.scans_from_disk(read_from)

    def scans_from_disk(self, read_from: Corpus) -> Iterator[Row]:
        """Where the disk has a say, so that there is no goal."""
        for query, their_query, options in (
            ("noop", "noop", {}),
            ("count_batches", "count", {"view": "batches"}),
        ):
            ours = Read(OURS, read_from, query, options, is_cold=True)
            of_ours, theirs = self.rivals([ours, Read(THEIRS, read_from, their_query, is_cold=True)])
            title = f"{their_query}, from the disk: over the connector's"
            failed = of_ours if of_ours.error else theirs if theirs.error else None
            ratio = None if failed else theirs.wall / of_ours.wall
            said = note_of(failed) if failed else f"{of_ours.wall:.3g} s against {theirs.wall:.3g} s"
            yield judge(Figure(title, read_from.topic, ratio, "x", None, said), self.quick)

    def scans_of(self, read_from: Corpus) -> Iterator[Row]:
        """All rows of one topic."""
        stub = Read(STUB, read_from, "noop")
        sizes = [Read(OURS, read_from, "noop", options) for options in SIZES.values()]
        fetches = [Read(THEIRS, read_from, "noop", settings) for settings in FETCHES.values()]
        of_stub, *found = self.rivals([stub, *sizes, *fetches])
        of_ours, theirs = best(found[: len(sizes)]), best(found[len(sizes) :])
        ours = of_ours.read
        yield faster("all columns, noop sink: of the stub's", of_ours, of_stub, OF_STUB, self.quick)
        yield faster(
            "all columns, noop sink: over the connector's", of_ours, theirs, OF_CONNECTOR, self.quick
        )
        read = theirs.read
        queries = [replace(one, query="total") for one in (stub, ours, read)]
        of_stub, of_ours, theirs = self.rivals(queries)
        yield faster("sum(length(value)): of the stub's", of_ours, of_stub, OF_STUB, self.quick)
        yield faster("sum(length(value)): over the connector's", of_ours, theirs, OF_CONNECTOR, self.quick)
        of_ours, theirs = self.rivals([replace(one, query="parquet") for one in (ours, read)])
        yield faster("to Parquet: over the connector's", of_ours, theirs, OF_PARQUET, self.quick)
        batches = replace(ours, query="count_batches", options={**ours.options, "view": "batches"})
        of_ours, theirs = self.rivals([batches, replace(read, query="count")])
        yield faster("count, view batches: over the connector's", of_ours, theirs, OF_COUNT, self.quick)

    def ingest(self) -> Iterator[Row]:
        """Tables of whole topics with their segments in the page cache, memory, and a second run."""
        for topic in corpus.CODECS:
            read_from = made(self.corpora[topic])
            with held(read_from):
                yield from ingests.tables_of(self, read_from)
        yield from ingests.memory_of(self, made(self.corpora["plain"]))
        yield from ingests.second_run(self)

    def selections(self) -> Iterator[Row]:
        """1 % of every partition against all, by the CPU time of tasks; segments in the page cache."""
        read_from = made(self.corpora["plain"])
        with held(read_from):
            yield from self.selections_of(read_from)

    def selections_of(self, read_from: Corpus) -> Iterator[Row]:
        """The same of one topic."""
        whole = self.measure(Read(OURS, read_from, "total"))
        first = read_from.a_partition // 2
        last = first + read_from.a_partition // 100
        offsets = {
            name: json.dumps({read_from.topic: {str(n): end for n in range(read_from.num_partitions)}})
            for name, end in (("startingOffsets", first), ("endingOffsets", last))
        }
        times = {"startingTimestamp": str(T0 + first), "endingTimestamp": str(T0 + last)}
        for name, options in (("offsets", offsets), ("timestamps", times)):
            num_records = (last - first) * read_from.num_partitions
            some = self.measure(Read(OURS, read_from, "total", options, num_records=num_records))
            failed = some if some.error else whole if whole.error else None
            percent = None if failed else some.work / whole.work * 100
            said = note_of(failed) if failed else f"{some.work:.2f} s of {whole.work:.2f} s of tasks' CPU"
            title = f"1 % by {name}: share of the full scan's task CPU"
            yield judge(
                Figure(title, read_from.topic, percent, "%", SELECTED_PERCENT, said, full_size=True),
                self.quick,
            )

    def tasks(self) -> Iterator[Row]:
        """What a task costs before it has read anything, on a warm worker, over one of the stub's."""
        read_from = made(self.corpora["tasks"])
        reads = [
            Read(STUB, read_from, "noop", tasks=read_from.num_records),
            Read(OURS, read_from, "noop", {"maxRecordsPerPartition": "1"}),
        ]
        of_stub, of_ours = (self.measure(read, warm=read, master="local[1]", times=2) for read in reads)
        failed = of_ours if of_ours.error else of_stub if of_stub.error else None
        figure = Figure("a task's fixed cost over the stub's", read_from.topic, None, "ms", TASK_MS)
        if failed:
            figure = replace(figure, note=note_of(failed))
        elif of_ours.num_tasks != of_stub.num_tasks:
            figure = replace(figure, note=f"{of_ours.num_tasks} tasks instead of {of_stub.num_tasks}")
        else:
            each = [one.stage_wall / one.num_tasks * 1000 for one in (of_ours, of_stub)]
            said = f"{each[0]:.1f} ms against {each[1]:.1f} ms, {of_ours.num_tasks} tasks one by one"
            figure = replace(figure, value=each[0] - each[1], note=said)
        yield judge(figure, self.quick)

    def planning(self) -> Iterator[Row]:
        """From asking to a list of tasks, for 10,000 segments."""
        read_from = made(self.corpora["segments"])
        read = Read(OURS, read_from, "planning")
        found = self.measure(read, warm=replace(read, corpus=made(self.corpora["tasks"])), times=2)
        value = None if found.error else found.wall
        said = note_of(found) or f"{found.answer} tasks"
        title = f"planning {read_from.num_records:,} segments"
        yield judge(
            Figure(f"{title} on a local disk", read_from.topic, value, "s", PLANNING_S, said), self.quick
        )
        yield judge(self.planning_from_store(f"{title} on S3, {DELAY_MS} ms a request"), self.quick)

    def tiny(self) -> Iterator[Row]:
        """Planning and counting of 10,000 segments of 6 KB in 2,000 partitions, on a warm session."""
        read_from = made(self.corpora["tiny"])
        num_segments = read_from.num_partitions * corpus.TINY_A_PARTITION
        warm = Read(OURS, made(self.corpora["tasks"]), "count")
        for query, at_most in (("planning", PLANNING_S), ("count", COUNTING_S)):
            with held(read_from):
                found = self.measure(Read(OURS, read_from, query), warm=warm, times=2)
            said = note_of(found) or (
                f"{found.num_tasks or found.answer} tasks; CPU: JVM {found.jvm:.1f} s, "
                f"workers {found.python:.1f} s, planning {found.planning:.1f} s"
            )
            title = f"{query} of {num_segments:,} segments of 6 KB"
            value = None if found.error else found.wall
            figure = Figure(title, read_from.topic, value, "s", at_most, said, full_size=True)
            yield judge(figure, self.quick)

    def day(self) -> Iterator[Row]:
        """`kafka_segments.scan` of a day out of a year, over a scan of the day's segments alone."""
        read_from = made(self.corpora["year"])
        num_days = read_from.a_partition // corpus.RECORDS_A_TINY * corpus.HOURS_A_TINY // 24
        for day, skew in ((num_days - 1, None), (num_days // 2, None), (num_days // 2, 60_000)):
            with held(read_from):
                found = day_of.measure(read_from, day, skew)
            said = f"{found['whole']:.2f} s against {found['alone']:.2f} s, CPU {found['cpu']:.2f} s more"
            given = "" if skew is None else ", max_timestamp_skew given"
            title = f"scan of day {day + 1} of {num_days}{given}: over the day alone"
            value = found["whole"] - found["alone"]
            at_most = None if skew is None and day < num_days - 1 else DAY_S
            yield judge(Figure(title, "year", value, "s", at_most, said, full_size=True), self.quick)

    def planning_from_store(self, title: str) -> Figure:
        """The same from an S3 server behind a proxy that takes its time, and counts."""
        read_from = made(self.corpora["segments"])
        figure = Figure(title, read_from.topic, None, "s", None)
        if not server.binary().exists():
            return replace(figure, note="there is no S3 server here: make test builds one")
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=corpus.FOLDER)))
            store = stack.enter_context(server.running(folder))
            shutil.copytree(read_from.path, store.folder / "bench" / read_from.topic, copy_function=os.link)
            proxy = stack.enter_context(faults.running(store.port))
            proxy.before = lambda _asked: time.sleep(DELAY_MS / 1000)
            options = settings_for(proxy.address)
            read = Read(OURS, read_from, "planning", options, address=f"s3a://bench/{read_from.topic}")
            local = Read(OURS, made(self.corpora["tasks"]), "planning")
            found = self.measure(read, warm=local)
            asked = proxy.asked
        counts = Counter(one.method if one.first is None else "part" for one in asked)
        said = ", ".join(f"{count:,} {kind}" for kind, count in sorted(counts.items()))
        note = note_of(found) or f"{len(asked):,} requests ({said}), {found.answer} tasks"
        return replace(figure, value=None if found.error else found.wall, note=note)

    def memory(self) -> Iterator[Row]:
        """The Python workers' memory at 1, 2 and 4 tasks, and a run under Spark's own limit."""
        read_from = made(self.corpora["lz4"])
        read = Read(OURS, read_from, "noop")
        for num_tasks in (1, 2, 4):
            found = self.measure(read, master=f"local[{num_tasks}]", memory=True)
            value = max(found.pss, default=None)
            said = note_of(found) or ", ".join(f"{pss:.0f}" for pss in found.pss)
            title = f"a Python worker's memory (PSS) at most, {num_tasks} tasks at a time"
            yield judge(Figure(title, read_from.topic, value, "MiB", WORKER_MIB, said), self.quick)
        found = self.measure(read, settings={"spark.executor.pyspark.memory": LIMIT}, memory=True)
        failed = note_of(found) or ("" if found.limits and None not in found.limits else "no limit was set")
        said = failed or f"address space limited to {found.limits[0]:.0f} MiB"
        title = f"failures under spark.executor.pyspark.memory={LIMIT}"
        yield judge(Figure(title, read_from.topic, None if failed else 0, "", 0, said), self.quick)
