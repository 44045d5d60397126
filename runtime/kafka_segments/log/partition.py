"""Reader of a partition, segment by segment, at either isolation level of a consumer.

Strategy: the marker of a transaction comes after its records. So `read_committed` reads the log twice: first
its headers and markers (`transaction_outcomes`), then its records, without the excluded batches, and up to
the last stable offset. With `read_committed`

* control batches and the batches of aborted transactions are left out;
* the reader stops at the first offset of the earliest open transaction (a broker would also stop at its high
  watermark, which is not on disk: here the log's end is used instead);
* transactions that damage has put in doubt are left out too, and reported as damage.

The newest segment stays open between the passes, so that neither has what a broker appends meanwhile.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from functools import cached_property, partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal

from kafka_segments.core.formats.entries import Batch, Damage, Padding, Record, SoundBatches
from kafka_segments.core.formats.file_names import real_path, with_ends
from kafka_segments.core.formats.on_damage import OnDamage, check_on_damage, handle_damage
from kafka_segments.core.io.filesystem import Handle
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.io.threads import check_threads, in_threads
from kafka_segments.core.segment.records.batch_records import Rows
from kafka_segments.core.segment.segment import Segment
from kafka_segments.core.segment.transactions.state import (
    AbortedTransaction,
    DoubtfulTransaction,
    OpenTransaction,
)
from kafka_segments.errors import KafkaFormatError, OptionError
from kafka_segments.log.index_sanity import IndexChecks
from kafka_segments.log.isolation_view import (
    IsolatedSegment,
    Offsets,
    check_isolation,
    held_back,
    held_back_by,
    left_out,
)
from kafka_segments.log.log_files import UNOPENED, Listen, LogFile, SegmentOrder, lost_file
from kafka_segments.log.model import LogPiece, PartitionLog, StoredSegment, higher, lower
from kafka_segments.log.transaction_outcomes import TransactionOutcome, by_indexes, by_records, check_indexes

if TYPE_CHECKING:
    import pyarrow as pa

    from kafka_segments.core.segment.columnar.arrow_schema import Binary
    from kafka_segments.core.segment.columnar.reader import Event

__all__ = ["Isolation", "Partition"]

Isolation = Literal["read_uncommitted", "read_committed"]
_Part = tuple[tuple[Damage, ...], int | None]
"""Damage before a segment, and the segment's number; None after the last one."""


