"""A partition: its segments one behind the other, as a consumer reads them with either isolation level.

Strategy: whether a record was committed, only what stands behind it can tell. So for `read_committed` the log
is gone through twice: first its headers and markers alone (`transaction_outcomes`), then its records, without
the batches that the first pass has found void, and up to the last stable offset. What is there for
`read_committed`:

* control batches and the batches of aborted transactions are left out;
* the reading stops at the first offset of the earliest open transaction (a broker would also stop at its high
  watermark, which is not on disk: here the log's end stands for it);
* what damage has put in doubt is left out too, and told as damage.

The newest segment stays open between the passes, so that what a broker appends meanwhile is in neither.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cached_property, partial
from typing import TYPE_CHECKING, Literal

from kafka_segments.codecs import DEFAULT_MAX_DECOMPRESSED
from kafka_segments.errors import KafkaFormatError, OptionError
from kafka_segments.formats.entries import Batch, Damage, Padding, Record
from kafka_segments.formats.file_names import with_ends
from kafka_segments.formats.on_damage import OnDamage, check_on_damage
from kafka_segments.io.handles import Handle
from kafka_segments.log.index_sanity import check_sanity
from kafka_segments.log.isolation_view import (
    IsolatedSegment,
    LostSegment,
    Offsets,
    check_isolation,
    greatest,
    held_back,
    held_back_by,
    least,
    left_out,
)
from kafka_segments.log.log_dir import PartitionDir, SegmentFile, list_partitions
from kafka_segments.log.log_files import UNOPENED, LogFile, lost_file
from kafka_segments.log.segment_order import Arranged, up_to
from kafka_segments.log.transaction_outcomes import TransactionOutcome, by_indexes, by_records, check_indexes
from kafka_segments.segment.batch_records import Rows
from kafka_segments.segment.scan.entry_scan import first_offset_in_name
from kafka_segments.segment.segment import Segment, dispose, open_segment
from kafka_segments.segment.transactions.state import AbortedTransaction, DoubtfulTransaction, OpenTransaction

if TYPE_CHECKING:
    import pyarrow as pa

    from kafka_segments.segment.columnar.reader import Event

__all__ = ["Isolation", "Partition", "open_partition", "open_partition_of"]

Isolation = Literal["read_uncommitted", "read_committed"]


def open_partition(
    directory: str | os.PathLike[str],
    *,
    check_crc: bool = True,
    max_decompressed: int = DEFAULT_MAX_DECOMPRESSED,
    outcomes_from: Literal["records", "indexes"] = "records",
) -> Partition:
    """Open a partition's directory for reading. Nothing is ever written or locked.

    Args:
        directory: `TOPIC-PARTITION`, with live segments in it; see `log_dir.list_partitions`.
        check_crc: verify the checksum of every batch.
        max_decompressed: bytes that one batch may decompress to.
        outcomes_from: what says how transactions ended. The records always can. The `.txnindex` and
            `.snapshot` files spare a pass over all but the newest segments, if a broker has left them in
            order; see `transaction_outcomes` for what is checked, and what cannot be.

    Raises:
        ReadError: the directory does not exist or cannot be listed.
        OptionError: it holds no segments, or those of several partitions.
    """
    if outcomes_from not in ("records", "indexes"):
        raise OptionError(f"outcomes_from is {outcomes_from!r}; give 'records' or 'indexes'")
    found = list_partitions([directory])
    if len(found) != 1:
        raise OptionError(f"{len(found)} partitions are in it; give one of them", path=os.fspath(directory))
    open_file = partial(open_segment, check_crc=check_crc, max_decompressed=max_decompressed, only_files=True)
    return Partition(found[0], open_file, outcomes_from)


def open_partition_of(
    path: str | os.PathLike[str],
    *,
    check_crc: bool = True,
    headers_only: bool = False,
    max_decompressed: int = DEFAULT_MAX_DECOMPRESSED,
) -> Partition:
    """Open the partition that a file is a live segment of.

    A file that is none (by its name, or its directory's), or standard input, is a partition by itself: then
    `is_whole` is False, and what stands in no file but this is not known.

    Args:
        path: of the file; `-` is standard input.
        check_crc: verify the checksum of every batch.
        headers_only: read no payloads but those of control batches.
        max_decompressed: bytes that one batch may decompress to.

    Raises:
        ReadError: the file or its directory cannot be opened.
    """
    open_file = partial(open_segment, check_crc=check_crc, max_decompressed=max_decompressed)
    open_file = partial(open_file, headers_only=headers_only)
    directory = os.path.dirname(path := os.fspath(path)) or "."
    try:
        found = [] if path == "-" else list_partitions([directory])
    except OptionError:
        found = []
    for one in found:
        partition = Partition(one, partial(open_file, only_files=True))
        if partition.holds(path):
            return partition
    base_offset = first_offset_in_name(path) or 0
    alone = SegmentFile(path, base_offset, 0, is_newest=True)
    return Partition(PartitionDir(directory, "", -1, (alone,), None), open_file, is_whole=False)


class Partition(Handle):
    """A partition that is open for reading; a context manager. An iterator is for one thread.

    Args:
        directory: the partition, with all its live segments.
        open_file: opens a segment by its path.
        outcomes_from: see `open_partition`.
        is_whole: whether these are all of its segments, as far as the disk tells.

    Attributes:
        path: the directory.
        topic: by the directory's name.
        partition: its number.
        segments: the live ones, by base offset.
        log_start_offset: below it records are deleted ones, and left out; None if that is not known.
        is_whole: as given.
    """

    def __init__(
        self,
        directory: PartitionDir,
        open_file: Callable[[str], Segment],
        outcomes_from: str = "records",
        *,
        is_whole: bool = True,
    ) -> None:
        self.path = directory.path
        self.topic = directory.topic
        self.partition = directory.partition
        self.segments = directory.segments
        self.log_start_offset = directory.log_start_offset
        self.is_whole = is_whole
        self._noted_end = max(directory.noted.high_watermark or 0, directory.noted.recovery_point or 0)
        self._open_path = open_file
        self._by_indexes = outcomes_from == "indexes"
        self._newest: Segment | None = None
        self._arranged = Arranged(directory, self.open_file, is_whole=is_whole)

    def close(self) -> None:
        """Close what is open; idempotent."""
        super().close()
        if self._newest is not None:
            self._newest.close()
            self._newest = None

    @property
    def gaps(self) -> tuple[Damage, ...]:
        """Offsets that are in no segment, and segments that begin or end with others than they should."""
        return self._arranged.gaps

    @cached_property
    def _files(self) -> tuple[SegmentFile, ...]:
        # Who goes by the indexes takes the directory to be in order, and spares looking into each segment.
        return self.segments if self._by_indexes else self._arranged.files

    @cached_property
    def _ends(self) -> list[int | None]:
        return [end for _file, end in with_ends(self._files)]

    def __repr__(self) -> str:
        name = f"{self.topic}-{self.partition} " if self.topic else ""
        return f"<{type(self).__name__} {name}in {self.path!r}, {len(self.segments)} segments, {self._state}>"

    @cached_property
    def outcome(self) -> TransactionOutcome:
        """How the transactions ended; worked out when first asked for."""
        if self._by_indexes:
            return by_indexes(self._log_files(), self.log_start_offset)
        return by_records(self._log_files(), self.log_start_offset, gaps=self.gaps)

    def aborted_transactions(self) -> tuple[AbortedTransaction, ...]:
        """Those that an ABORT marker has ended, in the order of the markers."""
        return tuple(self.outcome.aborted)

    def doubtful_transactions(self) -> tuple[DoubtfulTransaction, ...]:
        """Those of which damage may have taken the marker, as far as they are in doubt."""
        return self.outcome.doubtful

    def open_transactions(self) -> tuple[OpenTransaction, ...]:
        """Those that no marker has ended, by their first offsets."""
        return self.outcome.open

    @property
    def last_stable_offset(self) -> int:
        """The first offset of the earliest open transaction, or the end of the log."""
        return self.outcome.last_stable_offset

    def check_indexes(self) -> list[KafkaFormatError]:
        """What is wrong with the indexes beside the segments, by themselves or held against the records."""
        outcome, files = self.outcome, self._log_files()
        if self._by_indexes:
            outcome = by_records(files, self.log_start_offset, gaps=self.gaps)
        return [*outcome.findings, *check_indexes(files, outcome), *check_sanity(files)]

    def _log_files(self) -> list[LogFile]:
        return [self._log_file(file) for file in self._files]

    def _log_file(self, file: SegmentFile) -> LogFile:
        def beside(suffix: str) -> str | None:
            path = f"{os.path.splitext(file.path)[0]}.{suffix}"
            return path if os.path.exists(path) else None

        named = None if self._by_indexes else self._arranged.unplaced.get(file.path)
        place = file.path, file.base_offset, file.size
        return LogFile(*place, partial(self.open_file, file), beside, named=named)

    def open_file(self, file: SegmentFile) -> AbstractContextManager[Segment]:
        """Open one of the segments; the newest one is the same each time, and closed with the partition."""
        self._check_open("partition")
        if not file.is_newest:
            return self._open_path(file.path)
        if self._newest is None:
            self._newest = self._open_path(file.path)
        return nullcontext(self._newest)

    @contextmanager
    def open_isolated(
        self, path: str | os.PathLike[str], isolation: Isolation = "read_committed"
    ) -> Iterator[IsolatedSegment]:
        """Open one of the segments, by its path, as it is seen at an isolation level.

        Raises:
            OptionError: there is no such level, or the file is no live segment of the partition.
            ReadError: it cannot be opened.
        """
        check_isolation(isolation)
        at = self._place_of(os.fspath(path))
        if at is None:
            raise OptionError("this is no live segment of the partition", path=os.fspath(path))
        with self.open_file(self._files[at]) as segment:
            yield self._isolated(segment, at, isolation, (None, None))

    def holds(self, path: str | os.PathLike[str]) -> bool:
        """Whether a file is one of the segments."""
        return self._place_of(os.fspath(path)) is not None

    def _place_of(self, path: str) -> int | None:
        wanted = os.path.realpath(path)
        places = (at for at, file in enumerate(self._files) if os.path.realpath(file.path) == wanted)
        return next(places, None)

    def iter_events(
        self,
        *,
        isolation: Isolation = "read_uncommitted",
        on_damage: OnDamage = "raise",
        rows: Rows | None = None,
    ) -> Iterator[Batch | Record | Damage | Padding]:
        """Yield everything in its place, segment by segment, from the log start offset on.

        Args:
            isolation: "read_uncommitted" yields all batches, control batches too; "read_committed" those that
                a consumer at that level is given records of.
            on_damage: as for `Segment.iter_events`. A transaction in doubt is damage, told behind the segment
                in which it begins.
            rows: as for `Segment.iter_events`.

        Raises:
            OptionError: there is no such isolation level, or another `on_damage`.
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
    ) -> pa.RecordBatchReader:
        """The data records as a stream of arrow batches, as `Segment.read_batches` has them.

        Control records are left out at either isolation level.

        Raises:
            OptionError: an unknown column or isolation level, offsets that are no pair, or another
                `on_damage`.
            MissingExtraError: pyarrow or numba is not installed.
            KafkaFormatError: while reading, for damage.
        """
        from kafka_segments.segment.columnar.stream import check_offsets, only_records

        check_isolation(isolation)
        start, end = check_offsets(offsets)
        start = greatest(start, self.log_start_offset)
        events = self._columnar(columns, (start, end), isolation)
        return only_records(events, columns, (start, end), on_damage)

    def read_table(
        self,
        columns: Sequence[str] | None = None,
        offsets: Offsets | None = None,
        on_damage: OnDamage = "raise",
        *,
        isolation: Isolation = "read_uncommitted",
    ) -> pa.Table:
        """The same as one table."""
        return self.read_batches(columns, offsets, on_damage, isolation=isolation).read_all()

    def _events(
        self, isolation: Isolation, on_damage: OnDamage, rows: Rows | None
    ) -> Iterator[Batch | Record | Damage | Padding]:
        gaps = self._arranged.gaps_by_place(self._files)
        for at in self._places(isolation, (None, None)):
            for gap in up_to(gaps, at):
                yield from dispose(gap, on_damage)
            with self._open_or_lost(self._files[at]) as segment:
                isolated = self._isolated(segment, at, isolation, (None, None))
                yield from isolated.iter_events(on_damage=on_damage, rows=rows)
        for gap in up_to(gaps, len(self._files)):
            yield from dispose(gap, on_damage)

    def _columnar(
        self, columns: Sequence[str] | None, offsets: Offsets, isolation: Isolation
    ) -> Iterator[Event]:
        gaps = self._arranged.gaps_by_place(self._files)
        for at in self._places(isolation, offsets):
            yield from up_to(gaps, at)
            with self._open_or_lost(self._files[at]) as segment:
                yield from self._isolated(segment, at, isolation, offsets).iter_columnar(columns)
        yield from up_to(gaps, len(self._files))

    def _open_or_lost(self, file: SegmentFile) -> AbstractContextManager[Segment | LostSegment]:
        try:
            return self.open_file(file)
        except UNOPENED as error:
            named_end = dict(with_ends(self.segments)).get(file)
            return nullcontext(LostSegment(lost_file(self._log_file(file), named_end, error)))

    def _places(self, isolation: Isolation, offsets: Offsets) -> Iterator[int]:
        """Which segments may hold offsets of a range that are to be read."""
        start, end = offsets
        if isolation == "read_committed":
            # The segment that the reading stops in may have more to tell, if not to show.
            end = least(end, self.last_stable_offset + 1)
        for at, (file, file_end) in enumerate(zip(self._files, self._ends, strict=True)):
            is_before = start is not None and file_end is not None and file_end <= start
            if not is_before and (end is None or file.base_offset < end):
                yield at

    def _isolated(
        self, segment: Segment | LostSegment, at: int, isolation: Isolation, offsets: Offsets
    ) -> IsolatedSegment:
        file, file_end = self._files[at], self._ends[at]
        start, end = greatest(offsets[0], self.log_start_offset), offsets[1]
        outcome, doubts = None, tuple[Damage, ...]()
        if isolation == "read_committed":
            outcome = self.outcome
            end = least(end, outcome.last_stable_offset)
            # Offsets that no checksum covers may lead beyond the next segment's.
            file_end = max(file_end or 0, outcome.file_ends[at])
            doubts = tuple(self._doubts(at, (start, end), offsets[1]))
        start = None if start is not None and start <= file.base_offset else start
        end = None if end is not None and file_end is not None and end >= file_end else end
        is_astray = file.path in self._arranged.astray
        return IsolatedSegment(segment, (start, end), outcome, doubts, self._ends[at], is_astray)

    def _doubts(self, at: int, offsets: Offsets, asked_end: int | None) -> Iterator[Damage]:
        """What is to be told behind a segment: doubts about transactions that begin in it."""
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
