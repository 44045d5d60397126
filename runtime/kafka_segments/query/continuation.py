"""Whether a log continues where reading of it ended: not truncated, recreated or expired.

Strategy: the topic id and the leader epochs first, which are known without reading; then the end of the log,
and the last entry that was read, by its checksum. The log cleaner may have removed that entry or records of
it: that is not a contradiction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

import numpy as np

from kafka_segments.core.codecs import DEFAULT_MAX_DECOMPRESSED
from kafka_segments.core.formats.entries import Damage
from kafka_segments.core.formats.file_names import Count, PartitionNumber, TopicName
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.segment.beside.index_files import LeaderEpoch
from kafka_segments.core.segment.columnar.entry_counts import EntryMark, mark_of
from kafka_segments.core.segment.scan.walk import iter_headers
from kafka_segments.errors import (
    ExpiredOffsetsError,
    KafkaFormatError,
    LogChangedError,
    RecreatedTopicError,
    TruncatedLogError,
)
from kafka_segments.log.log_end import find_reached
from kafka_segments.log.model import LogPiece, PartitionLog
from kafka_segments.log.opening import open_stored
from kafka_segments.query.read.segment_finder import begin

__all__ = ["PartitionState", "WaysOut", "check_continues", "log_from", "mark_at"]

Earlier = Callable[[], Sequence["PartitionState"]]
WaysOut = Mapping[type[LogChangedError], str]
"""What to do about each error, as sentences that end its text.

`{topic}`, `{partition}` and `{offset}` are put in.
"""


@dataclass(frozen=True, slots=True)
class PartitionState:
    """How far a partition was read, and what identifies its log.

    Attributes:
        topic: its name.
        partition: its number.
        next_offset: where reading continues.
        topic_id: of the topic, if it was known.
        leader_epochs: the lineage of the log as it was then.
        last: the last entry that was read; None without any.
    """

    topic: TopicName
    partition: PartitionNumber
    next_offset: Count
    topic_id: str | None = None
    leader_epochs: tuple[LeaderEpoch, ...] = ()
    last: EntryMark | None = None


def check_continues(
    log: PartitionLog,
    known: PartitionState,
    places: Places,
    ways_out: WaysOut,
    *,
    may_have_expired: bool = False,
    earlier: Earlier = tuple,
) -> None:
    """Check that a log has what was read of it, or lacks it lawfully, and goes on from there.

    Args:
        log: as it is now.
        known: as it was read.
        places: filesystems by path.
        ways_out: what errors advise.
        may_have_expired: offsets may be missing between what was read and the log's start.
        earlier: called for what was known of it before, the newest first. Where leader epochs do not say from
            where on records differ, an error's offset is that of the last of these that the log has.

    Raises:
        RecreatedTopicError: it is of another topic of the same name.
        ExpiredOffsetsError: it begins after the offset where reading should continue.
        TruncatedLogError: it ends before that offset, or other records have taken the place of those read.
        KafkaFormatError: a file cannot be read.
    """
    try:
        _check(log, known, places, earlier, may_have_expired=may_have_expired)
    except LogChangedError as error:
        way_out = ways_out[type(error)].format(
            topic=known.topic, partition=known.partition, offset=error.parting_offset
        )
        raise error.with_context(f". {way_out}") from None


def _check(
    log: PartitionLog, known: PartitionState, places: Places, earlier: Earlier, *, may_have_expired: bool
) -> None:
    if known.topic_id and log.topic_id and known.topic_id != log.topic_id:
        raise _changed(
            RecreatedTopicError,
            known,
            f"the topic was deleted and created again (its id was {known.topic_id}, and is {log.topic_id})",
            parting_offset=0,
        )
    if known.next_offset == 0:
        return
    start = max(log.log_start_offset or 0, log.pieces[0].start) if log.pieces else None
    if start is None:
        raise _changed(TruncatedLogError, known, "it no longer has any segment", parting_offset=0)
    if start > known.next_offset and not may_have_expired:
        raise _changed(
            ExpiredOffsetsError,
            known,
            f"it now begins at offset {start}: offsets {known.next_offset} to {start - 1} were deleted "
            "(retention, or DeleteRecords) before they were read",
            first_offset=known.next_offset,
            last_offset=start - 1,
        )
    end = _end_of(log, places)
    _check_epochs(log, known, end)
    if end is not None and end < known.next_offset and not _ends_with(log, known.last, end, places):
        parting = _last_same(log, earlier(), end, places)
        why = f"it now ends at offset {end}{_OR_LAGS}"
        raise _changed(TruncatedLogError, known, why, parting_offset=parting)
    if known.last is not None and known.last.last_offset >= start:
        _check_last(log, known, known.last, places, earlier)


_OR_LAGS = (
    ": it was truncated, or this is a replica or copy that lags (then run again later, or on the leader's "
    "directory)"
)


def _check_epochs(log: PartitionLog, known: PartitionState, end: int | None) -> None:
    before = _epoch_at(known.leader_epochs, known.next_offset - 1)
    now = _epoch_at(log.leader_epochs, known.next_offset - 1)
    if before is not None and now is not None and before != now:
        raise _changed(
            TruncatedLogError,
            known,
            f"offset {known.next_offset - 1} was of leader epoch {before}, and is now of epoch {now}",
            parting_offset=_parting(known, log, end),
        )


def _parting(known: PartitionState, log: PartitionLog, end: int | None) -> int:
    """The end of the last leader epoch that both have; what follows may differ (KIP-101)."""
    lineages = known.leader_epochs, log.leader_epochs
    common = max(set.intersection(*({one.epoch for one in lineage} for lineage in lineages)), default=None)
    if common is None:
        return 0
    ends = [one.start_offset for lineage in lineages for one in lineage if one.epoch > common]
    return min([*ends, known.next_offset, *([] if end is None else [end])])


def _epoch_at(lineage: Sequence[LeaderEpoch], offset: int) -> int | None:
    epochs = [one.epoch for one in lineage if one.start_offset <= offset]
    return epochs[-1] if epochs else None


def _end_of(log: PartitionLog, places: Places) -> int | None:
    newest = log.pieces[-1]
    end = newest.end
    if end is None:
        end = find_reached(places, newest.segment)
    return None if end is None else max(end, newest.start)


def _check_last(
    log: PartitionLog, known: PartitionState, last: EntryMark, places: Places, earlier: Earlier
) -> None:
    found = mark_at(log, last.last_offset, places, last)
    if found is not None and not last.is_same(found):  # none: the cleaner has removed it
        raise _changed(
            TruncatedLogError,
            known,
            f"offset {last.last_offset} was in a batch with checksum {last.crc:#010x}, and is now in "
            f"another one (checksum {found.crc:#010x}, offsets {found.base_offset} to {found.last_offset})",
            parting_offset=_last_same(log, earlier(), min(last.base_offset, found.base_offset), places),
        )


def _last_same(log: PartitionLog, earlier: Sequence[PartitionState], end: int, places: Places) -> int:
    """The next offset of the newest state whose last entry a log does not contradict; an end without any."""
    for one in earlier:
        if one.last is None or one.next_offset > min(end, one.last.last_offset + 1):
            continue
        found = mark_at(log, one.last.last_offset, places, one.last)
        if found is None or one.last.is_same(found):
            return one.next_offset
    return 0 if earlier else end


def _ends_with(log: PartitionLog, last: EntryMark | None, end: int, places: Places) -> bool:
    """Whether a log ends with the last entry that was read, whose records go beyond its header's offsets."""
    if last is None or last.last_offset + 1 != end:
        return False
    found = mark_at(log, last.last_offset, places, last)
    return found is not None and last.is_same(found)


