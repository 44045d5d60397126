"""Plants in batches, in how segments join, and in the indexes beside them; see `plants`."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import crc32c
from tests.made import build, directories
from tests.verify.plants import (
    FIRST,
    LEN_HEADER,
    OFS_DELTA,
    OFS_EPOCH,
    OFS_MAX_TIMESTAMP,
    SECOND,
    built,
    edit,
    plant,
    positions,
    seal,
    without_indexes,
)

INDEX, TIMEINDEX = FIRST.replace(".log", ".index"), FIRST.replace(".log", ".timeindex")
BUILT = "built-0/00000000000000000000.log"
DATA = "transactions-0/00000000000000000000.log"
TXNINDEX = "transactions-0/00000000000000000007.txnindex"
SNAPSHOT = "idempotent-0/00000000000000000010.snapshot"

# Batches.


@plant(("offset-order", BUILT, 91, 0, 2))
def the_same_batch_twice(root: Path) -> None:
    first, second, third = directories.run_of(0, 9)
    built(root, first, first, second, third)


@plant(("offset-order", BUILT, 182, 3, 5))
def two_batches_in_the_wrong_order(root: Path) -> None:
    one, two, three, four = directories.run_of(0, 12)
    built(root, one, three, two, four)


@plant(("last-offset", BUILT, 91, 3, 3), ("record-offsets", BUILT, 91, 3, 3))
def last_offset_delta_too_small(root: Path) -> None:
    one, two, three = directories.run_of(0, 9)
    path = built(root, one, two, three) / "00000000000000000000.log"
    edit(path, len(one) + OFS_DELTA, struct.pack(">i", 0))
    seal(path, len(one))


@plant(("record-offsets", BUILT, 91, 3, 5))
def records_in_the_wrong_order(root: Path) -> None:
    one, _two, three = directories.run_of(0, 9)
    records = [build.record(0), build.record(2), build.record(1)]
    built(root, one, build.batch(3, records), three)


@plant(("record-offsets", BUILT, 91, 3, 4))
def record_beyond_the_last_offset(root: Path) -> None:
    one, _two, _three = directories.run_of(0, 9)
    records = [build.record(0), build.record(7)]
    built(root, one, build.batch(3, records, last_offset_delta=1), directories.data(5, b"v"))


@plant(("max-timestamp", FIRST, 636, 5, 9))
def max_timestamp_too_small(root: Path) -> None:
    path = root / "logs" / FIRST
    without_indexes(path.parent)
    edit(path, 636 + OFS_MAX_TIMESTAMP, struct.pack(">q", 1_700_000_001_003))
    seal(path, 636)


@plant(("max-timestamp", SECOND, 0, 125, 129))
def max_timestamp_too_large(root: Path) -> None:
    path = root / "logs" / SECOND
    without_indexes(path.parent)
    edit(path, OFS_MAX_TIMESTAMP, struct.pack(">q", 1_800_000_000_000))
    seal(path, 0)


@plant(("batch-size", SECOND, 0, 125, 129), max_batch_bytes=100_000)
def batch_larger_than_the_limit(root: Path) -> None:
    path = root / "logs" / SECOND
    without_indexes(path.parent)
    data = path.read_bytes()
    records = [build.record(at, b"k", b"v" * 30_000) for at in range(5)]
    path.write_bytes(build.batch(125, records) + data[positions(path)[1] :])


@plant(("leader-epoch-order", BUILT, 182, 6, 8))
def leader_epoch_falls(root: Path) -> None:
    one, two = directories.run_of(0, 6, leader_epoch=3)
    built(root, one, two, *directories.run_of(6, 9, leader_epoch=2))


# Logs.


@plant(("segment-name", FIRST, 0, None, None), ("segment-name", SECOND, 0, None, None))
def swapped_segments(root: Path) -> None:
    folder = root / "logs" / "multi-0"
    without_indexes(folder)
    os.rename(root / "logs" / FIRST, folder / "aside")
    os.rename(root / "logs" / SECOND, root / "logs" / FIRST)
    os.rename(folder / "aside", root / "logs" / SECOND)


@plant(("missing-offsets", FIRST, 5088, 40, 124))
def segment_cut_at_a_batch(root: Path) -> None:
    folder = root / "logs" / "multi-0"
    without_indexes(folder)
    os.truncate(root / "logs" / FIRST, 5088)


@plant(("missing-offsets", FIRST, 0, 0, 124))
def empty_segment(root: Path) -> None:
    without_indexes((root / "logs" / FIRST).parent)
    os.truncate(root / "logs" / FIRST, 0)


@plant(
    ("missing-offsets", DATA, 758, 7, 86),
    ("transaction-in-doubt", DATA, 758, 0, 6),
    ("transaction-in-doubt", DATA, 758, 3, 5),
)
def segment_in_the_middle_gone(root: Path) -> None:
    folder = root / "logs" / "transactions-0"
    without_indexes(folder)
    (folder / "00000000000000000007.log").unlink()


@plant(
    ("missing-offsets", DATA, 758, 7, 86),
    ("lost-marker", DATA, 0, 0, 6),
    ("lost-marker", DATA, 460, 3, 5),
)
def segment_in_the_middle_gone_and_its_producer_snapshots_there(root: Path) -> None:
    for suffix in ("log", "index", "timeindex", "txnindex"):
        (root / "logs" / f"transactions-0/00000000000000000007.{suffix}").unlink()


@plant(("log-start-offset", SECOND, 0, 60, 124))
def first_segment_gone(root: Path) -> None:
    directories_checkpoint(root, "log-start-offset-checkpoint", "multi", 60)
    folder = root / "logs" / "multi-0"
    for path in folder.glob("00000000000000000000.*"):
        path.unlink()


@plant(("high-watermark", SECOND, 6410, 175, 205))
def newest_segment_cut_at_a_batch(root: Path) -> None:
    without_indexes((root / "logs" / SECOND).parent)
    os.truncate(root / "logs" / SECOND, 6410)


@plant(("recovery-point", SECOND, 6410, 175, 205))
def newest_segment_cut_without_a_high_watermark(root: Path) -> None:
    newest_segment_cut_at_a_batch(root)
    directories_checkpoint(root, "replication-offset-checkpoint", "multi", 100)


@plant(("lost-segment", FIRST, 15975, 125, None))
def newest_segment_gone_but_for_its_indexes(root: Path) -> None:
    folder = root / "logs" / "multi-0"
    (root / "logs" / SECOND).unlink()
    for path in folder.glob("*.snapshot"):
        path.unlink()
    for name in ("replication-offset-checkpoint", "recovery-point-offset-checkpoint"):
        directories_checkpoint(root, name, "multi", 100)


@plant(("swap-file", FIRST, 15975, 125, 205))
def segment_that_a_broker_has_yet_to_swap_in(root: Path) -> None:
    without_indexes((root / "logs" / SECOND).parent)
    os.rename(root / "logs" / SECOND, f"{root / 'logs' / SECOND}.swap")


@plant(("log-start-offset", "log-start-offset-checkpoint", None, 206, 299))
def log_start_offset_beyond_the_end(root: Path) -> None:
    directories_checkpoint(root, "log-start-offset-checkpoint", "multi", 300)


def directories_checkpoint(root: Path, name: str, topic: str, offset: int) -> None:
    """Give a topic's partition 0 another offset in a checkpoint."""
    path = root / "logs" / name
    lines = [one for one in path.read_text().splitlines()[2:] if not one.startswith(f"{topic} 0 ")]
    lines.append(f"{topic} 0 {offset}")
    path.write_text("\n".join(["0", str(len(lines)), *lines]) + "\n")


