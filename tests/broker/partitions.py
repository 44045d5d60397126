"""What is put into a broker: a partition's files, and by hand or by Kafka what consumers must read of it."""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from tests.recording.sets import ORACLE, RECORDED


class Row(NamedTuple):
    """A record as a consumer gives it; keys of headers are bytes."""

    offset: int
    timestamp: int
    timestamp_type: str
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[bytes, bytes | None], ...] = ()


@dataclass(frozen=True)
class Partition:
    """Partition 0 of a topic of its own.

    Attributes:
        topic: its name.
        folder: the files that go into its directory.
        rows: all data records, by offset.
        markers: offset and timestamp of the transactions' markers, which no consumer hands out.
        aborted: offsets of data records that `read_committed` leaves out.
        first_offset: where the log begins.
        end_offset: behind the last batch.
        last_stable_offset: as far as `read_committed` comes; None is the end.
        config: of the topic.
    """

    topic: str
    folder: Path
    rows: tuple[Row, ...]
    end_offset: int
    first_offset: int = 0
    markers: Mapping[int, int] = field(default_factory=dict)
    aborted: frozenset[int] = frozenset()
    last_stable_offset: int | None = None
    config: Mapping[str, str] = field(default_factory=dict)

    def rows_of(self, isolation: str) -> list[Row]:
        """What a consumer of an isolation level reads."""
        if isolation == "read_uncommitted":
            return list(self.rows)
        end = self.end_of(isolation)
        return [row for row in self.rows if row.offset not in self.aborted and row.offset < end]

    def end_of(self, isolation: str) -> int:
        """Where a consumer of an isolation level ends."""
        stable = self.last_stable_offset
        return self.end_offset if isolation == "read_uncommitted" or stable is None else stable

    def offset_at(self, timestamp: int, isolation: str) -> tuple[int, int]:
        """Offset and timestamp of the first record that is not older, of markers and aborted ones too.

        A broker looks at nothing but timestamps there (LogSegment.findOffsetByTimestamp).
        """
        every = sorted([*self.markers.items(), *((row.offset, row.timestamp) for row in self.rows)])
        return next(found for found in every if found[1] >= timestamp and found[0] < self.end_of(isolation))


def recorded(name: str, of: str = "kafka-4.3/clean") -> Partition:
    """A partition that a broker wrote, with Kafka's own reading of it."""
    folder = Path(of) / f"{name}-0"
    lines = [json.loads(line) for path in sorted((ORACLE / folder).iterdir()) for line in path.open()]
    batches = [line for line in lines if line["type"] == "batch"]
    records = [line for line in lines if line["type"] == "record"]
    fates = fates_of(lines)
    return Partition(
        topic=name,
        folder=RECORDED / folder,
        rows=tuple(row_of(line) for line in records if line["control"] is None),
        end_offset=batches[-1]["last_offset"] + 1,
        markers={line["offset"]: line["timestamp"] for line in records if line["control"]},
        aborted=frozenset(offset for offset, fate in fates.items() if fate == "ABORT"),
        last_stable_offset=min((offset for offset, fate in fates.items() if fate == "open"), default=None),
    )


def without_index(partition: Partition, folder: Path) -> Partition:
    """A partition without an `.index`, under another name: a broker then says that it makes one."""
    shutil.copytree(partition.folder, folder, copy_function=shutil.copyfile)
    next(folder.glob("*.index")).unlink()
    return replace(partition, topic=f"{partition.topic}-without-index", folder=folder)


def fates_of(lines: Iterable[Mapping[str, Any]]) -> dict[int, str]:
    """What became of each transactional record: COMMIT, ABORT or open."""
    fates: dict[int, str] = {}
    under_way: dict[int, list[int]] = {}
    batch: Mapping[str, Any] = {}
    for line in lines:
        if line["type"] == "batch":
            batch = line
        elif line["control"]:
            ended = under_way.pop(batch["producer_id"], [])
            fates |= dict.fromkeys(ended, line["control"]["type"])
        elif batch["is_transactional"]:
            under_way.setdefault(batch["producer_id"], []).append(line["offset"])
            fates[line["offset"]] = "open"
    return fates


def row_of(line: Mapping[str, Any]) -> Row:
    """A line of the oracle, or of the Java consumer."""
    pairs = [(one["key"], one["value"]) if isinstance(one, dict) else one for one in line["headers"]]
    headers = tuple((base64.b64decode(key), bytes_of(value)) for key, value in pairs)
    key, value = bytes_of(line["key"]), bytes_of(line["value"])
    return Row(line["offset"], line["timestamp"], line["timestamp_type"], key, value, headers)


def bytes_of(text: str | None) -> bytes | None:
    """Base64, or null."""
    return None if text is None else base64.b64decode(text)


def segment_files(folder: Path) -> Iterator[Path]:
    """The segments of a folder, and the index files beside them."""
    yield from (path for path in sorted(folder.iterdir()) if path.suffix in SUFFIXES)


SUFFIXES = (".log", ".index", ".timeindex", ".txnindex")