class Partition(Handle):
    """An open partition; a context manager. Use each iterator in one thread.

    Args:
        log: the partition, with all its live segments.
        places: opens the segments' other files.
        open_stored: opens a segment.
        outcomes_from: "records" or "indexes"; see `open_partition`.
        is_whole: whether these are all of its segments on disk.

    Attributes:
        path: the directory.
        topic: its name, from the directory's name.
        partition: its number.
        segments: its live segments, by base offset.
        log_start_offset: records below this offset are deleted, and left out; None if unknown.
        is_whole: whether these are all of its segments on disk.
    """

    def __init__(
        self,
        log: PartitionLog,
        places: Places,
        open_stored: Callable[[StoredSegment], Segment],
        outcomes_from: str = "records",
        *,
        is_whole: bool = True,
    ) -> None:
        self.path = log.copies[0]
        self.topic = log.topic
        self.partition = log.partition
        self.segments = tuple(piece.segment for piece in log.pieces)
        self.log_start_offset = log.log_start_offset
        self.is_whole = is_whole
        self._noted_end = log.noted.end[0]
        self._places = places
        self._open_stored = open_stored
        self._by_indexes = outcomes_from == "indexes"
        self._newest: Segment | None = None
        self._named = [self._file_of(piece) for piece in log.pieces]
        self._order = SegmentOrder(self._named, log.noted, (log.topic, log.partition), is_whole=is_whole)

    def close(self) -> None:
        """Close the partition; idempotent."""
        super().close()
        if self._newest is not None:
            self._newest.close()
            self._newest = None

    @property
    def gaps(self) -> tuple[Damage, ...]:
        """Offsets that are in no segment, and segments with offsets outside the range of their names."""
        return self._order.gaps

    @cached_property
    def _files(self) -> Sequence[LogFile]:
        # With indexes the directory is assumed to be in order, so no segment has to be opened here.
        return self._named if self._by_indexes else self._order.files

    def _file_of(self, piece: LogPiece) -> LogFile:
        """Return a segment, cut to the offsets of its piece if other segments have some of its own."""
        segment = piece.segment
        start = None if piece.start <= segment.base_offset else piece.start
        end = None if piece.end == segment.end_offset else piece.end
        open_file = partial(self._open_file, segment)
        return LogFile(segment, self._places, open_file, segment.base_offset, start, end)

    @cached_property
    def _ends(self) -> list[int | None]:
        return [end for _file, end in with_ends(self._files)]

    def __repr__(self) -> str:
        name = f"{self.topic}-{self.partition} " if self.topic else ""
        return f"<{type(self).__name__} {name}in {self.path!r}, {len(self.segments)} segments, {self._state}>"

    @cached_property
    def outcome(self) -> TransactionOutcome:
        """Outcomes of the transactions; computed at first use."""
        if self._by_indexes:
            return by_indexes(self._files, self.log_start_offset)
        return by_records(self._files, self.log_start_offset, gaps=self.gaps)

    def aborted_transactions(self) -> tuple[AbortedTransaction, ...]:
        """Return the transactions with an ABORT marker, in the order of the markers."""
        return tuple(self.outcome.aborted)

    def doubtful_transactions(self) -> tuple[DoubtfulTransaction, ...]:
        """Return the transactions whose marker may be in damaged bytes, with the range that is in doubt."""
        return self.outcome.doubtful

    def open_transactions(self) -> tuple[OpenTransaction, ...]:
        """Return the transactions without a marker, by their first offsets."""
        return self.outcome.open

    @property
    def last_stable_offset(self) -> int:
        """The first offset of the earliest open transaction, or the end of the log."""
        return self.outcome.last_stable_offset

    def check_indexes(self, listeners: Sequence[Listen] = ()) -> list[KafkaFormatError]:
        """Check the segments' indexes, by themselves and against the records; return their errors.

        All records are read, once; called before `outcome` is asked for, this determines that, too.

        Args:
            listeners: hear of all that is read.
        """
        files, checks = self._files, IndexChecks(self._files)
        listeners = (checks.listen, *listeners)
        outcome = by_records(files, self.log_start_offset, gaps=self.gaps, listeners=listeners)
        if not self._by_indexes:
            self.__dict__.setdefault("outcome", outcome)
        errors = checks.errors(outcome.damage)
        return [*outcome.findings, *check_indexes(files, outcome), *errors]

    def _open_file(self, segment: StoredSegment) -> AbstractContextManager[Segment]:
        """Open one of the segments; the newest one only once, and it is closed with the partition."""
        self._check_open("partition")
        if not segment.is_newest:
            return self._open_stored(segment)
        if self._newest is None:
            self._newest = self._open_stored(segment)
        return nullcontext(self._newest)

    @contextmanager
    def open_isolated(
        self, path: str | os.PathLike[str], isolation: Isolation = "read_committed"
    ) -> Iterator[IsolatedSegment]:
        """Open one of the segments, by its path, at an isolation level.

        Raises:
            OptionError: unknown isolation level, or the file is not a live segment of the partition.
            ReadError: the file cannot be opened.
        """
        check_isolation(isolation)
        at = self._place_of(os.fspath(path))
        if at is None:
            raise OptionError("this is not a live segment of the partition", path=os.fspath(path))
        with self._files[at].open_file() as segment:
            yield self._isolated(segment, at, isolation, (None, None))

    def holds(self, path: str | os.PathLike[str]) -> bool:
        """Return whether a file is one of the segments."""
        return self._place_of(os.fspath(path)) is not None

    def _place_of(self, path: str) -> int | None:
        wanted = real_path(path)
        places = (at for at, file in enumerate(self._files) if real_path(file.path) == wanted)
        return next(places, None)

    def iter_events(
        self,
        *,
        isolation: Isolation = "read_uncommitted",
        on_damage: OnDamage = "raise",
        rows: Rows | None = None,
    ) -> Iterator[Batch | Record | Damage | Padding]:
        """Yield all events in order, segment by segment, from the log start offset on.

        Args:
            isolation: "read_uncommitted" yields all batches, including control batches; "read_committed"
                those with records that a consumer at that level receives.
            on_damage: as for `Segment.iter_events`. A transaction in doubt is damage, reported after the
                segment in which it begins.
            rows: as for `Segment.iter_events`.

        Raises:
            OptionError: unknown isolation level or `on_damage`.
            KafkaFormatError: damage, if `on_damage` is "raise".
        """
        check_isolation(isolation)
        check_on_damage(on_damage)
        return self._events(isolation, on_damage, rows)

    def read_batches(
        self,
        columns: Sequence[str] | None = None,
        offsets: Offsets | None = None,
        on_damage: OnDamage = "raise",
        *,
        isolation: Isolation = "read_uncommitted",
        binary: Binary = "copy",
        threads: int = 1,
        in_order: bool = True,
    ) -> pa.RecordBatchReader:
        """Read the data records as a stream of Arrow batches, as `Segment.read_batches`.

        Control records are left out at either isolation level. In order, a thread reads up to some 8 batches
        ahead: large segments are then read one after the other, other than by `scan`, which cuts them.

        Args:
            columns: as for `Segment.read_batches`.
            offsets: likewise.
            on_damage: likewise.
            isolation: "read_committed" leaves out records of aborted and open transactions.
            binary: as for `Segment.read_batches`.
            threads: segments that are read at a time.
            in_order: whether batches have the order of their segments; else they come as they are read.

        Raises:
            OptionError: unknown column, isolation level, `on_damage` or `binary`, or invalid offsets.
            MissingExtraError: pyarrow or numba is not installed.
            KafkaFormatError: while reading, for damage.
        """
        from kafka_segments.core.segment.columnar.arrow_schema import schema_of
        from kafka_segments.core.segment.columnar.stream import check_offsets, only_records

        check_isolation(isolation)
        start, end = check_offsets(offsets)
        start = higher(start, self.log_start_offset)
        asked, threads = (start, end), check_threads(threads)
        find = partial(self._columnar, columns, asked, isolation, binary)

        def events() -> Iterator[Event]:
            parts = self._parts(isolation, asked)
            with closing(in_threads(find, parts, threads, in_order=in_order)) as found:
                yield from (event for _, event in found)

        return only_records(events(), schema_of(columns, binary), asked, on_damage)

    def read_table(
        self,
        columns: Sequence[str] | None = None,
        offsets: Offsets | None = None,
        on_damage: OnDamage = "raise",
        *,
        isolation: Isolation = "read_uncommitted",
        binary: Binary = "copy",
        threads: int = 1,
    ) -> pa.Table:
        """Read the data records as one Arrow table, as `read_batches`."""
        how: dict[str, Any] = {"isolation": isolation, "binary": binary, "threads": threads}
        return self.read_batches(columns, offsets, on_damage, **how).read_all()

    def _events(
        self, isolation: Isolation, on_damage: OnDamage, rows: Rows | None
    ) -> Iterator[Batch | Record | Damage | Padding]:
        for part in self._parts(isolation, (None, None)):
            for piece in self._pieces(part, isolation, (None, None)):
                if isinstance(piece, Damage):
                    yield from handle_damage(piece, on_damage)
                else:
                    yield from piece.iter_events(on_damage=on_damage, rows=rows)

    def _columnar(
        self,
        columns: Sequence[str] | None,
        offsets: Offsets,
        isolation: Isolation,
        binary: Binary,
        part: _Part,
    ) -> Generator[Event, None, None]:
        for piece in self._pieces(part, isolation, offsets):
            events = iter((piece,)) if isinstance(piece, Damage) else piece.iter_columnar(columns, binary)
            yield from (one for one in events if not isinstance(one, SoundBatches))

    def _parts(self, isolation: Isolation, offsets: Offsets) -> list[_Part]:
        gaps, told, parts = self._order.gaps_by_place(self._files), 0, list[_Part]()
        for at in self._wanted(isolation, offsets):
            parts.append((tuple(chain.from_iterable(gaps[told : at + 1])), at))
            told = at + 1
        return [*parts, (tuple(chain.from_iterable(gaps[told:])), None)]

    def _pieces(
        self, part: _Part, isolation: Isolation, offsets: Offsets
    ) -> Iterator[IsolatedSegment | Damage]:
        """Yield the damage before a segment, and the segment, open until something else is asked for."""
        gaps, at = part
        yield from gaps
        if at is None:
            return
        try:
            opened = self._files[at].open_file()
        except UNOPENED as error:
            yield from self._lost(at, isolation, offsets, error)
            return
        with opened as segment:
            yield self._isolated(segment, at, isolation, offsets)

    def _lost(
        self, at: int, isolation: Isolation, offsets: Offsets, error: KafkaFormatError
    ) -> Iterator[Damage]:
        """Yield the damage in place of a segment that cannot be opened."""
        ends = {segment.path: end for segment, end in with_ends(self.segments)}
        file, (bounds, doubts) = self._files[at], self._view_of(at, isolation, offsets)
        damage = lost_file(file, ends[file.path], error)
        if damage.touches(*bounds):
            yield damage
        yield from doubts

    def _wanted(self, isolation: Isolation, offsets: Offsets) -> Iterator[int]:
        """Yield the numbers of the segments that may have offsets of a range."""
        start, end = offsets
        if isolation == "read_committed":
            # Include the segment with the last stable offset: its damage is reported.
            end = lower(end, self.last_stable_offset + 1)
        for at, (file, file_end) in enumerate(zip(self._files, self._ends, strict=True)):
            is_before = start is not None and file_end is not None and file_end <= start
            if not is_before and (end is None or file.base_offset < end):
                yield at

    def _isolated(self, segment: Segment, at: int, isolation: Isolation, offsets: Offsets) -> IsolatedSegment:
        file, (bounds, doubts) = self._files[at], self._view_of(at, isolation, offsets)
        outcome = self.outcome if isolation == "read_committed" else None
        is_cut = file.start is not None or file.end is not None
        is_astray = is_cut or file.path in self._order.astray
        return IsolatedSegment(segment, bounds, outcome, doubts, self._ends[at], is_astray)

    def _view_of(self, at: int, isolation: Isolation, offsets: Offsets) -> tuple[Offsets, tuple[Damage, ...]]:
        """The offsets that are read of a segment, and the damage to report after it."""
        file, file_end = self._files[at], self._ends[at]
        start = higher(offsets[0], self.log_start_offset, file.start)
        end = lower(offsets[1], file.end)
        doubts = tuple[Damage, ...]()
        if isolation == "read_committed":
            end = lower(end, self.outcome.last_stable_offset)
            # Offsets that no checksum covers may lead beyond the next segment's.
            file_end = max(file_end or 0, self.outcome.file_ends[at])
            doubts = tuple(self._doubts(at, (start, end), offsets[1]))
        start = None if start is not None and start <= file.base_offset else start
        end = None if end is not None and file_end is not None and end >= file_end else end
        return (start, end), doubts

    def _doubts(self, at: int, offsets: Offsets, asked_end: int | None) -> Iterator[Damage]:
        """Yield damage to report after a segment: doubts about transactions that begin in it."""
        start, end = offsets
        outcome, file_end = self.outcome, self._ends[at]
        begins = self._files[at].base_offset if at else -1
        for one in outcome.doubtful:
            is_inside = begins <= one.first_offset and (file_end is None or one.first_offset < file_end)
            if is_inside and one.last_offset >= (start or 0) and (end is None or one.first_offset < end):
                yield left_out(one)
        damage, stop = held_back_by(outcome), outcome.last_stable_offset
        is_inside = begins <= stop and (file_end is None or stop < file_end)
        if damage is not None and is_inside and (asked_end is None or asked_end > stop):
            yield held_back(damage, outcome, self._noted_end)
