"""Plants: what is done to a sound log directory, and the findings that must come of it, each exactly once.

The directory is a copy of recorded partitions of Kafka 4.3; what they lack is built by hand. A plant knows
the layout of files by heart, as the builders do. The findings of a plant are written by hand: check, path
below the log directories, position, first and last offset.
"""

from __future__ import annotations

import re
import shutil
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import crc32c
from tests.made import build, directories

RECORDED = Path(__file__).resolve().parents[1] / "vectors" / "recorded"
CLEAN = RECORDED / "kafka-4.3" / "clean"
PARTITIONS = ("multi-0", "transactions-0", "idempotent-0", "codec-zstd-0", "timestamps-0")
CHECKPOINTS = (
    "replication-offset-checkpoint",
    "recovery-point-offset-checkpoint",
    "log-start-offset-checkpoint",
)
CLUSTER_ID = "AAAAAAAAAAAAAAAAAAAAAQ"

FIRST, SECOND = "multi-0/00000000000000000000.log", "multi-0/00000000000000000125.log"
TIMES = FIRST.replace(".log", ".timeindex")
LEN_HEADER = 61
OFS_LENGTH, OFS_EPOCH, OFS_MAGIC, OFS_CRC, OFS_ATTRIBUTES, OFS_DELTA = 8, 12, 16, 17, 21, 23
OFS_MAX_TIMESTAMP, OFS_PRODUCER, OFS_PRODUCER_EPOCH, OFS_SEQUENCE, OFS_COUNT = 35, 43, 51, 53, 57
PRODUCER = {"producer_id": 5, "producer_epoch": 0}
HEX_DAY = 86_400_000

Row = tuple[str, str, "int | None", "int | None", "int | None"]
"""A finding: check, path, position, first and last offset."""


@dataclass(frozen=True)
class Plant:
    """A change of the log directory, options of the verification, and the findings."""

    name: str
    do: Callable[[Path], None]
    expected: list[Row]
    options: dict[str, Any] = field(default_factory=dict)


PLANTS: dict[str, Plant] = {}


def plant(*expected: Row, **options: Any) -> Callable[[Callable[[Path], None]], Callable[[Path], None]]:
    """Add a function that changes the log directory as a plant."""

    def add(do: Callable[[Path], None]) -> Callable[[Path], None]:
        def complete(root: Path) -> None:
            do(root)
            name_topics(root)

        PLANTS[do.__name__] = Plant(do.__name__, complete, list(expected), options)
        return do

    return add


def name_topics(root: Path) -> None:
    """Give the partitions that were built by hand a topic id, as a broker does."""
    for folder in sorted(root.glob("*/*-[0-9]*")):
        is_built = folder.is_dir() and folder.name not in PARTITIONS and any(folder.glob("*.log"))
        if is_built and not (folder / "partition.metadata").exists():
            topic, _dash, _number = folder.name.rpartition("-")
            directories.topic_id(folder, f"{topic.encode().hex():A<21.21}A")


def make_base(root: Path) -> Path:
    """Copy some recorded partitions to a log directory of their own."""
    logs = root / "logs"
    logs.mkdir(parents=True)
    for name in PARTITIONS:
        shutil.copytree(CLEAN / name, logs / name)
    for name in CHECKPOINTS:
        lines = [one for one in (CLEAN / name).read_text().splitlines()[2:] if _is_kept(one)]
        (logs / name).write_text("\n".join(["0", str(len(lines)), *lines]) + "\n")
    for name in ("meta.properties", ".kafka_cleanshutdown"):
        shutil.copy(CLEAN / name, logs / name)
    return root


def _is_kept(line: str) -> bool:
    topic, number, _offset = line.split()
    return f"{topic}-{number}" in PARTITIONS


def edit(path: Path, position: int, new: bytes) -> None:
    """Overwrite bytes of a file."""
    data = bytearray(path.read_bytes())
    data[position : position + len(new)] = new
    path.write_bytes(data)


def seal(path: Path, position: int) -> None:
    """Make the checksum of a batch right again."""
    data = path.read_bytes()
    (length,) = struct.unpack_from(">i", data, position + OFS_LENGTH)
    covered = data[position + OFS_ATTRIBUTES : position + OFS_LENGTH + 4 + length]
    edit(path, position + OFS_CRC, struct.pack(">I", crc32c.crc32c(covered)))


def positions(path: Path) -> list[int]:
    """Where the batches of a segment begin, and where the last one ends."""
    data, found = path.read_bytes(), [0]
    while found[-1] < len(data):
        (length,) = struct.unpack_from(">i", data, found[-1] + OFS_LENGTH)
        found.append(found[-1] + OFS_LENGTH + 4 + length)
    return found


def without_indexes(folder: Path) -> None:
    """Remove the indexes of a partition: then only the segments are judged."""
    for path in folder.iterdir():
        if re.search(r"\.(index|timeindex|txnindex|snapshot)$", path.name):
            path.unlink()


