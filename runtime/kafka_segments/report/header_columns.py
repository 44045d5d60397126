"""Headers of sound entries as arrays, in the form in which the totals of a report take them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from kafka_segments.core.codecs.bounds import possible_records
from kafka_segments.core.formats.entries import Damage
from kafka_segments.core.segment.columnar.arrow_schema import NONE
from kafka_segments.core.segment.scan.entry_table import EntryTable

__all__ = ["HeaderColumns", "columns_of", "is_sound"]


@dataclass(frozen=True, slots=True)
class HeaderColumns:
    """Int64 and bool arrays with an item for each entry, in file order.

    Attributes:
        position: in the file.
        size: bytes.
        payload: position of the part that a codec compresses.
        end_payload: position after it.
        magic: version of the format.
        codec: number of the codec, 0 for none.
        first_offset: of a wrapper of magic 0 or 1, the offset after the entry before it.
        last_offset: highest offset by the header.
        num_present: offsets that have a record; of a wrapper all between its first and last one.
        num_records: data records among them.
        timestamp: greatest timestamp in milliseconds, -1 for none.
        leader_epoch: -1 for none.
        producer_id: likewise.
        producer_epoch: likewise.
        is_transactional: a batch of a transaction.
        is_control: a control batch.
        delete_horizon: milliseconds, -1 for none.
    """

    position: Any
    size: Any
    payload: Any
    end_payload: Any
    magic: Any
    codec: Any
    first_offset: Any
    last_offset: Any
    num_present: Any
    num_records: Any
    timestamp: Any
    leader_epoch: Any
    producer_id: Any
    producer_epoch: Any
    is_transactional: Any
    is_control: Any
    delete_horizon: Any

    def __len__(self) -> int:
        return len(self.position)

    def chosen(self, mask: Any) -> HeaderColumns:
        """Return some of the entries."""
        if mask.all():
            return self
        return HeaderColumns(*(getattr(self, one.name)[mask] for one in fields(self)))


def columns_of(entries: EntryTable, previous: int) -> HeaderColumns:
    """Return the headers of a table, copied: a table is valid until the next one is read.

    Args:
        entries: consecutive sound entries, at least one.
        previous: last offset before them.
    """
    is_batch, lasts = entries.is_batch(), entries.last_offsets()
    before = np.append(previous, lasts[:-1])
    firsts = np.where(entries.is_wrapper(), np.minimum(before + 1, lasts), entries.column("base_offset"))
    is_control = is_batch & (entries.column("is_control") != 0)
    counted = np.where(entries.is_wrapper(), lasts - firsts + 1, 1)
    size = entries.column("end_position") - entries.column("position")
    counted = np.where(is_batch, entries.column("num_records"), counted)
    present = possible_records(counted, size, entries.column("codec"))

    def of_batch(name: str, none: int = NONE) -> Any:
        return np.where(is_batch, entries.column(name), none)

    timestamps = np.where(entries.column("magic") < 1, NONE, entries.column("max_timestamp"))
    has_horizon = of_batch("has_delete_horizon", 0) != 0
    return HeaderColumns(
        entries.column("position").copy(),
        size,
        entries.column("payload").copy(),
        entries.column("end_payload").copy(),
        entries.column("magic").copy(),
        entries.column("codec").copy(),
        firsts,
        lasts,
        present,
        np.where(is_control, 0, present),
        timestamps,
        of_batch("partition_leader_epoch"),
        of_batch("producer_id"),
        of_batch("producer_epoch"),
        of_batch("is_transactional", 0) != 0,
        is_control,
        np.where(has_horizon, entries.column("base_timestamp"), NONE),
    )


def is_sound(columns: HeaderColumns, damages: Sequence[Damage]) -> Any:
    """Mask of the entries that begin in none of the damaged regions of their file."""
    if not damages:
        return np.ones(len(columns), bool)
    regions = np.array(sorted((one.position, one.end_position) for one in damages), np.int64)
    ends = np.maximum.accumulate(regions[:, 1])
    before = np.searchsorted(regions[:, 0], columns.position, side="right") - 1
    return (before < 0) | (columns.position >= ends[before])
