"""Tables of entries with what their records show, made of the offsets and timestamps of all their records.

Strategy: the rows of consecutive entries come in order, as many as their headers say. So what is needed of
each entry is found in runs of rows, by a few operations on whole arrays.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from kafka_segments.segment.columnar.entry_table import EntryTable
from kafka_segments.segment.verified_entries import VerifiedEntry

__all__ = ["UNKNOWN_TIMESTAMP", "EntryRows", "VerifiedTable"]

UNKNOWN_TIMESTAMP = int(np.iinfo(np.int64).min)
"""Greatest timestamp of an entry without records, or of one that was not read."""

_LARGEST_SEQUENCE = int(np.iinfo(np.int32).max)


@dataclass(slots=True)
class VerifiedTable:
    """Consecutive sound entries, in columns of int64 or bool.

    Attributes:
        entries: their headers.
        first_offset: base offsets.
        last_offset: by the headers, at least `first_offset`.
        greatest_timestamp: of the records; `UNKNOWN_TIMESTAMP` without any.
        has_ordered_records: see `VerifiedEntry`.
    """

    entries: EntryTable
    first_offset: Any
    last_offset: Any
    greatest_timestamp: Any
    has_ordered_records: Any
    _has_batches_alone: bool | None = None

    def __len__(self) -> int:
        return len(self.entries)

    @property
    def has_batches_alone(self) -> bool:
        """Whether all entries are batches of magic 2."""
        if self._has_batches_alone is None:
            self._has_batches_alone = bool(self.entries.is_batch().all())
        return self._has_batches_alone

    def of_batches(self, name: str, none: int = -1) -> Any:
        """Return a column that only batches of magic 2 have."""
        column = self.entries.column(name)
        return column if self.has_batches_alone else np.where(self.entries.is_batch(), column, none)

    @property
    def sizes(self) -> Any:
        """Bytes of each entry."""
        return self.entries.column("end_position") - self.entries.column("position")

    @property
    def max_timestamp(self) -> Any:
        """The greatest timestamp by each header; -1 in magic 0."""
        timestamps = self.entries.column("max_timestamp")
        return (
            timestamps
            if self.has_batches_alone
            else np.where(self.entries.column("magic") < 1, -1, timestamps)
        )

    @property
    def num_records(self) -> Any:
        """The number of records by each header; a message is one."""
        return self.of_batches("num_records", 1)

    @property
    def is_whole(self) -> Any:
        """See `VerifiedEntry`."""
        counts = self.last_offset - self.first_offset + 1
        return (self.num_records == counts) & (self.of_batches("has_delete_horizon", 0) == 0)

    @property
    def is_append_time(self) -> Any:
        """Whether a broker has set the timestamps of each entry."""
        return (self.entries.column("timestamp_type") != 0) & (self.entries.column("magic") > 0)

    @property
    def last_sequence(self) -> Any:
        """The sequence number of each entry's last record; -1 for none."""
        base = self.of_batches("base_sequence")
        delta = self.of_batches("last_offset_delta", 0)
        # As DefaultRecordBatch.incrementSequence: 0 follows the largest number.
        wrapped = np.where(
            base > _LARGEST_SEQUENCE - delta, delta - (_LARGEST_SEQUENCE - base) - 1, base + delta
        )
        return np.where(base < 0, -1, wrapped)

    def rows(self) -> Iterator[VerifiedEntry]:
        """Yield the entries one by one."""
        columns = (
            self.entries.column("position"),
            self.entries.column("end_position"),
            self.entries.column("magic"),
            self.first_offset,
            self.last_offset,
            self.num_records,
            self.max_timestamp,
            self.greatest_timestamp,
            self.of_batches("partition_leader_epoch"),
            self.of_batches("producer_id"),
            self.of_batches("producer_epoch"),
            self.of_batches("base_sequence"),
            self.last_sequence,
            self.of_batches("is_transactional", 0) != 0,
            self.of_batches("is_control", 0) != 0,
            self.is_whole,
            self.has_ordered_records,
            self.is_append_time,
        )
        is_wrapper = self.entries.is_wrapper().tolist()
        for at, values in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
            entry = VerifiedEntry(*values)
            if entry.greatest_timestamp == UNKNOWN_TIMESTAMP:
                entry = entry._replace(greatest_timestamp=None)
            yield entry._replace(num_records=None, is_whole=False) if is_wrapper[at] else entry


