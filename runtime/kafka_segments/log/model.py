"""Data model of logs: partitions, copies, segments and splits, as known before records are read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kafka_segments.core.formats.file_names import Count, PartitionNumber, SegmentPath, TopicName
from kafka_segments.core.io.filesystem import FileEntry
from kafka_segments.core.segment.beside.index_files import LeaderEpoch
from kafka_segments.core.segment.continuity import CheckpointedOffsets
from kafka_segments.errors import KafkaFormatError
from kafka_segments.log.findings import Finding, Kind

__all__ = [
    "Chunks",
    "LogEnd",
    "LogPiece",
    "PartitionCopy",
    "PartitionLog",
    "Split",
    "StoredFile",
    "StoredSegment",
    "higher",
    "is_reported_before",
    "lower",
    "name_partition",
]


@dataclass(frozen=True, slots=True)
class StoredFile:
    """File, or part of one, from a directory listing.

    Attributes:
        path: a path or address for `Places`.
        size: bytes (of the part).
        identity: of the file; see `FileEntry`.
        modified_ns: of the file; likewise.
        position: start of the part.
    """

    path: SegmentPath
    size: Count
    identity: str
    modified_ns: int = 0
    position: Count = 0

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition("/")[2]

    @classmethod
    def of(cls, entry: FileEntry) -> StoredFile:
        """Make it from a listing's entry."""
        return cls(entry.path, entry.size, entry.identity, entry.modified_ns)


@dataclass(frozen=True, slots=True)
class Chunks:
    """Chunks of a segment that were compressed one by one, from its manifest.

    Attributes:
        len_chunk: uncompressed bytes of a chunk; the last one may have fewer.
        size: bytes of the segment.
        stored: compressed bytes of each chunk, as encoded in the manifest (`opening.chunk_sizes`
            decodes it): of thousands of segments, most are never opened.
    """

    len_chunk: Count
    size: Count
    stored: str


@dataclass(frozen=True, slots=True)
class StoredSegment:
    """Copy of a segment.

    Attributes:
        file: the `.log`.
        base_offset: by its name or its manifest.
        is_newest: the last of its copy; a broker may be writing there.
        beside: its other files, by suffix: `index`, `timeindex`, `txnindex`, `snapshot`,
            `leader-epoch-checkpoint`.
        form: storage form: `plain`, or one of `opening`.
        end_offset: the offset after its last one: the next segment's base offset (there may be no record just
            before it), or from a manifest; None if unknown, as for the newest segment.
        leader_epochs: in a tier, the lineage up to this segment's end; else None.
        chunks: of a segment in such a form.
        noted_end: of the newest segment, an offset that its log reached once, by checkpoints and the names of
            snapshots; 0 if unknown.
        size: uncompressed bytes of the segment.
    """

    file: StoredFile
    base_offset: Count
    is_newest: bool = False
    beside: Mapping[str, StoredFile] = field(default_factory=dict)
    form: str = "plain"
    end_offset: int | None = None
    leader_epochs: tuple[LeaderEpoch, ...] | None = None
    chunks: Chunks | None = None
    noted_end: Count = 0

    @property
    def path(self) -> str:
        """Path or address of the `.log`."""
        return self.file.path

    @property
    def size(self) -> int:
        return self.file.size if self.chunks is None else self.chunks.size


@dataclass(frozen=True, slots=True)
class LogEnd:
    """End of a copy's log by its broker's checkpoints.

    Attributes:
        is_live: a broker has the log directory open at this moment.
        high_watermark: the last checkpoint, which may be seconds old; None if there is none.
        recovery_point: likewise; everything below it was flushed to disk, and a broker that truncates the log
            below it writes a lower one (UnifiedLog.truncateTo).
        was_shut_down: the broker has ended in order: the recovery point is the end of the log.
    """

    is_live: bool = False
    high_watermark: int | None = None
    recovery_point: int | None = None
    was_shut_down: bool = False


def _noted(one: PartitionCopy | PartitionLog) -> CheckpointedOffsets:
    if one.end.is_live:
        return CheckpointedOffsets(one.log_start_offset, cleaned_up_to=one.cleaned_up_to)
    marks = one.end.high_watermark, one.end.recovery_point
    return CheckpointedOffsets(one.log_start_offset, *marks, one.cleaned_up_to, one.without_log, one.swaps)