def built(root: Path, *entries: bytes, name: str = "built-0") -> Path:
    """Write a partition of one segment."""
    return directories.append(root / "logs" / name, *entries)


def idempotent(base_offset: int, sequence: int, count: int = 2, **fields: Any) -> bytes:
    """A batch of producer 5."""
    values = PRODUCER | {"base_sequence": sequence} | fields
    return directories.data(base_offset, *[b"v"] * count, **values)


def in_transaction(base_offset: int, sequence: int, **fields: Any) -> bytes:
    """A batch of one record of a transaction of producer 5."""
    return idempotent(base_offset, sequence, 1, **{"attributes": 0x10} | fields)


def marker(offset: int, kind: bytes = directories.COMMIT, **fields: Any) -> bytes:
    """A marker of producer 5."""
    record = build.record(0, kind, b"\0\0" + b"\0\0\0\0")
    return build.batch(offset, [record], **PRODUCER | {"attributes": 0x30} | fields)


def write_snapshot(folder: Path, offset: int, *entries: tuple[int, ...]) -> None:
    """Write a producer snapshot: id, epoch, last sequence, last offset, offset delta, timestamp, coordinator
    epoch and first offset of the open transaction of each producer."""
    body = struct.pack(">i", len(entries)) + b"".join(struct.pack(">qhiqiqiq", *one) for one in entries)
    head = struct.pack(">hI", 1, crc32c.crc32c(body))
    (folder / f"{offset:020}.snapshot").write_bytes(head + body)


# Bytes of segments.


@plant(("crc", FIRST, 636, 5, 9))
def flipped_value(root: Path) -> None:
    edit(root / "logs" / FIRST, 636 + 300, b"\xff")


@plant(("crc", SECOND, 0, 125, 129))
def flipped_first_batch_of_a_segment(root: Path) -> None:
    edit(root / "logs" / SECOND, 200, b"\xff")


@plant(("batch-length", FIRST, 1272, 10, 14))
def tiny_length(root: Path) -> None:
    edit(root / "logs" / FIRST, 1272 + OFS_LENGTH, struct.pack(">i", 20))


@plant(("batch-length", FIRST, 15334, 120, 124))
def segment_cut_inside_of_its_last_batch(root: Path) -> None:
    path = root / "logs" / FIRST
    path.write_bytes(path.read_bytes()[:-40])


@plant(("magic", FIRST, 1272, 10, 14))
def unknown_magic(root: Path) -> None:
    edit(root / "logs" / FIRST, 1272 + OFS_MAGIC, b"\x09")


@plant(("payload", "codec-zstd-0/00000000000000000000.log", 0, 0, 39))
def wrong_payload_under_a_right_checksum(root: Path) -> None:
    path = root / "logs" / "codec-zstd-0/00000000000000000000.log"
    edit(path, LEN_HEADER + 8, b"\0\0\0\0\0\0")
    seal(path, 0)


@plant(("records", FIRST, 636, 5, 9))
def record_with_a_wrong_length(root: Path) -> None:
    path = root / "logs" / FIRST
    edit(path, 636 + LEN_HEADER, b"\x04")
    seal(path, 636)


@plant(("records", FIRST, 636, 9, 9))
def count_too_small(root: Path) -> None:
    path = root / "logs" / FIRST
    edit(path, 636 + OFS_COUNT, struct.pack(">i", 4))
    seal(path, 636)


@plant(("torn-tail", SECOND, 9740, 203, None))
def torn_tail(root: Path) -> None:
    path = root / "logs" / SECOND
    last = positions(path)[-2]
    path.write_bytes(path.read_bytes()[: last + 30])


@plant(is_live=True)
def torn_tail_of_a_live_log(root: Path) -> None:
    torn_tail(root)


@plant(is_live=True)
def torn_tail_of_a_live_log_with_an_open_transaction(root: Path) -> None:
    built(root, in_transaction(0, 0), in_transaction(1, 1)[:-5])


@plant(("zeros", FIRST, 15975, None, None))
def zeros_after_a_closed_segment(root: Path) -> None:
    path = root / "logs" / FIRST
    path.write_bytes(path.read_bytes() + bytes(4096))


@plant(("zeros", SECOND, 9865, None, None))
def zeros_after_the_newest_segment_and_a_clean_shutdown(root: Path) -> None:
    """A broker trims what it has preallocated when it stops; on more zeros than that it does not start."""
    path = root / "logs" / SECOND
    path.write_bytes(path.read_bytes() + bytes(4096))


@plant()
def zeros_after_the_newest_segment_and_a_kill(root: Path) -> None:
    zeros_after_the_newest_segment_and_a_clean_shutdown(root)
    (root / "logs" / ".kafka_cleanshutdown").unlink()


@plant(("time-index", TIMES, None, None, None))
def zeros_in_a_time_index_below_the_recovery_point(root: Path) -> None:
    (root / "logs" / ".kafka_cleanshutdown").unlink()
    path = root / "logs" / TIMES
    path.write_bytes(bytes(path.stat().st_size))
