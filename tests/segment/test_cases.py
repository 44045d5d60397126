"""What happens to a transaction at the edges: a lost beginning, a lost end, lying files, odd markers."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from tests.made.build import batch, record
from tests.segment import logs
from tests.segment.logs import TRANSACTIONAL, Log, Piece, control, indexed
from tests.ways import compiled, interpreted

from kafka_segments import Batch, Damage, Record
from kafka_segments.core.io.storage import open_source
from kafka_segments.core.segment.transactions.markers import iter_steps
from kafka_segments.errors import ChecksumMismatchError, OptionError, TransactionInDoubtError
from kafka_segments.log.open_partition import open_partition
from kafka_segments.log.partition import Partition
from kafka_segments_generated.columns import kafka_transaction_index

P, Q = 10, 20


def read(partition: Partition) -> tuple[list[int], list[Damage]]:
    """Offsets of committed records and damage, the same by both ways."""
    found: list[Damage] = []
    table = partition.read_table(["offset"], on_damage=found.append, isolation="read_committed")
    offsets = table["offset"].to_pylist()
    events = list(partition.iter_events(isolation="read_committed", on_damage="skip"))
    assert [event.offset for event in events if isinstance(event, Record)] == offsets
    damage = [event for event in events if isinstance(event, Damage)]
    assert [str(one.error) for one in damage] == [str(one.error) for one in found]
    return offsets, found


def broken(piece: Piece) -> Piece:
    """A bit of the checksum's region flipped."""
    piece.data = piece.data[:-1] + bytes([piece.data[-1] ^ 1])
    return piece


# --- The log begins in the middle


def test_a_transaction_that_began_before_the_log_ends_in_it(tmp_path: Path) -> None:
    log = Log([(100, [])], 100)
    log.data(P)
    log.data(Q)
    log.abort(P)
    log.commit(Q)
    with open_partition(log.write(tmp_path)) as partition:
        (aborted,) = partition.aborted_transactions()
        assert (aborted.first_offset, aborted.last_offset) == (100, 102), "as far back as the log goes"
        assert read(partition) == ([101], [])


def test_a_snapshot_knows_where_it_began(tmp_path: Path) -> None:
    log = Log([(100, [])], 100)
    log.data(P)
    log.abort(P)
    folder = log.write(tmp_path)
    logs.write_snapshot(folder / f"{100:020d}.snapshot", {P: 90})
    with open_partition(folder) as partition:
        assert partition.aborted_transactions()[0].first_offset == 90


def test_a_transaction_that_only_the_snapshot_knows_keeps_everything_back(tmp_path: Path) -> None:
    """UnifiedLog.maybeIncrementFirstUnstableOffset: not below the log start."""
    log = Log([(100, [])], 100)
    log.data(-1, transactional=False)
    folder = log.write(tmp_path)
    with open_partition(folder) as partition:
        assert read(partition)[0] == [100]
    logs.write_snapshot(folder / f"{100:020d}.snapshot", {P: 90})
    (tmp_path / "log-start-offset-checkpoint").write_text("0\n1\nt 0 100\n")
    with open_partition(folder) as partition:
        assert partition.open_transactions()[0].first_offset == 90
        assert partition.last_stable_offset == 100
        assert read(partition)[0] == []


def test_a_marker_of_a_transaction_without_records_aborts_nothing(tmp_path: Path) -> None:
    log = Log([(100, [])], 100)
    log.abort(P)
    log.data(P)
    log.commit(P)
    with open_partition(log.write(tmp_path)) as partition:
        assert partition.aborted_transactions() == ()
        assert read(partition)[0] == [101]


def test_records_below_the_log_start_are_deleted_ones(tmp_path: Path) -> None:
    log = Log()
    log.data(P, 3)
    log.commit(P)
    log.data(-1, 2, transactional=False)
    folder = log.write(tmp_path)
    (tmp_path / "log-start-offset-checkpoint").write_text("0\n1\nt 0 2\n")
    with open_partition(folder) as partition:
        assert read(partition)[0] == [2, 4, 5]
        assert partition.read_table(["offset"])["offset"].to_pylist() == [2, 4, 5]
        assert partition.read_table(["offset"], (0, 5))["offset"].to_pylist() == [2, 4]


# --- Epochs, and what stands in markers


def test_a_marker_of_a_higher_epoch_ends_the_transaction(tmp_path: Path) -> None:
    """A fenced producer's is aborted by its successor's epoch; transaction.version 2 always goes up."""
    log = Log()
    log.data(P, epoch=3)
    log.abort(P, epoch=4)
    log.data(P, epoch=4)
    log.commit(P, epoch=5)
    with open_partition(log.write(tmp_path)) as partition:
        assert read(partition)[0] == [2]


def test_a_control_batch_without_a_record_ends_nothing(tmp_path: Path) -> None:
    """What compaction leaves of a marker (ProducerAppendInfo.append): its transaction is gone already."""
    log = Log()
    log.data(P)
    empty = batch(1, [], attributes=TRANSACTIONAL | logs.CONTROL, producer_id=P, producer_epoch=0)
    log.add("empty", P, 1, empty)
    log.data(-1, transactional=False)
    with open_partition(log.write(tmp_path)) as partition:
        assert partition.last_stable_offset == 0
        log.abort(P)
    with open_partition(log.write(tmp_path / "ended")) as partition:
        assert read(partition) == ([2], [])


