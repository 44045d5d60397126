"""What salvage takes from which copy, and what it says of the rest."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest
from tests.made.sound_batches import sound_batches
from tests.salvage.accounts import Account, salvaged
from tests.salvage.made import T0, batches_of, copy_of, edit, hurt, partition, segment, set_epoch
from tests.verify.test_plants import verified

import kafka_segments as ks
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.segment.beside.index_files import read_leader_epochs, read_producer_snapshot
from kafka_segments.core.segment.beside.index_files import read_transaction_index as read_aborted
from kafka_segments.errors import OptionError
from kafka_segments.salvage.salvaging import salvage

BATCHES = ((3, "a"), (2, "b"), (4, "c"), (1, "d"))


def offsets_in(account: Account, name: str = "t-0") -> list[tuple[int, int]]:
    """The offsets of each batch of the result."""
    return [(one.base_offset, one.last_offset) for one in sound_batches(account.result_bytes(name))]


def test_a_sound_partition_is_copied_as_it_is(tmp_path: Path) -> None:
    source = copy_of("clean/multi-0", tmp_path / "source")
    account = salvaged([source], tmp_path / "dest")
    made = account.log("multi-0")
    logs = {path.name: path.read_bytes() for path in source.glob("*.log")}
    assert {path.name: path.read_bytes() for path in made.glob("*.log")} == logs
    for name in ("leader-epoch-checkpoint", "partition.metadata"):
        assert (made / name).read_bytes() == (source / name).read_bytes()
    assert not (tmp_path / "dest" / "quarantine").exists()
    assert {path.name for path in (tmp_path / "dest" / "log").iterdir()} == {
        "multi-0",
        ".kafka_cleanshutdown",
        "log-start-offset-checkpoint",
        "recovery-point-offset-checkpoint",
        "replication-offset-checkpoint",
    }


def test_a_damaged_batch_is_put_aside_and_its_offsets_are_named(tmp_path: Path) -> None:
    source = partition(tmp_path / "one", *BATCHES)
    hurt(source, 1)
    account = salvaged([source], tmp_path / "dest")
    assert offsets_in(account) == [(0, 2), (5, 8), (9, 9)]
    assert account.only()["missing"] == [{"first_offset": 3, "last_offset": 4}]
    (reason,) = account.reasons()
    assert reason.startswith("the checksum of the batch is wrong: stored ")


def test_a_partition_that_no_source_has_is_named(tmp_path: Path) -> None:
    one, two = (partition(tmp_path / name, *BATCHES).parent for name in ("one", "two"))
    for name in ("replication-offset-checkpoint", "recovery-point-offset-checkpoint"):
        (one / name).write_text("0\n2\nt 0 10\nt 1 10\n")
    (one / ".kafka_cleanshutdown").touch()
    found = salvage([str(one), str(two)], str(tmp_path / "dest"), places=Places())
    assert found.has_findings and "no source has t-1, which a broker had when it stopped" in found.notes
    (two / "t-0").rename(two / "t-1")
    found = salvage([str(one), str(two)], str(tmp_path / "other"), places=Places())
    assert not any("t-1" in note for note in found.notes)


def test_a_damaged_first_batch_is_missed_like_any_other(tmp_path: Path) -> None:
    source = partition(tmp_path / "one", *BATCHES)
    hurt(source, 0)
    account = salvaged([source], tmp_path / "dest")
    assert offsets_in(account) == [(3, 4), (5, 8), (9, 9)]
    assert account.only()["missing"] == [{"first_offset": 0, "last_offset": 2}]
    assert account.only()["log_start_offset"] == 0
    assert [one["base_offset"] for one in account.only()["segments"]] == [0]


@pytest.mark.parametrize(("base", "bounds"), [(0, (0, 125)), (125, (125, 206))])
def test_segments_that_were_not_given_are_not_missed(
    tmp_path: Path, base: int, bounds: tuple[int, int]
) -> None:
    source = copy_of("clean/multi-0", tmp_path / "source")
    one = salvaged([segment(source, base)], tmp_path / "dest").only()
    assert (one["log_start_offset"], one["log_end_offset"], one["num_missing"]) == (*bounds, 0)


def test_a_damaged_batch_is_taken_from_another_copy(tmp_path: Path) -> None:
    one, other = (partition(tmp_path / name, *BATCHES) for name in ("one", "other"))
    sound = segment(one).read_bytes()
    hurt(one, 1)
    hurt(other, 3)
    account = salvaged([one, other], tmp_path / "dest")
    assert account.result_bytes("t-0") == sound
    assert [(Path(path).parent.parent.name, *rest) for path, *rest in account.copied_from()] == [
        ("one", 0, 2),
        ("one", 5, 9),
        ("other", 3, 4),
    ]
    assert account.only()["missing"] == []


def test_a_segment_that_is_gone_is_taken_from_another_copy(tmp_path: Path) -> None:
    one, other = (copy_of("clean/multi-0", tmp_path / name) for name in ("one", "other"))
    segment(one).unlink()
    segment(other, 125).unlink()
    account = salvaged([one, other], tmp_path / "dest")
    assert account.only()["log_end_offset"] == 206
    assert [one["base_offset"] for one in account.only()["segments"]] == [0, 125]


def test_the_other_branch_of_a_diverged_replica_is_put_aside_whole(tmp_path: Path) -> None:
    leader = partition(tmp_path / "leader", (3, "a"), (2, "new"), epoch=0, epochs="0 0\n2 3\n")
    follower = partition(tmp_path / "follower", (3, "a"), (4, "old"), epoch=0, epochs="0 0\n1 3\n")
    for directory, epoch in ((leader, 2), (follower, 1)):
        set_epoch(directory, 1, epoch)
    account = salvaged([follower, leader], tmp_path / "dest")
    assert account.result_bytes("t-0") == segment(leader).read_bytes()
    (reason,) = account.reasons()
    assert "diverges from the log's at offset 3" in reason
    kept = [path.read_bytes() for path in (tmp_path / "dest" / "quarantine").rglob("*.log")]
    assert kept == [segment(follower).read_bytes()[batches_of(follower)[1].position :]]
    assert account.only()["copies"][1]["trusted_to"] == 3
    assert read_leader_epochs(account.log("t-0") / "leader-epoch-checkpoint")[-1].epoch == 2


@pytest.mark.parametrize(
    ("first", "why"),
    [("z", "contradicts a better copy"), ("a", "the result has other batches at its offsets")],
    ids=["another log", "one batch was changed"],
)
def test_a_copy_that_contradicts_the_others_is_not_used(first: str, why: str, tmp_path: Path) -> None:
    one = partition(tmp_path / "one", (3, "a"), (2, "b"))
    other = partition(tmp_path / "other", (3, first), (2, "x"))
    account = salvaged([one, other], tmp_path / "dest")
    assert account.result_bytes("t-0") in (segment(one).read_bytes(), segment(other).read_bytes())
    assert any(why in reason for reason in account.reasons())


@pytest.mark.parametrize("number", range(len(BATCHES)))
def test_of_three_copies_the_batch_of_two_is_taken(tmp_path: Path, number: int) -> None:
    others = [*BATCHES[:number], (BATCHES[number][0], "x"), *BATCHES[number + 1 :]]
    changed = partition(tmp_path / "changed", *others)
    one, other = (partition(tmp_path / name, *BATCHES) for name in ("one", "other"))
    for at, order in enumerate(((changed, one, other), (one, changed, other), (one, other, changed))):
        account = salvaged(order, tmp_path / f"dest{at}")
        assert account.result_bytes("t-0") == segment(one).read_bytes()
        assert len(account.reasons()) == 1


def test_two_topics_of_one_name_are_an_error_of_that_partition(tmp_path: Path) -> None:
    one, other = (partition(tmp_path / name, *BATCHES) for name in ("one", "other"))
    (other / "partition.metadata").write_text("version: 0\ntopic_id: BBBBBBBBBBBBBBBBBBBBBQ")
    sound = copy_of("clean/multi-0", tmp_path / "one")
    found = salvage([str(one), str(other), str(sound)], str(tmp_path / "dest"), places=Places())
    failed = [one for one in found.partitions if one.error is not None]
    assert [(one.topic, type(one.error)) for one in failed] == [("t", OptionError)]
    assert {path.name for path in (tmp_path / "dest" / "log").glob("*-0")} == {"multi-0"}


def test_repeated_and_swapped_bytes_come_once_and_in_order(tmp_path: Path) -> None:
    source = copy_of("clean/multi-0", tmp_path / "source")
    logs = segment(source), segment(source, 125)
    sound = b"".join(path.read_bytes() for path in logs)
    first, second = (path.read_bytes() for path in logs)
    logs[0].write_bytes(second)
    logs[1].write_bytes(first + first[: sound_batches(first)[0].end])
    account = salvaged([source], tmp_path / "dest")
    assert account.result_bytes("multi-0") == sound
    assert account.reasons() == []


def test_a_base_offset_that_was_changed_does_not_put_a_batch_elsewhere(tmp_path: Path) -> None:
    source = copy_of("clean/multi-0", tmp_path / "source")
    batch = batches_of(source)[2]
    edit(segment(source), lambda data: data[: batch.position] + b"\x01" + data[batch.position + 1 :])
    account = salvaged([source], tmp_path / "dest")
    assert account.only()["log_end_offset"] == 206
    (reason,) = account.reasons()
    assert "do not fit between its neighbours'" in reason


def test_offsets_that_no_log_has_are_put_aside(tmp_path: Path) -> None:
    source = partition(tmp_path / "one", *BATCHES)
    batch = batches_of(source)[1]
    edit(segment(source), lambda data: data[: batch.position] + b"\xff" + data[batch.position + 1 :])
    account = salvaged([source], tmp_path / "dest")
    assert offsets_in(account) == [(0, 2), (5, 8), (9, 9)]
    assert "are not valid in a log" in account.reasons()[0]


def test_holes_of_the_cleaner_are_lawful(tmp_path: Path) -> None:
    shutil.copytree(copy_of("clean/compact-multi-0", tmp_path / "source"), tmp_path / "other/compact-multi-0")
    account = salvaged([tmp_path / "source/compact-multi-0"], tmp_path / "dest")
    assert (account.only()["num_missing"], account.reasons()) == (0, [])


def test_what_the_cleaner_removed_does_not_come_back_from_another_copy(tmp_path: Path) -> None:
    cleaned = copy_of("clean/compact-multi-0", tmp_path / "cleaned")
    dirty = copy_of("before-cleaning/compact-multi-0", tmp_path / "dirty")
    (tmp_path / "cleaned/cleaner-offset-checkpoint").write_text("0\n1\ncompact-multi 0 161\n")
    account = salvaged([cleaned, dirty], tmp_path / "dest")
    made = {path.name: path.read_bytes() for path in account.log("compact-multi-0").glob("*.log")}
    assert made == {path.name: path.read_bytes() for path in cleaned.glob("*.log")}
    assert any("has other batches" in reason for reason in account.reasons())


def test_how_far_the_cleaner_had_come_is_taken_over(tmp_path: Path) -> None:
    source = copy_of("clean/compact-emptied-0", tmp_path / "source")
    for noted, made in ((12, 12), (500, 13)):
        (source.parent / "cleaner-offset-checkpoint").write_text(f"0\n1\ncompact-emptied 0 {noted}\n")
        dest = tmp_path / f"dest {noted}"
        account = salvaged([source], dest)
        assert account.only()["log_end_offset"] == 13
        text = (dest / "log/cleaner-offset-checkpoint").read_text()
        assert text == f"0\n1\ncompact-emptied 0 {made}\n"
    rows, _summary = verified(dest, ["log"])
    assert [row[0] for row in rows] == ["meta-properties"], "no source has one"


def test_deleted_records_stay_deleted(tmp_path: Path) -> None:
    source = copy_of("clean/deleted-head-0", tmp_path / "source")
    (tmp_path / "source/log-start-offset-checkpoint").write_text("0\n1\ndeleted-head 0 17\n")
    account = salvaged([tmp_path / "source"], tmp_path / "dest")
    assert account.only()["log_start_offset"] == 17
    checkpoint = (tmp_path / "dest/log/log-start-offset-checkpoint").read_text()
    assert checkpoint == "0\n1\ndeleted-head 0 17\n"
    assert len(list(account.log("deleted-head-0").glob("*.log"))) == len(list(source.glob("*.log")))


def test_a_log_start_beyond_the_end_is_not_taken_over(tmp_path: Path) -> None:
    source = partition(tmp_path / "one", *BATCHES)
    (tmp_path / "one/log-start-offset-checkpoint").write_text("0\n1\nt 0 500\n")
    account = salvaged([source], tmp_path / "dest")
    assert (account.only()["log_start_offset"], account.only()["log_end_offset"]) == (0, 10)
    assert "a broker would delete everything" in account.only()["notes"][0]


def test_offsets_below_the_high_watermark_are_missed(tmp_path: Path) -> None:
    source = partition(tmp_path / "one", *BATCHES)
    (tmp_path / "one/replication-offset-checkpoint").write_text("0\n1\nt 0 25\n")
    account = salvaged([source], tmp_path / "dest")
    assert account.only()["missing"] == [{"first_offset": 10, "last_offset": 24}]


def test_transactions_and_producers_are_as_a_broker_has_them(tmp_path: Path) -> None:
    source = copy_of("clean/transactions-0", tmp_path / "source")
    account = salvaged([source], tmp_path / "dest")
    made = account.log("transactions-0")
    indexes = sorted(path.name for path in source.glob("*.txnindex") if path.stat().st_size)
    assert sorted(path.name for path in made.glob("*.txnindex")) == indexes
    for name in indexes:
        assert read_aborted(made / name) == read_aborted(source / name)
    name = f"{account.only()['log_end_offset']:020d}.snapshot"
    assert read_producer_snapshot(made / name) == read_producer_snapshot(source / name)
    assert account.only()["transactions"] == []


def test_a_lost_marker_is_named_with_the_command_that_ends_the_wait(tmp_path: Path) -> None:
    directory = tmp_path / "one/t-0"
    directory.parent.mkdir()
    with ks.open_partition_writer(directory) as writer:
        options = {"producer_id": 7, "producer_epoch": 1, "is_transactional": True}
        writer.write([{"timestamp": T0, "value": b"v"}] * 3, **options)
        writer.write_marker("COMMIT", producer_id=7, producer_epoch=1, timestamp=T0)
        writer.write([{"timestamp": T0, "value": b"plain"}] * 2)
    hurt(directory, 1)
    account = salvaged([directory], tmp_path / "dest")
    (transaction,) = account.only()["transactions"]
    assert transaction == {
        "producer_id": 7,
        "producer_epoch": 1,
        "first_offset": 0,
        "last_offset": None,
        "marker_lost": True,
        "first_lost_offset": 3,
        "last_lost_offset": 3,
        "command": "kafka-transactions.sh --bootstrap-server HOST:PORT abort --topic t --partition 0 "
        "--start-offset 0",
    }


def test_a_topic_id_that_no_copy_has_is_asked_for(tmp_path: Path) -> None:
    one, other = (partition(tmp_path / name, *BATCHES) for name in ("one", "other"))
    (one / "partition.metadata").unlink()
    found = salvaged([one, other], tmp_path / "with")
    assert not any("partition.metadata" in note for note in found.manifest["notes"])
    assert (found.log("t-0") / "partition.metadata").exists()
    notes = salvaged([one], tmp_path / "without").manifest["notes"]
    wanted = "partition.metadata) of t-0: a KRaft broker puts such a directory aside (-stray)"
    assert sum(wanted in note for note in notes) == 1


@pytest.mark.parametrize(
    ("retention_ms", "age_days", "is_deleted"),
    [(7 * 86_400_000, 8, True), (7 * 86_400_000, 6, False), (-1, 8, False), (86_400_000, 6, True)],
)
def test_whether_retention_would_delete_the_result(
    tmp_path: Path, retention_ms: int, age_days: int, is_deleted: bool
) -> None:
    directory = tmp_path / "one/t-0"
    directory.parent.mkdir()
    with ks.open_partition_writer(directory) as writer:
        now = time.time_ns() // 1_000_000
        writer.write([{"timestamp": now - age_days * 86_400_000, "value": b"v"}])
    account = salvaged([directory], tmp_path / "dest", retention_ms=retention_ms)
    assert account.only()["retention"]["deletes_all"] == is_deleted


def test_a_dry_run_plans_the_same_and_writes_nothing(tmp_path: Path) -> None:
    one, other = (partition(tmp_path / name, *BATCHES) for name in ("one", "other"))
    hurt(one, 1)
    before = sorted(tmp_path.rglob("*"))
    dry = "".join(salvage([str(one), str(other)], None, places=Places()).manifest)
    assert sorted(tmp_path.rglob("*")) == before
    salvaged([one, other], tmp_path / "dest")
    made = (tmp_path / "dest" / "manifest.json").read_text()

    def without(text: str) -> list[str]:
        return [line for line in text.splitlines() if not line.startswith(('"made"', '"is_dry_run"', '"seg'))]

    assert without(dry)[: len(without(made))] == without(made)


def test_jobs_change_nothing(tmp_path: Path) -> None:
    root = tmp_path / "source"
    for name in ("clean/multi-0", "clean/transactions-0", "clean/transactions-1", "clean/shapes-0"):
        copy_of(name, root)
    one, two = (salvaged([root], tmp_path / str(jobs), jobs=jobs) for jobs in (1, 3))
    assert one.partitions == two.partitions


@pytest.mark.parametrize(
    ("epochs", "checkpoint", "expected"),
    [
        ((0, 0, 2, 2), "0 0\n2 5\n3 10\n", "0 0\n2 5\n3 10\n"),  # the last one without a batch
        ((0, 0, 2, 2), "0 0\n", "0 0\n2 5\n"),
        ((0, 0, 0, 2), "0 0\n1 9\n", "0 0\n1 9\n"),  # one batch alone decides nothing
        ((0, 0, 2, 2), "0 0\n1 5\n", "0 0\n2 5\n"),
        ((0, 0, 2, 2), "", "0 0\n2 5\n"),
        ((0, 7, 0, 2), "0 0\n2 9\n", "0 0\n2 9\n"),
        ((0, 7, 0, 2), "", "0 0\n2 9\n"),
    ],
)
def test_leader_epochs_are_those_of_the_batches(
    tmp_path: Path, epochs: tuple[int, ...], checkpoint: str, expected: str
) -> None:
    source = partition(tmp_path / "one", *BATCHES, epochs=checkpoint)
    for number, epoch in enumerate(epochs):
        set_epoch(source, number, epoch)
    account = salvaged([source], tmp_path / "dest")
    made = (account.log("t-0") / "leader-epoch-checkpoint").read_text()
    assert made == f"0\n{expected.count(chr(10))}\n{expected}"
    is_anew = "1 5" in checkpoint
    assert any("rebuilt from them" in one for one in account.only()["notes"]) == is_anew


def test_a_marker_may_be_beyond_the_end_of_a_log_that_was_cut(tmp_path: Path) -> None:
    directory = tmp_path / "one/t-0"
    directory.parent.mkdir()
    with ks.open_partition_writer(directory) as writer:
        options = {"producer_id": 7, "producer_epoch": 1, "is_transactional": True}
        writer.write([{"timestamp": T0, "value": b"v"}] * 3, **options)
    (tmp_path / "one/replication-offset-checkpoint").write_text("0\n1\nt 0 4\n")
    account = salvaged([directory], tmp_path / "dest")
    (transaction,) = account.only()["transactions"]
    assert (transaction["marker_lost"], transaction["first_lost_offset"]) == (True, 3)


def test_meta_properties_that_a_broker_refuses_are_not_taken_over(tmp_path: Path) -> None:
    partition(tmp_path / "one", *BATCHES)
    (tmp_path / "one/meta.properties").write_text("version=1\ncluster.id=A\n")
    account = salvaged([tmp_path / "one"], tmp_path / "dest")
    assert not (tmp_path / "dest/log/meta.properties").exists()
    assert "node.id is missing" in account.manifest["notes"][0]
