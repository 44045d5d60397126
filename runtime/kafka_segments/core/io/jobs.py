"""Jobs: tasks that run in this process, in several beside each other, or on a cluster.

A task is a value with a method `run` that can be pickled, and so is its result. An engine runs each once or
more often, and returns one result of each.

Threads of one process (`threads`) suffice where machine code and system calls take the time. Processes run
what Python does much of itself: ingest (two of them take 9.1 s where two threads take 10.2 s), and `find`,
whose tests can be ended in a main thread only.

Strategy of processes: each takes the next value that no other has taken, and sends what it finds through a
pipe. A pipe that is full stops its process until its turn has come, so that results in order never pile up.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from typing import Any, Protocol, TypeVar

from kafka_segments.errors import KafkaFormatError, OutputError

__all__ = ["Engine", "LocalEngine", "Progress", "RunnableTask", "in_processes"]

R = TypeVar("R")
T = TypeVar("T")
R_co = TypeVar("R_co", covariant=True)

Progress = Callable[[int, int], None]
"""Callback with the bytes that finished tasks had to read, and those of all tasks."""


class RunnableTask(Protocol[R_co]):
    """A task.

    Attributes:
        num_bytes: that it has to read, about, for progress.
    """

    @property
    def num_bytes(self) -> int: ...

    def run(self) -> R_co:
        """Do it."""
        ...


class Engine(Protocol):
    """Runs tasks.

    Attributes:
        start_seconds: what its start took.
    """

    start_seconds: float

    def run(self, tasks: Sequence[RunnableTask[R]], show: Progress | None = None) -> list[R]:
        """Run all tasks; return their results in order.

        Args:
            tasks: values that can be pickled.
            show: is called now and then.

        Raises:
            KafkaFormatError: what a task raised; the others are ended.
        """
        ...


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
        found: list[R] = []
        num_done, total = 0, sum(task.num_bytes for task in tasks)
        killed = OutputError(
            "a process that ran a task was killed (out of memory?): nothing was written; see the system's log"
        )
        with in_processes(_result_of, tasks, self._num_processes, killed) as results:
            for task, own in zip(tasks, results, strict=True):
                if show is not None:
                    show(num_done, total)
                found += own
                num_done += task.num_bytes
        if show is not None and tasks:
            show(total, total)
        return found


def _result_of(task: RunnableTask[R]) -> Iterator[R]:
    yield task.run()


@contextmanager
def in_processes(
    find: Callable[[T], Iterable[R]], values: Sequence[T], num_processes: int, killed: KafkaFormatError
) -> Iterator[Iterator[Iterator[R]]]:
    """Provide the results for each of some values, in their order; the processes end with the context.

    Args:
        find: yields the results for a value; it can be pickled, as values and results can.
        values: what is to be done.
        num_processes: at most; 1 does all in this process.
        killed: is raised by the results for a value whose process was killed; others can still be taken.

    Raises:
        Exception: what `find` raised.
    """
    if min(num_processes, len(values)) <= 1:
        yield (iter(find(value)) for value in values)
        return
    # Not forked: threads of libraries would be missing in the copy, and their locks would stay taken.
    context = multiprocessing.get_context("spawn")
    pickled, taken = [pickle.dumps(value) for value in values], context.Value("q", 0)
    processes: dict[Connection, Any] = {}
    try:
        for _ in range(min(num_processes, len(values))):
            receiver, sender = context.Pipe(duplex=False)
            process = context.Process(target=_work, args=(find, pickled, taken, sender), daemon=True)
            process.start()
            sender.close()
            processes[receiver] = process
        yield _in_order(set(processes), len(values), killed)
    finally:
        for receiver, process in processes.items():
            receiver.close()
            process.terminate()  # else it would go on to the end of its task
            process.join()


def _in_order(idle: set[Connection], num_values: int, killed: KafkaFormatError) -> Iterator[Iterator[Any]]:
    """Yield the results for each value, as they come."""
    busy: dict[int, Connection] = {}  # by the value that the process has taken

    def results_of(number: int) -> Iterator[Any]:
        while number not in busy:
            for receiver in wait(idle) if idle else ():
                assert isinstance(receiver, Connection)
                idle.remove(receiver)
                with suppress(EOFError):  # it has ended
                    busy[receiver.recv()] = receiver
            if not idle and number not in busy:
                raise killed
        try:
            while (message := busy[number].recv()) is not None:
                is_result, content = message
                if not is_result:
                    raise content
                yield content
        except EOFError:
            del busy[number]
            raise killed from None
        idle.add(busy.pop(number))

    for number in range(num_values):
        results = results_of(number)
        yield results
        deque(results, 0)  # its process goes on only then


def _work(
    find: Callable[[Any], Iterable[Any]], pickled: Sequence[bytes], taken: Any, sender: Connection
) -> None:
    """Take values, and send what they are, their results, and None; the process that asked ends this one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()
    with suppress(BrokenPipeError):  # no more is wanted
        while (number := _next_of(taken)) < len(pickled):
            sender.send(number)
            try:
                for result in find(pickle.loads(pickled[number])):
                    sender.send((True, result))
            except BrokenPipeError:
                raise
            except Exception as error:
                sender.send((False, error))
                return
            sender.send(None)


def _next_of(taken: Any) -> int:
    with taken.get_lock():
        taken.value += 1
        return int(taken.value) - 1


def _end_with(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)