def test_records_that_are_not_transactional_are_committed_inside_a_transaction(tmp_path: Path) -> None:
    log = Log()
    log.data(P)
    log.data(P, transactional=False)
    log.abort(P)
    with open_partition(log.write(tmp_path)) as partition:
        assert read(partition)[0] == [1]


def test_aborted_records_that_compaction_took(tmp_path: Path) -> None:
    log = Log()
    log.offset = 5  # the records are gone, the marker is not
    log.abort(P)
    log.data(Q)
    log.commit(Q)
    folder = log.write(tmp_path)
    index = kafka_transaction_index.write_columns([0], [P], [1], [5], [6])
    (folder / f"{0:020d}.txnindex").write_bytes(index)
    with open_partition(folder) as partition:
        assert partition.aborted_transactions() == ()
        assert partition.check_indexes() == [], "an index may know of more than there is"
        assert read(partition)[0] == [6]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (struct.pack(">hh", 0, 337), b""),
        (struct.pack(">hh", 0, 2), b""),
        (b"\0", None),
        (struct.pack(">hh", -1, 0), struct.pack(">hi", 0, 0)),
        (struct.pack(">hh", 0, 0), b"\0"),
        (struct.pack(">hh", 0, 1), None),
    ],
    ids=["unknown", "of KRaft", "short key", "negative version", "short value", "null value"],
)
def test_a_control_record_that_no_broker_would_take_leaves_a_doubt(
    tmp_path: Path, key: bytes, value: bytes | None
) -> None:
    log = Log()
    log.data(P)
    log.add("odd", P, 1, control(1, P, key, value))
    log.data(P)
    log.commit(P)
    log.data(Q)
    log.commit(Q)
    with open_partition(log.write(tmp_path)) as partition:
        (doubt,) = partition.doubtful_transactions()
        assert (doubt.producer_id, doubt.first_offset, doubt.last_offset) == (P, 0, 0)
        offsets, damage = read(partition)
        assert offsets == [2, 4]
        assert [type(one.error) for one in damage] == [TransactionInDoubtError]
        with pytest.raises(TransactionInDoubtError, match="producer 10 from offset 0 on") as raised:
            partition.read_table(isolation="read_committed")
        assert raised.value.position == damage[0].position and raised.value.producer_id == P


# --- Damage


def test_a_lost_marker_is_not_taken_for_a_commit(tmp_path: Path) -> None:
    log = Log()
    log.data(P)
    broken(log.abort(P))
    log.data(P)
    log.commit(P)
    log.data(Q)
    log.commit(Q)
    with open_partition(log.write(tmp_path)) as partition:
        assert partition.aborted_transactions() == ()
        offsets, damage = read(partition)
        assert offsets == [2, 4], "behind the damage the next marker decides"
        assert [type(one.error) for one in damage] == [ChecksumMismatchError, TransactionInDoubtError]
        assert (damage[1].first_lost_offset, damage[1].last_lost_offset) == (0, 0)
        with pytest.raises(ChecksumMismatchError):
            partition.read_table(isolation="read_committed")


def test_a_lost_marker_with_nothing_behind_leaves_the_transaction_open(tmp_path: Path) -> None:
    log = Log()
    log.data(-1, transactional=False)
    log.data(P)
    broken(log.commit(P))
    log.data(Q)
    log.commit(Q)
    with open_partition(log.write(tmp_path)) as partition:
        (still_open,) = partition.open_transactions()
        assert (still_open.producer_id, still_open.first_offset) == (P, 1)
        assert still_open.damage is not None and still_open.damage.first_lost_offset == 2
        assert partition.last_stable_offset == 1
        offsets, damage = read(partition)
        assert offsets == [0]
        assert ["counts as open" in str(one.error) for one in damage] == [True]
        assert (damage[0].first_lost_offset, damage[0].last_lost_offset) == (1, 4)


@pytest.mark.parametrize("end", ["abort", "commit"])
def test_lost_records_whose_numbers_are_missing_leave_no_doubt(tmp_path: Path, end: str) -> None:
    """The producer's sequence numbers say that what was lost were records, not a marker."""
    log = Log()
    log.data(P, 2)
    broken(log.data(P, 3))
    log.data(P)
    log.end(P, is_abort=end == "abort")
    with open_partition(log.write(tmp_path)) as partition:
        assert partition.doubtful_transactions() == ()
        offsets, damage = read(partition)
        assert offsets == ([] if end == "abort" else [0, 1, 5])
        assert [(one.first_lost_offset, one.last_lost_offset) for one in damage] == [(2, 4)]


