"""Slice: the batches of a partition that hold some offsets or times, in a directory of their own.

Whole batches are copied byte for byte, so the first and the last may have records outside the range.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import islice
from typing import TypeVar

from kafka_segments.core.formats.file_names import NO_END
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.io.jobs import Progress
from kafka_segments.core.io.new_outputs import new_directory
from kafka_segments.core.io.storage import Source
from kafka_segments.core.segment.scan.entry_scan import sound_entry
from kafka_segments.core.segment.segment import open_segment
from kafka_segments.errors import NotingFaults, OptionError
from kafka_segments.log.discovery import discover
from kafka_segments.log.model import PartitionCopy
from kafka_segments.log.skipped_files import SkippedFiles
from kafka_segments.salvage.batches import BatchHead, batches_in
from kafka_segments.salvage.ledger import Fate, Ledger, MissingOffsets, ResultPiece, Status
from kafka_segments.salvage.partition_job import new_state, repeated, write_state
from kafka_segments.salvage.partition_plan import PartitionPlan, make_plan, num_bytes_of
from kafka_segments.salvage.partition_sink import PartitionSink, WrittenSegment
from kafka_segments.salvage.salvaging import ByteCounter, check_destination
from kafka_segments.write.log_writer import LogWriter

__all__ = ["SliceRange", "Sliced", "slice_partition"]

_MAX_LISTED = 1_000  # gaps, and ranges of bytes
_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class SliceRange:
    """The records that batches are copied for.

    Attributes:
        start: first offset.
        end: offset after the last one.
        since: least timestamp, in milliseconds; None for any.
        until: timestamp above the greatest one; likewise.
    """

    start: int = 0
    end: int = NO_END
    since: int | None = None
    until: int | None = None

    def touches(self, first: int, last: int) -> bool:
        """Return whether some of the offsets from `first` to `last` may be in the range."""
        return self.start < self.end and last >= self.start and first < self.end

    def holds(self, source: Source, head: BatchHead) -> bool:
        """Return whether a batch has a record of the range, as one has whose times cannot be read.

        Headers decide if they can; else the records are read. In magic 0 there are no times.
        """
        if not self.touches(head.first, head.last):
            return False
        since = -NO_END if self.since is None else self.since
        until = NO_END + 1 if self.until is None else self.until
        if self.since is None and self.until is None:
            return True
        if head.newest < since:
            return False
        if head.newest < until:
            return True
        return not head.is_append_time and self._has_time(source, head, since, until)

    def _has_time(self, source: Source, head: BatchHead, since: int, until: int) -> bool:
        with NotingFaults():
            batch = sound_entry(source, head.position)
            if batch is None:
                return False
            with open_segment(source) as segment:
                return any(
                    since <= record.timestamp < until and self.start <= record.offset < self.end
                    for record in segment.iter_records(batch)
                )
        return True


@dataclass
class Sliced:
    """Result of a slice.

    Attributes:
        segments: that were written.
        first: first offset; None if nothing is in the range.
        last: last offset.
        num_bytes: of the segments.
        gaps: offsets of the range that are in no copy, the first 1,000 of `num_gaps`.
        num_gaps: how many there are.
        unused: ranges of bytes that may have had offsets of the range, and could not be used; the first 1,000
            of `num_unused`.
        num_unused: how many there are.
        paths: of the files that `unused` refers to.
        notes: what else is wrong.
        skipped: files and directories that were not looked at.
    """

    segments: list[WrittenSegment]
    first: int | None
    last: int | None
    num_bytes: int
    gaps: list[MissingOffsets]
    num_gaps: int
    unused: list[Fate]
    num_unused: int
    paths: list[str]
    notes: list[str]
    skipped: Sequence[SkippedFiles] = ()


def slice_partition(
    source: str,
    destination: str,
    wanted: SliceRange,
    *,
    places: Places,
    progress: Progress = lambda _done, _total: None,
) -> Sliced:
    """Copy the batches of one partition that have records of a range.

    Args:
        source: a partition's directory, a segment, or a pattern of copies of one partition.
        destination: the new directory, which does not exist or is empty; for a broker, name it
            TOPIC-PARTITION.
        wanted: the range.
        places: opens files.
        progress: is called with bytes that were read and written, and how many there are.

    Raises:
        OptionError: the source is none, or more than one partition, or the destination is not possible.
        KafkaFormatError: the source cannot be opened, or has changed while it was read.
        OutputError: the disk is full, or fails; nothing is left then.
    """
    skipped: list[SkippedFiles] = []
    copies = discover(places, [source], skipped=skipped, prefer_names=True)
    _check_one(copies, source)
    real = check_destination(destination, copies)
    counter = ByteCounter(2 * num_bytes_of(copies), progress)

    def attempt() -> Sliced:
        with new_directory(real, destination) as hidden:
            return _written(copies, wanted, (hidden, destination), places=places, progress=counter.add)

    found = repeated(attempt)
    found.skipped = skipped
    return found


def _written(
    copies: Sequence[PartitionCopy],
    wanted: SliceRange,
    directories: tuple[str, str],
    *,
    places: Places,
    progress: Callable[[int], None],
) -> Sliced:
    """Write a slice into a directory, which is given with its path when it is published."""
    with closing(Ledger()) as ledger:
        plan = make_plan(places, copies, ledger=ledger, progress=progress)
        with closing(plan.files):
            writer = LogWriter(*directories, syncs=False)  # `new_directory` does it
            with closing(PartitionSink(new_state(plan), plan.files, writer, None, {}, progress)) as sink:
                return _write(plan, wanted, sink)


def _check_one(copies: Sequence[PartitionCopy], source: str) -> None:
    names = sorted({f"{one.topic}-{one.partition}" for one in copies})
    if len(names) != 1:
        raise OptionError(
            f"{len(names)} partitions are here ({', '.join(names[:3])}...): give the directory of one",
            path=source,
        )


def _write(plan: PartitionPlan, wanted: SliceRange, sink: PartitionSink) -> Sliced:
    segments = list(sink.write(_pieces_of(plan, wanted), _gaps_of(plan, wanted)))
    if not segments:
        segments = [sink.write_empty(max(wanted.start, plan.start_offset))]
    first, last = segments[0].first, segments[-1].last
    start = segments[0].base_offset
    end = start if last is None else last + 1
    bounded = replace(plan, start_offset=start, end_offset=end)
    write_state(bounded, sink.state, sink.writer)
    files = (file for file in plan.files if not file.is_lawful)
    fates = (fate for file in files for fate in plan.ledger.fates(file.number))
    unused, num_unused = _some_of(fate for fate in fates if _is_lost(fate, wanted))
    gaps, num_gaps = _some_of(_gaps_of(plan, wanted))
    num_bytes = sum(one.size for one in segments)
    paths = [file.path for file in plan.files]
    return Sliced(segments, first, last, num_bytes, gaps, num_gaps, unused, num_unused, paths, plan.notes)


def _gaps_of(plan: PartitionPlan, wanted: SliceRange) -> Iterator[MissingOffsets]:
    return (one for one in plan.gaps() if wanted.touches(one.first, one.last))


def _some_of(items: Iterator[_Item]) -> tuple[list[_Item], int]:
    """Return the first items, and how many there are."""
    first = list(islice(items, _MAX_LISTED))
    return first, len(first) + sum(1 for _ in items)


def _is_lost(fate: Fate, wanted: SliceRange) -> bool:
    if fate.status not in (Status.QUARANTINED, Status.UNREADABLE):
        return False
    return wanted.touches(0 if fate.first is None else fate.first, NO_END if fate.last is None else fate.last)


def _pieces_of(plan: PartitionPlan, wanted: SliceRange) -> Iterator[ResultPiece]:
    """Yield the parts of a plan's pieces that are wanted, adjacent batches as one."""
    size, base, segment = 0, 0, -1  # of the segment of the slice, and which one of the plan it is of
    for piece in plan.ledger.pieces():
        if not wanted.touches(piece.first, piece.last):
            continue
        for part in _parts_of(plan.files.source(piece.file), piece, wanted):
            if piece.segment != segment:
                size, base, segment = 0, part.first, piece.segment
            yield part._replace(segment=base, to_position=size)
            size += part.end_position - part.position


def _parts_of(source: Source, piece: ResultPiece, wanted: SliceRange) -> Iterator[ResultPiece]:
    part: ResultPiece | None = None
    for head in batches_in(source, piece):
        if not wanted.holds(source, head):
            if part is not None:
                yield part
            part = None
            continue
        if part is None:
            part = piece._replace(position=head.position, first=head.first, newest=-1)
        newest = max(part.newest, head.newest)
        part = part._replace(end_position=head.end_position, last=head.last, newest=newest)
    if part is not None:
        yield part
