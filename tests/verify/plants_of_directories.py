"""Plants in transactions, producers, log directories and copies; see `plants`."""

from __future__ import annotations

import os
import re
import shutil
import struct
from pathlib import Path

from tests.made import directories
from tests.verify.plants import (
    CLUSTER_ID,
    FIRST,
    OFS_EPOCH,
    built,
    edit,
    idempotent,
    in_transaction,
    marker,
    plant,
    seal,
    write_snapshot,
)
from tests.verify.plants_of_logs import directories_checkpoint

BUILT = "built-0/00000000000000000000.log"
META = "meta.properties"
TIMEOUT = 900_000
START = 1_700_000_000_000

# Transactions.


@plant(("lost-marker", BUILT, 0, 0, 1))
def marker_lost_between_epochs(root: Path) -> None:
    built(
        root,
        in_transaction(0, 0),
        in_transaction(1, 1),
        in_transaction(2, 0, producer_epoch=1),
        marker(3, producer_epoch=1),
    )


@plant(("open-transaction", BUILT, 0, 0, 0))
def transaction_open_for_an_hour_of_records(root: Path) -> None:
    later = START + 4 * TIMEOUT
    built(root, in_transaction(0, 0), directories.data(1, b"v", base_timestamp=later, max_timestamp=later))


@plant(("open-transaction", BUILT, 0, 0, 0))
def transaction_open_for_an_hour_of_markers(root: Path) -> None:
    times = [{"base_timestamp": at, "max_timestamp": at} for at in (START, START + 4 * TIMEOUT)]
    other = {"producer_id": 6}
    built(
        root,
        in_transaction(0, 0),
        in_transaction(1, 0, **other),
        marker(2, **other, **times[0]),
        in_transaction(3, 1, **other),
        marker(4, **other, **times[1]),
    )


@plant()
def transaction_open_for_a_minute(root: Path) -> None:
    later = START + 60_000
    built(root, in_transaction(0, 0), directories.data(1, b"v", base_timestamp=later, max_timestamp=later))


@plant(("lost-marker", BUILT, 0, 0, 1))
def last_marker_gone_that_the_snapshot_knows(root: Path) -> None:
    folder = built(root, in_transaction(0, 0), in_transaction(1, 1))
    write_snapshot(folder, 2, (5, 0, 1, 1, 0, START, 0, -1))


@plant()
def transaction_that_the_snapshot_knows_as_open(root: Path) -> None:
    folder = built(root, in_transaction(0, 0), in_transaction(1, 1))
    write_snapshot(folder, 2, (5, 0, 1, 1, 0, START, 0, 0))


@plant(("crc", BUILT, 70, 1, 1), ("transaction-in-doubt", BUILT, 70, 0, None))
def marker_damaged(root: Path) -> None:
    first = in_transaction(0, 0)
    path = built(root, first, marker(1), directories.data(2, b"v")) / "00000000000000000000.log"
    edit(path, len(first) + 70, b"\xff")


@plant(("marker", BUILT, 70, 1, 1), ("transaction-in-doubt", BUILT, 70, 0, 0))
def control_record_that_is_no_marker(root: Path) -> None:
    built(root, in_transaction(0, 0), marker(1, b"\0\0\0\x09"), in_transaction(2, 1), marker(3))


@plant(("marker-epoch", BUILT, 148, 2, 2))
def marker_of_an_older_epoch(root: Path) -> None:
    newer = {"producer_epoch": 3}
    built(root, in_transaction(0, 0, **newer), marker(1, **newer), marker(2, producer_epoch=1))


@plant(("producer-epoch", BUILT, 148, 2, 2))
def late_batch_whose_transaction_was_aborted_by_hand(root: Path) -> None:
    """`kafka-transactions.sh abort` writes a marker of the late batch's epoch."""
    built(root, in_transaction(0, 0), marker(1, producer_epoch=1), in_transaction(2, 1), marker(3))


@plant(("plain-in-transaction", BUILT, 70, 1, 1))
def batch_outside_of_the_open_transaction(root: Path) -> None:
    built(root, in_transaction(0, 0), idempotent(1, 1, 1), in_transaction(2, 2), marker(3))


# Producers.


@plant(("sequence-gap", BUILT, 79, 2, 3))
def sequence_gap(root: Path) -> None:
    built(root, idempotent(0, 0), idempotent(2, 5))


