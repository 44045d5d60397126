"""Segments for the tests of the columnar reader, and what they hold read in the slow way."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
from tests.made.build import batch, record
from tests.made.codecs import gzip_member
from tests.timestamps import stored

from kafka_segments import Damage, Record, Segment, open_segment

RECORDED = Path(__file__).resolve().parents[1] / "vectors" / "recorded"


def recorded() -> list[Path]:
    """Every recorded segment and snapshot."""
    return sorted([*RECORDED.rglob("*.log"), *RECORDED.rglob("*.checkpoint")])


def some_segment(num_batches: int = 300, seed: int = 1) -> bytes:
    """Batches of all shapes: nulls, headers, empty ones, control batches, compressed or not."""
    random = Random(seed)
    out, offset = [], 0
    for number in range(num_batches):
        records = [some_record(random, at) for at in range(random.choice([0, 1, 3, 40]))]
        fields: dict[str, Any] = {"count": len(records), "last_offset_delta": max(len(records) - 1, 0)}
        if number % 17 == 5:
            fields |= {"attributes": 1 << 5}
            records = [record(0, b"\0\0\0\1", b"\0\0\0\0\0\0")]
            fields |= {"count": 1, "last_offset_delta": 0}
        elif number % 3 == 1:
            fields |= {"attributes": 1, "payload": gzip_member(b"".join(records))}
        out.append(batch(offset, records, **fields))
        offset += max(len(records), 1)
    return b"".join(out)


def some_record(random: Random, delta: int) -> bytes:
    key = random.choice([None, b"", b"key-%d" % delta])
    value = random.choice([None, b"", random.randbytes(random.choice([1, 16, 17, 64, 65, 300]))])
    headers = tuple((b"h%d" % at, random.choice([None, b"", b"x" * at])) for at in range(random.randrange(4)))
    return record(delta, key, value, headers, timestamp_delta=random.choice([0, 1, -5, 10_000]))


@lru_cache(8)
def slowly(data: bytes) -> list[tuple[Any, ...]]:
    """The data records of a segment, record by record over the Kaitai classes."""
    with open_segment(data) as segment:
        events = segment.iter_events(on_damage="skip")
        return [row(event) for event in events if isinstance(event, Record) and event.control is None]


def row(record: Record) -> tuple[Any, ...]:
    return record.offset, record.timestamp, record.key, record.value, record.headers


def rows(batches: Iterable[pa.RecordBatch]) -> list[tuple[Any, ...]]:
    """The same of arrow batches with all columns."""
    found = []
    for arrow in batches:
        arrow.validate(full=True)
        timestamps = stored(arrow.column("timestamp"))
        columns = [arrow.column(name).to_pylist() for name in ("offset", "key", "value", "headers")]
        for offset, timestamp, key, value, headers in zip(columns[0], timestamps, *columns[1:], strict=True):
            pairs = tuple((header["key"], header["value"]) for header in headers)
            found.append((offset, timestamp, key, value, pairs))
    return found


def damages(segment: Segment) -> list[tuple[Any, ...]]:
    """What is said of damage while the columns are read."""
    found: list[Damage] = []
    for _ in segment.read_batches(on_damage=found.append):
        pass
    return [told(damage) for damage in found]


def told(damage: Damage) -> tuple[Any, ...]:
    return (
        damage.position,
        damage.end_position,
        type(damage.error).__name__,
        str(damage.error),
        damage.first_lost_offset,
        damage.last_lost_offset,
    )
