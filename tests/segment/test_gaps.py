"""What the segments of one partition say together: holes, swapped files, what a broker noted."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.made.samples import sampled
from tests.query.range_logs import run as batches
from tests.query.range_logs import write
from tests.segment.logs import Log, write_indexes
from tests.segment.test_commands import Run, run  # noqa: F401

from kafka_segments import Damage, open_partition
from kafka_segments.cli.main import main
from kafka_segments.core.formats.entries import Batch
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.segment.segment import open_segment
from kafka_segments.errors import DataLossError, SegmentOrderError
from kafka_segments.log.discovery import discover
from kafka_segments.log.open_partition import open_log
from kafka_segments.log.replicas import resolve

RECORDED = Path(__file__).parents[1] / "vectors" / "recorded"
CLEAN = RECORDED / "kafka-4.3" / "clean"


def name(base_offset: int) -> str:
    return f"{base_offset:020d}.log"


def copied(tmp_path: Path, partition: str) -> Path:
    shutil.copytree(CLEAN / partition, tmp_path / "data" / partition)
    for noted in CLEAN.glob("*checkpoint"):
        if noted.is_file():
            shutil.copy(noted, tmp_path / "data")
    return tmp_path / "data" / partition


def told(directory: Path) -> list[Damage]:
    """What reading a partition tells; the same by each way to its records, and by its summary."""
    with open_partition(directory) as partition:
        events = [one for one in partition.iter_events(on_damage="skip") if isinstance(one, Damage)]
        found: list[Damage] = []
        partition.read_table(["offset"], on_damage=found.append)
        assert [str(one.error) for one in found] == [str(one.error) for one in events]
        return events


def lost(damages: list[Damage]) -> list[tuple[int | None, int | None]]:
    return [
        (one.first_lost_offset, one.last_lost_offset) for one in damages if one.first_lost_offset is not None
    ]


def offsets(directory: Path) -> list[int]:
    with open_partition(directory) as partition:
        return partition.read_table(["offset"], on_damage="skip")["offset"].to_pylist()


def swap(log: Path) -> None:
    os.rename(log / name(0), log / "x")
    os.rename(log / name(125), log / name(0))
    os.rename(log / "x", log / name(125))


def fill(path: Path, size: int) -> None:
    path.write_bytes(b"")
    os.truncate(path, size)


def cut_at_a_batch(log: Path) -> None:
    with open_segment(log / name(0)) as segment:
        batch = next(one for one in segment.iter_entries() if getattr(one, "base_offset", 0) >= 50)
    os.truncate(log / name(0), batch.position)


HOLES: list[tuple[str, Callable[[Path], object], list[tuple[int, int]]]] = [
    ("zeros", lambda log: fill(log / name(0), 15975), [(0, 124)]),
    ("empty", lambda log: fill(log / name(0), 0), [(0, 124)]),
    ("cut at a batch", cut_at_a_batch, [(50, 124)]),
    ("the newest is gone", lambda log: os.remove(log / name(125)), [(125, 205)]),
    ("the newest is empty", lambda log: fill(log / name(125), 0), [(125, 205)]),
]


@pytest.mark.parametrize(("spoil", "missing"), [one[1:] for one in HOLES], ids=[one[0] for one in HOLES])
def test_missing_offsets_are_damage(
    tmp_path: Path, spoil: Callable[[Path], object], missing: list[tuple[int, int]]
) -> None:
    log = copied(tmp_path, "multi-0")
    spoil(log)
    damages = told(log)
    assert lost(damages) == missing
    assert [type(one.error) for one in damages] == [DataLossError]
    with (
        open_partition(log) as partition,
        pytest.raises(DataLossError, match="take them from a replica") as raised,
    ):
        list(partition.iter_events())
    assert raised.value.path and raised.value.first_offset == missing[0][0]
    with open_partition(log) as partition, pytest.raises(DataLossError):
        partition.read_table()
    there = [offset for offset in range(206) if not missing[0][0] <= offset <= missing[0][1]]
    assert offsets(log) == there


def test_a_middle_segment_that_is_gone_puts_its_transactions_in_doubt(tmp_path: Path) -> None:
    log = copied(tmp_path, "transactions-0")
    os.remove(log / name(7))
    assert lost(told(log)) == [(7, 86)]
    with open_partition(log) as partition:
        assert [one.first_lost_offset for one in partition.outcome.damage] == [7]


@pytest.mark.parametrize(
    "spoil",
    [
        swap,
        lambda log: os.rename(log / name(125), log / name(100)),
        lambda log: os.rename(log / name(125), log / name(150)),
    ],
    ids=["swapped", "renamed lower", "renamed higher"],
)
def test_misnamed_segments_come_in_the_order_of_their_content(
    tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    log = copied(tmp_path, "multi-0")
    spoil(log)
    assert offsets(log) == list(range(206))
    damages = told(log)
    assert damages and {type(one.error) for one in damages} == {SegmentOrderError}
    assert lost(damages) == []
    with open_partition(log) as partition, pytest.raises(SegmentOrderError, match="should hold"):
        list(partition.iter_events())


def test_swapped_segments_leave_transactions_as_they_were(tmp_path: Path) -> None:
    log = copied(tmp_path, "transactions-0")
    with open_partition(log) as partition:
        aborted = partition.aborted_transactions()
        committed = partition.read_table(isolation="read_committed")
    os.rename(log / name(7), log / "x")
    os.rename(log / name(88), log / name(7))
    os.rename(log / "x", log / name(88))
    with open_partition(log) as partition:
        assert partition.aborted_transactions() == aborted
        assert partition.read_table(isolation="read_committed", on_damage="skip") == committed


def test_indexes_without_their_segment_tell_that_it_is_gone(tmp_path: Path) -> None:
    log = copied(tmp_path, "multi-0")
    os.remove(log / name(125))
    for noted in log.parent.glob("*-offset-checkpoint"):
        noted.unlink()
    (damage,) = told(log)
    assert damage.first_lost_offset == 125
    assert "00000000000000000125" in str(damage.error)


def test_a_log_that_begins_above_its_start(tmp_path: Path) -> None:
    log = copied(tmp_path, "multi-0")
    (log.parent / "log-start-offset-checkpoint").write_text("0\n1\nmulti 0 40\n")
    for path in log.glob(f"{0:020d}.*"):
        path.unlink()
    assert lost(told(log)) == [(40, 124)]


def test_zeros_larger_than_a_segment_can_be(tmp_path: Path) -> None:
    log = copied(tmp_path, "multi-0")
    fill(log / name(206), (1 << 31) - 1)
    assert told(log) == []
    fill(log / name(206), 1 << 31)
    (damage,) = told(log)
    assert "a broker makes no segment" in str(damage.error)


def test_where_the_cleaner_was_nothing_is_missing(tmp_path: Path) -> None:
    log = tmp_path / "topic-3"
    write(log, 0, batches(0, 4))
    write(log, 60, batches(60, 2))
    assert lost(told(log)) == [(20, 59)]
    (tmp_path / "cleaner-offset-checkpoint").write_text("0\n1\ntopic 3 60\n")
    assert told(log) == []
    (tmp_path / "cleaner-offset-checkpoint").write_text("0\n1\ntopic 3 59\n")
    assert lost(told(log)) == [(59, 59)]  # it had not come to that one
    write(log, 60, batches(60, 2) + batches(80, 2))
    assert told(log) == []


@pytest.mark.parametrize(
    "root", sampled(sorted(path.parent for path in RECORDED.glob("*/*/*-0") if path.is_dir()))
)
def test_what_brokers_left_has_no_gaps(root: Path) -> None:
    for log in resolve(Places(), discover(Places(), [str(root)])):
        with open_log(Places(), log) as partition:
            assert partition.gaps == ()


@pytest.mark.parametrize(
    "spoil", [one[1] for one in HOLES] + [swap], ids=[*(one[0] for one in HOLES), "swapped"]
)
def test_aborted_tells_them(run: Run, tmp_path: Path, spoil: Callable[[Path], object]) -> None:  # noqa: F811
    log = copied(tmp_path, "multi-0")
    spoil(log)
    status, lines, _said = run("aborted", "--format", "jsonl", log)
    assert status == 1
    assert [line["error"] for line in lines if line["type"] == "error"]


def files_of(log: Path) -> list[Path]:
    return sorted(log.glob("*.log"))


@pytest.mark.parametrize(
    "spoil", [one[1] for one in HOLES] + [swap], ids=[*(one[0] for one in HOLES), "swapped"]
)
def test_dump_of_all_segments_tells_them(run: Run, tmp_path: Path, spoil: Callable[[Path], object]) -> None:  # noqa: F811
    log = copied(tmp_path, "multi-0")
    spoil(log)
    status, lines, said = run("dump", "--format", "jsonl", *files_of(log))
    assert status == 1
    assert re.search(
        r"offsets \d+ to \d+ are missing|holds offsets \d+ to \d+, and by the segments' names", said
    )
    assert all(line["type"] != "error" for line in lines), "standard output is as the contract has it"


def test_dump_compares_segments_that_follow_on_each_other(run: Run, tmp_path: Path) -> None:  # noqa: F811
    log = copied(tmp_path, "transactions-0")
    first, second, third, fourth = files_of(log)
    assert run("dump", first, third)[0] == 0, "the one between them was not given"
    assert run("dump", first, second, third, fourth)[0] == 0
    second.unlink()
    status, _lines, said = run("dump", first, third)
    assert status == 1 and "offsets 7 to 86 are missing" in said
    assert run("dump", "--offsets", "87:", first, third)[0] == 0


@pytest.mark.parametrize(
    "spoil", [one[1] for one in HOLES] + [swap], ids=[*(one[0] for one in HOLES), "swapped"]
)
def test_plan_tells_them(run: Run, tmp_path: Path, spoil: Callable[[Path], object]) -> None:  # noqa: F811
    log = copied(tmp_path, "multi-0")
    spoil(log)
    status, lines, _said = run("plan", "--format", "jsonl", log)
    assert status == 1
    assert [line for line in lines if line["type"] in ("loss", "finding")]


@pytest.mark.parametrize(
    ("spoil", "missing"), [one[1:] for one in HOLES[:3]], ids=[one[0] for one in HOLES[:3]]
)
def test_plan_says_once_which_offsets_are_missing(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    spoil: Callable[[Path], object],
    missing: list[tuple[int, int]],
) -> None:
    log = copied(tmp_path, "multi-0")
    spoil(log)
    assert main(["plan", str(log)]) == 1
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("lost: ")]
    ((first, last),) = missing
    assert line.count("missing") == 1 and f"offsets {first} to {last} are missing: " in line


def test_plan_says_what_it_did_not_look_at(run: Run, tmp_path: Path) -> None:  # noqa: F811
    log = copied(tmp_path, "multi-0")
    for path in log.glob("*.index"):
        path.unlink()
    status, lines, _said = run("plan", "--format", "jsonl", "-o", "maxWalkBytes=1000", log)
    (remark,) = [line for line in lines if line["type"] == "remark"]
    assert status == 0 and "2 of them have no index" in remark["why"]
    status, lines, _said = run("plan", "--format", "jsonl", log / name(125))
    assert status == 0 and not [line for line in lines if line["type"] == "loss"]


def test_plan_tells_a_segment_that_cannot_be_opened(run: Run, tmp_path: Path) -> None:  # noqa: F811
    log = copied(tmp_path, "multi-0")
    (log / name(0)).unlink()
    (log / name(0)).symlink_to("nowhere")
    status, lines, _said = run("plan", "--format", "jsonl", log)
    assert status == 1
    assert [line["path"] for line in lines if line["type"] == "finding"] == [str(log / name(0))]


def test_plan_of_what_brokers_left_is_clean(run: Run) -> None:  # noqa: F811
    assert run("plan", "--format", "jsonl", CLEAN)[0] == 0


def test_what_follows_a_transaction_whose_end_is_gone_is_given_out(tmp_path: Path) -> None:
    """A snapshot knows the transaction; the producer's next one begins right behind what is missing."""
    log = Log()
    log.data(10)
    log.roll()
    log.commit(10)
    begin = log.offset
    log.data(10, 3)
    log.commit(10)
    folder = log.write(tmp_path)
    write_indexes(log, folder)
    whole = max(folder.glob("*.log"))
    with open_partition(folder) as partition:
        cut = next(
            e.end_position
            for e in partition.iter_events()
            if isinstance(e, Batch) and e.base_offset == begin - 1
        )
    whole.write_bytes(whole.read_bytes()[cut:])
    min(folder.glob("*.log")).unlink()
    with open_partition(folder) as partition:
        rows = partition.read_table(["offset"], isolation="read_committed", on_damage="skip")
    assert rows["offset"].to_pylist() == [begin, begin + 1, begin + 2]
