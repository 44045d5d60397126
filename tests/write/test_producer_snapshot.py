"""The snapshot of producers at the end of a written partition; tests/broker compares it with a broker's."""

from __future__ import annotations

from pathlib import Path

import kafka_segments as ks
from kafka_segments_generated.kaitai.kafka_producer_snapshot import KafkaProducerSnapshot

T0 = 1_700_000_000_000
FIELDS = (
    "producer_id",
    "epoch",
    "last_sequence",
    "last_offset",
    "offset_delta",
    "timestamp",
    "coordinator_epoch",
    "current_txn_first_offset",
)


def rows(count: int, timestamp: int) -> list[dict[str, object]]:
    """Some records of one time."""
    return [{"timestamp": timestamp, "value": b"%d" % index} for index in range(count)]


def entries_of(path: Path) -> list[tuple[int, ...]]:
    """What a snapshot says of each producer."""
    snapshot = KafkaProducerSnapshot.from_bytes(path.read_bytes())
    return [tuple(getattr(entry, name) for name in FIELDS) for entry in snapshot.producer_entries]


def test_producers_are_as_their_last_batch_or_marker_left_them(tmp_path: Path) -> None:
    folder = tmp_path / "topic-0"
    with ks.open_partition_writer(folder) as writer:
        writer.write(rows(3, T0), producer_id=7, producer_epoch=1, is_transactional=True)
        writer.write(rows(2, T0 + 1), producer_id=8, producer_epoch=0, is_transactional=True)
        writer.write_marker("ABORT", producer_id=7, producer_epoch=1, timestamp=T0 + 2, coordinator_epoch=5)
        writer.write(rows(4, T0 + 3), producer_id=9, producer_epoch=2, base_sequence=2**31 - 2)
        writer.write(rows(1, T0 + 4))
        writer.write_marker("COMMIT", producer_id=10, producer_epoch=3, timestamp=T0 + 5)
    (snapshot,) = folder.glob("*.snapshot")
    assert snapshot.name == "00000000000000000012.snapshot"
    assert entries_of(snapshot) == [
        (7, 1, 2, 2, 2, T0 + 2, 5, -1),
        (8, 0, 1, 4, 1, T0 + 1, -1, 3),
        (9, 2, 1, 9, 3, T0 + 3, -1, -1),
        (10, 3, -1, -1, 0, T0 + 5, 0, -1),
    ]


def test_a_marker_of_a_new_epoch_ends_the_sequence(tmp_path: Path) -> None:
    folder = tmp_path / "topic-0"
    with ks.open_partition_writer(folder) as writer:
        writer.write(rows(3, T0), producer_id=7, producer_epoch=1, is_transactional=True)
        writer.write_marker("COMMIT", producer_id=7, producer_epoch=2, timestamp=T0 + 9)
    (snapshot,) = folder.glob("*.snapshot")
    assert entries_of(snapshot) == [(7, 2, -1, -1, 0, T0 + 9, 0, -1)]


def test_without_producers_it_is_empty_and_without_records_or_indexes_absent(tmp_path: Path) -> None:
    with ks.open_partition_writer(tmp_path / "plain-0") as writer:
        writer.write(rows(3, T0))
    assert entries_of(tmp_path / "plain-0" / "00000000000000000003.snapshot") == []
    with ks.open_partition_writer(tmp_path / "bare-0", index=False) as writer:
        writer.write(rows(3, T0))
    with ks.open_partition_writer(tmp_path / "empty-0"):
        pass
    assert [*tmp_path.glob("bare-0/*.snapshot"), *tmp_path.glob("empty-0/*.snapshot")] == []
