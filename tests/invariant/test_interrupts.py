"""Ctrl-C ends every command, wherever it comes: also where Python loses the exception that it raises."""

from __future__ import annotations

import inspect
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any
from unittest import mock

import pytest
from tests import work
from tests.forms import pick
from tests.in_process import run_main
from tests.ingest.killed import HEEDING
from tests.invariant.calls import CALLS, Call, Places, in_short, make_places, make_table
from tests.python import run_python

import kafka_segments
from kafka_segments.cli import main as command
from kafka_segments.core.io.signals import check_not_ended, ended_by_signals

SOME = [call for call in CALLS if call.writes or call.words in ("dump SRC", "ls -l SRC", "verify SRC")]
SIGNALS = {signal.SIGINT: (130, "interrupted"), signal.SIGTERM: (143, "terminated")}


@pytest.fixture(autouse=True)
def heeding() -> Iterator[None]:
    """A job that a shell has put into the background ignores SIGINT, as do its children."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_table(tmp_path_factory.mktemp("table"))


class Lossy:
    """An object whose destructor does something."""

    def __init__(self, do: Callable[[], object]) -> None:
        self._do = do

    def __del__(self) -> None:
        self._do()


def lossy_generator(do: Callable[[], object]) -> Iterator[None]:
    """A generator that does something when it is closed."""
    try:
        yield
    finally:
        do()


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("is_generator", [False, True])
def test_what_a_destructor_has_swallowed_is_raised_again(
    number: int, is_generator: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises((KeyboardInterrupt, SystemExit)), ended_by_signals():
        if is_generator:
            next(lossy := lossy_generator(lambda: signal.raise_signal(number)))
        else:
            lossy = Lossy(lambda: signal.raise_signal(number))
        del lossy
        with pytest.raises((KeyboardInterrupt, SystemExit)):
            check_not_ended()
        until = time.monotonic() + work.HANGS
        while time.monotonic() < until:
            pass
        pytest.fail("the signal was lost")
    assert capsys.readouterr().err == ""


def test_a_signal_that_is_lost_last_of_all() -> None:
    with pytest.raises(KeyboardInterrupt), ended_by_signals():
        Lossy(lambda: signal.raise_signal(signal.SIGINT))
    with ended_by_signals():  # it is forgotten now
        check_not_ended()


def test_an_interrupt_that_passes_through_exec_ends_with_its_status() -> None:
    code = f"""{HEEDING}
