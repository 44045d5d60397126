"""Measurement in rounds: each decoder in a process of its own, in turn and again, the fastest pass counts.

Strategy: what disturbs a machine comes and goes. In turns it disturbs all, and the minimum of a decoder's
passes is what it can do. Every process stays alive through all rounds, so that Java is warm, and once it is,
all sit on the same core.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from crc32c import crc32c
from tests.bench import corpora, programs
from tests.bench.corpora import Corpus
from tests.bench.decoders import DECODERS, Decoder, command


@dataclasses.dataclass(frozen=True)
class Effort:
    """How much of it: rounds, seconds of passes in each turn, seconds in which Java warms up."""

    rounds: int
    turn: float
    warm_java: float
    most_passes: int = 20


FULL = Effort(rounds=5, turn=0.4, warm_java=3.0)
QUICK = Effort(rounds=2, turn=0.1, warm_java=1.0)


# Passes in a turn of warming up, and such turns of Java's, at most.
MOST_WARMING = 1000
MOST_TURNS = 15


@dataclasses.dataclass
class Measured:
    """What a decoder did on a corpus: its fastest pass, or why there is none (`problem`)."""

    decoder: Decoder
    corpus: Corpus
    seconds: float | None = None
    records: int | None = None
    checksum: int | None = None
    num_bytes: int = 0
    consuming: float | None = None
    passes: int = 0
    library: str = ""
    problem: str = ""
    missing: bool = False

    def add(self, answer: dict[str, Any]) -> None:
        """Take note of a pass."""
        self.passes += 1
        results = (answer.get("records"), answer.get("checksum"))
        if self.passes > 1 and results != (self.records, self.checksum):
            raise WorkerError(f"two passes differ: {(self.records, self.checksum)} and {results}")
        self.records, self.checksum = results
        self.library = answer.get("library", "")
        if self.seconds is None or answer["seconds"] < self.seconds:
            self.seconds, self.consuming = answer["seconds"], answer.get("consuming")

    def __post_init__(self) -> None:
        limit = self.decoder.slice_bytes
        if not self.num_bytes:
            self.num_bytes = corpora.len_cut(self.corpus, limit) if limit else self.corpus.num_bytes

    @property
    def failed(self) -> bool:
        """Whether it could run here and did not do so, or not rightly."""
        return bool(self.problem) and not self.missing

    @property
    def rate(self) -> float | None:
        """Million records a second; of a limit, as if the corpus' records came of it."""
        if self.seconds is None or self.problem:
            return None
        records = self.corpus.num_records if self.records is None else self.records
        return records / self.seconds / 1e6


class WorkerError(Exception):
    """A decoder's process failed; the message is what it said."""


