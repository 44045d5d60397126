"""Segments as values, to compare what we wrote with what Kafka wrote."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

from tests.conversion.kafka_classes import KafkaError
from tests.recording.sets import RECORDED, segment_files

from kafka_segments import Batch, Record, open_segment
from kafka_segments.errors import KafkaFormatError
from kafka_segments.write.convert import Conversion

# What differs between two compressions of the same.
_OF_THE_BYTES = frozenset(["path", "position", "size", "crc", "previous_offset"])


@dataclass
class Stored:
    """An entry of a segment: header, sound records, bytes."""

    batch: Batch
    records: list[Record]
    data: bytes


def stored(data: bytes) -> list[Stored]:
    """The entries of a segment with right checksums."""
    found: list[Stored] = []
    with open_segment(data) as segment:
        for event in segment.iter_events(on_damage="skip"):
            if isinstance(event, Batch) and event.crc_valid:
                found.append(Stored(event, [], data[event.position : event.end_position]))
            elif isinstance(event, Record):
                found[-1].records.append(event)
    return found


def values(data: bytes) -> list[dict[str, Any]]:
    """Every field of every header and record, but for what depends on how well a codec compresses."""
    rows = (row for entry in stored(data) for row in (entry.batch, *entry.records))
    return [{name: value for name, value in asdict(row).items() if name not in _OF_THE_BYTES} for row in rows]


def is_same(ours: bytes, kafkas: bytes) -> bool:
    """Whether two segments have the same bytes, or, where something is compressed, the same values."""
    if ours == kafkas:
        return True
    is_compressed = any(entry.batch.compression != "none" for entry in stored(kafkas))
    return is_compressed and values(ours) == values(kafkas)


def result(make: Callable[[], bytes] | Conversion) -> bytes | None:
    """The bytes, or None where we or Kafka refuse."""
    try:
        return make.to_bytes() if isinstance(make, Conversion) else make()
    except (KafkaFormatError, KafkaError):
        return None


def agree(ours: bytes | None, kafkas: bytes | None) -> bool:
    """Whether both refuse, or both wrote the same."""
    if ours is None or kafkas is None:
        return ours is kafkas
    return is_same(ours, kafkas)


def has_impossible_offsets(data: bytes) -> bool:
    """Whether a record's offset is below 0 or below its batch's, as no broker writes it.

    Kafka's classes write some of these again all the same; we refuse to.
    """
    return any(
        record.offset < max(0, entry.batch.base_offset or 0)
        for entry in stored(data)
        for record in entry.records
    )


@cache
def recorded() -> dict[str, bytes]:
    """Every recorded segment; without the zeros of preallocated ones, at which Kafka's reader throws."""
    found = {}
    for name in segment_files("."):
        data = (RECORDED / name).read_bytes()
        found[name] = b"".join(entry.data for entry in stored(data)) if "preallocated" in name else data
    return found


def as_consumed(records: Iterable[Record]) -> list[tuple[Any, ...]]:
    """What a consumer sees of records."""
    return [
        (record.offset, record.timestamp, record.timestamp_type, record.key, record.value, record.headers)
        for record in records
    ]