def mark_at(
    log: PartitionLog, offset: int, places: Places, known: EntryMark | None = None
) -> EntryMark | None:
    """Return the mark of the entry that holds an offset; None without one, and where there is damage.

    Args:
        log: the partition.
        offset: the offset.
        places: filesystems by path.
        known: an entry that ends with it, which counts where it is, whatever stands in front of it.

    Raises:
        KafkaFormatError: a file cannot be read.
    """
    piece = next((one for one in reversed(log.pieces) if one.start <= offset), None)
    return None if piece is None else _entry_in(piece, offset, places, known)


def _entry_in(piece: LogPiece, offset: int, places: Places, known: EntryMark | None) -> EntryMark | None:
    """The entry that holds an offset, by its header; None without one, and where there is damage."""
    segment = piece.segment
    with closing(open_stored(places, segment)) as source:
        beginning = begin(source, offset, segment.base_offset, 0, DEFAULT_MAX_DECOMPRESSED)
        for table in iter_headers(source, beginning.position):
            if isinstance(table, Damage):
                if table.touches(offset, offset + 1):
                    return None
                continue
            lasts = table.last_offsets()
            rows = np.flatnonzero(lasts >= offset)
            if len(rows):
                crc = -1 if known is None else known.crc
                same = rows[(table.column("crc")[rows] == crc) & (lasts[rows] == offset)]
                mark = mark_of(table, int((same if len(same) else rows)[0]))
                return mark if mark.base_offset <= offset or mark.num_records is None else None
    return None


def _changed(
    kind: type[LogChangedError], known: PartitionState, why: str, **attributes: int
) -> KafkaFormatError:
    name, last = f"{known.topic}-{known.partition}", known.next_offset - 1
    return kind(
        f"{name} was read up to offset {last}, but {why}",
        topic=known.topic,
        partition=known.partition,
        **attributes,
    )


def log_from(log: PartitionLog, offset: int) -> PartitionLog:
    """Return a log without the segments before the one that ends with an offset.

    Older ones were read: with them, planning would take longer each time.
    """
    firsts = [at for at, piece in enumerate(log.pieces) if piece.start < max(offset, 1)]
    return replace(log, pieces=log.pieces[firsts[-1] :]) if firsts else log
