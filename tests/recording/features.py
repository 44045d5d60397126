"""What the recorded sets show, and what they must show.

Strategy: every oracle line, every run of a partition's lines and every file name yields facts, short strings;
`REQUIRED` lists those that issue and tests rely on. `missing()` is the difference. Nothing here decodes a
segment: Kafka's own reading (tests/vectors/oracle) is what is judged.
"""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from tests.recording.sets import ORACLE, RECORDED

CLIENTS = {"codec": "Java", "rdkafka": "librdkafka", "kpy": "kafka-python", "aiokafka": "aiokafka"}
LAST_MICROS = (2**63 - 1) // 1000
LEGACY_CODECS = ("none", "gzip", "snappy", "lz4")
CODECS = (*LEGACY_CODECS, "zstd")
CLEANED = ("kafka-4.3", "kafka-2.8", "kafka-0.10.2", "kafka-0.9")

REQUIRED = frozenset(
    [f"{client}: {codec}" for client in CLIENTS.values() for codec in CODECS]
    + [f"{client} magic 1: {codec}" for client in ("librdkafka", "kafka-python") for codec in LEGACY_CODECS]
    + [f"magic 0 {codec} NoTimestampType" for codec in LEGACY_CODECS]
    + [f"magic 1 {codec} {kind}" for codec in LEGACY_CODECS for kind in ("CreateTime", "LogAppendTime")]
    + [f"magic 2 {codec} {kind}" for codec in CODECS for kind in ("CreateTime", "LogAppendTime")]
    + [f"control type {number}" for number in range(7)]
    + [f"magic {magic} {shape} key" for magic in range(3) for shape in ("null", "empty")]
    + [f"magic {magic} {shape} value" for magic in range(3) for shape in ("null", "empty")]
    + [f"magic {magic} {shape}" for magic in range(3) for shape in ("tombstone", "over 64 KiB")]
    + [f"header: {shape}" for shape in ("none", "duplicate", "empty key", "null value", "empty value")]
    + [f"header: {shape}" for shape in ("binary value", "key not UTF-8")]
    + [f"timestamp: {kind}" for kind in ("out of order", "0", "negative", "extreme")]
    + ["timestamp: max is not the maximum"]
    + ["idempotent", "committed", "aborted", "interleaved", "open at the end"]
    + [f"magic {magic} cleaned: gap inside a batch" for magic in range(3)]
    + ["cleaned: empty batch", "cleaned: empty control batch", "cleaned: segment of 0 bytes"]
    + ["delete horizon on data", "delete horizon on a marker"]
    + ["several segments", "two leader epochs", "magics 0 1 2 1 0 2 in one segment", "magics mixed, cleaned"]
    + [f"file: {kind}" for kind in ("index", "timeindex", "txnindex", "snapshot", "leader-epoch-checkpoint")]
    + [f"file: {kind}" for kind in ("partition.metadata", "deleted", "checkpoint", "meta.properties")]
    + ["log start offset inside a segment", "a directory being deleted", "clean shutdown", "killed"]
    + ["zeros at the end: kafka-4.3/running", "zeros at the end: kafka-4.3/killed"]
    + ["internal: __consumer_offsets", "internal: __transaction_state", "internal: __share_group_state"]
    + ["internal: __cluster_metadata"]
)

Line = dict[str, Any]


@dataclass(frozen=True)
class Segment:
    """Kafka's reading of one file: its batches, each with its records."""

    set_name: str
    directory: str
    batches: list[tuple[Line, list[Line]]]


def missing(sets: Iterable[str] | None = None) -> frozenset[str]:
    """What is required and not there, in these sets or in all."""
    names = sorted(sets or set_names())
    return REQUIRED - set(facts(names))


def set_names() -> list[str]:
    """All recorded sets, as `<release>/<state>`."""
    return sorted(path.relative_to(RECORDED).as_posix() for path in RECORDED.glob("*/*"))


def facts(names: Iterable[str]) -> Iterator[str]:
    """Everything that the named sets show."""
    for name in names:
        yield from _facts_of_files(name)
        partitions: dict[str, list[Segment]] = {}
        for segment in segments(name):
            partitions.setdefault(segment.directory, []).append(segment)
            yield from _facts_of_segment(segment)
        for directory, parts in partitions.items():
            if directory != ".":
                yield from _facts_of_partition(parts)


def segments(name: str) -> Iterator[Segment]:
    """The oracle's files of a set, in the order of paths."""
    for path in sorted((ORACLE / name).rglob("*.jsonl")):
        batches: list[tuple[Line, list[Line]]] = []
        with path.open(encoding="utf-8") as lines:
            for line in map(json.loads, lines):
                if line["type"] == "batch":
                    batches.append((line, []))
                else:
                    batches[-1][1].append(line)
        yield Segment(name, path.parent.relative_to(ORACLE / name).as_posix(), batches)


def _facts_of_segment(segment: Segment) -> Iterator[str]:
    client = CLIENTS.get(segment.directory.split("-")[0])
    magics = [batch["magic"] for batch, _ in segment.batches]
    changes = [magic for before, magic in pairwise([None, *magics]) if magic != before]
    if changes == [0, 1, 2, 1, 0, 2]:
        yield "magics 0 1 2 1 0 2 in one segment"
    if segment.set_name == "kafka-2.8/clean" and "compact" in segment.directory and set(magics) > {2}:
        yield "magics mixed, cleaned"
    for batch, records in segment.batches:
        if client and segment.set_name == "kafka-4.3/clean":
            yield f"{client}: {batch['compression']}"
        if client and segment.set_name == "kafka-0.10.2/clean":
            yield f"{client} magic 1: {batch['compression']}"
        yield f"magic {batch['magic']} {batch['compression']} {batch['timestamp_type']}"
        yield from _facts_of_batch(batch)
        yield from _facts_of_times(batch, records)
        for record in records:
            yield from _facts_of_record(batch, record)


