"""The plants of `tests/verify` as sources of salvage, and what may be left to find in the results."""

from __future__ import annotations

import shutil
import struct
import time
from dataclasses import dataclass
from pathlib import Path

import crc32c
from tests.salvage.accounts import Account, salvaged
from tests.verify import plants_of_directories, plants_of_logs
from tests.verify.plants import (
    CLEAN,
    LEN_HEADER,
    OFS_ATTRIBUTES,
    OFS_CRC,
    OFS_LENGTH,
    OFS_MAGIC,
    OFS_MAX_TIMESTAMP,
    PLANTS,
    Plant,
    Row,
    make_base,
)
from tests.verify.test_plants import verified

assert plants_of_directories is not None and plants_of_logs is not None  # they fill PLANTS

__all__ = ["PLANTS", "Planted", "planted"]

OFS_BASE_TIMESTAMP = 27
T0 = 1_700_000_000_000  # of the recorded batches
DAYS_AGO = 3  # a plant has records of two days later; brokers keep seven

OF_BATCHES = {
    *("payload", "records", "last-offset", "record-offsets", "max-timestamp"),
    *("leader-epoch-order", "leader-epoch"),
    *("lost-marker", "open-transaction", "transaction-in-doubt", "marker", "marker-epoch"),
    *("plain-in-transaction", "sequence-gap", "sequence-duplicate", "producer-epoch"),
}
"""Checks of what batches with right checksums hold, which salvage copies as they are."""
OF_LOSS = {"missing-offsets", "transaction-in-doubt", "lost-marker"}
"""Checks that find what is lost: no copy has it."""
OF_PLANTS = {
    "topic_created_anew": "topic-id",  # which of two topics of one name is meant, only the user knows
    "leader_epoch_falls": "leader-epoch",  # no checkpoint fits to such batches
    # What a cluster knows of its nodes stays as it is in the copy of its metadata log.
    "topic_id_that_the_cluster_does_not_have": "topic-id",
    "partition_that_the_cluster_does_not_have": "stray-partition",
    "directory_that_the_node_has_not_registered": "directory-id",
}
"""Checks that find something in the result of one plant."""


@dataclass
class Planted:
    """A plant that was salvaged.

    Attributes:
        plant: it.
        source: folder with its log directories.
        account: the result, every byte accounted for.
        rows: what `verify` finds in the result.
    """

    plant: Plant
    source: Path
    account: Account
    rows: list[Row]

    @property
    def log(self) -> Path:
        """The log directory of the result."""
        return self.account.destination / "log"

    def unexpected(self) -> list[Row]:
        """Findings that neither the loss explains nor what the batches held before."""
        planted_checks = {row[0] for row in self.plant.expected}
        lawful = OF_BATCHES & planted_checks | (OF_LOSS if self.has_lost() else set())
        lawful |= {OF_PLANTS.get(self.plant.name, "")}
        return [row for row in self.rows if row[0] not in lawful and not self._is_without_id(row)]

    def _is_without_id(self, row: Row) -> bool:
        """Whether a file is missing in the result whose content no source has, as the manifest says."""
        name = Path(row[1]).parent.name
        words = f"no source has the topic id (partition.metadata) of {name}: "
        return row[0] == "partition-metadata" and any(words in one for one in self.account.manifest["notes"])

    def has_lost(self) -> bool:
        """Whether the manifest names offsets that are in no copy."""
        return any(one["num_missing"] for one in self.account.partitions)


def planted(folder: Path, name: str) -> Planted:
    """Make a plant, salvage all of its log directories into one, and verify that."""
    plant = PLANTS[name]
    source = make_base(folder / "source")
    plant.do(source)
    shift = time.time_ns() // 1_000_000 - DAYS_AGO * 86_400_000 - T0
    for path in source.rglob("*.log*"):
        if path.is_file():
            path.write_bytes(moved(path.read_bytes(), shift))
    account = salvaged(sorted(source.iterdir()), folder / "dest")
    properties = folder / "dest" / "log" / "meta.properties"
    if not properties.exists():  # as docs/salvage.md says
        shutil.copyfile(CLEAN / "meta.properties", properties)
    rows, summary = verified(folder / "dest", only=("log",))
    assert summary.errors == [], name
    return Planted(plant, source, account, rows)


def moved(data: bytes, shift: int) -> bytes:
    """A segment with other timestamps in all batches that have right checksums, which stay right."""
    found, position = bytearray(data), 0
    while position + LEN_HEADER <= len(found):
        end = sound_end(found, position)
        if end is None:
            position += 1
            continue
        for at in (OFS_BASE_TIMESTAMP, OFS_MAX_TIMESTAMP):
            (timestamp,) = struct.unpack_from(">q", found, position + at)
            if timestamp >= 0:
                struct.pack_into(">q", found, position + at, timestamp + shift)
        checksum = crc32c.crc32c(found[position + OFS_ATTRIBUTES : end])
        struct.pack_into(">I", found, position + OFS_CRC, checksum)
        position = end
    return bytes(found)


def sound_end(data: bytearray, position: int) -> int | None:
    """Where a batch of magic 2 with a right checksum ends; None if there is none."""
    (length,) = struct.unpack_from(">i", data, position + OFS_LENGTH)
    end = position + OFS_LENGTH + 4 + length
    if data[position + OFS_MAGIC] != 2 or not position + LEN_HEADER <= end <= len(data):
        return None
    (stored,) = struct.unpack_from(">I", data, position + OFS_CRC)
    return end if crc32c.crc32c(data[position + OFS_ATTRIBUTES : end]) == stored else None