@plant()
def sequence_gap_where_offsets_are_missing(root: Path) -> None:
    built(root, idempotent(0, 0), idempotent(5, 5))


@plant(("sequence-duplicate", BUILT, 79, 2, 3))
def sequence_duplicate(root: Path) -> None:
    built(root, idempotent(0, 0), idempotent(2, 0))


@plant()
def sequence_that_wraps(root: Path) -> None:
    last = (1 << 31) - 1
    built(root, idempotent(0, last - 1), idempotent(2, 0))


@plant()
def sequence_of_a_producer_that_has_expired(root: Path) -> None:
    later = START + 2 * 86_400_000
    built(root, idempotent(0, 7), idempotent(2, 3, base_timestamp=later, max_timestamp=later))


@plant(("sequence-gap", BUILT, 79, 2, 3))
def new_epoch_that_does_not_begin_with_zero(root: Path) -> None:
    built(root, idempotent(0, 0), idempotent(2, 2, producer_epoch=1))


@plant(("producer-epoch", BUILT, 79, 2, 3))
def fenced_epoch(root: Path) -> None:
    built(root, idempotent(0, 0, producer_epoch=4), idempotent(2, 0, producer_epoch=3))


@plant(("sequence-duplicate", "idempotent-0/00000000000000000000.log", 327, 9, 9))
def duplicate_that_a_seeded_state_shows(root: Path) -> None:
    """Producer 1000's last batch claims to be of producer 0, whose sequence numbers end with 8."""
    path = root / "logs" / "idempotent-0" / "00000000000000000000.log"
    for snapshot in path.parent.glob("*.snapshot"):
        snapshot.unlink()
    edit(path, 327 + 43, struct.pack(">q", 0))
    edit(path, 327 + 35, struct.pack(">q", START + 30))
    edit(path, 327 + 27, struct.pack(">q", START + 30))
    seal(path, 327)
    for index in path.parent.glob("*.timeindex"):
        index.unlink()


# Log directories.


@plant(("directory-name", "not-a-partition", None, None, None))
def directory_without_a_partitions_name(root: Path) -> None:
    folder = root / "logs" / "not-a-partition"
    folder.mkdir()
    (folder / "00000000000000000000.log").touch()


@plant()
def directories_that_a_broker_has_put_aside(root: Path) -> None:
    identifier = "04fd564ec61e45bd95313965ac4f697e"
    for suffix in ("delete", "future", "stray"):
        shutil.copytree(root / "logs" / "multi-0", root / "logs" / f"multi-0.{identifier}-{suffix}")


@plant(("file-name", "multi-0/7.log", None, None, None))
def file_without_a_segments_name(root: Path) -> None:
    shutil.copy(root / "logs" / FIRST, root / "logs" / "multi-0" / "7.log")


@plant()
def files_that_a_broker_has_put_aside(root: Path) -> None:
    for suffix in ("deleted", "cleaned", "swap"):
        shutil.copy(root / "logs" / FIRST, f"{root / 'logs' / FIRST}.{suffix}")


@plant(("partition-metadata", "multi-0/partition.metadata", None, None, None))
def partition_metadata_that_is_not_a_text(root: Path) -> None:
    (root / "logs" / "multi-0" / "partition.metadata").write_bytes(b"version: 0\ntopic_id: ?\n")


@plant(("partition-metadata", "multi-0/partition.metadata", None, None, None))
def partition_metadata_that_is_gone(root: Path) -> None:
    (root / "logs" / "multi-0" / "partition.metadata").unlink()


@plant(("topic-id", "multi-1/partition.metadata", None, None, None))
def topic_created_anew(root: Path) -> None:
    folder = directories.append(root / "logs" / "multi-1", *directories.run_of(0, 6))
    directories.topic_id(folder, "zzzzzzzzzzzzzzzzzzzzzg")


@plant(("meta-properties", META, None, None, None))
def meta_properties_missing(root: Path) -> None:
    (root / "logs" / META).unlink()


@plant(("meta-properties", META, None, None, None))
def meta_properties_without_a_node(root: Path) -> None:
    (root / "logs" / META).write_text(f"version=1\ncluster.id={CLUSTER_ID}\n")


@plant(("meta-properties", META, None, None, None))
def meta_properties_empty(root: Path) -> None:
    (root / "logs" / META).write_bytes(b"")


