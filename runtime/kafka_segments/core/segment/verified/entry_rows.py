"""Tables of entries with what their records show, in columns for checks of many at once.

Strategy: the tables of the scanner's windows are joined, as a pass over a few rows costs as much as one over
thousands.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from kafka_segments.core.codecs.bounds import possible_records
from kafka_segments.core.formats.entries import Damage, Padding
from kafka_segments.core.formats.java import MIN_LONG
from kafka_segments.core.segment.scan.entry_table import EntryTable
from kafka_segments.core.segment.verified.verified_entries import VerifiedEntry
from kafka_segments_generated.columns import kafka_log_segment

__all__ = ["UNKNOWN_TIMESTAMP", "TableJoiner", "VerifiedEvent", "VerifiedTable", "by_columns"]

UNKNOWN_TIMESTAMP = MIN_LONG
"""Greatest timestamp of an entry without records, or of one that was not read."""

_LARGEST_SEQUENCE = int(np.iinfo(np.int32).max)
_MANY_ROWS = 1 << 11
_MANY_BYTES = 32 << 20  # so that progress is shown


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
    def num_data_records(self) -> Any:
        """See `VerifiedEntry`; 0 for a wrapper."""
        counts = possible_records(self.num_records, self.sizes, self.entries.column("codec"))
        return counts * ((self.of_batches("is_control", 0) == 0) & ~self.entries.is_wrapper())

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
    def is_overflowing(self) -> Any:
        """See `VerifiedEntry`."""
        return self.first_offset + self.of_batches("last_offset_delta", 0) < self.first_offset

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

    def part(self, start: int, end: int) -> VerifiedTable:
        """Return the rows `[start, end)`."""
        part = slice(start, end)
        entries = EntryTable(self.entries.rows[part], kafka_log_segment)
        columns = self.first_offset, self.last_offset, self.greatest_timestamp, self.has_ordered_records
        return VerifiedTable(entries, *(column[part] for column in columns))

    def heads(self) -> list[tuple[int, int, int | None, int, int]]:
        """Return position, end, first offset (None for a wrapper), last offset, timestamp of each entry."""
        firsts: list[int | None] = self.first_offset.tolist()
        for row in np.flatnonzero(self.entries.is_wrapper()).tolist():
            firsts[row] = None
        places = self.entries.values("position"), self.entries.values("end_position")
        return list(zip(*places, firsts, self.last_offset.tolist(), self.max_timestamp.tolist(), strict=True))

    def rows(self) -> Iterator[VerifiedEntry]:
        """Yield the entries one by one."""
        columns = (
            self.entries.column("position"),
            self.entries.column("end_position"),
            self.entries.column("magic"),
            self.first_offset,
            self.last_offset,
            self.num_records,
            self.num_data_records,
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
            self.is_overflowing,
            self.entries.column("crc"),
            self.of_batches("has_delete_horizon", 0) != 0,
        )
        is_wrapper = self.entries.is_wrapper().tolist()
        for at, values in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
            entry = VerifiedEntry(*values)
            if entry.greatest_timestamp == UNKNOWN_TIMESTAMP:
                entry = entry._replace(greatest_timestamp=None)
            yield entry._replace(num_records=None, is_whole=False) if is_wrapper[at] else entry


def by_columns(entries: EntryTable) -> EntryTable:
    """Copy entries of a scan, for checks: with the numbers of each column beside each other in memory."""
    return EntryTable(entries.rows.copy(order="F"), kafka_log_segment)


VerifiedEvent: TypeAlias = VerifiedTable | VerifiedEntry | Damage | Padding


class TableJoiner:
    """Joiner of the tables of consecutive windows."""

    def __init__(self) -> None:
        self._tables: list[VerifiedTable] = []
        self._num_rows = self._num_bytes = 0

    def add(self, table: VerifiedTable) -> Iterator[VerifiedTable]:
        """Add a table; yield all so far as one if they are enough."""
        self._tables.append(table)
        self._num_rows += len(table)
        entries = table.entries
        self._num_bytes += entries.value(len(table) - 1, "end_position") - entries.value(0, "position")
        if self._num_rows >= _MANY_ROWS or self._num_bytes >= _MANY_BYTES:
            yield from self.take()

    def take(self) -> Iterator[VerifiedTable]:
        """Yield all tables since the last time as one, if there are any."""
        tables, self._tables = self._tables, []
        self._num_rows = self._num_bytes = 0
        if len(tables) > 1:
            entries = EntryTable(np.concatenate([one.entries.rows for one in tables]), kafka_log_segment)
            names = ("first_offset", "last_offset", "greatest_timestamp", "has_ordered_records")
            columns = [np.concatenate([getattr(one, name) for one in tables]) for name in names]
            firsts, lasts, greatest, is_ordered = columns
            yield VerifiedTable(entries, firsts, lasts, greatest, is_ordered)
        else:
            yield from tables
