"""Engine of this machine: runs tasks in this process, or in several beside each other."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

from kafka_segments.core.io.processes import process_pool
from kafka_segments.errors import OutputError
from kafka_segments.query.job_engine import Progress, RunnableTask

__all__ = ["LocalEngine"]

R = TypeVar("R")


class LocalEngine:
    """Runs tasks on this machine: in this process, or in several beside each other.

    Args:
        num_processes: at most; None is the number of cores that this process may use.

    Attributes:
        start_seconds: 0.
    """

    start_seconds = 0.0

    def __init__(self, num_processes: int | None = None) -> None:
        self._num_processes = num_processes or len(os.sched_getaffinity(0))

    def run(self, tasks: Sequence[RunnableTask[R]], show: Progress | None = None) -> list[R]:
        """Run all tasks; see `Engine`."""
        num_processes = min(self._num_processes, len(tasks))
        if num_processes > 1:
            return _in_processes(tasks, num_processes, show)
        results: list[R] = []
        num_done, total = 0, sum(task.num_bytes for task in tasks)
        for task in tasks:
            if show is not None:
                show(num_done, total)
            results.append(task.run())
            num_done += task.num_bytes
        if show is not None and tasks:
            show(total, total)
        return results


def _in_processes(tasks: Sequence[RunnableTask[R]], num_processes: int, show: Progress | None) -> list[R]:
    try:
        with process_pool(num_processes) as pool:
            futures = {pool.submit(_run, task): task.num_bytes for task in tasks}
            left: set[Any] = set(futures)
            num_done, total = 0, sum(futures.values())
            while left:
                if show is not None:
                    show(num_done, total)
                done, left = wait(left, return_when=FIRST_COMPLETED)
                for one in done:
                    one.result()
                    num_done += futures[one]
            if show is not None:
                show(total, total)
            return [one.result() for one in futures]
    except BrokenProcessPool as error:
        raise OutputError(
            "a process that ran a task was killed (out of memory?): nothing was written; see the system's log"
        ) from error


def _run(task: RunnableTask[R]) -> R:
    return task.run()
