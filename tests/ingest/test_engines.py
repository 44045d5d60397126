"""Engines: tasks in this process and in others, their errors, their ends; the same bytes from all."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests import work
from tests.forms import pick
from tests.ingest.ingested import request_of
from tests.python import environment
from tests.spark import kafka_rows

from kafka_segments.cli.main import main
from kafka_segments.core.io.jobs import LocalEngine, in_processes
from kafka_segments.core.segment.columnar.arrow_schema import SCHEMA
from kafka_segments.errors import OutputError, TimestampRangeError
from kafka_segments.ingest.job import ingest
from kafka_segments.ingest.run_plan import plan_ingest
from kafka_segments.query.query import Query, Topics

CLEAN = kafka_rows.RECORDED / "kafka-4.3/clean"


@dataclass(frozen=True)
class Echo:
    number: int
    num_bytes: int = 1

    def run(self) -> tuple[int, int]:
        return self.number, os.getpid()


@dataclass(frozen=True)
class Failing:
    num_bytes: int = 1

    def run(self) -> int:
        raise TimestampRangeError("too far", offset=3, timestamp=1 << 62)


@dataclass(frozen=True)
class Dying:
    num_bytes: int = 1

    def run(self) -> int:
        os.kill(os.getpid(), signal.SIGKILL)
        return 0


@dataclass(frozen=True)
class Sleeping:
    path: str
    num_bytes: int = 1

    def run(self) -> int:
        Path(self.path, str(os.getpid())).touch()
        time.sleep(10 * work.HANGS)
        return 0


@pytest.mark.parametrize("num_processes", [1, 2])
def test_results_come_in_order(num_processes: int) -> None:
    shown: list[tuple[int, int]] = []
    tasks = [Echo(number) for number in range(5)]
    found = LocalEngine(num_processes).run(tasks, lambda *numbers: shown.append(numbers))
    assert [number for number, _ in found] == list(range(5))
    assert ({pid for _, pid in found} == {os.getpid()}) is (num_processes == 1)
    assert (shown[0], shown[-1]) == ((0, 5), (5, 5))
    assert LocalEngine(num_processes).run([], None) == []


@pytest.mark.parametrize("num_processes", [1, 2])
def test_errors_come_home_as_they_were(num_processes: int) -> None:
    with pytest.raises(TimestampRangeError, match="too far") as caught:
        LocalEngine(num_processes).run([Echo(0), Failing()])
    assert (caught.value.offset, caught.value.timestamp) == (3, 1 << 62)


def test_a_process_that_is_killed_is_told() -> None:
    with pytest.raises(OutputError, match="a process that ran a task was killed"):
        LocalEngine(2).run([Dying(), Echo(1)])
    assert multiprocessing.active_children() == []


def numbers_below(number: int) -> Iterator[bytes]:
    if number == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    yield from (bytes([one]) * 40_000 for one in range(number))


def test_results_of_a_process_that_is_killed_are_missing_and_no_others() -> None:
    found: list[int] = []
    with in_processes(numbers_below, range(6), 3, OutputError("killed")) as results:
        for number, own in enumerate(results):
            with pytest.raises(OutputError, match="killed") if number == 1 else nullcontext():
                found.append(sum(len(one) // 40_000 for one in own))  # together more than a pipe holds
    assert found == [0, 2, 3, 4, 5]
    assert multiprocessing.active_children() == []


PROGRAM = """
import signal
import sys
from kafka_segments.core.io.jobs import LocalEngine
from tests.ingest.test_engines import Sleeping
signal.signal(signal.SIGINT, signal.default_int_handler)  # a run in the background ignores it
LocalEngine(2).run([Sleeping(sys.argv[1])] * 2)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_the_tasks_end_with_the_one_who_asked_for_them(tmp_path: Path, number: signal.Signals) -> None:
    command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    with subprocess.Popen(command, env=environment(), stderr=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + work.HANGS
        while len(list(tmp_path.iterdir())) < 2 and time.monotonic() < deadline:
            time.sleep(0.05)
        pids = [int(path.name) for path in tmp_path.iterdir()]
        assert len(pids) == 2
        process.send_signal(number)
        assert process.wait(timeout=work.HANGS) != 0
    while any(map(is_running, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert [pid for pid in pids if is_running(pid)] == []


def is_running(pid: int) -> bool:
    try:
        state = Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def contents(destination: Path) -> dict[str, bytes]:
    """The data files, by partition and first offset: their names are random."""
    return {
        f"{path.parent.relative_to(destination)}/{path.name[:20]}": path.read_bytes()
        for path in destination.rglob("*.parquet")
    }


@pytest.mark.long
@pytest.mark.parametrize("name", pick(("kafka-0.9/before-cleaning", "kafka-4.3/clean"), kafka_rows.SETS))
def test_processes_write_the_bytes_of_one(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafka_segments.ingest.splits._TASK_BYTES", 8 << 20)  # several tasks
    topics = frozenset(kafka_rows.split_name(one)[0] for one in kafka_rows.partitions(name))
    query, source = Query(topics=Topics(names=topics)), (str(kafka_rows.RECORDED / name),)
    accounts = []
    for number in (1, 2):
        request = request_of(source, str(tmp_path / str(number)), query, tuple(SCHEMA.names))
        accounts.append(ingest(plan_ingest(request), LocalEngine(number)).run.accounts)
    assert accounts[0] == accounts[1]
    assert contents(tmp_path / "1") == contents(tmp_path / "2")


def test_the_engine_is_chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["ingest", str(CLEAN / "multi-0"), str(tmp_path / "out")]) == 0
    assert "starting tasks" in capsys.readouterr().err, "without Java, here"
    assert main(["ingest", "--master", "local", str(CLEAN / "multi-0"), str(tmp_path / "other")]) == 2
    assert "which was not found" in capsys.readouterr().err
    words = ["ingest", "--engine", "local", "--master", "local"]
    assert main([*words, str(CLEAN / "multi-0"), str(tmp_path / "other")]) == 2
    assert "--master is only for --engine spark" in capsys.readouterr().err
    assert not (tmp_path / "other").exists()
