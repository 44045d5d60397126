"""The directory of a partition, written from pieces of source files: segments, indexes, state.

Strategy: the bytes of a piece are copied by the kernel, and its headers are read beside it for the indexes
and the state of producers, transactions and leader epochs. Files are complete one by one; the directory has
no name that a broker would look at before all are.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import asdict, dataclass
from typing import Protocol

from kafka_segments.core.formats.building import (
    build_leader_epochs,
    build_partition_metadata,
    build_producer_snapshot,
    build_transaction_index,
)
from kafka_segments.core.formats.entries import Batch
from kafka_segments.core.io.outputs import OutputFile
from kafka_segments.core.io.storage import Source
from kafka_segments.core.segment.index_files import AbortedTxn, LeaderEpoch
from kafka_segments.core.segment.scan.entry_scan import Scan
from kafka_segments.errors import MissingExtraError
from kafka_segments.salvage.digests import Digests
from kafka_segments.salvage.ledger import MissingOffsets, ResultPiece
from kafka_segments.salvage.log_state import LogState, note_batch
from kafka_segments.salvage.source_files import SourceFiles
from kafka_segments.salvage.survey import changed_error
from kafka_segments.write.plain_indexes import PlainIndexes

__all__ = ["PartitionSink", "WrittenSegment", "follow_only"]

_INTERVAL = 4096  # bytes between entries of an index, as `index.interval.bytes` has it
_MAX_ABORTED = 1024


@dataclass(slots=True)
class WrittenSegment:
    """A segment of the result.

    Attributes:
        name: of its `.log`.
        base_offset: by its name.
        size: bytes.
        first: first offset; None if it is empty.
        last: last offset; likewise.
        newest: greatest timestamp, in milliseconds, or a bound of it; -1 for none.
        digest: its SHA-256, as soon as it is known; None for a dry run.
    """

    name: str
    base_offset: int
    size: int = 0
    first: int | None = None
    last: int | None = None
    newest: int = -1
    digest: Future[str | None] | None = None

    def note(self, piece: ResultPiece) -> None:
        """Add a piece."""
        self.size += piece.end_position - piece.position
        self.first = piece.first if self.first is None else self.first
        self.last = piece.last
        self.newest = max(self.newest, piece.newest)


class _Follower(Protocol):
    """Reads the headers of pieces of one segment."""

    def follow(self, source: Source, piece: ResultPiece) -> Iterator[AbortedTxn]:
        """Read a piece's headers; yield the transactions that its markers abort."""
        ...

    def files(self) -> dict[str, bytes]:
        """Return the content of the index files, by suffix."""
        ...


