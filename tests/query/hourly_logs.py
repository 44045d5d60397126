"""Two partitions with a segment for each hour, and the files that are opened of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import kafka_segments
from kafka_segments.core.io.local_files import LocalFiles
from kafka_segments.log import segment_extents
from kafka_segments.query.read import split_reader

T0 = 1_700_000_000_000
HOUR = 3_600_000
NUM_HOURS = 40
PER_HOUR = 6


def write_hours(folder: Path) -> None:
    """Write `events-0` and `events-1`: segments of more than 64 KiB, with `PER_HOUR` records each."""
    for partition in (0, 1):
        log = folder / f"events-{partition}"
        log.mkdir()
        for hour in range(NUM_HOURS):
            times = [T0 + hour * HOUR + minute * 600_000 for minute in range(PER_HOUR)]
            rows = [{"key": b"k", "value": bytes(20_000), "timestamp": time} for time in times]
            base = PER_HOUR * hour
            kafka_segments.write_segment(log / f"{base:020}.log", rows, base_offset=base, batch_size=20_000)


def count_opened(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count how often each `.log` file is opened from now on, by partition and name."""
    found: Counter[str] = Counter()
    plain = LocalFiles.open

    def counted(self: LocalFiles, path: str, *arguments: Any) -> Any:
        if path.endswith(".log"):
            found[_name_of(path)] += 1
        return plain(self, path, *arguments)

    monkeypatch.setattr(LocalFiles, "open", counted)
    segment_extents._kept.clear()
    return found


def note_read(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Collect the segments whose records are read from now on, by partition and name."""
    found: set[str] = set()
    plain = split_reader.read_split

    def noted(split: Any, *arguments: Any) -> Any:
        found.add(_name_of(split.segment.file.path))
        return plain(split, *arguments)

    monkeypatch.setattr(split_reader, "read_split", noted)
    return found


def segments_of(partitions: Iterable[int], hours: Iterable[int]) -> set[str]:
    """Names of the segments of some hours, as `count_opened` and `note_read` have them."""
    hours = list(hours)
    return {f"events-{number}/{PER_HOUR * hour:020}.log" for number in partitions for hour in hours}


def _name_of(path: str) -> str:
    return "/".join(path.split("/")[-2:])
