"""Manifests of Aiven's tiered storage: JSON that describes how a segment and its indexes are stored.

Source: SegmentManifestV1, SegmentIndexesV1, ChunkIndex and its two forms, KafkaTypeSerdeModule.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kafka_segments.errors import DecodeError, UnknownFormatError
from kafka_segments.log.model import Chunks
from kafka_segments.segment.index_files import LeaderEpoch

__all__ = ["Manifest", "read_manifest"]

# Names of SegmentIndexesV1, and suffixes of a broker's files.
_INDEXES = {
    "offset": "index",
    "timestamp": "timeindex",
    "producerSnapshot": "end-snapshot",
    "leaderEpoch": "leader-epoch-checkpoint",
    "transaction": "txnindex",
}
_MAX_LEN = 16 << 20  # mostly the sizes of chunks in base64, usually some KiB
_MAX_VALUES = 1 << 16  # most of them leader epochs; each may become an object of some 60 bytes


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
        DecodeError: it is no manifest of version 1, or too large.
        UnknownFormatError: the segment is encrypted.
    """
    if len(data) > _MAX_LEN:
        raise DecodeError(f"a manifest of {len(data)} bytes; {_MAX_LEN} at most are read")
    try:
        text = data.decode(json.detect_encoding(data))
        # Counted before parsing: values take 30 times the memory of their text and more.
        num_values = sum(map(text.count, ",[{"))
        if num_values > _MAX_VALUES:
            raise DecodeError(f"a manifest of {num_values} values; {_MAX_VALUES} at most are read")
        manifest = json.loads(text)
    except DecodeError:
        raise
    except (ValueError, RecursionError) as error:
        raise DecodeError(f"not a manifest: {error}") from error
    version = _get(manifest, "version", str)
    if version != "1":
        raise DecodeError(f"a manifest of version {version!r:.40}; only 1 is known")
    encryption = manifest.get("encryption")
    if encryption is not None:
        raise UnknownFormatError(_why_encrypted(encryption), format="Aiven tiered storage, encrypted")
    index = _get(manifest, "chunkIndex", dict)
    is_compressed = _get(manifest, "compression", bool)
    return Manifest(
        _number(index, "originalFileSize"),
        _chunks(index) if is_compressed else None,
        _indexes(_get(manifest, "segmentIndexes", dict)),
        *_metadata(manifest.get("remoteLogSegmentMetadata")),
    )


def _chunks(index: Mapping[str, Any]) -> Chunks:
    kind = _get(index, "type", str)
    if kind != "variable":
        raise DecodeError(f"a manifest of a compressed segment with {kind!r:.40} chunks; they are 'variable'")
    return Chunks(
        _number(index, "originalChunkSize"),
        _number(index, "originalFileSize"),
        _get(index, "transformedChunks", str),
    )


def _indexes(indexes: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
    found = {}
    for name, suffix in _INDEXES.items():
        place = indexes.get(name)
        if place is not None:
            found[suffix] = _number(place, "position"), _number(place, "size")
    return found


def _metadata(metadata: Any) -> tuple[int | None, int | None, tuple[LeaderEpoch, ...] | None]:
    if metadata is None:
        return None, None, None
    epochs = _get(metadata, "segmentLeaderEpochs", dict)
    try:
        found = sorted((int(epoch), _number(epochs, epoch)) for epoch in epochs)
    except ValueError as error:
        if isinstance(error, DecodeError):
            raise
        raise DecodeError(f"the manifest's segmentLeaderEpochs are none: {error}") from error
    start, last = _number(metadata, "startOffset"), _number(metadata, "endOffset")
    return start, last + 1, tuple(LeaderEpoch(*epoch) for epoch in found)


def _get(mapping: Any, name: str, kind: type) -> Any:
    value = mapping.get(name) if isinstance(mapping, dict) else None
    if type(value) is not kind:
        raise DecodeError(f"the manifest's {name} is {value!r:.60}, which is no {kind.__name__}")
    return value


def _number(mapping: Any, name: str) -> int:
    value: int = _get(mapping, name, int)
    if not 0 <= value < 1 << 63:
        raise DecodeError(f"the manifest's {name} is {value!r:.40}, which cannot be")
    return value


def _why_encrypted(encryption: Any) -> str:
    key = encryption.get("dataKey") if isinstance(encryption, dict) else None
    wrapped_by = key.partition(":")[0] if isinstance(key, str) and ":" in key else None
    return (
        "this segment is encrypted (Aiven's tiered storage: AES-GCM, the key wrapped by "
        + (f"the RSA key {wrapped_by!r:.60}" if wrapped_by else "an RSA key")
        + "): it cannot be read here. Read it through a broker, or leave it out by pathGlobFilter"
    )
