"""Results found by threads: their order, errors in their places, bounds, and how threads end."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import closing, suppress
from pathlib import Path
from unittest.mock import patch

import pytest
from tests import work

from kafka_segments.core.io import threads
from kafka_segments.core.io.threads import check_threads, check_wanted, hand_over, in_threads
from kafka_segments.errors import OptionError

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    """Each test ends the threads that it has begun."""
    yield
    assert not [one for one in threading.enumerate() if one.name == "kafka-segments"]


def digits(value: int) -> Generator[int, None, None]:
    """Ten results, later ones for lower values."""
    time.sleep(0.002 * (5 - value % 5))
    yield from range(10 * value, 10 * value + 10)


@pytest.mark.parametrize("num_threads", [1, 2, 3, 20])
def test_results_have_the_order_of_the_values(num_threads: int) -> None:
    found = list(in_threads(digits, range(12), num_threads))
    assert found == [(number // 10, number) for number in range(120)]


def test_results_for_a_value_have_their_order_if_values_have_none() -> None:
    def slowest_first(value: int) -> Generator[int, None, None]:
        if value == 0:
            assert is_last.wait(work.HANGS)
        if value == 11:
            is_last.set()
        yield from digits(value)

    is_last = threading.Event()
    found = list(in_threads(slowest_first, range(12), 3, in_order=False))
    assert found[0][0] != 0  # it waits for the last one
    assert sorted(found) == [(number // 10, number) for number in range(120)]
    for value in range(12):
        assert [one for own, one in found if own == value] == list(range(10 * value, 10 * value + 10))


@pytest.mark.parametrize("in_order", [True, False])
def test_values_without_results(in_order: bool) -> None:
    def found_in(value: int) -> Generator[int, None, None]:
        yield from range(value % 3)

    found = list(in_threads(found_in, range(9), 2, in_order=in_order))
    assert sorted(found) == [(1, 0), (2, 0), (2, 1), (4, 0), (5, 0), (5, 1), (7, 0), (8, 0), (8, 1)]
    assert list(in_threads(digits, [], 4, in_order=in_order)) == []


@pytest.mark.parametrize("num_threads", [1, 3])
def test_an_error_comes_in_its_place(num_threads: int) -> None:
    def failing(value: int) -> Generator[int, None, None]:
        for number in digits(value):
            if number == 35:
                raise ValueError(number)
            yield number

    found = []
    with pytest.raises(ValueError, match="35"):
        found.extend(one for _, one in in_threads(failing, range(12), num_threads))
    found = []
    with suppress(ValueError):
        for _, one in in_threads(failing, range(12), num_threads):
            found.append(one)
    assert found == list(range(35))


def test_an_error_in_a_value_whose_turn_does_not_come_is_not_raised() -> None:
    def failing(value: int) -> Generator[int, None, None]:
        if value:
            raise ValueError(value)
        yield from digits(value)

    with closing(in_threads(failing, range(12), 3)) as found:
        assert [next(found) for _ in range(10)] == [(0, number) for number in range(10)]


def test_what_waits_is_bounded() -> None:
    made, taken, most = 0, 0, 0
    lock = threading.Lock()

    def counting(_value: int) -> Generator[int, None, None]:
        nonlocal made, most
        for number in range(200):
            with lock:
                made += 1
                most = max(most, made - taken)
            yield number

    for _ in in_threads(counting, range(6), 3, num_waiting=4):
        time.sleep(0.0002)
        with lock:
            taken += 1
    assert made == taken == 1200
    # 12 that wait, one in the hand of each thread, one in that of the caller, and one of the value in turn.
    assert most <= 12 + 3 + 1 + 1


def test_nothing_is_made_before_it_is_asked_for_by_one_thread() -> None:
    made = []

    def noting(value: int) -> Generator[int, None, None]:
        for number in range(3):
            made.append((value, number))
            yield number

    found = in_threads(noting, range(3), 1)
    assert made == []
    assert next(found) == (0, 0)
    assert made == [(0, 0)]


@pytest.mark.parametrize("in_order", [True, False])
def test_generators_are_closed_in_their_threads_if_the_caller_stops(in_order: bool) -> None:
    closed = []

    def endless(value: int) -> Generator[int, None, None]:
        thread = threading.current_thread()
        try:
            while True:
                yield value
        finally:
            closed.append(threading.current_thread() is thread)

    with closing(in_threads(endless, range(5), 3, in_order=in_order)) as found:
        next(found)
    assert len(closed) >= 1
    assert all(closed)
    assert not [one for one in threading.enumerate() if one.name == "kafka-segments"]


def test_a_reader_that_is_dropped_ends_its_threads() -> None:
    def endless(value: int) -> Generator[int, None, None]:
        while True:
            yield value

    found = in_threads(endless, range(5), 3)
    next(found)
    del found
    gc.collect()
    assert not [one for one in threading.enumerate() if one.name == "kafka-segments"]


def test_garbage_may_be_collected_by_one_of_the_threads() -> None:
    def collecting(value: int) -> Generator[int, None, None]:
        yield value
        assert is_dropped.wait(work.HANGS)
        while True:
            gc.collect()
            yield value

    is_dropped = threading.Event()
    cycle: list[object] = [in_threads(collecting, range(3), 2)]
    next(cycle[0])  # type: ignore[call-overload]
    cycle.append(cycle)
    del cycle
    is_dropped.set()
    deadline = time.monotonic() + work.HANGS
    while [one for one in threading.enumerate() if one.name == "kafka-segments"]:
        assert time.monotonic() < deadline
        time.sleep(0.001)


def test_a_long_search_ends_where_it_asks_whether_it_is_wanted() -> None:
    is_running = threading.Event()

    def long(value: int) -> Generator[int, None, None]:
        yield value
        is_running.set()
        while True:
            check_wanted()
            time.sleep(0.001)

    with closing(in_threads(long, range(3), 2)) as found:
        assert next(found) == (0, 0)
        assert is_running.wait(work.HANGS)
    check_wanted()  # nothing is to end here


@pytest.mark.parametrize("num_threads", [1, 2])
def test_results_are_handed_over_among_others(num_threads: int) -> None:
    def handing(value: int) -> Generator[int, None, None]:
        yield 10 * value
        if not hand_over(handing, 10 * value + 1):
            direct.append(10 * value + 1)
        yield 10 * value + 2

    direct: list[int] = []
    found = [one for _, one in in_threads(handing, range(4), num_threads)]
    expected = [10 * value + one for value in range(4) for one in range(3)]
    assert sorted(found + direct) == expected
    assert found == expected or (num_threads == 1 and direct == [1, 11, 21, 31])


def test_a_result_is_not_handed_to_threads_further_out() -> None:
    def inner(value: int) -> Generator[int, None, None]:
        assert not hand_over(inner, -1)
        yield value

    def outer(value: int) -> Generator[int, None, None]:
        yield from (one for _, one in in_threads(inner, [value], 1))

    assert [one for _, one in in_threads(outer, range(4), 2)] == [0, 1, 2, 3]


@pytest.mark.parametrize("wrong", [0, -1, True, 1.0, "2", None])
def test_a_number_of_threads_is_checked(wrong: object) -> None:
    with pytest.raises(OptionError, match="threads is"):
        check_threads(wrong)
    assert check_threads(3) == 3


PROGRAM = """
import os, signal, sys, threading, time
from kafka_segments.core.io.threads import in_threads
from kafka_segments.errors import OptionError