# Indexes.


@plant(("offset-index", INDEX, None, None, None))
def index_with_a_wrong_position(root: Path) -> None:
    path = root / "logs" / INDEX
    (position,) = struct.unpack_from(">i", path.read_bytes(), 4)
    edit(path, 4, struct.pack(">i", position + 1))


@plant(("offset-index", INDEX, 8, None, None))
def index_of_a_broken_size(root: Path) -> None:
    path = root / "logs" / INDEX
    path.write_bytes(path.read_bytes()[:8] + b"\0\0\1")


@plant(("time-index", TIMEINDEX, None, None, None))
def time_index_with_a_wrong_timestamp(root: Path) -> None:
    path = root / "logs" / TIMEINDEX
    (timestamp,) = struct.unpack_from(">q", path.read_bytes(), 0)
    edit(path, 0, struct.pack(">q", timestamp - 1))


@plant(("time-index", TIMEINDEX, None, None, None))
def time_index_with_an_offset_beyond_the_segment(root: Path) -> None:
    path = root / "logs" / TIMEINDEX
    edit(path, len(path.read_bytes()) - 4, struct.pack(">i", 100_000))


@plant(("time-index", TIMEINDEX, None, None, None))
def time_index_of_a_running_broker_after_a_clean_shutdown(root: Path) -> None:
    path = root / "logs" / TIMEINDEX
    path.write_bytes(path.read_bytes() + bytes(24))


