"""Manifests of Aiven's tiered storage: JSON that describes how a segment and its indexes are stored.

Source: SegmentManifestV1, SegmentIndexesV1, ChunkIndex and its two forms, KafkaTypeSerdeModule.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from kafka_segments.core.formats.java import MAX_LONG
from kafka_segments.core.segment.index_files import LeaderEpoch
from kafka_segments.errors import DecodeError, UnknownFormatError
from kafka_segments.log.model import Chunks

__all__ = ["Manifest", "read_manifest"]

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


_SUFFIXES = ("index", "timeindex", "end-snapshot", "leader-epoch-checkpoint", "txnindex")  # in that order


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
    places = zip(_SUFFIXES, msgspec.structs.astuple(found.segment_indexes), strict=True)
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
