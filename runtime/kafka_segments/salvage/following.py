"""Headers of the pieces of a result, for its indexes and for the state of the log.

Strategy: headers come in tables, of which a few columns are taken; consecutive batches of a producer are one
for the state of the log. Only control batches are opened.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from kafka_segments.core.formats import increment_sequence
from kafka_segments.core.formats.entries import Batch, Damage
from kafka_segments.core.io.storage import Source
from kafka_segments.core.segment.index_files import AbortedTxn
from kafka_segments.core.segment.scan.entry_scan import Scan, read_payload
from kafka_segments.core.segment.transactions.log_state import EpochBatches, LogState
from kafka_segments.core.segment.transactions.markers import Markers
from kafka_segments.core.segment.transactions.state import DataBatch
from kafka_segments.errors import MissingExtraError, NotingFaults
from kafka_segments.salvage.ledger import ResultPiece
from kafka_segments.salvage.survey import changed_error
from kafka_segments.write.index_writer import BatchColumns
from kafka_segments.write.log_writer import SegmentFiles

__all__ = ["Follower"]

_LARGEST_MARKER = 1 << 20  # bytes, as brokers allow of any batch by default; they write less than 100
_LEN_WINDOW = 4096  # bytes, where a single header is read
_FIELDS = (
    "partition_leader_epoch",
    "producer_id",
    "producer_epoch",
    "base_sequence",
    "is_transactional",
    "is_control",
)

Row = tuple[Any, ...]
"""Of a batch: base offset, last offset, greatest timestamp, position, then `_FIELDS`."""

_epoch_of, _producer_of = itemgetter(4), itemgetter(5, 6, 8, 9)


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
        for batches, bases, fields in _headers(source, piece.position, piece.end_position):
            rows = list(
                zip(
                    bases,
                    batches.last_offsets,
                    batches.max_timestamps,
                    batches.positions,
                    *fields,
                    strict=True,
                )
            )
            for epoch, run in groupby(rows, _epoch_of):
                begun = [row[0] for row in run]
                self._state.note_epochs(EpochBatches(epoch, begun[0], begun[-1], len(begun)))
            for (producer_id, *_rest, is_control), run in groupby(rows, _producer_of):
                if producer_id >= 0 and not is_control:
                    self._state.append(_joined(list(run)))
                elif producer_id >= 0:
                    for _base, _last, _time, position, *_fields in run:
                        aborted = self._control(source, position)
                        if aborted is not None and segment is not None:
                            segment.abort(aborted)
            if segment is not None:
                segment.index(batches, 0, len(rows), piece.to_position - piece.position)
        self._state.note_end(piece.last)

    def _control(self, source: Source, position: int) -> AbortedTxn | None:
        """Note a control batch; return the transaction that it aborts.

        One whose content cannot be read ends nothing, as one that was emptied by the cleaner; no more does
        one that is larger than a broker takes.
        """
        batch = next(Scan(source, headers_only=True, len_window=_LEN_WINDOW).entries(position))
        if not isinstance(batch, Batch) or batch.base_offset is None:
            raise changed_error(source, batch)
        if batch.size > _LARGEST_MARKER:
            return None
        marker, is_usual = None, batch.num_records == 1 and batch.compression == "none"
        with NotingFaults():
            marker = self._markers.read(read_payload(source, batch), is_usual=is_usual, batch=lambda: batch)
        if marker is None:
            return None
        producer = batch.producer_id, batch.producer_epoch
        return self._state.end(producer, batch.base_offset, batch.max_timestamp, marker)


def _joined(rows: Sequence[Row]) -> DataBatch:
    """Return consecutive batches of a producer as one."""
    first_offset, first_sequence = rows[0][0], rows[0][7]
    base, last_offset, timestamp, _position, _epoch, producer_id, producer_epoch, sequence, *kind = rows[-1]
    delta = last_offset - base
    last_sequence = -1 if sequence == -1 else increment_sequence(sequence, delta)
    return DataBatch(
        producer_id,
        producer_epoch,
        first_offset,
        last_offset,
        first_sequence,
        last_sequence,
        bool(kind[0]),
        delta,
        timestamp,
    )


Headers = tuple[BatchColumns, list[int], list[list[int]]]
"""Of entries that follow each other: what is indexed, base offsets, and `_FIELDS` of each."""


def _headers(source: Source, position: int, end_position: int) -> Iterator[Headers]:
    """Yield the headers of the entries between two positions."""
    try:
        yield from _tables(source, position, end_position)
    except MissingExtraError:
        for entry in Scan(source, headers_only=True).entries(position):
            if not isinstance(entry, Batch):
                raise changed_error(source, entry) from None
            base = entry.last_offset if entry.base_offset is None else entry.base_offset
            indexed = entry.position, entry.end_position, entry.last_offset, entry.max_timestamp
            columns = BatchColumns(*([one] for one in indexed))
            yield columns, [base], [[int(getattr(entry, name))] for name in _FIELDS]
            if entry.end_position >= end_position:
                return


def _tables(source: Source, position: int, end_position: int) -> Iterator[Headers]:
    from kafka_segments.core.segment import columnar  # noqa: F401 (raises if numpy or Arrow is missing)

    # isort: split
    import numpy as np

    from kafka_segments.core.segment.scan.walk import iter_headers

    for found in iter_headers(source, position):
        if isinstance(found, Damage):
            raise changed_error(source, found)
        entries = found.before(int(np.searchsorted(found.column("position"), end_position)))
        is_batch = entries.is_batch()
        indexed = (
            entries.column("position"),
            entries.column("end_position"),
            entries.stated_last_offsets(),
            np.where(entries.column("magic") == 0, -1, entries.column("max_timestamp")),
        )
        fields = [np.where(is_batch, entries.column(name), -1).tolist() for name in _FIELDS]
        columns = BatchColumns(*(one.tolist() for one in indexed))
        yield columns, entries.column("base_offset").tolist(), fields
        if columns.end_positions[-1] >= end_position:
            return
