"""Figures of sound entries from their headers, in the form in which the totals of a report take them."""

from __future__ import annotations

from typing import Any

import numpy as np

from kafka_segments.core.codecs.bounds import possible_records
from kafka_segments.core.segment.columnar.arrow_schema import NONE
from kafka_segments.core.segment.scan.entry_table import EntryTable

__all__ = ["EntryFigures"]


class EntryFigures:
    """Arrays with an item for each entry, in file order; valid as long as the table.

    Args:
        entries: consecutive sound entries, at least one.
        previous: last offset before them.

    Attributes:
        entries: their headers.
        size: bytes.
        first_offset: of a wrapper of magic 0 or 1, the offset after the entry before it.
        last_offset: highest offset by the header.
        num_present: offsets that have a record; of a wrapper all between its first and last one.
        num_records: data records among them.
        timestamp: greatest timestamp in milliseconds, -1 for none.
        is_control: a control batch.
    """

    def __init__(self, entries: EntryTable, previous: int) -> None:
        self.entries, self._is_batch, is_wrapper = entries, entries.is_batch(), entries.is_wrapper()
        self.size = entries.column("end_position") - entries.column("position")
        self.last_offset = entries.last_offsets()
        before = np.append(previous, self.last_offset[:-1])
        in_wrapper = np.minimum(before + 1, self.last_offset)
        self.first_offset = np.where(is_wrapper, in_wrapper, entries.column("base_offset"))
        counted = np.where(is_wrapper, self.last_offset - self.first_offset + 1, 1)
        counted = np.where(self._is_batch, entries.column("num_records"), counted)
        self.num_present = possible_records(counted, self.size, entries.column("codec"))
        self.is_control = self.of_batch("is_control", 0) != 0
        self.num_records = np.where(self.is_control, 0, self.num_present)
        self.timestamp = np.where(entries.column("magic") < 1, NONE, entries.column("max_timestamp"))

    def __len__(self) -> int:
        return len(self.entries)

    def of_batch(self, name: str, none: int = NONE) -> Any:
        """Return a column that only record batches have; `none` for messages of old formats."""
        return np.where(self._is_batch, self.entries.column(name), none)

    def chosen(self, mask: Any) -> EntryFigures:
        """Return some of the entries."""
        return self if mask.all() else self.taken(np.flatnonzero(mask))

    def taken(self, rows: Any) -> EntryFigures:
        """Return the entries in some rows, in the order of these."""
        found = object.__new__(EntryFigures)
        for name, values in vars(self).items():
            setattr(found, name, values.chosen(rows) if name == "entries" else values[rows])
        return found
