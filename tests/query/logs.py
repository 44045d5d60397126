"""Partitions for the planner, and what reading them by splits gives."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from tests.made import build

from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.segment.transactions.state import ExcludedBatches
from kafka_segments.log.discovery import discover
from kafka_segments.log.model import PartitionLog, Split
from kafka_segments.log.opening import open_segment_of
from kafka_segments.log.replicas import resolve
from kafka_segments.query.plan import Plan, plan
from kafka_segments.query.query import Limits, Query
from kafka_segments.write.writer import SegmentWriter, open_partition_writer

PLACES = Places()
RECORDED = Path(__file__).resolve().parents[1] / "vectors" / "recorded"

Row = tuple[int, int]


@dataclass(frozen=True)
class Entry:
    """A batch to write: what it is, its timestamps, the offsets that are missing before it and in it."""

    kind: str
    timestamps: tuple[int, ...]
    gap: int = 0
    hole: int = 0


def write(folder: Path, entries: Iterable[Entry], *, segment_bytes: int = 600, interval: int = 100) -> Path:
    """Entries as a partition `t-0` with indexes; returns its directory."""
    path = folder / "t-0"
    with open_partition_writer(
        path, segment_bytes=segment_bytes, index_interval_bytes=interval, batch_size=1 << 20
    ) as writer:
        for entry in entries:
            _write(writer, entry)
    return path


def _write(writer: SegmentWriter, entry: Entry) -> None:
    first = writer.next_offset + entry.gap
    last = first + len(entry.timestamps) - 1
    if entry.kind == "empty":
        writer.write_empty_batch(base_offset=first, last_offset=last, max_timestamp=max(entry.timestamps))
        return
    if entry.kind == "marker":
        options: dict[str, Any] = {
            "producer_id": 7,
            "producer_epoch": 0,
            "timestamp": max(-1, entry.timestamps[0]),
        }
        writer.write_marker("COMMIT", **options)
        return
    if entry.kind in ("create2", "append2"):
        writer.append(_batch(entry, first))
        return
    is_append = entry.kind.startswith("append")
    magic = int(entry.kind[-1])
    options = {"magic": magic, "base_offset": first}
    if "wrapper" in entry.kind:
        options["compression"] = "gzip"
    if is_append:
        options |= {"timestamp_type": "LogAppendTime", "log_append_time": max(-1, *entry.timestamps)}
    rows: list[dict[str, Any]] = []
    for at, timestamp in enumerate(entry.timestamps):
        row: dict[str, Any] = {"offset": first + at + (entry.hole if at else 0), "value": b"x" * 20}
        if magic > 0:
            row["timestamp"] = max(-1, timestamp)
        rows.append(row)
    writer.write(rows, **options)


def _batch(entry: Entry, first: int) -> bytes:
    """A batch as a broker stores it: also with times that our writer refuses and clients send."""
    base = entry.timestamps[0]
    deltas = [at + (entry.hole if at else 0) for at in range(len(entry.timestamps))]
    records = [
        build.record(delta, None, b"x" * 20, timestamp_delta=timestamp - base)
        for delta, timestamp in zip(deltas, entry.timestamps, strict=True)
    ]
    return build.batch(
        first,
        records,
        attributes=8 if entry.kind == "append2" else 0,
        base_timestamp=base,
        max_timestamp=max(-1, *entry.timestamps),
        last_offset_delta=deltas[-1],
    )


timestamps = st.one_of(
    st.integers(-5, 60), st.integers(-(1 << 40), 1 << 41), st.sampled_from([-1, 0, 1 << 61, -(1 << 61)])
)
_KINDS = (
    "create2 create2 append2 create1 create-wrapper1 append1 append-wrapper1 create0 create-wrapper0 empty "
    "marker create-wrapper2"
)
kinds = st.sampled_from(_KINDS.split())
entries = st.builds(
    Entry,
    kinds,
    st.lists(timestamps, min_size=1, max_size=4).map(tuple),
    st.sampled_from([0, 0, 0, 3]),
    st.sampled_from([0, 0, 2]),
)
growing = st.lists(st.integers(0, 40), min_size=1, max_size=30).map(
    lambda steps: [Entry("create2", (sum(steps[: at + 1]), sum(steps[:at]))) for at in range(len(steps))]
)
logs = st.one_of(st.lists(entries, max_size=30), growing)


def log_of(path: Path, *, without: Sequence[str] = ()) -> PartitionLog:
    """The partition in a directory, as if some of the files beside its segments were not there."""
    (log,) = resolve(PLACES, discover(PLACES, [str(path)]))
    pieces = []
    for piece in log.pieces:
        beside = {name: file for name, file in piece.segment.beside.items() if name not in without}
        pieces.append(replace(piece, segment=replace(piece.segment, beside=beside)))
    return replace(log, pieces=tuple(pieces))


def planned(path: Path, query: Query | None = None, **changes: Any) -> Plan:
    """A plan of one partition."""
    return plan([log_of(path)], replace(query or Query(), **changes), PLACES)


def splits_of(made: Plan) -> list[Split]:
    return [split for task in made.tasks for split in task]


def rows_of(splits: Iterable[Split]) -> list[Row]:
    """Offsets and timestamps that readers of the splits are given; hints are not used."""
    found: list[Row] = []
    for split in splits:
        with open_segment_of(PLACES, split.segment) as segment:
            events = segment.iter_columnar(
                ["offset", "timestamp_ms"], (split.start, split.end), ExcludedBatches.of(split.excluded)
            )
            for event in events:
                if hasattr(event, "num_rows"):
                    numbers = event.column("offset").to_pylist()
                    times = event.column("timestamp_ms").to_pylist()
                    found += zip(numbers, times, strict=True)
    return found


def all_rows(path: Path) -> list[Row]:
    """The same of everything there is."""
    return rows_of(splits_of(planned(path)))


def check_hints(splits: Iterable[Split]) -> None:
    """Each position is that of an entry, and nothing of the range stands before it."""
    for split in splits:
        with open_segment_of(PLACES, split.segment) as segment:
            batches: list[Any] = list(segment.iter_entries())
            assert split.position in [batch.position for batch in batches] or not split.position
            before = [batch for batch in batches if batch.position < split.position]
            assert all(batch.last_offset < split.start for batch in before)
            end = segment.size if split.end_position is None else split.end_position
            assert split.position <= end <= segment.size


def check_apart(splits: Sequence[Split]) -> None:
    """No offset is in two splits, and they are in order."""
    for one, other in pairwise(splits):
        assert one.end is not None and one.start < one.end <= other.start


limits = st.builds(
    Limits,
    max_partition_bytes=st.sampled_from([150, 400, 64 << 20]),
    min_partitions=st.sampled_from([None, None, 3, 20]),
    max_records=st.sampled_from([None, None, 2, 5]),
)
