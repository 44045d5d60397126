"""Headers of the pieces of a result, for its indexes and for the state of the log.

Consecutive batches of a producer are one for the state of the log. Only control batches are opened.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from operator import add

from kafka_segments.core.formats import increment_sequence
from kafka_segments.core.io.storage import Source
from kafka_segments.core.segment.beside.index_files import AbortedTxn
from kafka_segments.core.segment.scan.entry_table import EntryTable
from kafka_segments.core.segment.scan.walk import Walk
from kafka_segments.core.segment.transactions.log_state import EpochBatches, LogState
from kafka_segments.core.segment.transactions.markers import Markers
from kafka_segments.core.segment.transactions.state import DataBatch
from kafka_segments.errors import NotingFaults
from kafka_segments.salvage.ledger import ResultPiece
from kafka_segments.salvage.survey import changed_error
from kafka_segments.write.index_writer import BatchColumns
from kafka_segments.write.log_writer import SegmentFiles

__all__ = ["Follower"]

_LARGEST_MARKER = 1 << 20  # bytes, as brokers allow of any batch by default; they write less than 100
_FIELDS = (
    "partition_leader_epoch",
    "producer_id",
    "producer_epoch",
    "base_sequence",
    "is_transactional",
    "is_control",
)
_OF_PRODUCER = ("producer_id", "producer_epoch", "is_transactional", "is_control")


class Follower:
    """Follows a log through the pieces of its segments.

    Args:
        state: of the log.
    """

    def __init__(self, state: LogState) -> None:
        self._state, self._markers = state, Markers(_LARGEST_MARKER)

    def follow(self, source: Source, piece: ResultPiece, segment: SegmentFiles | None) -> None:
        """Note a piece's batches in the state, and index them in a segment, if there is one.

        Raises:
            ReadError: the file has changed since it was surveyed.
        """
        walk = Walk(source)
        for found in walk.pieces(piece.position):
            if not isinstance(found, EntryTable):
                raise changed_error(source, found)
            headers = _Headers.of(found, piece.end_position)
            self._note(walk, found, headers, segment)
            if segment is not None:
                count = len(headers.base_offsets)
                segment.index(headers.indexed, 0, count, piece.to_position - piece.position)
            if headers.indexed.end_positions[-1] >= piece.end_position:
                break
        self._state.note_end(piece.last)

    def _note(self, walk: Walk, entries: EntryTable, headers: _Headers, segment: SegmentFiles | None) -> None:
        bases, fields = headers.base_offsets, headers.fields
        for start, end in _runs(fields["partition_leader_epoch"]):
            epoch = fields["partition_leader_epoch"][start]
            self._state.note_epochs(EpochBatches(epoch, bases[start], bases[end - 1], end - start))
        for start, end in _runs(*(fields[name] for name in _OF_PRODUCER)):
            if fields["producer_id"][start] < 0:
                continue
            if not fields["is_control"][start]:
                self._state.append(headers.joined(start, end))
                continue
            for row in range(start, end):
                aborted = self._control(walk, entries, headers, row)
                if aborted is not None and segment is not None:
                    segment.abort(aborted)

    def _control(self, walk: Walk, entries: EntryTable, headers: _Headers, row: int) -> AbortedTxn | None:
        """Note a control batch; return the transaction that it aborts.

        One whose content cannot be read ends nothing, as one that was emptied by the cleaner; no more does
        one that is larger than a broker takes.
        """
        position = entries.value(row, "position")
        if entries.value(row, "end_position") - position > _LARGEST_MARKER:
            return None
        is_usual = entries.value(row, "num_records") == 1 and entries.value(row, "codec") == 0
        marker = None
        with NotingFaults():
            batch = partial(walk.scan.batch_at, position)
            marker = self._markers.read(walk.payload(entries, row), is_usual=is_usual, batch=batch)
        if marker is None:
            return None
        producer = headers.fields["producer_id"][row], headers.fields["producer_epoch"][row]
        timestamp = headers.indexed.max_timestamps[row]
        return self._state.end(producer, headers.base_offsets[row], timestamp, marker)


@dataclass(frozen=True, slots=True)
class _Headers:
    """Columns of a table: what is indexed, base offsets, and `_FIELDS`, which are -1 in magic 0 and 1."""

    indexed: BatchColumns
    base_offsets: list[int]
    fields: dict[str, list[int]]

    @classmethod
    def of(cls, entries: EntryTable, end_position: int) -> _Headers:
        """Take those of the entries before a position."""
        count = bisect_left(entries.values("position"), end_position)

        def column(name: str) -> list[int]:
            return entries.values(name)[:count]

        magics, bases, times = column("magic"), column("base_offset"), column("max_timestamp")
        deltas, fields = column("last_offset_delta"), {name: column(name) for name in _FIELDS}
        if min(magics) < 2:
            is_batch = [magic >= 2 for magic in magics]
            times = [time if magic else -1 for time, magic in zip(times, magics, strict=True)]
            deltas = [delta if one else 0 for delta, one in zip(deltas, is_batch, strict=True)]
            for name, values in fields.items():
                fields[name] = [value if one else -1 for value, one in zip(values, is_batch, strict=True)]
        lasts = list(map(add, bases, deltas))
        return cls(BatchColumns(column("position"), column("end_position"), lasts, times), bases, fields)

    def joined(self, start: int, end: int) -> DataBatch:
        """Return consecutive batches of a producer as one."""
        fields, last = self.fields, end - 1
        delta = self.indexed.last_offsets[last] - self.base_offsets[last]
        sequence = fields["base_sequence"][last]
        return DataBatch(
            fields["producer_id"][start],
            fields["producer_epoch"][start],
            self.base_offsets[start],
            self.indexed.last_offsets[last],
            fields["base_sequence"][start],
            -1 if sequence == -1 else increment_sequence(sequence, delta),
            bool(fields["is_transactional"][start]),
            delta,
            self.indexed.max_timestamps[last],
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
