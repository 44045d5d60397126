"""Whether a log goes on where the last run ended: neither truncated, nor recreated, nor expired.

Strategy: the topic id and the leader epochs first, which are known without reading; then the end of the log,
and the last entry that was read, by its checksum. The log cleaner may have removed that entry or records of
it: that is no contradiction.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kafka_segments.codecs import DEFAULT_MAX_DECOMPRESSED
from kafka_segments.errors import (
    ExpiredOffsetsError,
    KafkaFormatError,
    LogChangedError,
    OptionError,
    RecreatedTopicError,
    TruncatedLogError,
)
from kafka_segments.formats.entries import Damage
from kafka_segments.ingest.run_state import PartitionState, TableSettings
from kafka_segments.io.filesystems import Places
from kafka_segments.log.header_walk import Budget
from kafka_segments.log.log_end import find_reached
from kafka_segments.log.model import LogPiece, PartitionLog
from kafka_segments.log.opening import open_stored
from kafka_segments.query.read.start_position import begin
from kafka_segments.segment.columnar.entry_counts import EntryMark, mark_of
from kafka_segments.segment.columnar.header_table import iter_headers
from kafka_segments.segment.index_files import LeaderEpoch

__all__ = ["check_continues", "check_settings"]


def check_continues(
    log: PartitionLog, known: PartitionState, places: Places, *, may_have_expired: bool = False
) -> None:
    """Check that a log has what was read of it, or lacks it lawfully, and goes on from there.

    Args:
        log: as it is now.
        known: as of the last run.
        places: filesystems by path.
        may_have_expired: offsets may be missing between the last run and the log's start.

    Raises:
        RecreatedTopicError: it is of another topic of the same name.
        ExpiredOffsetsError: it begins after the offset where reading is to go on.
        TruncatedLogError: it ends before that offset, or other records have taken the place of those read.
        KafkaFormatError: a file cannot be read.
    """
    if known.topic_id and log.topic_id and known.topic_id != log.topic_id:
        raise _changed(
            RecreatedTopicError,
            known,
            f"the topic was deleted and created again (its id was {known.topic_id}, and is {log.topic_id})",
            to_offset=0,
        )
    if known.next_offset == 0:
        return
    start = max(log.log_start_offset or 0, log.pieces[0].start) if log.pieces else None
    if start is None:
        raise _changed(TruncatedLogError, known, "it has no segment any more", to_offset=0)
    if start > known.next_offset and not may_have_expired:
        raise _changed(
            ExpiredOffsetsError,
            known,
            f"it begins at offset {start} now: offsets {known.next_offset} to {start - 1} were deleted "
            "(retention, or DeleteRecords) before a run took them",
            first_offset=known.next_offset,
            last_offset=start - 1,
        )
    end = _end_of(log, places)
    _check_epochs(log, known, end)
    if end is not None and end < known.next_offset:
        raise _changed(TruncatedLogError, known, f"it ends at offset {end} now", to_offset=end)
    if known.last is not None and known.last.last_offset >= start:
        _check_last(log, known, known.last, places)


def _check_epochs(log: PartitionLog, known: PartitionState, end: int | None) -> None:
    before = _epoch_at(known.leader_epochs, known.next_offset - 1)
    now = _epoch_at(log.leader_epochs, known.next_offset - 1)
    if before is not None and now is not None and before != now:
        raise _changed(
            TruncatedLogError,
            known,
            f"offset {known.next_offset - 1} was of leader epoch {before}, and is of epoch {now} now",
            to_offset=_parting(known, log, end),
        )


def _parting(known: PartitionState, log: PartitionLog, end: int | None) -> int:
    """The end of the last leader epoch that both have: no record after it needs to be the same (KIP-101)."""
    starts = [
        {one.epoch: one.start_offset for one in both} for both in (known.leader_epochs, log.leader_epochs)
    ]
    common = max(starts[0].keys() & starts[1].keys(), default=None)
    if common is None:
        return 0
    ends = [offset for both in starts for epoch, offset in both.items() if epoch > common]
    return min([*ends, known.next_offset, *([] if end is None else [end])])


def _epoch_at(lineage: Sequence[LeaderEpoch], offset: int) -> int | None:
    epochs = [one.epoch for one in lineage if one.start_offset <= offset]
    return epochs[-1] if epochs else None


def _end_of(log: PartitionLog, places: Places) -> int | None:
    newest = log.pieces[-1]
    end = newest.end
    if end is None:
        end = find_reached(places, newest.segment, Budget(0))
    return None if end is None else max(end, newest.start)


def _check_last(log: PartitionLog, known: PartitionState, last: EntryMark, places: Places) -> None:
    piece = next((one for one in reversed(log.pieces) if one.start <= last.last_offset), None)
    found = None if piece is None else _entry_at(piece, last.last_offset, places)
    if found is not None and not last.is_same(found):  # none: the cleaner has removed it
        raise _changed(
            TruncatedLogError,
            known,
            f"offset {last.last_offset} was in a batch with checksum {last.crc:#010x}, and is in another one "
            f"now (checksum {found.crc:#010x}, offsets {found.base_offset} to {found.last_offset})",
            to_offset=min(last.base_offset, found.base_offset),
        )


def _entry_at(piece: LogPiece, offset: int, places: Places) -> EntryMark | None:
    """The entry that holds an offset, by its header; None without one, and where there is damage."""
    segment = piece.segment
    source = open_stored(places, segment)
    try:
        beginning = begin(source, offset, segment.base_offset, 0, DEFAULT_MAX_DECOMPRESSED)
        for table in iter_headers(source, beginning.position):
            if isinstance(table, Damage):
                if table.touches(offset, offset + 1):
                    return None
                continue
            lasts = table.last_offsets()
            rows = np.flatnonzero(lasts >= offset)
            if len(rows):
                mark = mark_of(table, int(rows[0]))
                return mark if mark.base_offset <= offset or mark.num_records is None else None
    finally:
        source.close()
    return None


def _changed(
    kind: type[LogChangedError], known: PartitionState, why: str, *, to_offset: int = 0, **attributes: int
) -> KafkaFormatError:
    name = f"{known.topic}-{known.partition}"
    way_out = _WAYS_OUT[kind].format(name=name, offset=to_offset)
    return kind(
        f"{name} was read up to offset {known.next_offset - 1}, and {why}. {way_out}",
        topic=known.topic,
        partition=known.partition,
        **attributes,
    )


_WAYS_OUT: dict[type[LogChangedError], str] = {
    RecreatedTopicError: "Write the new topic to another destination; or, to have its rows in the place of "
    "the old topic's: kafka-segments rewind DEST {name} --to-offset 0",
    TruncatedLogError: "To keep what the log has no more, write it to another destination; to have the log's "
    "records in its place: kafka-segments rewind DEST {name} --to-offset {offset}, then ingest again",
    ExpiredOffsetsError: "With -o failOnDataLoss=false the run goes on at the log's start, and the deleted "
    "offsets are accounted as lost",
}


def check_settings(known: TableSettings, asked: TableSettings, path: str) -> None:
    """Check that a run may write into a table: as it was written before, except for columns that are new.

    Args:
        known: of the table.
        asked: of the run.
        path: of the table, for errors.

    Raises:
        OptionError: they contradict each other.
    """
    pairs = {
        "--table": (known.kind, asked.kind),
        "--isolation": (known.isolation, asked.isolation),
        "--divide-by": (known.divided_by, asked.divided_by),
    }
    for name, (before, now) in pairs.items():
        if before != now:
            raise OptionError(
                f"it was written with {name} {before or 'left out'}, and this run has {name} "
                f"{now or 'left out'}: give the same, or choose another destination",
                path=path,
            )
    missing = [name for name in known.columns if name not in asked.columns]
    if missing:
        raise OptionError(
            f"it has the columns {', '.join(known.columns)}, and this run lacks {', '.join(missing)}: "
            "columns can be added later, not left out",
            path=path,
        )