import sys
from kafka_segments.cli import main
main._command = lambda words: exec("signal.raise_signal(signal.SIGINT)", globals())
sys.exit(main.main([]))"""
    assert run_python("-c", code, status=130).stderr == "kafka-segments: interrupted\n"


def test_what_an_interrupt_makes_fail_is_an_interrupt() -> None:
    with pytest.raises(KeyboardInterrupt), ended_by_signals():
        try:
            signal.raise_signal(signal.SIGINT)
        finally:
            raise OSError("a file was not there yet")


def test_a_second_signal_does_not_interrupt_the_clean_up() -> None:
    is_clean = False
    with pytest.raises(KeyboardInterrupt), ended_by_signals():
        try:
            signal.raise_signal(signal.SIGINT)
        finally:
            for number in SIGNALS:
                signal.raise_signal(number)
            time.sleep(0.3)
            is_clean = True
    assert is_clean


def test_an_ignored_signal_stays_ignored() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with ended_by_signals():
        signal.raise_signal(signal.SIGINT)
        check_not_ended()


def test_in_another_thread_nothing_is_changed() -> None:
    seen: list[Any] = []

    def run() -> None:
        with ended_by_signals():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert seen == [signal.default_int_handler]


def run_interrupted(
    places: Places, call: Call, code: CodeType | None = None, at: int = 0, number: int = signal.SIGINT
) -> tuple[int, str, Counter[CodeType]]:
    """Run a call that a signal ends where a function begins for the `at`-th time.

    Returns:
        The status, what was said, and how often each function has begun.
    """
    begun: Counter[CodeType] = Counter()

    def watch(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call":
            begun[frame.f_code] += 1
            if frame.f_code == code and begun[code] == at:
                sys.setprofile(None)
                signal.raise_signal(number)

    true_command = command._command

    def watched(words: list[str]) -> int:
        sys.setprofile(watch)
        try:
            return true_command(words)
        finally:
            sys.setprofile(None)

    with mock.patch.object(command, "_command", watched):
        status, _, error = run_main(places.words(call))
    return status, error, begun


def moments(begun: Counter[CodeType], chance: random.Random) -> list[tuple[CodeType, int]]:
    """Functions, and how often they have begun when the signal comes: half of them are lossy."""
    codes = sorted(begun, key=lambda one: (one.co_filename, one.co_firstlineno, one.co_name))
    lossy = [one for one in codes if one.co_name == "__del__" or one.co_flags & inspect.CO_GENERATOR]
    num = pick(2, 8)
    some = [*chance.sample(lossy, min(num, len(lossy))), *chance.sample(codes, min(num, len(codes)))]
    return [(one, chance.choice([begun[one], chance.randint(1, begun[one])])) for one in some]


def names_in(folder: Path) -> list[str]:
    """The names of all that is in a folder."""
    return sorted(one.relative_to(folder).as_posix() for one in folder.rglob("*"))


@pytest.mark.long
@pytest.mark.parametrize("call", in_short(pick(SOME, CALLS), slow=False))
def test_an_interrupt_at_any_function(
    call: Call, tmp_path: Path, table: Path, tell: Callable[[str, dict[str, int]], None]
) -> None:
    """Its status is that of Ctrl-C, and what it was to write is there whole, or nothing of it is."""
    places = make_places(tmp_path, table if "TABLE" in call.words else None)

    def begin_anew() -> None:
        shutil.rmtree(places.out.parent)
        places.out.parent.mkdir()
        if "TABLE" in call.words:
            shutil.rmtree(places.table)
            shutil.copytree(table, places.table)

    run_interrupted(places, call)  # what is compiled or imported once is, then
    begin_anew()
    status, error, begun = run_interrupted(places, call)
    assert status == 0, error
    whole = names_in(places.out.parent)
    for code, at in moments(begun, random.Random(call.words)):
        begin_anew()
        number = signal.SIGINT if at % 3 else signal.SIGTERM
        status, error, found = run_interrupted(places, call, code, at, number)
        where = f"{code.co_filename}:{code.co_firstlineno}, time {at}"
        if found[code] < at:
            continue  # a cache or a timer made it begin more often before
        assert (status, error.splitlines()[-1:]) == (
            SIGNALS[number][0],
            [f"kafka-segments: {SIGNALS[number][1]}"],
        ), (where, error)
        if call.writes in ("file", "directory"):
            assert names_in(places.out.parent) in ([], whole), where
        elif call.writes:
            compact = ["compact", str(places.table), "--engine", "local"]
            next_run = compact if call.writes == "in place" else places.words(call)
            assert run_main(next_run)[0] == 0, where  # what was committed is published now
            audited = places.table if call.writes == "in place" else places.out
            assert run_main(["audit", str(audited)])[0] == 0, where
        tell("interrupts", {"at functions": 1})


LONGER = (
    "salvage SRC OUT",
    "verify --jobs 2 SRC",
    "ingest --engine local SRC OUT",
    "convert LOG OUT --codec zstd",
    "dump --format jsonl SRC",
    "find --jobs 2 --regex zz.z SRC",
    "ls -l --headers SRC",
    "report SRC -o OUT",
    "sizes --whole SRC",
    "verify SRC",
)
SECONDS_TO_END = 10  # on a busy machine; mostly it is a tenth of one


@pytest.fixture(scope="module")
def larger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log directory that commands take seconds for."""
    folder = tmp_path_factory.mktemp("larger")
    value = random.Random(0).randbytes(300) + b"a" * 300
    for number, codec in enumerate(("none", "zstd", "lz4", "gzip")):
        name = "multi-0" if number == 0 else f"t-{number}"
        with kafka_segments.open_partition_writer(folder / name, compression=codec) as writer:
            for start in range(0, pick(10, 60) * 1000, 1000):
                rows = [{"timestamp": start + one, "key": b"k", "value": value} for one in range(1000)]
                writer.write(rows)
    return folder


@pytest.mark.long
@pytest.mark.parametrize("words", pick(LONGER[:2], LONGER))
def test_an_interrupt_at_any_time(
    words: str, larger: Path, tmp_path: Path, tell: Callable[[str, dict[str, int]], None]
) -> None:
    places = Places(larger, tmp_path, tmp_path / "made" / "out")
    code = f"{HEEDING}\nimport sys\nfrom kafka_segments.cli.main import main\n"
    code += "print('began', file=sys.stderr, flush=True)\nsys.exit(main(sys.argv[1:]))"
    chance, seconds, num = random.Random(words), 0.0, pick(1, 2)
    for number in range(num + 1):
        shutil.rmtree(places.out.parent, ignore_errors=True)
        places.out.parent.mkdir()
        process = subprocess.Popen(
            [sys.executable, "-c", code, *places.words(Call(words))],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        with process:
            assert process.stderr is not None
            process.stderr.readline()
            began = time.monotonic()
            if number == 0:
                process.communicate()
                seconds = time.monotonic() - began
                continue
            time.sleep(chance.uniform(0, seconds))
            is_over = process.poll() is not None
            process.send_signal(signal.SIGINT)
            sent = time.monotonic()
            error = process.communicate(timeout=work.HANGS)[1]
        left = time.monotonic() - sent
        if is_over or (process.returncode in (0, 1, -signal.SIGINT) and left < max(1, seconds / 4)):
            continue  # it was at its end
        assert (process.returncode, error.splitlines()[-1]) == (130, "kafka-segments: interrupted"), error
        assert "Traceback" not in error
        assert left < max(SECONDS_TO_END, 4 * seconds)
        assert names_in(places.out.parent) == [] or "OUT" not in words
        tell("interrupts", {"at any time": 1})
