"""What the errata are shown on: recorded batches and records, and the worked example of a chapter, built."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.codegen.vectors import VECTORS
from tests.construct.values import batch, segment

from kafka_segments import Batch, Record, open_segment
from kafka_segments.core.formats.entries import Padding

RECORDED = VECTORS / "recorded"
TIME = 1_714_000_000_000


def worked_example(base_timestamp: int = TIME, **header: Any) -> bytes:
    """The batch of the chapter, from values alone: lengths, deltas, counts and checksum are computed."""
    header = {"partition_leader_epoch": -1, "base_timestamp": base_timestamp, **header}
    return segment(batch([{"value": b"hello"}, {"value": b"world"}], **header))


def number(data: bytes, start: int, size: int = 4) -> int:
    """A big-endian signed integer, without any of our code."""
    return int.from_bytes(data[start : start + size], "big", signed=True)


def recorded(place: str, suffix: str = "log") -> Iterator[tuple[Batch, bytes, list[Record]]]:
    """Batches of a recorded partition in all its segments, with their bytes and records."""
    paths = sorted((RECORDED / place).glob(f"*.{suffix}"))
    assert paths, place
    for path in paths:
        data = path.read_bytes()
        yield from entries(data)


def entries(data: bytes, **options: Any) -> Iterator[tuple[Batch, bytes, list[Record]]]:
    """The same of bytes; raises what is wrong with them."""
    current: tuple[Batch, bytes, list[Record]] | None = None
    with open_segment(data, **options) as opened:
        for event in opened.iter_events():
            if isinstance(event, Batch):
                if current is not None:
                    yield current
                current = event, data[event.position : event.end_position], []
            elif not isinstance(event, Padding) and current is not None:
                current[2].append(event)
    if current is not None:
        yield current


def only(data: bytes, **options: Any) -> tuple[Batch, list[Record]]:
    """The one batch of some bytes, and its records."""
    ((found, _bytes, records),) = entries(data, **options)
    return found, records