@dataclass(frozen=True, slots=True)
class PartitionCopy:
    """Copy of a partition: a directory on a broker's disk, or in a tier.

    Attributes:
        path: the directory.
        topic: its name.
        partition: its number.
        segments: by base offset.
        topic_id: 22 characters of base64url; None if unknown.
        log_start_offset: records below it are deleted; None if unknown.
        leader_epochs: the lineage; empty if unknown.
        end: see `LogEnd`.
        is_tiered: whether it is in a tier.
        cleaned_up_to: see `continuity.CheckpointedOffsets`.
        never_cleaned: whether there is a checkpoint of the cleaner, and it does not name the partition.
        without_log: base offsets of indexes without a segment.
        swaps: see `continuity.CheckpointedOffsets`.
        findings: segments that are left out, and other files that could not be read and are ignored.
    """

    path: str
    topic: str
    partition: int
    segments: tuple[StoredSegment, ...]
    topic_id: str | None = None
    log_start_offset: int | None = None
    leader_epochs: tuple[LeaderEpoch, ...] = ()
    end: LogEnd = LogEnd()
    is_tiered: bool = False
    cleaned_up_to: int | None = None
    never_cleaned: bool = False
    without_log: tuple[int, ...] = ()
    swaps: tuple[tuple[int, str], ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def noted(self) -> CheckpointedOffsets:
        """The checkpoints, without those that a running broker may change."""
        return _noted(self)


@dataclass(frozen=True, slots=True)
class LogPiece:
    """Range of a partition's offsets that is read from one segment.

    Attributes:
        start: first offset.
        end: offset after the last one; None is the segment's end.
        segment: the preferred copy.
        others: copies with some of these offsets too; each counts up to its `end_offset`.
    """

    start: Count
    end: Count | None
    segment: StoredSegment
    others: tuple[StoredSegment, ...] = ()


@dataclass(frozen=True, slots=True)
class PartitionLog:
    """Log of a partition, merged from its copies; each offset is in one piece.

    Attributes:
        topic: its name.
        partition: its number.
        pieces: by offset, without overlap.
        topic_id: if it is known.
        log_start_offset: the first offset to read; None is that of the first piece.
        end: the highest of the copies.
        copies: the directories it was merged from, except those with diverged records.
        findings: those of the copies, and records of them that are not part of the log.
        leader_epochs: the merged lineage; empty if unknown.
        cleaned_up_to: the greatest of the trusted copies; None if unknown.
        without_log: see `PartitionCopy`; only for a log of one copy.
        swaps: likewise.
        limits: path of each copy that was compared with others, the most trusted first, and the offset up to
            which it is part of the log; empty for a log of one copy.
    """

    topic: TopicName
    partition: PartitionNumber
    pieces: tuple[LogPiece, ...]
    topic_id: str | None = None
    log_start_offset: int | None = None
    end: LogEnd = LogEnd()
    copies: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    leader_epochs: tuple[LeaderEpoch, ...] = ()
    cleaned_up_to: int | None = None
    without_log: tuple[int, ...] = ()
    swaps: tuple[tuple[int, str], ...] = ()
    limits: tuple[tuple[str, int], ...] = ()

    @property
    def noted(self) -> CheckpointedOffsets:
        """The checkpoints, without those that a running broker may change."""
        return _noted(self)


@dataclass(frozen=True, slots=True)
class Split:
    """Range of offsets for one task, with hints for the position of its bytes; the offsets alone decide.

    Attributes:
        topic: name.
        partition: number.
        start: first offset.
        end: offset after the last one; None is the log's end.
        segment: the segment that should have the range.
        others: copies with some of it too.
        position: start position in the segment, which the reader verifies.
        end_position: probable end position; None is the segment's end.
        following: base offset of the next segment; None after the last one.
        cleaned_up_to: see `PartitionLog`; missing offsets below it are not a loss.
        excluded: producer id, first and last base offset of batches that are left out.
        copies: directories to search if the segment is gone.
        preceding: base offset of the segment before this one in its directory; None for the first one.
        asked: the query's range that this is a part of; missing offsets outside it are not reported, and
            later ones are not read.
        floor: for a log's first split, if the query begins at the log's start: files may have offsets down to
            this one although their names say otherwise, and no other split reads them.
        reached: for a range to the log's end: the end offset at planning time. Missing offsets below it are a
            loss; later ones are not read. None if unknown.
    """

    topic: str
    partition: int
    start: int
    end: int | None
    segment: StoredSegment
    others: tuple[StoredSegment, ...] = ()
    position: int = 0
    end_position: int | None = None
    following: int | None = None
    cleaned_up_to: int | None = None
    excluded: tuple[tuple[int, int, int], ...] = ()
    copies: tuple[str, ...] = ()
    reached: int | None = None
    preceding: int | None = None
    asked: tuple[int, int | None] = (0, None)
    floor: int | None = None


def name_partition(error: KafkaFormatError, split: Split) -> KafkaFormatError:
    """Add file, topic and partition to an error."""
    suffix = "" if error.topic is not None else f" (topic {split.topic}, partition {split.partition})"
    path = error.path or split.segment.file.path
    return error.with_context(suffix, path=path, topic=split.topic, partition=split.partition)


def is_reported_before(finding: Finding, split: Split, is_continued: bool) -> bool:
    """Return whether damage begins in the split before this one, which reports it if it is read too."""
    before = None if finding.damage is None else finding.damage.previous_offset
    return is_continued and finding.kind is Kind.DAMAGE and before is not None and before + 1 < split.start


def lower(*bounds: int | None) -> int | None:
    """Return the lowest of some offsets; None is no bound."""
    return min((one for one in bounds if one is not None), default=None)


def higher(*bounds: int | None) -> int | None:
    """Return the highest of some offsets; None is no bound."""
    return max((one for one in bounds if one is not None), default=None)
