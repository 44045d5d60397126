"""Markers: the control batches that end transactions, as a partition's leader appends them.

Only the first record of such a batch counts, as in Kafka (ProducerAppendInfo.append, CompletedFetch).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from kafka_segments.core.codecs.bounds import ItemBudget
from kafka_segments.core.formats import increment_sequence
from kafka_segments.core.formats.entries import Batch, Damage, Padding, Record
from kafka_segments.core.io.storage import Source
from kafka_segments.core.segment.records.batch_records import open_records
from kafka_segments.core.segment.scan.entry_table import EntryTable
from kafka_segments.core.segment.scan.walk import Walk
from kafka_segments.core.segment.transactions.state import DataBatch, Lost, Marker, Step
from kafka_segments.errors import CorruptBatchError, KafkaFormatError

__all__ = ["Hear", "MarkerValue", "Markers", "iter_steps", "marker_of"]

_MOST_KEPT = 1024
_LARGEST_KEPT = 1024  # bytes; brokers write less than 100
_DATA = ("producer_id", "producer_epoch", "base_offset", "base_sequence")

Hear = Callable[[Walk, EntryTable | Damage | Padding, Sequence[Step]], None]
"""Called with a walk over a segment, its next piece, and the steps of this after they were applied."""


class MarkerValue(NamedTuple):
    """What a marker says: whether it aborts, and the epoch of the coordinator that wrote it."""

    is_abort: bool
    coordinator_epoch: int


def marker_of(record: Record | None) -> MarkerValue | None:
    """Return what the first record of a control batch says; None if it ends no transaction."""
    control = None if record is None else record.control
    if control is None or control.type not in ("ABORT", "COMMIT") or control.value is None:
        return None
    return MarkerValue(control.type == "ABORT", int(control.value["coordinator_epoch"]))


def _read_marker(
    batch: Batch, payload: bytes | memoryview, *, max_decompressed: int, items: ItemBudget
) -> MarkerValue | None:
    """Return the marker in a control batch; None if compaction has emptied the batch.

    Args:
        batch: a control batch of a producer.
        payload: the result of `entry_scan.read_payload`.
        max_decompressed: bytes that the payload may decompress to.
        items: counts the content of compressed control batches of a pass.

    Raises:
        CorruptBatchError: the first record cannot be read, or is not a marker, which no broker accepts
            (EndTransactionMarker.deserialize).
        DecompressionError: the payload does not decompress, or exceeds the budget.
    """
    _batch, records = open_records(batch, payload, max_decompressed=max_decompressed, items=items)
    record = next(records, None)
    if record is None:
        return None
    marker = marker_of(record)
    if marker is None:
        found = "INVALID" if record.control is None else record.control.type
        detail = f"this control record of producer {batch.producer_id} does not end a transaction: {found}"
        raise CorruptBatchError(detail, position=batch.position, path=batch.path)
    return marker


class Markers:
    """Reader of markers that decodes equal bytes once: nearly all markers of a partition are alike."""

    def __init__(self, max_decompressed: int) -> None:
        self._max_decompressed = max_decompressed
        self._items = ItemBudget(max_decompressed)
        self._known: dict[bytes, MarkerValue] = {}

    def read(
        self, payload: bytes | memoryview, *, is_usual: bool, batch: Callable[[], Batch]
    ) -> MarkerValue | None:
        """Return the marker in a control batch, from the cache if possible; see `_read_marker`.

        Args:
            payload: of the control batch.
            is_usual: whether it holds one record, not compressed.
            batch: returns the batch; called if the payload is not in the cache.
        """
        key = bytes(payload) if is_usual and len(payload) <= _LARGEST_KEPT else b""
        if key in self._known:
            return self._known[key]
        marker = _read_marker(batch(), payload, max_decompressed=self._max_decompressed, items=self._items)
        if key and marker is not None:
            if len(self._known) >= _MOST_KEPT:
                self._known.clear()
            self._known[key] = marker
        return marker


def iter_steps(
    source: Source, *, check_crc: bool, max_decompressed: int, hears: Sequence[Hear] = ()
) -> Iterator[Step]:
    """Yield the steps of a segment; see `state.Step`. Only control batches are opened.

    Args:
        source: the segment's bytes.
        check_crc: verify the checksum of every batch: a wrong one may be a lost marker.
        max_decompressed: bytes that a control batch may decompress to.
        hears: hear of all pieces of the segment, which is read once for all of them.
    """
    walk = Walk(source, check_crc=check_crc, whole=True, max_decompressed=max_decompressed)
    markers = Markers(max_decompressed)
    for piece in walk.pieces():
        steps = list(_steps_of(piece, walk, markers))
        yield from steps
        for hear in hears:
            hear(walk, piece, steps)


def _steps_of(entries: EntryTable | Damage | Padding, walk: Walk, markers: Markers) -> Iterator[Step]:
    """Yield the steps of a piece; of sound entries at last the offsets that show whether one strays."""
    if not isinstance(entries, EntryTable):
        yield Lost(entries) if isinstance(entries, Damage) else entries
        return
    special = zip(*map(entries.values, ("magic", "is_control", "is_transactional")), strict=True)
    for row, (magic, is_control, is_transactional) in enumerate(special):
        if magic < 2 or not (is_control or is_transactional):
            continue
        producer_id, epoch, base_offset, sequence = (entries.value(row, name) for name in _DATA)
        if producer_id < 0:
            continue
        if is_control:
            yield from _control(entries, row, walk, markers)
        else:
            delta = entries.value(row, "last_offset_delta")
            last_sequence = -1 if sequence == -1 else increment_sequence(sequence, delta)
            last = entries.last_offset(row)
            yield DataBatch(producer_id, epoch, base_offset, last, sequence, last_sequence)
    yield from entries.ordering_offsets()


def _control(entries: EntryTable, row: int, walk: Walk, markers: Markers) -> Iterator[Step]:
    producer_id, offset = entries.value(row, "producer_id"), entries.value(row, "base_offset")
    is_usual = entries.value(row, "num_records") == 1 and entries.value(row, "codec") == 0
    batch = partial(walk.scan.batch_at, entries.value(row, "position"))
    try:
        marker = markers.read(walk.payload(entries, row), is_usual=is_usual, batch=batch)
    except KafkaFormatError as error:
        if row:
            walk.scan.sound_offset = entries.last_offset(row - 1)
        yield Lost(walk.scan.damage_of(batch(), error, None), producer_id)
        return
    if marker is not None:
        yield Marker(producer_id, offset, marker.is_abort)
