"""Segments of a broker as two tiers would keep them, by their documented rules; no code of theirs runs here.

Kafka's LocalTieredStorage: RemoteLogSegmentFileset, which test_kafka_judges holds this against. Aiven's
tiered storage: ObjectKeyFactory for the names, SegmentManifestV1 and what belongs to it for the manifest. The
plugin is in no registry; its classes of commit 8fb15816, compiled by hand, wrote 120 recorded segments with
the same names and manifests, and what they wrote was read as the broker had it.
"""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

import zstandard

from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.segment.beside.index_files import LeaderEpoch
from kafka_segments.log.discovery import discover
from kafka_segments.log.model import PartitionCopy, StoredSegment

TOPIC_ID = "lZ6vvmajTWKDBUTV6SQAtQ"


def copy_of(directory: Path) -> PartitionCopy:
    """A broker's own copy."""
    (copy,) = discover(Places(), [str(directory)])
    return copy


def bounds(copy: PartitionCopy) -> list[tuple[int, int]]:
    """Base and end offset of its segments that are not written to any more."""
    return [(one.base_offset, one.end_offset) for one in copy.segments if one.end_offset is not None]


def segment_id(number: int) -> str:
    """An id as Kafka's Uuid prints it, other ones for other numbers."""
    return base64.urlsafe_b64encode(number.to_bytes(16, "big")).decode().rstrip("=")


def epochs_up_to(copy: PartitionCopy, start: int, end: int) -> list[LeaderEpoch]:
    """LeaderEpochFileCache.epochEntriesInRange."""
    entries = [entry for entry in copy.leader_epochs if entry.start_offset < end]
    before = [entry for entry in entries if entry.start_offset <= start]
    behind = [entry for entry in entries if entry.start_offset > start]
    return ([LeaderEpoch(before[-1].epoch, start)] if before and start >= 0 else before) + behind


def files_beside(copy: PartitionCopy, segment: StoredSegment, end: int) -> dict[str, bytes]:
    """What RemoteLogManager hands over with a segment: the snapshot is that of its end."""
    path = Path(segment.file.path)
    found = {"log": path.read_bytes()}
    for suffix in ("index", "timeindex", "txnindex"):
        if path.with_suffix(f".{suffix}").exists():
            found[suffix] = path.with_suffix(f".{suffix}").read_bytes()
    found["snapshot"] = (path.parent / f"{end:020}.snapshot").read_bytes()
    entries = epochs_up_to(copy, -1, end)
    lines = "".join(f"{entry.epoch} {entry.start_offset}\n" for entry in entries)
    found["leader_epoch_checkpoint"] = f"0\n{len(entries)}\n{lines}".encode()
    return found


def kafkas(copy: PartitionCopy, top: Path, first_id: int = 1) -> Path:
    """LocalTieredStorage's directory of a partition."""
    directory = top / f"{copy.topic}-{copy.partition}-{TOPIC_ID}"
    directory.mkdir(parents=True, exist_ok=True)
    for number, segment in enumerate(copy.segments[:-1], first_id):
        assert segment.end_offset is not None
        for suffix, data in files_beside(copy, segment, segment.end_offset).items():
            (directory / f"{segment.base_offset:020}-{segment_id(number)}.{suffix}").write_bytes(data)
    return directory


def aivens(
    copy: PartitionCopy, top: Path, *, len_chunk: int = 1000, compression: bool = True, first_id: int = 1
) -> Path:
    """Aiven's objects of a partition."""
    directory = top / f"{copy.topic}-{TOPIC_ID}" / str(copy.partition)
    directory.mkdir(parents=True, exist_ok=True)
    for number, segment in enumerate(copy.segments[:-1], first_id):
        assert segment.end_offset is not None
        stem = f"{segment.base_offset:020}-{segment_id(number)}"
        beside = files_beside(copy, segment, segment.end_offset)
        log, sizes = in_chunks(beside["log"], len_chunk, compression)
        (directory / f"{stem}.log").write_bytes(log)
        places: dict[str, Any] = {}
        indexes = b""
        for name, suffix in (
            ("offset", "index"),
            ("timestamp", "timeindex"),
            ("producerSnapshot", "snapshot"),
            ("leaderEpoch", "leader_epoch_checkpoint"),
            ("transaction", "txnindex"),
        ):
            data = beside.get(suffix)
            places[name] = None if data is None else {"position": len(indexes), "size": len(data)}
            indexes += data or b""
        (directory / f"{stem}.indexes").write_bytes(indexes)
        manifest = manifest_of(copy, segment, places, sizes, len_chunk, len(beside["log"]), stem)
        (directory / f"{stem}.rsm-manifest").write_text(json.dumps(manifest))
    return directory


def in_chunks(data: bytes, len_chunk: int, compression: bool) -> tuple[bytes, list[int] | None]:
    """A segment as it is stored, and how many bytes its chunks have then."""
    if not compression:
        return data, None
    pieces = [data[at : at + len_chunk] for at in range(0, len(data), len_chunk)] or [b""]
    stored = [zstandard.ZstdCompressor().compress(piece) for piece in pieces]
    return b"".join(stored), [len(piece) for piece in stored]


def manifest_of(
    copy: PartitionCopy,
    segment: StoredSegment,
    places: dict[str, Any],
    sizes: list[int] | None,
    len_chunk: int,
    size: int,
    stem: str,
) -> dict[str, Any]:
    """SegmentManifestV1 in JSON."""
    assert segment.end_offset is not None
    index: dict[str, Any] = {"originalChunkSize": len_chunk, "originalFileSize": size}
    if sizes is None:
        index |= {
            "type": "fixed",
            "transformedChunkSize": len_chunk,
            "finalTransformedChunkSize": size % len_chunk,
        }
    else:
        packed = zstandard.ZstdCompressor().compress(encoded_sizes(sizes))
        index |= {"type": "variable", "transformedChunks": base64.b64encode(packed).decode()}
    epochs = epochs_up_to(copy, segment.base_offset, segment.end_offset)
    return {
        "version": "1",
        "chunkIndex": index,
        "segmentIndexes": places,
        "compression": sizes is not None,
        "remoteLogSegmentMetadata": {
            "remoteLogSegmentId": {
                "topicIdPartition": {
                    "topicId": TOPIC_ID,
                    "topicPartition": {"topic": copy.topic, "partition": copy.partition},
                },
                "id": re.split("-", stem, maxsplit=1)[1],
            },
            "startOffset": segment.base_offset,
            "endOffset": segment.end_offset - 1,
            "maxTimestampMs": 0,
            "brokerId": 0,
            "eventTimestampMs": 0,
            "segmentLeaderEpochs": {str(entry.epoch): entry.start_offset for entry in epochs},
        },
    }


def encoded_sizes(sizes: list[int]) -> bytes:
    """ChunkSizesBinaryCodec.encode."""
    count, last = len(sizes).to_bytes(4, "big"), sizes[-1].to_bytes(4, "big") if sizes else b""
    if len(sizes) < 2:
        return count + last
    base = min(sizes[:-1])
    width = max(1, *((size - base).bit_length() + 7 >> 3 for size in sizes[:-1]))
    differences = b"".join((size - base).to_bytes(width, "big") for size in sizes[:-1])
    return count + base.to_bytes(4, "big") + bytes([width]) + differences + last
