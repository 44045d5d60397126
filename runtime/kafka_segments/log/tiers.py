"""Segments in a tier's directory, of two layouts: Kafka's LocalTieredStorage (KIP-405), and Aiven's.

Strategy: each segment has its own stem, `<base offset>-<id>`, and counts if its upload is complete. Kafka's
is complete with all its files (RemoteLogSegmentFileset), Aiven's with its manifest, which is written last. A
failed upload leaves files, and is repeated with another id; only a tier's metadata topic has which segments
it has deleted.

A tier's producer snapshot of a segment is that of its end (RemoteLogManager), in a broker's directory that of
its beginning: it is `end-snapshot` here, and `snapshot` of the next segment if that follows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from kafka_segments.core.formats.file_names import TIERED_NAME
from kafka_segments.core.io.filesystem import FileEntry
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.segment.index_files import LeaderEpoch, read_leader_epochs
from kafka_segments.errors import KafkaFormatError, raise_unless_file_at_fault
from kafka_segments.log.model import StoredFile, StoredSegment
from kafka_segments.log.partition_dirs import Directory, run_at_once
from kafka_segments.log.stored_segments import ZSTD_CHUNKS, read_file
from kafka_segments.log.tier_manifests import Manifest, read_manifest

__all__ = ["TierContents", "read_tier"]

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
        return read_manifest(read_file(places, StoredFile.of(entry)))
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
        epochs = read_leader_epochs(read_file(places, checkpoint)) or None
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