def test_lost_records_that_might_be_a_marker_leave_a_doubt(tmp_path: Path) -> None:
    log = Log()
    log.data(P, 2)
    broken(log.data(Q, 3))
    log.data(P)
    log.commit(P)
    log.commit(Q)
    with open_partition(log.write(tmp_path)) as partition:
        (doubt,) = partition.doubtful_transactions()
        assert (doubt.producer_id, doubt.first_offset, doubt.last_offset) == (P, 0, 1)
        assert read(partition)[0] == [5]


def test_of_an_aborted_transaction_the_part_before_damage_is_in_doubt(tmp_path: Path) -> None:
    log = Log()
    log.data(P)
    broken(log.data(Q))
    log.data(P)
    log.abort(P)
    log.commit(Q)
    with open_partition(log.write(tmp_path)) as partition:
        assert [one.first_offset for one in partition.aborted_transactions()] == [2]
        assert [one.first_offset for one in partition.doubtful_transactions()] == [0]
        assert read(partition)[0] == []


def test_a_doubt_is_told_where_its_records_are_left_out(tmp_path: Path) -> None:
    """The marker may have been in a later segment, which is beyond the last stable offset."""
    log = Log()
    log.data(P)
    log.data(-1, transactional=False)
    log.data(Q)
    log.roll()
    broken(log.commit(P))
    log.data(P)
    log.commit(P)
    with open_partition(log.write(tmp_path)) as partition:
        assert partition.last_stable_offset == 2
        offsets, damage = read(partition)
        assert offsets == [1]
        assert ["left out" in str(one.error) for one in damage] == [True, False]
        assert "producer 20 from offset 2 on" in str(damage[1].error), (
            "where the reading stops is in doubt too"
        )
        assert partition.read_table(["offset"], (1, 2), isolation="read_committed").num_rows == 1


def test_damage_that_cost_no_offset_leaves_no_doubt(tmp_path: Path) -> None:
    log = Log()
    log.data(P)
    log.add("rubbish", -1, 0, b"\x07" * 50)
    log.data(P)
    log.commit(P)
    with open_partition(log.write(tmp_path)) as partition:
        assert partition.doubtful_transactions() == ()
        assert read(partition)[0] == [0, 1]


def test_a_torn_end_leaves_what_was_open_open(tmp_path: Path) -> None:
    log = Log()
    log.data(Q)
    log.commit(Q)
    log.data(P)
    piece = log.commit(P)
    piece.data = piece.data[:-3]
    with open_partition(log.write(tmp_path)) as partition:
        assert partition.last_stable_offset == 2
        offsets, damage = read(partition)
        assert offsets == [0]
        assert [type(one.error) for one in damage] == [TransactionInDoubtError]


# --- The rest


def test_what_a_broker_appends_between_the_passes_is_in_neither(tmp_path: Path) -> None:
    log = Log()
    log.data(-1, transactional=False)
    folder = log.write(tmp_path)
    with open_partition(folder) as partition:
        assert partition.last_stable_offset == 1
        with (folder / f"{0:020d}.log").open("ab") as file:
            file.write(log.data(P).data + log.data(-1, transactional=False).data)
        assert read(partition)[0] == [0]
    with open_partition(folder) as partition:
        assert partition.last_stable_offset == 1, "now a transaction is open there"


def test_the_fast_and_the_exact_way_take_the_same_steps(tmp_path: Path) -> None:
    log, folder = indexed(tmp_path)
    log.segments[1][1][1].data += b"\x99" * 40
    log.add("odd", P, 1, control(log.offset, P, b"\0", None))
    broken(log.data(P))
    folder = log.write(tmp_path / "odd")
    for path in sorted(folder.glob("*.log")):
        source = open_source(path)
        seen = []
        for way in (compiled, interpreted):
            with way():
                steps = iter_steps(source, check_crc=True, max_decompressed=1 << 20)
                seen.append([str(one) for one in steps if not isinstance(one, int)])
        assert seen[0] == seen[1]
        source.close()


def test_compressed_markers_and_old_formats_pass(tmp_path: Path) -> None:
    log = Log()
    log.data(P)
    marker = logs.marker(1, P, is_abort=True)
    log.add("abort", P, 1, marker)
    log.add("plain", -1, 1, batch(2, [record(0, None, b"v")]))
    with open_partition(log.write(tmp_path)) as partition:
        assert read(partition)[0] == [2]
        events = list(partition.iter_events(isolation="read_committed"))
        assert [event.base_offset for event in events if isinstance(event, Batch)] == [2]


def test_wrong_options_are_refused(tmp_path: Path) -> None:
    folder = Log().write(tmp_path)
    with pytest.raises(OptionError, match="outcomes_from"):
        open_partition(folder, outcomes_from="hearsay")  # type: ignore[arg-type]
    with open_partition(folder) as partition:
        with pytest.raises(OptionError, match="isolation"):
            partition.read_batches(isolation="serializable")  # type: ignore[arg-type]
        with pytest.raises(OptionError, match="isolation"):
            partition.iter_events(isolation="serializable")  # type: ignore[arg-type]
        with pytest.raises(OptionError, match="not a live segment"), partition.open_isolated(__file__):
            pass
    Log().write(tmp_path, "t-1")
    with pytest.raises(OptionError, match="2 partitions"):
        open_partition(tmp_path)