@plant(("transaction-index", TXNINDEX, None, None, None))
def transaction_index_without_its_first_entry(root: Path) -> None:
    path = root / "logs" / TXNINDEX
    path.write_bytes(path.read_bytes()[34:])


@plant(("transaction-index", TXNINDEX, 136, None, None))
def transaction_index_that_ends_inside_of_an_entry(root: Path) -> None:
    path = root / "logs" / TXNINDEX
    path.write_bytes(path.read_bytes()[:-5])


@plant(("missing-index", INDEX, None, None, None))
def missing_index(root: Path) -> None:
    (root / "logs" / INDEX).unlink()


@plant(("missing-index", TIMEINDEX, None, None, None))
def missing_time_index(root: Path) -> None:
    (root / "logs" / TIMEINDEX).unlink()


@plant(
    ("missing-index", INDEX, None, None, None),
    ("missing-index", SECOND.replace(".log", ".index"), None, None, None),
)
def offset_indexes_of_all_segments_missing(root: Path) -> None:
    for name in (INDEX, SECOND.replace(".log", ".index")):
        (root / "logs" / name).unlink()


@plant()
def all_indexes_missing_as_in_a_backup_of_logs(root: Path) -> None:
    for path in (root / "logs" / "multi-0").glob("*index"):
        path.unlink()


@plant()
def indexes_of_a_killed_broker(root: Path) -> None:
    for suffix in ("index", "timeindex"):
        path = (root / "logs" / SECOND).with_suffix(f".{suffix}")
        path.write_bytes(path.read_bytes() + bytes(12 * 8 * 100))
    (root / "logs" / ".kafka_cleanshutdown").unlink()


@plant(("producer-snapshot", SNAPSHOT, None, None, None))
def snapshot_with_a_wrong_checksum(root: Path) -> None:
    edit(root / "logs" / SNAPSHOT, 8, b"\xff")


@plant(("snapshot-end", "multi-0/00000000000000000300.snapshot", None, 206, 299))
def snapshot_beyond_the_end(root: Path) -> None:
    folder = root / "logs" / "multi-0"
    os.rename(folder / "00000000000000000206.snapshot", folder / "00000000000000000300.snapshot")


@plant(("snapshot-state", SNAPSHOT, None, None, 10))
def snapshot_with_another_sequence_number(root: Path) -> None:
    path = root / "logs" / SNAPSHOT
    ofs_crc, ofs_entries, ofs_last_sequence = 2, 6, 10 + 8 + 2
    edit(path, ofs_last_sequence, struct.pack(">i", 3))
    edit(path, ofs_crc, struct.pack(">I", crc32c.crc32c(path.read_bytes()[ofs_entries:])))


# Leader epochs.


@plant(("leader-epoch-file", "multi-0/leader-epoch-checkpoint", None, None, None))
def lineage_that_is_not_a_text(root: Path) -> None:
    (root / "logs" / "multi-0" / "leader-epoch-checkpoint").write_bytes(b"0\nabc\n")


@plant(("leader-epoch-file", "multi-0/leader-epoch-checkpoint", None, None, None))
def lineage_that_falls(root: Path) -> None:
    directories.leader_epochs(root / "logs" / "multi-0", (0, 0), (2, 200), (2, 200))


@plant(("leader-epoch", FIRST, 5088, 40, 44))
def lineage_of_another_log(root: Path) -> None:
    directories.leader_epochs(root / "logs" / "multi-0", (0, 0), (1, 40), (2, 200))


@plant(("leader-epoch", SECOND, 9615, 200, 202))
def lineage_without_the_last_epoch(root: Path) -> None:
    directories.leader_epochs(root / "logs" / "multi-0", (0, 0))


@plant(("leader-epoch", FIRST, 636, 5, 9), ("leader-epoch-order", FIRST, 1272, 10, 14))
def leader_epoch_of_a_batch_changed(root: Path) -> None:
    """No checksum covers it."""
    path = root / "logs" / FIRST
    edit(path, 636 + OFS_EPOCH, struct.pack(">i", 7))
    assert LEN_HEADER == 61
