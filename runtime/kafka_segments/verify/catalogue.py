"""Catalogue of the checks: each with its id, what it finds, and what to do about it.

docs/verify.md has a table that is made of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from kafka_segments.errors import OptionError
from kafka_segments.log.findings import Kind

__all__ = ["CHECKS", "GROUPS", "CheckRow", "chosen_checks"]


@dataclass(frozen=True, slots=True)
class CheckRow:
    """A check of the catalogue.

    Attributes:
        id: as `--checks` and `--skip` take it, and as findings have it.
        group: a name for several checks, which `--checks` and `--skip` take too.
        finds: what is wrong, in a few words.
        remedy: what to do.
        kind: of its findings.
    """

    id: str
    group: str
    finds: str
    remedy: str
    kind: Kind = Kind.DAMAGE


_REPLICA = "take the offsets from a replica, or salvage what is sound"
_REBUILT = "salvage makes it anew, as a broker does for a sound segment without an `.index`"
_SNAPSHOT = "a broker makes it anew from the log: move it away on a copy"
_START = "compare with a replica before a broker starts on it"
_TWICE = "nothing: consumers get its records twice"
_FILES, _LOST = Kind.UNUSED, Kind.LOST

_BYTES = [
    ("crc", "the checksum of a batch or message does not match its bytes", _REPLICA),
    ("batch-length", "a size that no entry has, or that leads beyond the end of the file", _REPLICA),
    ("magic", "a message format that Kafka does not have", _REPLICA),
    (
        "torn-tail",
        "an incomplete last batch of the newest segment; none with `--live`",
        "nothing: a broker truncates it when it starts",
    ),
    ("unreadable", "a file, or a place in it, that cannot be read", "image the disk first, then salvage"),
    ("zeros", "zeros at the end of a segment that is not the newest", _REPLICA),
]
_BATCHES = [
    ("offset-order", "a batch that begins at or below the last offset before it", _REPLICA),
    ("last-offset", "more records than the batch's offsets have room for", _REPLICA),
    ("batch-size", "a batch larger than `--max-batch-bytes`", "raise max.message.bytes, or leave it out"),
    ("leader-epoch-order", "a leader epoch below the one before it", _START),
]
_CONTENTS = [
    ("payload", "a payload that does not decompress, under a valid checksum", _REPLICA),
    ("records", "a record whose lengths, or a batch whose count of records, contradict its bytes", _REPLICA),
    ("record-offsets", "records of a batch out of order, or outside of its offsets", _REPLICA),
    (
        "max-timestamp",
        "the greatest timestamp in the header is not that of the records",
        "nothing: records can be read, but lookups by time may miss them",
    ),
]
_LOG = [
    (
        "segment-name",
        "offsets of another segment: files swapped, renamed or overlapping",
        "on a copy, give each file the name of its first offset",
    ),
    ("missing-offsets", "offsets in no segment, where the cleaner has not been", _REPLICA, _LOST),
    ("log-start-offset", "the log begins after the offset in its checkpoint", _REPLICA, _LOST),
    ("high-watermark", "the log ends below the high watermark in its checkpoint", _REPLICA, _LOST),
    ("recovery-point", "the log ends below the recovery point in its checkpoint", _REPLICA, _LOST),
    ("lost-segment", "indexes of a segment that is gone", _REPLICA, _LOST),
    (
        "swap-file",
        "offsets that only a `.swap` file of the cleaner has",
        "nothing: a broker takes it in when it starts",
        _LOST,
    ),
]
_INDEXES = [
    ("offset-index", "a `.index` that contradicts itself or its segment", _REBUILT, _FILES),
    ("time-index", "a `.timeindex` that contradicts itself or its segment", _REBUILT, _FILES),
    ("transaction-index", "a `.txnindex` that contradicts itself or the markers", _REBUILT, _FILES),
    (
        "missing-index",
        "a segment without an index, where others have one or it has another",
        _REBUILT,
        _FILES,
    ),
    ("producer-snapshot", "a `.snapshot` that cannot be read", _SNAPSHOT, _FILES),
    ("snapshot-state", "a `.snapshot` that contradicts the batches before it", _SNAPSHOT, _FILES),
    ("snapshot-end", "a `.snapshot` of an offset that the log does not reach", _START, _FILES),
]
_EPOCHS = [
    (
        "leader-epoch-file",
        "a `leader-epoch-checkpoint` that cannot be read, or is not in order",
        _START,
        _FILES,
    ),
    (
        "leader-epoch",
        "a batch whose leader epoch is not that of the checkpoint at its offset",
        _START,
        _FILES,
    ),
]
_TRANSACTIONS = [
    (
        "lost-marker",
        "a transaction whose marker is lost: its producer goes on without it",
        "the printed command",
    ),
    (
        "open-transaction",
        "a transaction open for longer than any may be: read_committed hangs",
        "the printed command",
    ),
    ("transaction-in-doubt", "a transaction whose marker may be in damaged bytes", _REPLICA),
    ("marker", "a control batch of a producer that ends no transaction", _REPLICA),
    ("marker-epoch", "a marker of an epoch below its producer's", _START),
    ("plain-in-transaction", "a batch outside of its producer's open transaction", _START),
]
_PRODUCERS = [
    ("sequence-gap", "sequence numbers are missing, though all offsets are there", _START),
    ("sequence-duplicate", "a batch repeats sequence numbers of its producer", _TWICE),
    ("producer-epoch", "a batch of an epoch below its producer's: a broker had fenced it", _START),
]
_DIRECTORIES = [
    (
        "directory-name",
        "a directory whose name is not a partition's; a broker does not start",
        "move it away before a broker starts",
    ),
    ("file-name", "a `.log` whose name is not a segment's", "move it away"),
    (
        "partition-metadata",
        "a `partition.metadata` that cannot be read, or that KRaft misses",
        "write the id that kafka-topics.sh --describe prints",
        _FILES,
    ),
    (
        "topic-id",
        "partitions or copies of a topic with different topic ids",
        "leave out the older topic",
        _FILES,
    ),
    (
        "meta-properties",
        "a `meta.properties` that is missing or cannot be read",
        "copy that of another disk of the node, without the line directory.id",
        _FILES,
    ),
    (
        "cluster-id",
        "a `cluster.id` that is not the others', or not `--cluster-id`",
        "find out whose disk it is",
        _FILES,
    ),
    ("node-id", "a `node.id` that is not `--node-id`", "find out whose disk it is", _FILES),
    ("directory-id", "two log directories with one `directory.id`: one is a copy", "use one of them", _FILES),
    ("duplicate-partition", "a partition in two log directories of a node", "use one of them", _FILES),
    (
        "missing-partition",
        "a partition that checkpoints name and that has no segment, or (after a clean shutdown) is not there",
        "find its directory, or take it from a replica",
        _LOST,
    ),
    ("checkpoint-file", "a checkpoint that cannot be read", "nothing: a broker makes it anew", _FILES),
]
_COPIES = [
    (
        "copies-diverged",
        "copies with batches of different leader epochs at an offset",
        "take the one with the higher leader epoch there",
        Kind.DIVERGED,
    ),
    (
        "copies-differ",
        "copies with different batches of one leader epoch at an offset",
        "compare the records with a third copy, by kafka-segments dump",
        Kind.DIVERGED,
    ),
]

_TABLES: dict[str, Sequence[tuple[Any, ...]]] = {
    "bytes": _BYTES,
    "batches": _BATCHES,
    "contents": _CONTENTS,
    "log": _LOG,
    "indexes": _INDEXES,
    "epochs": _EPOCHS,
    "transactions": _TRANSACTIONS,
    "producers": _PRODUCERS,
    "directories": _DIRECTORIES,
    "copies": _COPIES,
}


def _rows() -> Iterable[CheckRow]:
    for group, rows in _TABLES.items():
        for row in rows:
            yield CheckRow(row[0], group, row[1], row[2], *row[3:])


CHECKS: dict[str, CheckRow] = {row.id: row for row in _rows()}
"""All checks, by id."""

GROUPS: dict[str, tuple[str, ...]] = {
    group: tuple(row.id for row in CHECKS.values() if row.group == group) for group in _TABLES
}
"""Ids of the checks of each group."""


def chosen_checks(only: Iterable[str], skip: Iterable[str] = ()) -> frozenset[str]:
    """Return the ids of the chosen checks.

    Args:
        only: ids and groups; all checks if there are none.
        skip: likewise, of checks that are left out.

    Raises:
        OptionError: an unknown name, or no check is left.
    """
    wanted = frozenset(one for name in only for one in _ids_of(name)) or frozenset(CHECKS)
    left = wanted - {one for name in skip for one in _ids_of(name)}
    if not left:
        raise OptionError("no check is left: give --checks more, or --skip fewer")
    return left


def _ids_of(name: str) -> tuple[str, ...]:
    if name in GROUPS:
        return GROUPS[name]
    if name in CHECKS:
        return (name,)
    raise OptionError(
        f"there is no check {name!r}; the groups are {', '.join(GROUPS)}, the checks {', '.join(CHECKS)}"
    )
