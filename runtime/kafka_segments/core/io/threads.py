"""Threads: results for several values at a time, in the order of the values or as they come.

Strategy: each thread takes the next value that no other has taken. What it finds waits until its turn has
come; where much waits, threads stop until some of it has been taken, but for the one whose turn it is, once
nothing of its value waits. So memory is bounded, and there is always one that goes on. One lock guards lists
and counters, and is held only while one result is put or taken.

At its end, Python waits for all threads before it drops what would close these. So one that is stopped looks
now and then whether it is they alone that Python waits for, and ends then.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from typing import Any, Generic, TypeVar

from kafka_segments.errors import OptionError

__all__ = ["check_threads", "check_wanted", "hand_over", "in_threads"]

R = TypeVar("R")
T = TypeVar("T")

_NUM_WAITING = 8  # results for each thread
_SECONDS = 0.1  # between two looks


def check_threads(threads: object) -> int:
    """Return a number of threads; raise `OptionError` for anything else."""
    if not isinstance(threads, int) or isinstance(threads, bool) or threads < 1:
        raise OptionError(f"threads is {threads!r}; give a number from 1 on")
    return threads


def in_threads(
    find: Callable[[T], Generator[R, None, None]],
    values: Sequence[T],
    num_threads: int,
    *,
    in_order: bool = True,
    num_waiting: int | None = _NUM_WAITING,
) -> Generator[tuple[T, R], None, None]:
    """Yield results for some values, each after its value; the threads end when this does, or is closed.

    Args:
        find: yields the results for a value; called in a thread, which closes what it returned.
        values: what is to be done.
        num_threads: at most; 1 does all in this thread, when it is asked for.
        in_order: of the values; else as they come, those for one value in their order.
        num_waiting: results that may wait, for each thread; None for any number.

    Raises:
        Exception: what `find` raised, after the results before it.
        OptionError: they are asked for in a forked process, which has no such threads.
    """
    if min(num_threads, len(values)) <= 1:
        for value in values:
            with closing(find(value)) as results:
                yield from ((value, result) for result in results)
        return
    most = None if num_waiting is None else num_waiting * num_threads
    work = _Work(find, values, most, in_order=in_order)
    try:
        work.start(min(num_threads, len(values)))
        yield from work.results()
    finally:
        work.end()


def check_wanted() -> None:
    """End what a thread of `in_threads` does, by an exception, if its results are not wanted any more."""
    thread = threading.current_thread()
    if isinstance(thread, _Worker) and thread.work.is_over:
        raise _UnwantedError


def hand_over(find: Callable[[T], Generator[R, None, None]], result: R) -> bool:
    """Add a result from within what `find` calls; return False if `in_threads` called it in this thread."""
    thread = threading.current_thread()
    if not isinstance(thread, _Worker) or thread.work.find is not find:
        return False
    thread.work.put(thread.number, result)
    return True


class _UnwantedError(BaseException):
    """Passes all handlers of errors."""


class _Worker(threading.Thread):
    def __init__(self, work: _Work[Any, Any]) -> None:
        super().__init__(name="kafka-segments")
        self.work, self.number = work, 0

    def run(self) -> None:
        """Do one thing after the other."""
        while (number := self.work.take()) is not None:
            self.number = number
            self.work.do(number)


class _Work(Generic[T, R]):
    """What is to be done, and what has been found."""

    def __init__(
        self,
        find: Callable[[T], Generator[R, None, None]],
        values: Sequence[T],
        most: int | None,
        *,
        in_order: bool,
    ) -> None:
        self.is_over = False
        self.find, self._values, self._most, self._in_order = find, values, most, in_order
        self._process = os.getpid()
        self._threads: list[_Worker] = []
        # Entered again by a thread in which Python collects garbage, and so closes what reads from here.
        lock = threading.RLock()
        self._arrived, self._room = threading.Condition(lock), threading.Condition(lock)
        self._num_taken, self._turn, self._num_waiting = 0, 0, 0
        # One queue for each value in order, or one for all; how many values are left that may add to it.
        num_queues = len(values) if in_order else 1
        self._queues = [deque[tuple[T, R] | BaseException]() for _ in range(num_queues)]
        self._num_left = [len(values) // num_queues] * num_queues

    def start(self, num_threads: int) -> None:
        """Start the threads."""
        for _ in range(num_threads):
            thread = _Worker(self)
            thread.start()
            self._threads.append(thread)

    def end(self) -> None:
        """End the threads, and wait for them."""
        self.is_over = True
        # After a fork at most the thread that forked is alive, and another one may have held the lock. When
        # Python has ended them, none is, and this module's globals may be gone.
        alive = [thread for thread in self._threads if thread.is_alive()]
        if alive and alive != [threading.current_thread()]:
            with self._room:
                self._room.notify_all()
            if threading.current_thread() not in self._threads:
                for thread in self._threads:
                    thread.join()
        self._threads.clear()
        self._queues.clear()

    def take(self) -> int | None:
        """Take a value that no other thread has taken; return its number, None if there is none."""
        with self._room:
            if self.is_over or self._num_taken == len(self._values):
                return None
            self._num_taken += 1
            return self._num_taken - 1

    def do(self, number: int) -> None:
        """Find the results for a value."""
        queue = number if self._in_order else 0
        error: BaseException | None = None
        try:
            with closing(self.find(self._values[number])) as results:
                for result in results:
                    self.put(number, result)
        except BaseException as raised:  # whatever it is, the caller gets it
            error = raised
        with self._arrived:
            self._num_left[queue] -= 1
            if error is not None and self._queues:
                self._queues[queue].append(error)
                self._num_waiting += 1
            self._arrived.notify()
        del error  # whose traceback has this frame

    def put(self, number: int, result: R) -> None:
        """Add a result for a value, once there is room."""
        queue = number if self._in_order else 0
        with self._room:
            while not (self.is_over or self._has_room(queue)):
                self._room.wait(_SECONDS)
                if _is_nobody_left():
                    self.is_over = True
            if self.is_over:
                raise _UnwantedError
            self._queues[queue].append((self._values[number], result))
            self._num_waiting += 1
            if queue == self._turn:
                self._arrived.notify()

    def _has_room(self, queue: int) -> bool:
        if self._most is None or self._num_waiting < self._most:
            return True
        return queue == self._turn and not self._queues[queue]

    def results(self) -> Iterator[tuple[T, R]]:
        """Yield the results, as they come, or one value after the other."""
        while True:
            if os.getpid() != self._process:
                raise OptionError("a forked process lacks the threads that read: begin to read in it")
            with self._arrived:
                while not self._queues[self._turn] and self._num_left[self._turn]:
                    self._arrived.wait()
                if not self._queues[self._turn]:
                    self._turn += 1
                    if self._turn == len(self._queues):
                        return
                    self._room.notify_all()
                    continue
                result = self._queues[self._turn].popleft()
                self._num_waiting -= 1
                self._room.notify_all()
            if isinstance(result, BaseException):
                try:
                    raise result
                finally:
                    del result  # whose traceback has this frame
            yield result
            del result


def _is_nobody_left() -> bool:
    """Whether Python waits for such threads alone before it ends."""
    main = threading.main_thread()
    others = (one for one in threading.enumerate() if one is not main and not isinstance(one, _Worker))
    return not main.is_alive() and all(one.daemon for one in others)
