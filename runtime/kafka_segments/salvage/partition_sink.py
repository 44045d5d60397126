"""The segments of a result, copied from pieces of source files, and the quarantine.

Strategy: a piece is read window by window. The checksums in a window are verified, though the survey has done
so, for the file may have changed since; then the same memory is written, hashed in another thread, and read
for the indexes and the state of producers, transactions and leader epochs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from operator import attrgetter

from kafka_segments.core.io.outputs import OutputFile, make_directories
from kafka_segments.core.segment.scan.entry_table import EntryTable
from kafka_segments.core.segment.scan.walk import Walk
from kafka_segments.core.segment.transactions.log_state import LogState
from kafka_segments.core.segment.transactions.markers import Markers, MarkerValue
from kafka_segments.errors import NotingFaults
from kafka_segments.salvage.batches import entries_in
from kafka_segments.salvage.ledger import Ledger, MissingOffsets, ResultPiece, Status
from kafka_segments.salvage.source_files import Digest, Digests, SourceFiles
from kafka_segments.write.following import follow
from kafka_segments.write.log_writer import LogWriter, SegmentFiles

__all__ = ["PartitionSink", "WrittenSegment", "write_quarantine"]

_LEN_WRITTEN = 4 << 20  # bytes, at once
_LARGEST_WINDOW = 16 << 20  # bytes; larger batches are read again to be written
_LARGEST_MARKER = 1 << 20  # bytes, as brokers allow of any batch by default; they write less than 100


@dataclass(slots=True)
class WrittenSegment:
    """A segment of the result.

    Attributes:
        base_offset: by its name.
        size: bytes.
        first: first offset; None if it is empty.
        last: last offset; likewise.
        newest: greatest timestamp, in milliseconds, or a bound of it; -1 for none.
        digest: its SHA-256, as soon as it is known; None for a dry run.
    """

    base_offset: int
    size: int = 0
    first: int | None = None
    last: int | None = None
    newest: int = -1
    digest: Future[str | None] | None = None

    @property
    def name(self) -> str:
        """Name of its `.log`."""
        return f"{self.base_offset:020d}.log"

    def note(self, piece: ResultPiece) -> None:
        """Add a piece."""
        self.size += piece.end_position - piece.position
        self.first = piece.first if self.first is None else self.first
        self.last = piece.last
        self.newest = max(self.newest, piece.newest)


@dataclass
class PartitionSink:
    """Writer of one partition's segments.

    Args:
        state: follows the batches.
        files: the source files.
        writer: of the directory; None for a dry run.
        digests: hashes the segments; None leaves that out.
        hashed: SHA-256 of source files, by their numbers; those that are a segment byte for byte are added.
        progress: is called with the number of bytes written.
    """

    state: LogState
    files: SourceFiles
    writer: LogWriter | None
    digests: Digests | None
    hashed: dict[int, Future[str | None]]
    progress: Callable[[int], None]
    _digest: Digest | None = None  # of the segment that is being written
    _markers: Markers = field(default_factory=lambda: Markers(_LARGEST_MARKER))

    def write(
        self, pieces: Iterable[ResultPiece], gaps: Iterable[MissingOffsets]
    ) -> Iterator[WrittenSegment]:
        """Write pieces by offset; yield each segment when it is complete.

        Raises:
            OutputError: the disk is full, or fails.
            ReadError: a source cannot be read, or has changed.
        """
        missing = iter(gaps)
        gap = next(missing, None)
        for base_offset, own in groupby(pieces, attrgetter("segment")):
            segment = self._begun(base_offset)
            copied: list[ResultPiece] = []
            for piece in own:
                while gap is not None and gap.last < piece.first:
                    self.state.lose(*gap)
                    gap = next(missing, None)
                self._copy(piece)
                segment.note(piece)
                copied = [*copied[:1], piece]
            yield self._finished(segment, copied)
        while gap is not None:
            self.state.lose(*gap)
            gap = next(missing, None)

    def write_empty(self, base_offset: int) -> WrittenSegment:
        """Write a segment without batches, by whose name the log ends at an offset."""
        return self._finished(self._begun(base_offset), [])

    def close(self) -> None:
        """Remove files that are not complete; idempotent."""
        if self.writer is not None:
            self.writer.discard()

    def _begun(self, base_offset: int) -> WrittenSegment:
        if self.writer is not None:
            self.writer.begin(base_offset)
            self._digest = None if self.digests is None else self.digests.begin()
        return WrittenSegment(base_offset)

    def _copy(self, piece: ResultPiece) -> None:
        """Note a piece's batches in the state, write and index them."""
        segment = None if self.writer is None else self.writer.segment
        source = self.files.source(piece.file)
        if segment is None:
            walk = Walk(source)
        else:
            walk = Walk(source, check_crc=True, whole=True, keeps=True, max_window=_LARGEST_WINDOW)
        for entries in entries_in(walk, piece):
            aborted = follow(self.state, entries, partial(self._marker_at, walk, entries))
            if segment is not None:
                segment.index(entries, (0, len(entries)), piece.to_position - piece.position, aborted)
                self._write(segment, walk, entries)
        self.state.note_end(piece.last)

    def _write(self, segment: SegmentFiles, walk: Walk, entries: EntryTable) -> None:
        """Write and hash the entries of the walk's last table."""
        position, end = entries.value(0, "position"), entries.value(len(entries) - 1, "end_position")
        for start in range(position, end, _LEN_WRITTEN):
            data = walk.read(start, min(_LEN_WRITTEN, end - start))
            if self._digest is not None:
                self._digest.add(data)
            segment.log.write_early(data)
            self.progress(len(data))

    def _marker_at(self, walk: Walk, entries: EntryTable, row: int) -> tuple[MarkerValue, int] | None:
        """Return the marker in a control batch, and the timestamp.

        One whose content cannot be read ends nothing, as one that was emptied by the cleaner; no more does
        one that is larger than a broker takes.
        """
        position = entries.value(row, "position")
        if entries.value(row, "end_position") - position > _LARGEST_MARKER:
            return None
        is_usual = entries.value(row, "num_records") == 1 and entries.value(row, "codec") == 0
        marker = None
        with NotingFaults():
            batch = partial(walk.scan.batch_at, position)
            marker = self._markers.read(walk.payload(entries, row), is_usual=is_usual, batch=batch)
        return None if marker is None else (marker, entries.value(row, "max_timestamp"))

    def _finished(self, segment: WrittenSegment, pieces: Sequence[ResultPiece]) -> WrittenSegment:
        """Complete a segment, of whose pieces the first and the last are given."""
        if self.writer is not None:
            self.writer.end()
        if self._digest is not None:
            segment.digest, self._digest = self._digest.end(), None
            if len(pieces) == 1 and self._is_whole(pieces[0]):
                self.hashed[pieces[0].file] = segment.digest
        return segment

    def _is_whole(self, piece: ResultPiece) -> bool:
        return (piece.position, piece.end_position) == (0, self.files[piece.file].segment.size)


def write_quarantine(
    files: SourceFiles, ledger: Ledger, progress: Callable[[int], None], directory: str, named: str
) -> None:
    """Write what is not part of the result of each source file; the manifest says which bytes are where.

    Args:
        files: the source files.
        ledger: what became of them.
        progress: is called with the number of bytes written.
        directory: of the partition in the quarantine; it is made if it is needed.
        named: its path when it is published, for errors.

    Raises:
        OutputError: the disk is full, or fails.
        ReadError: what could be read before cannot be read any more.
    """
    for file in files:
        output: OutputFile | None = None
        try:
            for fate in ledger.fates(file.number):
                if fate.status != Status.QUARANTINED:
                    continue
                if output is None:
                    make_directories(directory)
                    name = file.quarantine_name
                    output = OutputFile(os.path.join(directory, name), os.path.join(named, name))
                source = files.source(file.number)
                for done in output.copy_from(source, fate.position, fate.end_position - fate.position):
                    progress(done)
        finally:
            if output is not None:
                output.close()
