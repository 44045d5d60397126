"""Counts of a range's offsets by the headers of its entries: data, control records, excluded batches.

Strategy: a header says how many records an entry has. An entry that is partly outside the range is counted
where it has a record for each of its offsets; otherwise the caller opens it (`unknown`). As a consumer does,
entries that repeat lower offsets are skipped.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kafka_segments.core.segment.scan.entry_table import EntryTable

__all__ = ["EntryCounts", "EntryMark", "Unknown", "mark_of"]

_DATA, _CONTROL, _EXCLUDED = range(3)


@dataclass(frozen=True, slots=True)
class EntryMark:
    """Identity of an entry of a log: offsets, checksum, leader and producer.

    Attributes:
        base_offset: by its header; that of the last message for a wrapper of magic 0 and 1.
        last_offset: by its header.
        crc: as stored.
        num_records: by its header; None for a wrapper.
        leader_epoch: -1 for none, and in magic 0 and 1.
        producer_id: likewise.
        base_sequence: likewise.
        has_delete_horizon: the log cleaner has noted when to remove its tombstones or markers.
    """

    base_offset: int
    last_offset: int
    crc: int
    num_records: int | None
    leader_epoch: int = -1
    producer_id: int = -1
    base_sequence: int = -1
    has_delete_horizon: bool = False

    def is_same(self, now: EntryMark) -> bool:
        """Return whether an entry that is found later is this one: as it was, or as the log cleaner left it.

        The cleaner removes records, and notes a time in batches of tombstones and markers; it keeps the last
        offset and what the producer and the leader have written.
        """
        if self.crc == now.crc and self.last_offset == now.last_offset:
            return True
        mine = self.leader_epoch, self.producer_id, self.base_sequence, self.last_offset
        if mine != (now.leader_epoch, now.producer_id, now.base_sequence, now.last_offset):
            return False
        if self.num_records is None or now.num_records is None:
            return True
        return now.num_records < self.num_records or now.has_delete_horizon


@dataclass(frozen=True, slots=True)
class Unknown:
    """A batch of which a range holds a part; its header has no count of that part.

    Attributes:
        position: where it begins.
        is_control: it is a control batch, else an excluded one.
        start: first offset of the part that is inside.
        end: after the last one.
    """

    position: int
    is_control: bool
    start: int
    end: int


class EntryCounts:
    """Counts of the offsets in a range.

    Args:
        start: first offset; None is 0, since no log has offsets below it.
        end: after the last one; None is open.

    Attributes:
        num_data: records of data batches that are not excluded.
        num_control: control records.
        num_excluded: records of excluded batches (of aborted and open transactions).
        is_exact: whether `num_data` counts all of them; False for wrappers, whose headers have no count.
        unknown: control and excluded batches that are partly outside the range, and not counted.
        last: the entry with the highest offset; None without any.
        has_exceeding: whether a batch has more records than offsets.
    """

    def __init__(self, start: int | None, end: int | None) -> None:
        self._start, self._end = start, end
        self._greatest = -1
        self.has_exceeding = False
        self.num_data = self.num_control = self.num_excluded = 0
        self.is_exact = True
        self.unknown: list[Unknown] = []
        self.last: EntryMark | None = None

    def entries(self, entries: EntryTable, excluded: Any = None) -> None:
        """Add consecutive sound entries.

        Args:
            entries: some of them may be outside the range.
            excluded: a mask of those that are excluded; None is none.
        """
        firsts, lasts = entries.column("base_offset"), entries.highest_offsets()
        is_inside = lasts >= max(0, 0 if self._start is None else self._start)
        if self._end is not None:
            is_inside &= firsts < self._end
            # A wrapper has the offset of its last message; some of its messages may be in the range.
            if (entries.is_wrapper() & (lasts >= self._end)).any():
                self.is_exact = False
        rows = np.flatnonzero(is_inside)
        if not len(rows):
            return
        before = np.maximum.accumulate(np.append(self._greatest, lasts[rows][:-1]))
        is_ahead = lasts[rows] > before
        rows, before = rows[is_ahead], before[is_ahead]
        if not len(rows):
            return
        self._greatest = max(self._greatest, int(lasts[rows].max()))
        self.is_exact = self.is_exact and not entries.is_wrapper()[rows].any()
        self.has_exceeding = self.has_exceeding or bool(entries.exceeds_last_offsets()[rows].any())
        sorts = np.where(entries.is_batch() & (entries.column("is_control") != 0), _CONTROL, _DATA)
        if excluded is not None:
            sorts[excluded] = _EXCLUDED
        self._count(entries, rows, before, sorts[rows])
        self._note_last(entries, int(rows[np.argmax(lasts[rows])]))

    def _count(self, entries: EntryTable, rows: Any, before: Any, sorts: Any) -> None:
        firsts, lasts = entries.column("base_offset")[rows], entries.highest_offsets()[rows]
        counts = np.where(entries.is_batch(), entries.column("num_records"), 1)[rows]
        least = 0 if self._start is None else self._start
        begins = np.maximum(firsts, np.maximum(before + 1, least))
        stops = lasts if self._end is None else np.minimum(lasts, self._end - 1)
        is_partial = (begins != firsts) | (stops != lasts)
        is_unknown = is_partial & (counts != lasts - firsts + 1)
        inside = np.where(is_partial, stops - begins + 1, counts)
        known = [int(inside[(sorts == sort) & ~is_unknown].sum()) for sort in range(3)]
        self.num_data += known[_DATA]
        self.num_control += known[_CONTROL]
        self.num_excluded += known[_EXCLUDED]
        for at in np.flatnonzero(is_unknown).tolist():
            if sorts[at] == _DATA:
                self.is_exact = False
            else:
                position = entries.value(int(rows[at]), "position")
                part = int(begins[at]), int(stops[at]) + 1
                self.unknown.append(Unknown(position, bool(sorts[at] == _CONTROL), *part))

    def _note_last(self, entries: EntryTable, row: int) -> None:
        last_offset = entries.last_offset(row)
        if self.last is None or last_offset >= self.last.last_offset:
            self.last = mark_of(entries, row)


def mark_of(entries: EntryTable, row: int) -> EntryMark:
    """Return the mark of one entry of a table."""
    is_batch = bool(entries.is_batch()[row])
    is_wrapper = bool(entries.is_wrapper()[row])
    names = "partition_leader_epoch", "producer_id", "base_sequence"
    epoch, producer_id, sequence = (entries.value(row, name) if is_batch else -1 for name in names)
    count = entries.value(row, "num_records") if is_batch else 1
    return EntryMark(
        entries.value(row, "base_offset"),
        entries.last_offset(row),
        entries.value(row, "crc"),
        None if is_wrapper else count,
        epoch,
        producer_id,
        sequence,
        is_batch and bool(entries.value(row, "has_delete_horizon")),
    )
