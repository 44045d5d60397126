"""The transaction outcome of a partition: last stable offset, open transaction, excluded batches.

Strategy: `transaction_outcomes` over all segments of a log, local or remote. Headers decide up to a bound of
bytes: a broker writes a `.txnindex` only for a segment with an aborted transaction, so a lost or truncated
index looks like one of a segment without aborts. Above the bound, sound indexes decide, with a remark; where
they are not sound, a Spark job has to read the headers and write a snapshot of the outcome.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial

from kafka_segments.core.formats.entries import Damage
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.segment.header_summaries import HeaderSummary, iter_header_summaries
from kafka_segments.errors import KafkaFormatError, OptionError, TruncatedError, raise_unless_file_at_fault
from kafka_segments.log.index_claims import position_of
from kafka_segments.log.isolation_view import held_back, held_back_by, left_out
from kafka_segments.log.log_files import LogFile, is_unopened
from kafka_segments.log.model import PartitionLog
from kafka_segments.log.opening import open_segment_of, open_stored
from kafka_segments.log.transaction_outcomes import TransactionOutcome, by_indexes, by_records, check_indexes
from kafka_segments.query.timestamps import piece_end

__all__ = ["Committed", "Pin", "read_committed"]

_MOST_HEADS = 4096

ExcludedBatch = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Pin:
    """The open transaction that holds the last stable offset back.

    Attributes:
        producer_id: of its producer.
        first_offset: of its first batch.
        timestamp: the greatest of that batch, milliseconds; None if the batch has been deleted.
    """

    producer_id: int
    first_offset: int
    timestamp: int | None


@dataclass(frozen=True, slots=True)
class Committed:
    """The outcome of the transactions of a partition.

    Attributes:
        last_stable_offset: every transaction below it is committed or aborted.
        end_offset: after the last offset of the log.
        void: producer id, first and last base offset of excluded batches; named so in snapshots.
        pin: the open transaction at the last stable offset; None if that is the log's end.
        doubts: excluded transactions whose end was lost to damage.
        num_unread: bytes of segments that were decided by indexes instead of headers.
    """

    last_stable_offset: int
    end_offset: int
    void: tuple[ExcludedBatch, ...] = ()
    pin: Pin | None = None
    doubts: tuple[Damage, ...] = ()
    num_unread: int = 0

    def excluded_of(self, ranges: Sequence[tuple[int, int | None]]) -> list[tuple[ExcludedBatch, ...]]:
        """Excluded batches that may hold offsets of each range.

        Args:
            ranges: starts and ends, ascending.
        """
        waiting = sorted(self.void, key=lambda one: one[1], reverse=True)
        active: list[ExcludedBatch] = []
        before: list[ExcludedBatch] = []
        found = []
        for start, end in ranges:
            while waiting and (end is None or waiting[-1][1] < end):
                active.append(waiting.pop())
            past = [one for one in active if one[2] < start]
            active = [one for one in active if one[2] >= start]
            # Ranges hold base offsets: the last batch that begins before one may reach into it.
            latest = max((one[2] for one in [*past, *before]), default=-1)
            before = [one for one in [*past, *before] if one[2] == latest]
            found.append(tuple(sorted([*before, *active])))
        return found


def read_committed(
    log: PartitionLog, places: Places, max_bytes: int, unused: list[KafkaFormatError]
) -> Committed:
    """Determine the outcome of a log's transactions.

    Args:
        log: the partition, with one piece or more.
        places: filesystems by path.
        max_bytes: of the segments whose headers may be read; of larger logs the indexes decide.
        unused: receives the errors of indexes.

    Raises:
        ReadError: a segment may not be opened; a deleted one is damage.
        StoreError: a store refused or failed.
        OptionError: more bytes than `max_bytes` have to be read.
    """
    files = [_log_file(log, at, places) for at in range(len(log.pieces))]
    if _size_of(log, files) <= max_bytes:
        outcome, num_unread = by_records(files, log.log_start_offset, may_lack_segments=True), 0
        # A live broker may have indexed later records meanwhile: they are not compared.
        seen = [*files[:-1], replace(files[-1], end=files[-1].end or outcome.end_offset)]
        unused += check_indexes(seen, outcome)
    else:
        outcome, num_unread = _by_indexes(log, files, max_bytes)
    for damage in outcome.damage:
        if is_unopened(damage):
            raise_unless_file_at_fault(damage.error)
    unused += outcome.findings
    return replace(_committed(log, places, outcome), num_unread=num_unread)


def _by_indexes(
    log: PartitionLog, files: Sequence[LogFile], max_bytes: int
) -> tuple[TransactionOutcome, int]:
    """The outcome by indexes, and the bytes of segments that were not read."""
    read = 0

    def check(wanted: Sequence[LogFile]) -> None:
        nonlocal read
        read = _size_of(log, wanted)
        if read > max_bytes:
            raise OptionError(
                f"to know which transactions of {log.topic}-{log.partition} were committed, the headers of "
                f"{read} bytes must be read, more than the {max_bytes} that planning may read: raise "
                "maxWalkBytes, or take a snapshot with a Spark job (kafka_segments.spark.take_snapshot), "
                "and give it as snapshot="
            )

    outcome = by_indexes(files, log.log_start_offset, check)
    return outcome, _size_of(log, files) - read


def _size_of(log: PartitionLog, files: Sequence[LogFile]) -> int:
    wanted = {file.path for file in files}
    return sum(piece.segment.size for piece in log.pieces if piece.segment.file.path in wanted)


def _log_file(log: PartitionLog, at: int, places: Places) -> LogFile:
    piece = log.pieces[at]
    segment = piece.segment
    open_file = partial(open_segment_of, places, segment)
    end = None if piece.end is None else piece_end(log, at)
    return LogFile(segment, places, open_file, segment.base_offset, piece.start, end)


def _committed(log: PartitionLog, places: Places, outcome: TransactionOutcome) -> Committed:
    pin = None
    for first in outcome.open[:1]:
        timestamp = _timestamp_at(log, places, first.producer_id, first.first_offset)
        pin = Pin(first.producer_id, first.first_offset, timestamp)
    doubts = [left_out(one) for one in outcome.doubtful]
    damage = held_back_by(outcome)
    # No marker can follow an incomplete last batch.
    if damage is not None and not _is_pending(log, damage):
        doubts.append(held_back(damage, outcome))
    void = [
        (producer_id, first, last)
        for producer_id, (firsts, lasts) in outcome.excluded.ranges.items()
        for first, last in zip(firsts, lasts, strict=True)
    ]
    return Committed(outcome.last_stable_offset, outcome.end_offset, tuple(sorted(void)), pin, tuple(doubts))


def _is_pending(log: PartitionLog, damage: Damage) -> bool:
    """Whether damage is the last entry of the log, truncated by the end of the file."""
    newest = log.pieces[-1].segment
    is_last = damage.path == newest.file.path and damage.next_offset is None
    return is_last and newest.is_newest and isinstance(damage.error, TruncatedError)


def _timestamp_at(log: PartitionLog, places: Places, producer_id: int, offset: int) -> int | None:
    """The greatest timestamp of the batch that begins with an offset; None without such a batch."""
    for at, piece in enumerate(log.pieces):
        end = piece_end(log, at)
        if piece.start > offset or (end is not None and end <= offset):
            continue
        position = position_of(places, piece.segment, offset, [])
        with closing(open_stored(places, piece.segment)) as source:
            heads = (one for one in iter_header_summaries(source, position) if isinstance(one, HeaderSummary))
            for num, head in enumerate(heads):
                if head.first_offset == offset and head.producer_id == producer_id:
                    return head.max_timestamp
                if (head.first_offset or 0) > offset and num < _MOST_HEADS:
                    return None
    return None