@plant(("cluster-id", META, None, None, None), cluster_id="BBBBBBBBBBBBBBBBBBBBBQ")
def cluster_id_other_than_the_expected_one(root: Path) -> None:
    """The directory stays as it is."""


@plant(("cluster-id", "../other/" + META, None, None, None))
def disk_of_another_cluster(root: Path) -> None:
    _other(
        root, "version=1\nnode.id=1\ncluster.id=BBBBBBBBBBBBBBBBBBBBBQ\ndirectory.id=zzzzzzzzzzzzzzzzzzzzzg\n"
    )


@plant(("node-id", META, None, None, None), node_id=2)
def node_id_other_than_the_expected_one(root: Path) -> None:
    """The directory stays as it is."""


@plant(("directory-id", "../other/" + META, None, None, None))
def log_directory_copied(root: Path) -> None:
    _other(root, (root / "logs" / META).read_text())


@plant(("duplicate-partition", "../other/multi-0", None, None, None))
def partition_on_two_disks_of_a_node(root: Path) -> None:
    text = re.sub(r"directory.id=.", "directory.id=A", (root / "logs" / META).read_text())
    _other(root, text)
    shutil.rmtree(root / "other" / "other-0")
    shutil.copytree(root / "logs" / "multi-0", root / "other" / "multi-0")


def _other(root: Path, meta: str) -> None:
    """Make another log directory with one partition."""
    folder = root / "other"
    directories.append(folder / "other-0", *directories.run_of(0, 6))
    (folder / META).write_text(meta)


@plant(("missing-partition", "multi-0", None, None, None))
def partition_gone(root: Path) -> None:
    shutil.rmtree(root / "logs" / "multi-0")


@plant()
def partition_that_is_being_moved_to_this_disk(root: Path) -> None:
    identifier = "04fd564ec61e45bd95313965ac4f697e"
    (root / "logs" / "multi-0").rename(root / "logs" / f"multi-0.{identifier}-future")


@plant(("checkpoint-file", "replication-offset-checkpoint", None, None, None))
def checkpoint_that_is_not_a_text(root: Path) -> None:
    (root / "logs" / "replication-offset-checkpoint").write_text("0\n7\nmulti 0 206\n")


@plant(("unreadable", FIRST, None, None, None))
def segment_that_is_a_link_to_nothing(root: Path) -> None:
    path = root / "logs" / FIRST
    path.unlink()
    os.symlink("nowhere", path)


# Copies.


@plant(("copies-diverged", FIRST, 5088, 40, 44))
def copy_that_had_another_leader(root: Path) -> None:
    folder = _replica(root)
    path = folder / "00000000000000000000.log"
    data = path.read_bytes()[:5088]
    path.write_bytes(data + b"".join(directories.run_of(40, 49, leader_epoch=1)))
    (folder / "00000000000000000125.log").unlink()
    directories.leader_epochs(folder, (0, 0), (1, 40))


@plant(("copies-differ", FIRST, 5088, 40, 44))
def copy_with_a_changed_batch(root: Path) -> None:
    path = _replica(root) / "00000000000000000000.log"
    edit(path, 5088 + 300, b"\xff\xff")
    seal(path, 5088)


@plant(("crc", "../replica/" + FIRST, 5088, 40, 44))
def copy_with_a_damaged_batch(root: Path) -> None:
    path = _replica(root) / "00000000000000000000.log"
    edit(path, 5088 + 300, b"\xff\xff")


@plant()
def copy_that_is_behind(root: Path) -> None:
    (_replica(root) / "00000000000000000125.log").unlink()


def _replica(root: Path) -> Path:
    """Copy a partition to the disk of another node."""
    folder = root / "replica" / "multi-0"
    shutil.copytree(root / "logs" / "multi-0", folder)
    for path in [*folder.glob("*.index"), *folder.glob("*.timeindex"), *folder.glob("*.snapshot")]:
        path.unlink()
    text = f"version=1\nnode.id=2\ncluster.id={CLUSTER_ID}\ndirectory.id=zzzzzzzzzzzzzzzzzzzzzg\n"
    (root / "replica" / META).write_text(text)
    assert OFS_EPOCH == 12
    directories_checkpoint(root, "log-start-offset-checkpoint", "multi", 0)
    return folder