class Worker:
    """A decoder's process that serves passes."""

    def __init__(self, words: Sequence[str]) -> None:
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115  closed in `close`
        self._process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            cwd=programs.ROOT,
        )
        self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._process.wait()
            self._errors.seek(0)
            said = [text.strip() for text in self._errors.read().splitlines() if text.strip()]
            raise WorkerError(said[-1] if said else f"ended with status {self._process.returncode}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def one_pass(self) -> dict[str, Any]:
        """Have one pass done."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write("\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass
        return self._answer()

    def stay_on_one_core(self) -> None:
        """Keep all its threads on the last core that we may use, where the system can do that."""
        if hasattr(os, "sched_setaffinity"):
            for task in Path(f"/proc/{self._process.pid}/task").glob("*"):
                os.sched_setaffinity(int(task.name), {max(os.sched_getaffinity(0))})

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
        self._errors.close()


def take_turn(worker: Worker, measured: Measured, seconds: float, most: int) -> None:
    """Have passes done until the time is up, one at least."""
    began = time.perf_counter()
    for _ in range(most):
        measured.add(worker.one_pass())
        if time.perf_counter() - began > seconds:
            return


def warm_up(worker: Worker, measured: Measured, effort: Effort) -> None:
    """Have passes done that do not count: memory is touched, Java compiles what it runs, on any core."""
    if measured.decoder.program == "java":
        warm_java(worker, measured, effort.warm_java)
    else:
        take_turn(worker, Measured(measured.decoder, measured.corpus), effort.turn, MOST_WARMING)
    worker.stay_on_one_core()


def warm_java(worker: Worker, measured: Measured, seconds: float) -> None:
    """Have passes done for a time, and on until a third of that time brings nothing any more."""
    best = float("inf")
    turns = 0
    while turns < MOST_TURNS:
        turn = Measured(measured.decoder, measured.corpus)
        take_turn(worker, turn, seconds / 3, MOST_WARMING)
        assert turn.seconds is not None
        turns += 1
        if turns > 3 and turn.seconds > 0.98 * best:
            return
        best = min(best, turn.seconds)


@contextlib.contextmanager
def noting(measured: Measured) -> Iterator[None]:
    """Turn a decoder's failure into its problem: the others go on."""
    try:
        yield
    except WorkerError as error:
        measured.problem = str(error)


def one_checked(corpus: Corpus, decoders: Sequence[Decoder]) -> list[Measured]:
    """A single pass of our columns over each slice that others read, to compare their checksums with."""
    found = []
    for limit in sorted({decoder.slice_bytes for decoder in decoders} - {0}):
        if limit < corpus.num_bytes:
            entry = Measured(dataclasses.replace(DECODERS["columns"], slice_bytes=limit), corpus)
            found.append(entry)
            take_once(entry)
    return found


def take_once(entry: Measured) -> None:
    """Have a single pass done."""
    worker = start(entry)
    if worker is not None:
        try:
            entry.add(worker.one_pass())
        except WorkerError as error:
            entry.problem = str(error)
        finally:
            worker.close()


def compare(entries: Sequence[Measured]) -> None:
    """Give a problem to whoever read something else than most did of the same bytes: it then has no rate."""
    for size in {entry.num_bytes for entry in entries}:
        alike = [entry for entry in entries if entry.num_bytes == size and entry.checksum is not None]
        results = Counter((entry.records, entry.checksum) for entry in alike)
        if len(results) > 1:
            (records, checksum), votes = results.most_common(1)[0]
            for entry in alike:
                if (entry.records, entry.checksum) != (records, checksum):
                    entry.problem = (
                        f"WRONG: {entry.records} records, checksum {entry.checksum}; "
                        f"{votes} others: {records}, {checksum}"
                    )


def compare_with_file(entries: Sequence[Measured]) -> None:
    """Give a problem to whoever wrote other bytes than there are in the corpus: it then has no rate."""
    for entry in entries:
        if entry.checksum is not None:
            there = crc32c(corpora.cut(entry.corpus.path.read_bytes(), entry.decoder.slice_bytes))
            if entry.checksum != there:
                entry.problem = f"WRONG: wrote bytes of checksum {entry.checksum}, not {there}"


def start(measured: Measured) -> Worker | None:
    """A worker for a decoder, or None and why not."""
    words = command(measured.decoder, measured.corpus.path)
    if isinstance(words, programs.Missing):
        measured.problem, measured.missing = f"cannot run here: {words.reason}", True
        return None
    try:
        return Worker(words)
    except WorkerError as error:
        measured.problem = str(error)
        return None


def measure(corpus: Corpus, decoders: Sequence[Decoder], effort: Effort) -> list[Measured]:
    """Measure decoders on a corpus, in rounds; those that cannot run say why."""
    entries = [Measured(decoder, corpus) for decoder in decoders]
    workers: list[tuple[Worker, Measured]] = []
    try:
        for entry in entries:
            if worker := start(entry):
                workers.append((worker, entry))
                with noting(entry):
                    warm_up(worker, entry, effort)
        for _ in range(effort.rounds):
            for worker, entry in workers:
                if not entry.problem:
                    with noting(entry):
                        take_turn(worker, entry, effort.turn, effort.most_passes)
    finally:
        for worker, _ in workers:
            worker.close()
    if corpus.name in corpora.ENCODED:
        compare_with_file(entries)
    else:
        compare([*entries, *one_checked(corpus, [entry.decoder for entry in entries])])
    return entries
