"""Planning ends, quickly, whatever segments are called and whatever their indexes say."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from tests import work
from tests.query import logs
from tests.query.range_logs import one, run

from kafka_segments.cli.main import main
from kafka_segments.core.io.filesystems import Places
from kafka_segments.errors import OptionError
from kafka_segments.log.discovery import discover
from kafka_segments.log.replicas import resolve
from kafka_segments.query import cut
from kafka_segments.query.plan import Plan, plan
from kafka_segments.query.query import Limits, Query

MOST_CALLS = 2_000_000


def made_of(directory: Path, **limits: int) -> Plan:
    places = Places()
    return plan(resolve(places, discover(places, [str(directory)])), Query(limits=Limits(**limits)), places)


def of_segments(directory: Path, segments: dict[int, bytes]) -> Path:
    directory.mkdir()
    for base_offset, data in segments.items():
        (directory / f"{base_offset:020d}.log").write_bytes(data)
    return directory


def num_splits(made: Plan) -> int:
    return sum(map(len, made.tasks))


@pytest.mark.parametrize("has_index", [False, True])
def test_a_gap_between_two_names_makes_no_splits(tmp_path: Path, has_index: bool) -> None:
    far = 1 << 40
    log = of_segments(tmp_path / "topic-3", {0: run(0, 20), far: one(far)})
    if has_index:
        (log / f"{0:020d}.index").write_bytes(bytes.fromhex("00000009 000000a0"))
    with work.at_most(MOST_CALLS):
        made = made_of(log, max_records=10)
    assert num_splits(made) <= 12


def test_an_index_that_lies_makes_no_splits(tmp_path: Path) -> None:
    log = of_segments(tmp_path / "topic-3", {0: run(0, 20), 1 << 31: one(1 << 31)})
    lies = b"".join(
        bytes.fromhex(f"{offset:08x}{at:08x}") for at, offset in enumerate([9, 1 << 20, (1 << 31) - 1])
    )
    (log / f"{0:020d}.index").write_bytes(lies)
    assert num_splits(made_of(log, max_records=1)) <= 102


def test_a_batch_that_lies_makes_no_splits(tmp_path: Path) -> None:
    log = of_segments(tmp_path / "topic-3", {0: run(0, 4) + one(1 << 61)})
    assert num_splits(made_of(log, max_records=5)) <= 10


def test_more_splits_than_can_be_planned_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = logs.write(tmp_path, [logs.Entry("create2", (1, 1))] * 60, segment_bytes=1 << 20)
    monkeypatch.setattr(cut, "MAX_CUTS", 50)
    assert num_splits(made_of(log, max_records=4)) == 30
    with pytest.raises(OptionError, match=r"more than 50 splits: give a larger maxRecordsPerPartition"):
        made_of(log, max_records=1)


def strange_names(rng: random.Random) -> list[str]:
    """Names that a directory may hold: no file system forbids them."""
    highest = (1 << 63) - 1
    numbers = [rng.randrange(1 << rng.randrange(1, 63)) for _ in range(500)]
    numbers += [highest - at for at in range(0, 1000, 7)] + [highest + at for at in range(1, 60)]
    names = [f"{number:020d}.log" for number in numbers]
    names += [
        "0.log",
        "00.log",
        "000.log",
        "-1.log",
        f"{-1:020d}.log",
        "1e3.log",
        f"{0:021d}.log",
        f"{7:019d}.log",
    ]
    names += ["\u0660" * 20 + ".log", "\uff10" * 20 + ".log", "\x1b[2J.log"]
    names += ["a\nb.log", "\t.log", " .log", ".log"]
    names += [
        f"{at:020d}{suffix}" for at in range(40) for suffix in (".log.deleted", ".log.swap", ".cleaned")
    ]
    return [*dict.fromkeys(names)]


@pytest.mark.parametrize("limits", [{}, {"max_records": 100}, {"min_partitions": 1000}])
def test_a_thousand_files_with_any_names_are_planned_in_time(tmp_path: Path, limits: dict[str, int]) -> None:
    rng = random.Random(38)
    log = tmp_path / "topic-3"
    log.mkdir()
    makers: list[Callable[[], bytes]] = [
        lambda: run(rng.randrange(1 << 40), 3),
        lambda: one((1 << 62) + rng.randrange(100)),
        lambda: b"",
        lambda: bytes(rng.randrange(200)),
        lambda: rng.randbytes(200),
    ]
    names = strange_names(rng)
    assert len(names) > 700
    for name in [*names, *(f"x{at}.log" for at in range(1000 - len(names)))]:
        (log / name).write_bytes(rng.choice(makers)())
        if rng.random() < 0.3 and name.endswith(".log"):
            (log / f"{name[:-4]}.index").write_bytes(rng.randbytes(80))
    with work.at_most(MOST_CALLS):
        made = made_of(log, **limits)
    assert num_splits(made) < 10_000


def test_the_command_plans_them_too(tmp_path: Path) -> None:
    log = of_segments(tmp_path / "topic-3", {0: run(0, 20), 1 << 40: one(1 << 40)})
    with work.at_most(MOST_CALLS):
        assert main(["plan", str(log), "-o", "maxRecordsPerPartition=10"]) in (0, 1)