def endless(value):
    while True:
        yield bytes(1000)

found = in_threads(endless, range(4), 2)
next(found)
"""


def run_program(rest: str) -> subprocess.Popen[str]:
    paths = os.pathsep.join([str(ROOT / "runtime"), str(ROOT / "generated")])
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM + rest],
        env=os.environ | {"PYTHONPATH": paths},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_python_ends_although_nobody_has_closed_a_reader() -> None:
    process = run_program("print('over', flush=True)")
    out, error = process.communicate(timeout=work.HANGS)
    assert (process.returncode, out, error) == (0, "over\n", "")


def test_a_reader_is_closed_after_the_globals_of_its_module() -> None:
    """As when free-threaded Python ends."""
    found = in_threads(digits, range(2), 2, num_waiting=None)
    next(found)
    for one in threading.enumerate():
        if one.name == "kafka-segments":
            one.join(work.HANGS)
    with patch.multiple(threads, os=None, threading=None):
        found.close()


def test_a_thread_that_forks_ends_what_its_reader_began() -> None:
    """In the child, in which nobody gives the lock back."""
    process = run_program(
        """
go, forked = threading.Event(), threading.Event()
def forking(value):
    yield value
    if value == 0:
        go.wait()
        child = os.fork()
        if child == 0:
            threading.current_thread().work.end()
            os._exit(7)
        forked.set()
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
found = in_threads(forking, range(2), 2)
next(found)
with found.gi_frame.f_locals["work"]._room:
    go.set()
    forked.wait()
for _ in found:
    pass
"""
    )
    out, error = process.communicate(timeout=work.HANGS)
    assert (out, error) == ("7\n", "")


def test_a_reader_lives_as_long_as_a_thread_that_takes_from_it() -> None:
    process = run_program(
        """
def late():
    time.sleep(0.5)
    print(sum(len(next(found)[1]) for _ in range(100)), flush=True)
    found.close()
threading.Thread(target=late).start()
"""
    )
    out, error = process.communicate(timeout=work.HANGS)
    assert (process.returncode, out, error) == (0, "100000\n", "")


def test_ctrl_c_ends_the_threads() -> None:
    process = run_program(
        """
def slow(value):
    yield value
    time.sleep(0.5)
signal.signal(signal.SIGINT, signal.default_int_handler)  # a run in the background ignores it
try:
    found = in_threads(slow, range(100), 2)
    print(next(found)[0], flush=True)
    for _ in found:
        pass
except KeyboardInterrupt:
    del found
    print(threading.active_count(), flush=True)
os._exit(0)
"""
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "0\n"
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=work.HANGS)
    assert (out, error) == ("1\n", "")  # the main one


def test_a_forked_process_gets_an_error() -> None:
    process = run_program(
        """
child = os.fork()
if child == 0:
    try:
        next(found)
    except OptionError as error:
        print(error, flush=True)
    del found
    sys.exit(0)
print(os.waitpid(child, 0)[1], len(next(found)[1]))
found.close()
"""
    )
    out, error = process.communicate(timeout=work.HANGS)
    assert error == "" or "DeprecationWarning" in error  # Python 3.12 warns of forks beside threads
    assert out.splitlines() == ["a forked process lacks the threads that read: begin to read in it", "0 1000"]


def test_threads_stay_while_another_thread_may_take_results() -> None:
    assert not threads._is_nobody_left()
