"""What is known of logs before their records are read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kafka_segments.errors import KafkaFormatError
from kafka_segments.io.filesystem import FileEntry
from kafka_segments.log.findings import Finding, Kind
from kafka_segments.segment.continuity import CheckpointedOffsets
from kafka_segments.segment.index_files import LeaderEpoch

__all__ = [
    "Chunks",
    "LogEnd",
    "LogPiece",
    "PartitionCopy",
    "PartitionLog",
    "Split",
    "StoredFile",
    "StoredSegment",
    "is_reported_before",
    "name_partition",
]


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file, or a part of one, as a listing showed it.

    Attributes:
        path: a path or address for `places`.
        size: bytes (of the part).
        identity: of the file; see `places.Entry`.
        modified_ns: of the file; likewise.
        position: where the part begins.
    """

    path: str
    size: int
    identity: str
    modified_ns: int = 0
    position: int = 0

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition("/")[2]

    @classmethod
    def of(cls, entry: FileEntry) -> StoredFile:
        """A file of a listing."""
        return cls(entry.path, entry.size, entry.identity, entry.modified_ns)


@dataclass(frozen=True, slots=True)
class Chunks:
    """How a segment was cut into chunks that were compressed one by one, as a manifest says.

    Attributes:
        len_chunk: bytes of a chunk before it was compressed; the last one may have fewer.
        size: bytes of the segment.
        stored: how many bytes each has in the file, as the manifest has it (`stored_segments.chunk_sizes`
            reads it): with thousands of segments, most are never opened.
    """

    len_chunk: int
    size: int
    stored: str


@dataclass(frozen=True, slots=True)
class StoredSegment:
    """One copy of one segment.

    Attributes:
        file: the `.log`.
        base_offset: by its name, or what stands in for it.
        is_newest: the last of its copy; a broker may be writing there.
        beside: what belongs to it, by suffix: `index`, `timeindex`, `txnindex`, `snapshot`,
            `leader-epoch-checkpoint`.
        form: how the bytes are stored: `plain`, or a name that `stored_segments` knows.
        end_offset: behind its last offset: the next segment's base offset (there may be no record close
            before it), or what a manifest says; None where neither is known, as of the newest segment.
        leader_epochs: the lineage up to this segment's end, where each has its own: in a tier; else None.
        chunks: of a segment in such a form.
        size: bytes of the segment, however many are stored.
    """

    file: StoredFile
    base_offset: int
    is_newest: bool = False
    beside: Mapping[str, StoredFile] = field(default_factory=dict)
    form: str = "plain"
    end_offset: int | None = None
    leader_epochs: tuple[LeaderEpoch, ...] | None = None
    chunks: Chunks | None = None

    @property
    def path(self) -> str:
        """The path or address of the `.log`."""
        return self.file.path

    @property
    def size(self) -> int:
        return self.file.size if self.chunks is None else self.chunks.size


@dataclass(frozen=True, slots=True)
class LogEnd:
    """Where a copy's committed log may end.

    Attributes:
        is_live: a broker has the log directory open at this moment.
        high_watermark: as last noted by a broker, which may be seconds ago; None if it is not.
        recovery_point: likewise; everything below it was on the disk, and a broker that truncates the log
            below it notes a lower one (UnifiedLog.truncateTo).
    """

    is_live: bool = False
    high_watermark: int | None = None
    recovery_point: int | None = None


@dataclass(frozen=True, slots=True)
class PartitionCopy:
    """One copy of a partition: a directory of a broker's disk, or of a tier.

    Attributes:
        path: the directory.
        topic: its name.
        partition: its number.
        segments: by base offset.
        topic_id: 22 characters of base64url; None if it is not noted.
        log_start_offset: below it records are deleted ones; None if it is not noted.
        leader_epochs: the lineage; empty if it is not noted.
        end: see `LogEnd`.
        is_tiered: it is a tier's, not a broker's.
        cleaned_up_to: see `continuity.CheckpointedOffsets`.
        without_log: base offsets of indexes whose segment is not there.
        swaps: see `continuity.CheckpointedOffsets`.
        findings: segments that are there and do not count, and files beside the segments that could not be
            read; what they note counts as not noted.
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
    without_log: tuple[int, ...] = ()
    swaps: tuple[tuple[int, str], ...] = ()
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class LogPiece:
    """Offsets of a partition that one segment is to be read for.

    Attributes:
        start: first offset.
        end: behind the last offset; None is the segment's end.
        segment: the copy that is preferred.
        others: copies that hold some of these offsets too; of each, what is below its `end_offset` counts.
    """

    start: int
    end: int | None
    segment: StoredSegment
    others: tuple[StoredSegment, ...] = ()


@dataclass(frozen=True, slots=True)
class PartitionLog:
    """A partition, each offset once.

    Attributes:
        topic: its name.
        partition: its number.
        pieces: by offset, without overlap.
        topic_id: if it is known.
        log_start_offset: the first offset there is to read; None is that of the first piece.
        end: of the copy that reaches farthest.
        copies: the directories it was made from, without those in which something does not count.
        findings: of the copies, and what of them is not part of the log.
        leader_epochs: the lineage of the log as it was put together; empty if it is not known.
        cleaned_up_to: the greatest that is noted of a copy which counts; None if of none.
        without_log: see `PartitionCopy`; of a log that is of one copy, as the next.
        swaps: likewise.
    """

    topic: str
    partition: int
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

    @property
    def noted(self) -> CheckpointedOffsets:
        """What brokers note beside the segments, but for what a running one may change."""
        if self.end.is_live:
            return CheckpointedOffsets(self.log_start_offset, cleaned_up_to=self.cleaned_up_to)
        marks = self.end.high_watermark, self.end.recovery_point
        return CheckpointedOffsets(
            self.log_start_offset, *marks, self.cleaned_up_to, self.without_log, self.swaps
        )


@dataclass(frozen=True, slots=True)
class Split:
    """A range of offsets for one task, and hints where its bytes are; the offsets alone decide.

    Attributes:
        topic: name.
        partition: number.
        start: first offset.
        end: behind the last offset; None is the log's end.
        segment: where the range is expected.
        others: copies that hold some of it too.
        position: where in the segment to begin; what stands there is verified by the reader.
        end_position: where the bytes probably end, None if that is the segment's end.
        following: base offset of the next segment; None behind the last one.
        cleaned_up_to: see `PartitionLog`; below it missing offsets are no loss.
        excluded: producer id, first and last base offset of batches that are to be left out.
        copies: directories in which to look if the segment is gone.
        preceding: base offset of the segment before this one in its directory; None for the first one.
        asked: the range of the query that this is a part of; what lies outside it is nobody's loss, and what
            lies behind it is not read.
        floor: of a log's first split, if reading begins where the log does: its files may hold offsets down
            to here although their names say otherwise, and no other split reads them.
        reached: of a range that goes to the log's end: behind the last offset that was there when it was
            planned. Up to it, what is not there is a loss; from it on, what comes later is not read. None is
            not known.
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
    """The error, with file, topic and partition in its message."""
    suffix = "" if error.topic is not None else f" (topic {split.topic}, partition {split.partition})"
    path = error.path or split.segment.file.path
    return error.with_context(suffix, path=path, topic=split.topic, partition=split.partition)


def is_reported_before(finding: Finding, split: Split, is_continued: bool) -> bool:
    """Whether damage begins in the split before this one, which has reported it if it is read too."""
    before = None if finding.damage is None else finding.damage.previous_offset
    return is_continued and finding.kind is Kind.DAMAGE and before is not None and before + 1 < split.start
