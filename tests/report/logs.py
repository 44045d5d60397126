"""Log directories for the tests of reports, written by hand, with contents that no page may have."""

from __future__ import annotations

import gzip
from pathlib import Path

from tests.made.build import batch, patched, record
from tests.made.directories import ABORT, COMMIT, segment_path

PARTS = ("key", "value", "head", "held")
SECRETS = tuple(f"{part}-of-the-message-{number}" for part in PARTS for number in range(6))
"""Texts of keys, of values, of headers' keys and of their values."""
HOUR, START = 3_600_000, 1_700_000_000_000
GZIP, TRANSACTIONAL, CONTROL, HORIZON = 0x01, 0x10, 0x20, 0x40


def at(hours: int) -> dict[str, int]:
    """Header fields of a batch of that time."""
    return {"base_timestamp": START + hours * HOUR, "max_timestamp": START + hours * HOUR}


def secret_records(number: int) -> list[bytes]:
    """Two records with the texts of that number in all of their parts."""
    key, value, head, held = (f"{part}-of-the-message-{number}".encode() for part in PARTS)
    return [record(0, key, value, ((head, held),)), record(1, None, value * 20)]


def write(directory: Path, base_offset: int, *entries: bytes) -> Path:
    """Write a segment into a partition's directory."""
    directory.mkdir(parents=True, exist_ok=True)
    path = segment_path(directory, base_offset)
    path.write_bytes(b"".join(entries))
    return path


def plain_and_gzip(directory: Path) -> Path:
    """Write a segment of two batches of two records each, the second one with gzip and of epoch 3."""
    packed = gzip.compress(b"".join(secret_records(1)), mtime=0)
    fields = {"attributes": GZIP, "count": 2, "last_offset_delta": 1, "leader_epoch": 3}
    return write(
        directory, 0, batch(0, secret_records(0), **at(0)), batch(2, payload=packed, **fields, **at(5))
    )


def end_of(offset: int, producer_id: int, kind: bytes, hours: int) -> bytes:
    """A marker, with a time."""
    fields = {"attributes": TRANSACTIONAL | CONTROL, "producer_id": producer_id, "producer_epoch": 0}
    return batch(offset, [record(0, kind, b"\0\0" + b"\0\0\0\0")], **fields, **at(hours))


def transactions(directory: Path) -> Path:
    """Write transactions: 1 commits, 2 aborts, 3 is open; 4 is idempotent alone."""
    in_one = {"attributes": TRANSACTIONAL, "producer_epoch": 0}
    entries = [
        batch(0, [record(), record(1)], producer_id=1, **in_one, **at(0)),
        batch(2, [record()], producer_id=2, **in_one, **at(1)),
        end_of(3, 1, COMMIT, 2),
        end_of(4, 2, ABORT, 3),
        batch(5, [record()], producer_id=3, **in_one, **at(4)),
        batch(6, [record(), record(1)], producer_id=4, producer_epoch=7, base_sequence=0, **at(5)),
    ]
    return write(directory, 0, *entries)


def damaged(directory: Path) -> Path:
    """Write two segments: the second of three batches in the first is damaged, offsets 6 to 9 are missing."""
    entries = [batch(offset, secret_records(offset // 2), **at(offset)) for offset in (0, 2, 4)]
    write(directory, 10, batch(10, secret_records(5), **at(9)))
    return write(directory, 0, patched(b"".join(entries), len(entries[0]) + 100, b"\xff"))


def horizons(directory: Path) -> Path:
    """Write a batch with a delete horizon, whose offsets 1 and 2 the cleaner has removed."""
    fields = {"attributes": HORIZON, "last_offset_delta": 3}
    return write(directory, 0, batch(0, [record(0, b"k", None), record(3, b"l", None)], **fields, **at(1)))


def spread(directory: Path, span_ms: int, num_batches: int = 60, start: int = START) -> Path:
    """Write batches of one record with equal times between them."""
    times = [start + span_ms * at // (num_batches - 1) for at in range(num_batches)]
    entries = [
        batch(at, [record(0, b"k")], base_timestamp=time, max_timestamp=time) for at, time in enumerate(times)
    ]
    return write(directory, 0, *entries)
