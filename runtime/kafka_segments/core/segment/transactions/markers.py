"""Markers: the control batches that end transactions, as a partition's leader appends them.

Only the first record of such a batch counts, as in Kafka (ProducerAppendInfo.append, CompletedFetch).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from kafka_segments.core.codecs.bounds import ItemBudget
from kafka_segments.core.formats.entries import Batch, Damage, Padding, Record
from kafka_segments.core.segment.batch_records import open_records
from kafka_segments.core.segment.scan.entry_scan import Scan
from kafka_segments.core.segment.transactions.state import DataBatch, Lost, Marker, Step
from kafka_segments.errors import CorruptBatchError, KafkaFormatError

__all__ = ["MarkerValue", "Markers", "marker_of", "scan_steps", "steps_of"]

_MOST_KEPT = 1024
_LARGEST_KEPT = 1024  # bytes; brokers write less than 100


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


def scan_steps(scan: Scan, max_decompressed: int) -> Iterator[Step]:
    """Yield the steps of a segment, entry by entry; `transaction_rows` does so table by table."""
    markers = Markers(max_decompressed)
    for entry in scan.entries():
        if isinstance(entry, Damage):
            yield Lost(entry)
        elif isinstance(entry, Padding):
            yield entry
        elif entry.crc_valid is not False:
            yield from steps_of(entry, scan, markers)


def steps_of(batch: Batch, scan: Scan, markers: Markers) -> Iterator[Step]:
    """Yield the steps of one sound batch of a scan."""
    has_producer = batch.magic >= 2 and batch.producer_id >= 0
    if has_producer and batch.is_control:
        yield from _control(batch, scan, markers)
    elif has_producer and batch.is_transactional:
        assert batch.base_offset is not None
        yield DataBatch(
            batch.producer_id,
            batch.producer_epoch,
            batch.base_offset,
            max(batch.base_offset, batch.last_offset),
            batch.base_sequence,
            batch.last_sequence,
        )
    yield batch.last_offset if batch.base_offset is None else max(batch.base_offset, batch.last_offset)


def _control(batch: Batch, scan: Scan, markers: Markers) -> Iterator[Step]:
    assert batch.base_offset is not None
    is_usual = batch.num_records == 1 and batch.compression == "none"
    try:
        marker = markers.read(scan.payload(batch), is_usual=is_usual, batch=lambda: batch)
    except KafkaFormatError as error:
        yield Lost(scan.damage_of(batch, error, None), batch.producer_id)
        scan.note_sound(batch)
        return
    if marker is not None:
        yield Marker(batch.producer_id, batch.base_offset, marker.is_abort)
