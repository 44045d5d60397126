"""Segments in a tier's directory, of two layouts: Kafka's LocalTieredStorage (KIP-405), and Aiven's.

Strategy: each segment has its own stem, `<base offset>-<id>`, and counts if its upload is complete. Kafka's
is complete with all its files (RemoteLogSegmentFileset), Aiven's with its manifest, which is written last. A
failed upload leaves files, and is repeated with another id; only a tier's metadata topic has which segments
it has deleted.

A tier's producer snapshot of a segment is that of its end (RemoteLogManager), in a broker's directory that of
its beginning: it is `end-snapshot` here, and `snapshot` of the next segment if that follows.

A manifest is JSON that describes how a segment and its indexes are stored. Source: SegmentManifestV1,
SegmentIndexesV1, ChunkIndex and its two forms, KafkaTypeSerdeModule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from kafka_segments.core.formats.file_names import TIERED_NAME
from kafka_segments.core.formats.java import MAX_LONG
from kafka_segments.core.io.filesystem import FileEntry
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.segment.beside.index_files import LeaderEpoch, read_leader_epochs
from kafka_segments.errors import (
    DecodeError,
    KafkaFormatError,
    UnknownFormatError,
    raise_unless_file_at_fault,
)
from kafka_segments.log.model import Chunks, StoredFile, StoredSegment
from kafka_segments.log.opening import ZSTD_CHUNKS, read_file
from kafka_segments.log.partition_dirs import Directory, run_at_once

__all__ = ["Manifest", "TierContents", "read_manifest", "read_tier"]

_MANIFEST = "rsm-manifest"
_EPOCHS = "leader_epoch_checkpoint"
# RemoteLogSegmentFileType: the required files; a transaction index is optional.
_REQUIRED = ("log", "index", "timeindex", "snapshot", _EPOCHS)
_SUFFIXES = {"index": "index", "timeindex": "timeindex", "txnindex": "txnindex", "snapshot": "end-snapshot"}

WhyNot = Callable[[StoredFile], str | None]


@dataclass(slots=True)
class TierContents:
    """Content of a tier's directory.

    Attributes:
        segments: by base offset; they may overlap.
        left_out: segments that do not count: file, base offset, and reason.
        unused: errors of their other files.
    """

    segments: list[StoredSegment] = field(default_factory=list)
    left_out: list[tuple[StoredFile, int, str]] = field(default_factory=list)
    unused: list[KafkaFormatError] = field(default_factory=list)


def read_tier(places: Places, directory: Directory, why_not: WhyNot) -> TierContents:
    """Find the complete segments in a directory.

    Args:
        places: opens files.
        directory: the listed directory.
        why_not: returns why a `.log` is left out, None if it is not.

    Raises:
        ReadError: a manifest cannot be read.
        DecodeError: a manifest is invalid.
        UnknownFormatError: a segment is encrypted.
    """
    contents = TierContents()
    whole = []
    for base_offset, files in _grouped(directory):
        why = _why_incomplete(files) or _why_unwanted(directory, files, why_not)
        if why is None:
            whole.append((base_offset, files))
        else:
            shown = files.get("log") or next(iter(files.values()))
            contents.left_out.append((StoredFile.of(shown), base_offset, why))
    contents.segments = list(_read_segments(places, directory, whole, contents.unused))
    contents.segments = _with_snapshots(sorted(contents.segments, key=lambda one: one.base_offset))
    return contents


def _grouped(directory: Directory) -> Iterator[tuple[int, dict[str, FileEntry]]]:
    groups: dict[str, dict[str, FileEntry]] = {}
    for entry in directory.entries:
        stem, _, suffix = entry.name.partition(".")
        if TIERED_NAME.fullmatch(f"{stem}.log") and not entry.is_directory:
            groups.setdefault(stem, {})[suffix] = entry
    for stem, files in sorted(groups.items()):
        yield int(stem.partition("-")[0]), files


def _why_incomplete(files: dict[str, FileEntry]) -> str | None:
    if _MANIFEST in files or "indexes" in files:
        missing = [suffix for suffix in ("log", "indexes", _MANIFEST) if suffix not in files]
    else:
        missing = [suffix for suffix in _REQUIRED if suffix not in files]
    if not missing:
        return None
    return f"an upload that was not completed, or is being deleted: there is no .{' and no .'.join(missing)}"


def _why_unwanted(directory: Directory, files: dict[str, FileEntry], why_not: WhyNot) -> str | None:
    names = {entry.name for entry in files.values()}
    if directory.wanted is not None and names.isdisjoint(directory.wanted):
        return "other segments were given by name"
    return why_not(StoredFile.of(files["log"]))


def _read_segments(
    places: Places,
    directory: Directory,
    whole: Sequence[tuple[int, dict[str, FileEntry]]],
    unused: list[KafkaFormatError],
) -> Iterator[StoredSegment]:
    manifests = [files[_MANIFEST] for _, files in whole if _MANIFEST in files]
    found = iter(run_at_once(directory.path, partial(_read_manifest, places), manifests))
    for base_offset, files in whole:
        if _MANIFEST in files:
            yield _aiven_segment(base_offset, files, next(found))
        else:
            yield _kafka_segment(places, base_offset, files, unused)


def _read_manifest(places: Places, entry: FileEntry) -> Manifest:
    try:
        return read_manifest(read_file(places, entry.path))
    except KafkaFormatError as error:
        raise error.with_context(path=entry.path) from error.__cause__


def _aiven_segment(base_offset: int, files: dict[str, FileEntry], manifest: Manifest) -> StoredSegment:
    indexes = StoredFile.of(files["indexes"])
    beside = {
        suffix: replace(indexes, position=position, size=size)
        for suffix, (position, size) in manifest.indexes.items()
        if size
    }
    return StoredSegment(
        StoredFile.of(files["log"]),
        base_offset if manifest.base_offset is None else manifest.base_offset,
        beside=beside,
        form="plain" if manifest.chunks is None else ZSTD_CHUNKS,
        end_offset=manifest.end_offset,
        leader_epochs=manifest.leader_epochs,
        chunks=manifest.chunks,
    )


def _kafka_segment(
    places: Places, base_offset: int, files: dict[str, FileEntry], unused: list[KafkaFormatError]
) -> StoredSegment:
    beside = {
        _SUFFIXES[suffix]: StoredFile.of(entry) for suffix, entry in files.items() if suffix in _SUFFIXES
    }
    checkpoint = StoredFile.of(files[_EPOCHS])
    beside["leader-epoch-checkpoint"] = checkpoint
    epochs: tuple[LeaderEpoch, ...] | None = None
    try:
        epochs = read_leader_epochs(read_file(places, checkpoint.path)) or None
    except KafkaFormatError as found:
        error = found.with_context(path=checkpoint.path)
        raise_unless_file_at_fault(error)
        unused.append(error)
    return StoredSegment(StoredFile.of(files["log"]), base_offset, beside=beside, leader_epochs=epochs)


def _with_snapshots(segments: list[StoredSegment]) -> list[StoredSegment]:
    """Add to each segment the snapshot of the one that ends where it begins, if ends are known."""
    by_end = {segment.end_offset: segment.beside.get("end-snapshot") for segment in segments}

    def with_snapshot(segment: StoredSegment) -> StoredSegment:
        snapshot = by_end.get(segment.base_offset)
        return (
            segment if snapshot is None else replace(segment, beside={**segment.beside, "snapshot": snapshot})
        )

    return [with_snapshot(segment) for segment in segments]


_MAX_LEN = 16 << 20  # mostly the sizes of chunks in base64, usually some KiB
_MAX_VALUES = 1 << 16  # most of them leader epochs; each may become an object of some 60 bytes
_Number = Annotated[int, Meta(ge=0, le=MAX_LONG - 1)]


class _Place(Struct):
    position: _Number
    size: _Number


class _Indexes(Struct, rename="camel"):  # SegmentIndexesV1
    offset: _Place | None = None
    timestamp: _Place | None = None
    producer_snapshot: _Place | None = None
    leader_epoch: _Place | None = None
    transaction: _Place | None = None


_INDEX_SUFFIXES = (
    "index",
    "timeindex",
    "end-snapshot",
    "leader-epoch-checkpoint",
    "txnindex",
)  # in that order


class _ChunkIndex(Struct, rename="camel"):
    type: str
    original_chunk_size: _Number
    original_file_size: _Number
    transformed_chunks: str = ""


class _Metadata(Struct, rename="camel"):
    start_offset: _Number
    end_offset: _Number
    segment_leader_epochs: dict[int, _Number]


class _SegmentManifest(Struct, rename="camel"):
    version: Literal["1"]
    chunk_index: _ChunkIndex
    segment_indexes: _Indexes
    compression: bool
    encryption: Any = None
    remote_log_segment_metadata: _Metadata | None = None


@dataclass(frozen=True, slots=True)
class Manifest:
    """Content of a manifest.

    Attributes:
        size: uncompressed bytes of the segment.
        chunks: its compressed chunks; None if it is not compressed.
        indexes: position and size in the `.indexes` file, by suffix of a broker's file; the producer snapshot
            is that of the segment's end: `end-snapshot`.
        base_offset: of the segment; None if unknown.
        end_offset: offset after its last one; None if unknown.
        leader_epochs: those of the segment; None if unknown.
    """

    size: int
    chunks: Chunks | None
    indexes: Mapping[str, tuple[int, int]]
    base_offset: int | None
    end_offset: int | None
    leader_epochs: tuple[LeaderEpoch, ...] | None


def read_manifest(data: bytes) -> Manifest:
    """Read a `.rsm-manifest`.

    Raises:
        DecodeError: it is not a manifest of version 1, or too large.
        UnknownFormatError: the segment is encrypted.
    """
    num_values = sum(map(data.count, (b",", b"[", b"{")))
    if len(data) > _MAX_LEN or num_values > _MAX_VALUES:
        raise DecodeError(
            f"a manifest of {len(data)} bytes and {num_values} values; {_MAX_LEN} and {_MAX_VALUES} at most "
            "are read"
        )
    try:
        found = msgspec.json.decode(data, type=_SegmentManifest)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise DecodeError(f"not a manifest of version 1: {error}") from error
    if found.encryption is not None:
        raise UnknownFormatError(_why_encrypted(found.encryption), format="Aiven tiered storage, encrypted")
    index, known = found.chunk_index, found.remote_log_segment_metadata
    if found.compression and index.type != "variable":
        detail = f"a manifest of a compressed segment with {index.type!r:.40} chunks; they must be 'variable'"
        raise DecodeError(detail)
    chunks = Chunks(index.original_chunk_size, index.original_file_size, index.transformed_chunks)
    places = zip(_INDEX_SUFFIXES, msgspec.structs.astuple(found.segment_indexes), strict=True)
    epochs = () if known is None else sorted(known.segment_leader_epochs.items())
    return Manifest(
        index.original_file_size,
        chunks if found.compression else None,
        {suffix: (place.position, place.size) for suffix, place in places if place is not None},
        None if known is None else known.start_offset,
        None if known is None else known.end_offset + 1,
        None if known is None else tuple(LeaderEpoch(*one) for one in epochs),
    )


def _why_encrypted(encryption: Any) -> str:
    key = encryption.get("dataKey") if isinstance(encryption, dict) else None
    wrapped_by = key.partition(":")[0] if isinstance(key, str) and ":" in key else None
    return (
        "this segment is encrypted (Aiven's tiered storage: AES-GCM, the key wrapped by "
        + (f"the RSA key {wrapped_by!r:.60}" if wrapped_by else "an RSA key")
        + "): it cannot be read here. Read it through a broker, or leave it out by pathGlobFilter"
    )