class PartitionSink:
    """Writer of one partition's directory.

    Args:
        directory: where the files are written; it exists and is empty.
        named: path of the directory when it is published, for errors.
        state: follows the batches.
        files: the source files.
        digests: hashes the segments.
        known: SHA-256 of source files, by their numbers; a segment that is one of them is not hashed again.
        progress: is called with the number of bytes written.
    """

    def __init__(
        self,
        directory: str,
        named: str,
        *,
        state: LogState,
        files: SourceFiles,
        digests: Digests,
        known: Mapping[int, Future[str | None]],
        progress: Callable[[int], None],
    ) -> None:
        build_transaction_index(())  # raises for a missing extra before anything is written
        self._directory, self._named = directory, named
        self.state, self._files, self._digests, self._progress = state, files, digests, progress
        self._known = known
        self._segment: WrittenSegment | None = None
        self._log: OutputFile | None = None
        self._aborted: list[AbortedTxn] = []
        self._aborted_file: OutputFile | None = None
        self._open: list[OutputFile] = []
        self._pieces: list[ResultPiece] = []  # of the segment, at most two

    def write(
        self, pieces: Iterable[ResultPiece], gaps: Iterable[MissingOffsets]
    ) -> Iterator[WrittenSegment]:
        """Write pieces by offset; yield each segment when it is complete.

        Raises:
            OutputError: the disk is full, or fails.
            ReadError: a source cannot be read, or has changed.
        """
        for piece in noting_gaps(self.state, pieces, gaps):
            if self._segment is None or self._segment.base_offset != piece.segment:
                yield from self._finish()
                self._begin(piece.segment)
            self._write(piece)
        yield from self._finish()

    def write_empty(self, base_offset: int) -> WrittenSegment:
        """Write a segment without batches, by whose name the log ends at an offset."""
        self._begin(base_offset)
        (segment,) = self._finish()
        return segment

    def write_small_files(self, end_offset: int, epochs: Iterable[LeaderEpoch], topic_id: str | None) -> None:
        """Write the producer snapshot, `leader-epoch-checkpoint` and `partition.metadata`."""
        entries = self.state.snapshot()
        if entries is not None:
            self._write_file(f"{end_offset:020d}.snapshot", build_producer_snapshot(entries))
        pairs = [(one.epoch, one.start_offset) for one in epochs]
        self._write_file("leader-epoch-checkpoint", build_leader_epochs(pairs))
        if topic_id is not None:
            self._write_file("partition.metadata", build_partition_metadata(topic_id))

    def close(self) -> None:
        """Close files that are not complete; idempotent."""
        for file in self._open:
            file.discard()

    def _begin(self, base_offset: int) -> None:
        name = f"{base_offset:020d}.log"
        self._segment = WrittenSegment(name, base_offset)
        self._log = self._output(name)
        self._pieces = []
        self._follower = new_follower(self.state, base_offset)

    def _write(self, piece: ResultPiece) -> None:
        assert self._segment is not None and self._log is not None  # `write` began it
        source = self._files.source(piece.file)
        for done in self._log.copy_from(source, piece.position, piece.end_position - piece.position):
            self._progress(done)
        counting = self._segment
        for aborted in self._follower.follow(source, piece):
            self._abort(aborted)
        self.state.note_end(piece.last)
        if len(self._pieces) < 2:
            self._pieces.append(piece)
        counting.note(piece)

    def _abort(self, aborted: AbortedTxn) -> None:
        self._aborted.append(aborted)
        if len(self._aborted) >= _MAX_ABORTED:
            self._flush_aborted()

    def _flush_aborted(self) -> None:
        if self._aborted and self._segment is not None:
            if self._aborted_file is None:
                self._aborted_file = self._output(f"{self._segment.base_offset:020d}.txnindex")
            self._aborted_file.write(build_transaction_index([asdict(one) for one in self._aborted]))
            self._aborted.clear()

    def _finish(self) -> Iterator[WrittenSegment]:
        segment, log = self._segment, self._log
        if segment is None or log is None:
            return
        self._flush_aborted()
        for suffix, content in self._follower.files().items():
            self._write_file(f"{segment.base_offset:020d}{suffix}", content)
        if self._aborted_file is not None:
            self._complete(self._aborted_file)
        self._complete(log)
        segment.digest = self._known_digest() or self._digests.of_path(log.path)
        self._segment = self._log = self._aborted_file = None
        yield segment

    def _known_digest(self) -> Future[str | None] | None:
        """Return the digest of the source file that the segment is, byte for byte."""
        if len(self._pieces) != 1:
            return None
        (piece,) = self._pieces
        is_whole = (piece.position, piece.end_position) == (0, self._files[piece.file].segment.size)
        return self._known.get(piece.file) if is_whole else None

    def _write_file(self, name: str, content: bytes) -> None:
        file = self._output(name)
        file.write(content)
        self._complete(file)

    def _output(self, name: str) -> OutputFile:
        file = OutputFile(os.path.join(self._directory, name), os.path.join(self._named, name))
        self._open.append(file)
        return file

    def _complete(self, file: OutputFile) -> None:
        file.close()  # the whole directory is synced at the end
        self._open.remove(file)


def new_follower(state: LogState, base_offset: int) -> _Follower:
    """Return what reads the headers of a segment's pieces, the fast one if it is installed."""
    try:
        from kafka_segments.salvage.compiled_follower import CompiledFollower

        return CompiledFollower(state, base_offset, _INTERVAL)
    except MissingExtraError:
        return _PlainFollower(state, base_offset)


def noting_gaps(
    state: LogState, pieces: Iterable[ResultPiece], gaps: Iterable[MissingOffsets]
) -> Iterator[ResultPiece]:
    """Yield pieces, and note in the state the gaps before each, and in the end those after them all."""
    missing = iter(gaps)
    gap = next(missing, None)
    for piece in pieces:
        while gap is not None and gap.last < piece.first:
            state.lose(gap)
            gap = next(missing, None)
        yield piece
    while gap is not None:
        state.lose(gap)
        gap = next(missing, None)


def follow_only(
    state: LogState, files: SourceFiles, pieces: Iterable[ResultPiece], gaps: Iterable[MissingOffsets]
) -> None:
    """Follow the state without writing anything, for a dry run.

    Raises:
        ReadError: a source cannot be read, or has changed.
    """
    follower = new_follower(state, 0)
    for piece in noting_gaps(state, pieces, gaps):
        for _aborted in follower.follow(files.source(piece.file), piece):
            pass
        state.note_end(piece.last)


class _PlainFollower:
    """Reads headers one by one, without numpy and machine code."""

    def __init__(self, state: LogState, base_offset: int) -> None:
        self._state = state
        self._indexes = PlainIndexes(base_offset, _INTERVAL)

    def follow(self, source: Source, piece: ResultPiece) -> Iterator[AbortedTxn]:
        shift = piece.to_position - piece.position
        for entry in Scan(source, headers_only=True).entries(piece.position):
            if not isinstance(entry, Batch):
                raise changed_error(source, entry)
            aborted = note_batch(self._state, entry, source)
            if aborted is not None:
                yield aborted
            place = entry.position + shift, entry.size
            self._indexes.append_entry(*place, entry.last_offset, entry.max_timestamp)
            if entry.end_position >= piece.end_position:
                return

    def files(self) -> dict[str, bytes]:
        return self._indexes.files()