def _facts_of_batch(batch: Line) -> Iterator[str]:
    marker = batch["is_control"]
    if batch["num_records"] == 0:
        yield "cleaned: empty control batch" if marker else "cleaned: empty batch"
    elif batch["last_offset"] - batch["base_offset"] >= batch["num_records"]:
        yield f"magic {batch['magic']} cleaned: gap inside a batch"
    if batch["delete_horizon_ms"] is not None:
        yield "delete horizon on a marker" if marker else "delete horizon on data"
    if batch["producer_id"] >= 0 and batch["base_sequence"] >= 0 and not batch["is_transactional"]:
        yield "idempotent"


def _facts_of_times(batch: Line, records: list[Line]) -> Iterator[str]:
    times = [record["timestamp"] for record in records]
    if any(later < earlier for earlier, later in pairwise(times)):
        yield "timestamp: out of order"
    if batch["magic"] == 2 and times and max(times) != batch["max_timestamp"]:
        yield "timestamp: max is not the maximum"
    if 0 in times:
        yield "timestamp: 0"
    if times and min(times) < -1:
        yield "timestamp: negative"
    if times and max(times) > LAST_MICROS:
        yield "timestamp: extreme"


def _facts_of_record(batch: Line, record: Line) -> Iterator[str]:
    magic = f"magic {batch['magic']}"
    key, value = record["key"], record["value"]
    if record["control"]:
        yield f"control type {record['control']['type_id']}"
        return
    if not key:
        yield f"{magic} null key" if key is None else f"{magic} empty key"
    if not value:
        yield f"{magic} null value" if value is None else f"{magic} empty value"
    if key and value is None:
        yield f"{magic} tombstone"
    if value and len(b64decode(value)) > 1 << 16:
        yield f"{magic} over 64 KiB"
    if batch["magic"] == 2:
        yield from _facts_of_headers(record["headers"])


def _facts_of_headers(headers: list[Line]) -> Iterator[str]:
    keys = [header["key"] for header in headers]
    if not keys:
        yield "header: none"
    if len(set(keys)) < len(keys):
        yield "header: duplicate"
    for header in headers:
        if header["key"] == "":
            yield "header: empty key"
        if not header["value"]:
            yield "header: null value" if header["value"] is None else "header: empty value"
        elif not _is_utf8(header["value"]):
            yield "header: binary value"
        if not _is_utf8(header["key"]):
            yield "header: key not UTF-8"


def _is_utf8(base64: str) -> bool:
    try:
        b64decode(base64).decode()
    except UnicodeDecodeError:
        return False
    return True


def _facts_of_partition(parts: list[Segment]) -> Iterator[str]:
    batches = [entry for part in parts for entry in part.batches]
    yield f"internal: {parts[0].directory.rsplit('-', 1)[0]}"
    if len(parts) > 1:
        yield "several segments"
    if len({batch["partition_leader_epoch"] for batch, _ in batches if batch["magic"] == 2}) > 1:
        yield "two leader epochs"
    yield from _facts_of_transactions(batches)


def _facts_of_transactions(batches: list[tuple[Line, list[Line]]]) -> Iterator[str]:
    """A producer's transaction is open from its first data to its marker."""
    opened: list[int] = []
    for batch, records in batches:
        producer = batch["producer_id"]
        if not batch["is_transactional"]:
            continue
        if not batch["is_control"]:
            if producer in opened and opened[-1] != producer:
                yield "interleaved"
            opened = [other for other in opened if other != producer] + [producer]
        elif records:
            yield "committed" if records[0]["control"]["type"] == "COMMIT" else "aborted"
            opened = [other for other in opened if other != producer]
    if opened:
        yield "open at the end"


def _facts_of_files(name: str) -> Iterator[str]:
    root = RECORDED / name
    for path in root.rglob("*"):
        if path.is_dir() and path.name.endswith("-delete"):
            yield "a directory being deleted"
        if path.is_file() and path.stat().st_size:
            yield f"file: {path.name if path.name in _WHOLE_NAMES else path.name.rsplit('.', 1)[-1]}"
            if path.suffix == ".log" and path.read_bytes().endswith(bytes(64)):
                yield f"zeros at the end: {name}"
        elif path.suffix == ".log" and "compact" in path.parent.name:
            yield "cleaned: segment of 0 bytes"
    if (root / ".kafka_cleanshutdown").exists():
        yield "clean shutdown"
    elif name.endswith("/killed"):
        yield "killed"
    starts = root / "log-start-offset-checkpoint"
    for row in starts.read_text().splitlines()[2:] if starts.exists() else []:
        topic, partition, offset = row.split(" ")
        bases = [int(path.stem) for path in (root / f"{topic}-{partition}").glob("*.log")]
        if bases and 0 < min(bases) < int(offset) and int(offset) not in bases:
            yield "log start offset inside a segment"


_WHOLE_NAMES = ("leader-epoch-checkpoint", "partition.metadata", "meta.properties")


def uncleaned(release: str) -> list[str]:
    """Topics of a release's set before cleaning that have no fewer records in its clean set."""
    before, after = (_records(f"{release}/{state}") for state in ("before-cleaning", "clean"))
    return [name for name, count in before.items() if name != "." and after.get(name, count) >= count]


def _records(name: str) -> dict[str, int]:
    counts: dict[str, int] = {}
    for segment in segments(name):
        counts[segment.directory] = counts.get(segment.directory, 0)
        counts[segment.directory] += sum(len(records) for _, records in segment.batches)
    return counts
