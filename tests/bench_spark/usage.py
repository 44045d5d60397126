"""What processes used, from /proc: CPU time of Spark's JVM and Python workers, memory of the latter."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
TICKS = os.sysconf("SC_CLK_TCK")
# The daemon whose children run tasks; planning has daemons of its own.
TASKS = "pyspark.daemon pyspark.worker"


@dataclass(frozen=True)
class Process:
    """One process and its CPU seconds, with those of children that have ended."""

    pid: int
    parent: int
    command: str
    seconds: float


def process(pid: int) -> Process | None:
    """A process as it is now; None if it has ended."""
    try:
        stat = (PROC / str(pid) / "stat").read_text()
        command = (PROC / str(pid) / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return None
    # proc(5): behind the name, which is in parentheses, ppid is field 4, utime to cstime are 14 to 17.
    fields = stat[stat.rindex(")") + 2 :].split()
    return Process(pid, int(fields[1]), command, sum(map(int, fields[11:15])) / TICKS)


def below(above: int | None) -> list[Process]:
    """All that a process (None is this one) has started, and what those have."""
    there = [found for entry in PROC.iterdir() if entry.name.isdigit() if (found := process(int(entry.name)))]
    family, found = {above or os.getpid()}, []
    while more := [one for one in there if one.parent in family and one.pid not in family]:
        family |= {one.pid for one in more}
        found += more
    return found


@dataclass(frozen=True)
class Cpu:
    """CPU seconds so far: the JVM's, the Python workers' of tasks, those of planning, another process's."""

    jvm: float
    tasks: float
    planning: float
    other: float

    def since(self, before: Cpu) -> Cpu:
        """What has been used since then."""
        return Cpu(
            self.jvm - before.jvm,
            self.tasks - before.tasks,
            self.planning - before.planning,
            self.other - before.other,
        )


def cpu(other: int | None, above: int | None = None) -> Cpu:
    """What the children of a process (of this one) have used, and one that is none of them, by its id."""
    jvm = tasks = planning = 0.0
    children = below(above)
    of_tasks = {one.pid for one in children if TASKS in one.command}
    for one in children:
        if "java" in one.command.split(" ", 1)[0]:
            jvm += one.seconds
        elif one.pid in of_tasks or one.parent in of_tasks:
            tasks += one.seconds
        else:
            planning += one.seconds
    beside = process(other) if other else None
    return Cpu(jvm, tasks, planning, beside.seconds if beside else 0.0)


class Memory:
    """The most that each Python worker of tasks had in memory (PSS), as far as looking now and then shows.

    Args:
        above: the process whose children are looked at; None is this one.

    Attributes:
        peaks: MiB by process.
        limits: what their address spaces are limited to, MiB; None for no limit.
        looks: MiB of the largest at each look.
    """

    def __init__(self, above: int | None = None) -> None:
        self._above = above
        self.peaks: dict[int, float] = {}
        self.limits: set[float | None] = set()
        self.looks: list[float] = []

    @property
    def growth(self) -> float | None:
        """How much larger the largest worker was in the second half of the looks than in the first."""
        halves = self.looks[: len(self.looks) // 2], self.looks[len(self.looks) // 2 :]
        return max(halves[1]) / max(halves[0]) if all(halves) and max(halves[0]) > 0 else None

    def look(self) -> None:
        """Look at all workers now."""
        children = below(self._above)
        daemons = {one.pid for one in children if TASKS in one.command}
        largest = 0.0
        for one in children:
            if one.parent in daemons:
                pss = of_file(one.pid, "smaps_rollup", r"^Pss:\s+(\d+) kB")
                largest = max(largest, (pss or 0) / 1024)
                self.peaks[one.pid] = max(self.peaks.get(one.pid, 0), (pss or 0) / 1024)
                limit = of_file(one.pid, "limits", r"^Max address space\s+(\d+)")
                self.limits.add(None if limit is None else limit / (1 << 20))
        if largest:
            self.looks.append(largest)


def of_file(pid: int, name: str, pattern: str) -> float | None:
    """A number in one of a process's files; None if there is none."""
    try:
        found = re.search(pattern, (PROC / str(pid) / name).read_text(), re.MULTILINE)
    except OSError:
        return None
    return float(found.group(1)) if found else None


@contextmanager
def watching(every: float, above: int | None = None) -> Iterator[Memory]:
    """Look at the workers' memory every so many seconds; `above` as for `Memory`."""
    memory, over = Memory(above), threading.Event()

    def watch() -> None:
        while not over.wait(every):
            memory.look()

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield memory
    finally:
        over.set()
        thread.join()
