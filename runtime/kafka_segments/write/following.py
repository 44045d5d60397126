"""Tables of appended entries and the state of their log: producers, transactions, leader epochs.

Consecutive batches of a producer are one for the state. Of control batches, the caller reads the markers.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from itertools import groupby

from kafka_segments.core.formats import increment_sequence
from kafka_segments.core.formats.entries import Batch, Record
from kafka_segments.core.segment.beside.index_files import AbortedTxn
from kafka_segments.core.segment.scan.entry_table import EntryTable
from kafka_segments.core.segment.transactions.log_state import EpochBatches, LogState, Refuse, go_on
from kafka_segments.core.segment.transactions.markers import MarkerValue
from kafka_segments.core.segment.transactions.state import DataBatch
from kafka_segments_generated.columns import kafka_log_segment

__all__ = ["MarkerAt", "completed", "follow", "last_offset"]

MarkerAt = Callable[[int], tuple[MarkerValue, int] | None]
"""Returns the marker in the control batch of a row, and the timestamp of its record; None if it has none."""

_OF_BATCHES = {
    "last_offset_delta": 0,
    "is_transactional": 0,
    "is_control": 0,
    "partition_leader_epoch": -1,
    "producer_id": -1,
    "producer_epoch": -1,
    "base_sequence": -1,
    "num_records": 1,
}
"""What messages of magic 0 and 1 lack of a table's columns, and what stands for it."""
_OF_PRODUCER = ("producer_id", "producer_epoch", "is_transactional", "is_control")


def completed(
    entries: EntryTable, opened: Callable[[int], tuple[Batch, Record | None]] | None = None
) -> EntryTable:
    """Return a table in which messages of magic 0 and 1 have all fields of a batch, too.

    Args:
        entries: as a scanner fills it.
        opened: returns the wrapper of a row with its first offset, and its first message; None leaves out
            what the messages know.
    """
    magics, codecs = entries.values("magic"), entries.values("codec")
    if min(magics) >= 2:
        return entries
    memory, width = array("q", entries.memory), kafka_log_segment.WIDTH
    places = {name: kafka_log_segment.BATCH_COLUMNS.index(name) for name in ("base_offset", *_OF_BATCHES)}
    for row in (row for row, magic in enumerate(magics) if magic < 2):
        values = dict(_OF_BATCHES)
        if codecs[row] and opened is not None:
            one, _message = opened(row)
            first = one.last_offset if one.base_offset is None else one.base_offset
            delta, count = one.last_offset - first, one.num_records or 0
            values |= {"base_offset": first, "last_offset_delta": delta, "num_records": count}
        for name, value in values.items():
            memory[row * width + places[name]] = value
    return EntryTable(memoryview(memory), kafka_log_segment)


def last_offset(entries: EntryTable, row: int) -> int:
    """Return the last offset of an entry of a completed table."""
    return entries.value(row, "base_offset") + entries.value(row, "last_offset_delta")


def follow(
    state: LogState, entries: EntryTable, marker_at: MarkerAt, refuse: Refuse = go_on
) -> list[AbortedTxn]:
    """Note entries in the state of their log; return the transactions that their markers abort.

    Args:
        state: after the entries before them.
        entries: a completed table.
        marker_at: reads a marker.
        refuse: called with what a broker would refuse.
    """
    aborted = []
    bases, epochs = entries.values("base_offset"), entries.values("partition_leader_epoch")
    for start, end in _runs(epochs):
        state.note_epochs(EpochBatches(epochs[start], bases[start], bases[end - 1], end - start))
    producers, *others = map(entries.values, _OF_PRODUCER)
    for start, end in _runs(producers, *others):
        if producers[start] < 0:
            continue
        if not others[-1][start]:
            state.append(_joined(entries, start, end), refuse)
            continue
        for row in range(start, end):
            marker = marker_at(row)
            if marker is None:
                continue
            producer = producers[row], others[0][row]
            one = state.end(producer, bases[row], marker[1], marker[0], refuse)
            aborted += [] if one is None else [one]
    return aborted


def _joined(entries: EntryTable, start: int, end: int) -> DataBatch:
    """Return consecutive batches of a producer as one."""
    last = end - 1
    delta, sequence = entries.value(last, "last_offset_delta"), entries.value(last, "base_sequence")
    return DataBatch(
        entries.value(start, "producer_id"),
        entries.value(start, "producer_epoch"),
        entries.value(start, "base_offset"),
        last_offset(entries, last),
        entries.value(start, "base_sequence"),
        -1 if sequence == -1 else increment_sequence(sequence, delta),
        bool(entries.value(start, "is_transactional")),
        delta,
        entries.value(last, "max_timestamp"),
    )


def _runs(*columns: list[int]) -> Iterator[tuple[int, int]]:
    """Yield where rows begin and end that have the same values in all columns."""
    count, start = len(columns[0]), 0
    if all(one.count(one[0]) == count for one in columns):  # as in most tables
        yield 0, count
        return
    for _values, rows in groupby(zip(*columns, strict=True)):
        end = start + sum(1 for _row in rows)
        yield start, end
        start = end
