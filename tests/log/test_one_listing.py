"""Tiers, replicas and addresses through `open_partition`, `dump` and `aborted`."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.folders import files_in
from tests.log.memory import MemoryPlaces
from tests.log.tiers import TOPIC_ID, aivens, copy_of, kafkas
from tests.segment.test_commands import Run, run  # noqa: F401

from kafka_segments import open_partition
from kafka_segments.cli import sources
from kafka_segments.core.formats.entries import Damage, Record
from kafka_segments.core.io.filesystems import Places
from kafka_segments.errors import DataLossError, OptionError

RECORDED = Path(__file__).resolve().parents[1] / "vectors" / "recorded" / "kafka-4.3"
TRANSACTIONS = RECORDED / "clean" / "transactions-0"
BOTH = pytest.mark.parametrize("make", [kafkas, aivens])

Make = Callable[..., Path]


def records(path: Any, **options: Any) -> list[Record]:
    with open_partition(path, **options) as partition:
        return [one for one in partition.iter_events() if isinstance(one, Record)]


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> MemoryPlaces:
    """The recorded partition, at an address."""
    places = MemoryPlaces(
        {f"m:/logs/transactions-0/{name}": data for name, data in files_in(TRANSACTIONS).items()}
    )
    monkeypatch.setattr(sources, "Places", lambda *_settings, **_options: places)
    for name in ("entry", "entries", "open", "read_whole"):
        here, there = getattr(Places(), name), getattr(places, name)

        def either(path: str, *more: Any, here: Any = here, there: Any = there) -> Any:
            return (there if path.startswith("m:") else here)(path, *more)

        monkeypatch.setattr(places, name, either)
    return places


@BOTH
def test_a_tiers_partition_is_read_as_the_brokers(tmp_path: Path, make: Make) -> None:
    directory = make(copy_of(TRANSACTIONS), tmp_path)
    wanted = records(TRANSACTIONS)
    for path in (directory, tmp_path):
        found = records(path)
        assert found == wanted[: len(found)] and len(found) > 80
    with open_partition(directory) as partition, open_partition(TRANSACTIONS) as whole:
        aborted_there = partition.aborted_transactions()
        assert aborted_there == whole.aborted_transactions()[: len(aborted_there)] and aborted_there
        assert partition.gaps == ()
        assert partition.check_indexes() == []
        assert (partition.topic, partition.partition) == ("transactions", 0)
        table = partition.read_table(["offset"], isolation="read_committed")
        assert 0 < table.num_rows < len(found)


@BOTH
def test_a_tiers_segments_that_overlap_are_read_once(tmp_path: Path, make: Make) -> None:
    copy = copy_of(TRANSACTIONS)
    make(copy, tmp_path)
    directory = make(copy, tmp_path, first_id=50)  # the same, uploaded again
    assert len(list(directory.glob("*.log"))) == 2 * (len(copy.segments) - 1)
    found = records(directory)
    assert found == records(TRANSACTIONS)[: len(found)]


@BOTH
def test_what_a_tier_lacks_is_lost(tmp_path: Path, make: Make) -> None:
    directory = make(copy_of(TRANSACTIONS), tmp_path)
    for path in directory.glob(f"{7:020}-*"):
        path.unlink()
    with open_partition(directory) as partition:
        told = [one for one in partition.iter_events(on_damage="skip") if isinstance(one, Damage)]
    assert [type(one.error) for one in told] == [DataLossError]
    assert (told[0].first_lost_offset, told[0].last_lost_offset) == (7, 86)


@BOTH
def test_dump_of_a_tier(tmp_path: Path, make: Make, run: Run) -> None:  # noqa: F811
    directory = make(copy_of(TRANSACTIONS), tmp_path)
    for options in ([], ["--isolation", "read_committed"]):
        wanted = run("dump", "--format", "jsonl", *options, TRANSACTIONS)[1]
        wanted = [line["offset"] for line in wanted if line["type"] == "record"]
        for paths in ([directory], sorted(directory.glob("*.log"))):
            status, lines, said = run("dump", "--format", "jsonl", *options, *paths)
            found = [line["offset"] for line in lines if line["type"] == "record"]
            assert (status, said) == (0, "")
            assert found and found == wanted[: len(found)]
    for path in sorted(directory.glob("*"))[:1]:
        path.unlink()
    assert "left out: an upload that was not completed" in run("dump", "--format", "jsonl", directory)[2]


def test_addresses_are_read_as_paths(store: MemoryPlaces, run: Run) -> None:  # noqa: F811
    address = "m:/logs/transactions-0"
    assert records(address, places=store) == records(TRANSACTIONS)
    for verb in ("dump", "aborted"):
        here = run(verb, "--format", "jsonl", TRANSACTIONS)
        for given in (address, "m:/logs", "m:/logs/trans*-?"):
            there = run(verb, "--format", "jsonl", given)
            assert (there[0], len(there[1])) == (here[0], len(here[1]))
            assert all(line.get("path", address).startswith(address) for line in there[1])
    file = f"{address}/{7:020}.log"
    for options in ([], ["--isolation", "read_committed"]):
        here = run("dump", "--format", "jsonl", *options, TRANSACTIONS / f"{7:020}.log")
        there = run("dump", "--format", "jsonl", *options, file)
        assert [{**line, "path": ""} for line in there[1]] == [{**line, "path": ""} for line in here[1]]
    assert len(run("aborted", "--format", "jsonl", file)[1]) < len(
        run("aborted", "--format", "jsonl", address)[1]
    )
    assert run("dump", "m:/none/*")[0] == 2


def test_replicas(tmp_path: Path, run: Run) -> None:  # noqa: F811
    for disk in ("one", "two"):
        shutil.copytree(TRANSACTIONS, tmp_path / disk / "transactions-0")
    with pytest.raises(OptionError, match=r"2 copies of a partition .*kafka_segments\.scan"):
        open_partition(tmp_path / "*")
    whole = run("aborted", "--format", "jsonl", tmp_path / "one")[1]
    last = max((tmp_path / "one" / "transactions-0").glob("*.log"))
    last.unlink()
    status, lines, said = run("aborted", "--format", "jsonl", tmp_path / "one", tmp_path / "two")
    assert (status, said) == (0, "")
    assert [{**line, "path": ""} for line in lines] == [{**line, "path": ""} for line in whole]
    status, lines, _said = run("dump", "--format", "jsonl", tmp_path / "one", tmp_path / "two")
    assert len({line["path"] for line in lines}) == 2 * len(list(TRANSACTIONS.glob("*.log"))) - 1


def test_a_tier_and_a_broker_are_one_log_for_aborted(tmp_path: Path, run: Run) -> None:  # noqa: F811
    copy = copy_of(TRANSACTIONS)
    aivens(copy, tmp_path / "tier")
    local = tmp_path / "broker" / "transactions-0"
    shutil.copytree(TRANSACTIONS, local)
    for segment in copy.segments[:-1]:
        for path in local.glob(f"{segment.base_offset:020}.*"):
            path.unlink()
    (local / "partition.metadata").write_text(f"version: 0\ntopic_id: {TOPIC_ID}")
    wanted = run("aborted", "--format", "jsonl", TRANSACTIONS)[1]
    status, lines, said = run("aborted", "--format", "jsonl", tmp_path / "tier", tmp_path / "broker")
    assert (status, said) == (0, "")
    assert [{**line, "path": ""} for line in lines] == [{**line, "path": ""} for line in wanted]