class EntryRows:
    """Greatest timestamps and order of entries, from the rows of a window.

    Args:
        entries: consecutive entries.
    """

    def __init__(self, entries: EntryTable) -> None:
        self._entries = entries
        is_batch = entries.is_batch()
        counts = np.where(is_batch & (entries.column("is_control") != 0), 0, entries.column("num_records"))
        if not is_batch.all():
            counts = np.where(is_batch, counts, 1)
        self._which = np.flatnonzero(counts > 0)
        self._counts = counts[self._which]
        self._ends = self._counts.cumsum()
        self._firsts = entries.column("base_offset")
        self._lasts = entries.last_offsets()
        self._greatest = np.full(len(entries), UNKNOWN_TIMESTAMP)
        self._is_ordered = np.ones(len(entries), bool)
        self._num_rows, self._last_offset = 0, -1
        self._is_wrong = bool(entries.is_wrapper().any()) or int(counts.min()) < 0

    @property
    def is_complete(self) -> bool:
        """Whether there were as many rows as the headers say."""
        expected = int(self._ends[-1]) if len(self._ends) else 0
        return not self._is_wrong and self._num_rows == expected

    def table(self) -> VerifiedTable:
        """Return the table."""
        return VerifiedTable(self._entries, self._firsts, self._lasts, self._greatest, self._is_ordered)

    def add(self, offsets: Any, times: Any) -> None:
        """Add the offsets and timestamps of the next rows, one or more."""
        start, end = self._num_rows, self._num_rows + len(offsets)
        self._num_rows = end
        self._is_wrong = self._is_wrong or not len(self._ends) or end > self._ends[-1]
        if self._is_wrong or self._is_all(offsets, times, start):
            return
        lowest, highest = np.searchsorted(self._ends, [start, end - 1], "right").tolist()
        part = slice(lowest, highest + 1)
        begins = self._ends[part] - self._counts[part] - start
        which = self._which[part]
        greatest = np.maximum.reduceat(times, np.maximum(begins, 0))
        self._greatest[which] = np.maximum(self._greatest[which], greatest)
        self._check_order(offsets, begins, which)
        self._last_offset = int(offsets[-1])

    def _is_all(self, offsets: Any, times: Any, start: int) -> bool:
        """Add rows that are those of all entries, in order; return False for others, which it leaves."""
        if start or len(offsets) != self._ends[-1] or len(self._which) != len(self._entries):
            return False
        begins = self._ends - self._counts
        is_inside = (offsets[begins] >= self._firsts) & (offsets[self._ends - 1] <= self._lasts)
        if not is_inside.all() or not (offsets[1:] > offsets[:-1]).all():
            return False
        self._greatest = np.maximum.reduceat(times, begins)
        return True

    def _check_order(self, offsets: Any, begins: Any, which: Any) -> None:
        """Note the entries whose offsets do not increase, or that are not inside of the header's."""
        is_own = begins >= 0
        firsts = offsets[begins[is_own]]
        self._is_ordered[which[is_own]] &= firsts >= self._firsts[which[is_own]]
        ends = self._ends_in(begins, len(offsets))
        is_whole = ends <= len(offsets)
        self._is_ordered[which[is_whole]] &= offsets[ends[is_whole] - 1] <= self._lasts[which[is_whole]]
        falling = np.flatnonzero(offsets[1:] <= offsets[:-1]) + 1
        if begins[0] < 0 and offsets[0] <= self._last_offset:
            falling = np.append(0, falling)
        if len(falling):
            at = np.searchsorted(begins, falling, "right") - 1
            inside = at[begins[at] != falling]
            self._is_ordered[which[inside]] = False

    def _ends_in(self, begins: Any, num_rows: int) -> Any:
        """Return where each entry ends among these rows; of the last one perhaps beyond them."""
        ends = np.append(begins[1:], num_rows + 1)
        highest = int(np.searchsorted(self._ends, self._num_rows - 1, "right"))
        ends[-1] = int(self._ends[highest]) - (self._num_rows - num_rows)
        return ends
