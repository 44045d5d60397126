"""The end of a transaction: what the control batch says that a partition's leader has appended.

Kafka looks at the first record of such a batch alone (ProducerAppendInfo.append, CompletedFetch), so do we.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kafka_segments.codecs.bounds import ItemBudget
from kafka_segments.errors import CorruptBatchError, KafkaFormatError
from kafka_segments.formats.entries import Batch, Damage, Padding
from kafka_segments.segment.batch_records import open_records
from kafka_segments.segment.scan.entry_scan import Scan
from kafka_segments.segment.transactions.state import DataBatch, Lost, Marker, Step

__all__ = ["Markers", "read_marker", "scan_steps", "steps_of"]

_MOST_KEPT = 1024


def read_marker(
    batch: Batch, payload: bytes | memoryview, *, max_decompressed: int, items: ItemBudget | None = None
) -> bool | None:
    """Whether the marker in a control batch aborts; None if compaction has left the batch without one.

    Args:
        batch: a control batch of a producer.
        payload: what `entry_scan.read_payload` gives.
        max_decompressed: bytes that the payload may decompress to.
        items: counts the content of compressed control batches, where a pass reads several.

    Raises:
        CorruptBatchError: the first record cannot be read, or is no marker, which no broker takes
            (EndTransactionMarker.deserialize).
        DecompressionError: the payload does not decompress, or the budget has no room for the record.
    """
    _batch, records = open_records(batch, payload, max_decompressed=max_decompressed, items=items)
    record = next(records, None)
    if record is None:
        return None
    control = record.control
    if control is None or control.type not in ("ABORT", "COMMIT") or control.value is None:
        said = "INVALID" if control is None else control.type
        detail = f"this control record of producer {batch.producer_id} does not end a transaction: {said}"
        raise CorruptBatchError(detail, position=batch.position, path=batch.path)
    return control.type == "ABORT"


class Markers:
    """Reads markers, and the same bytes once: a partition's markers are nearly all alike."""

    def __init__(self, max_decompressed: int) -> None:
        self._max_decompressed = max_decompressed
        self._items = ItemBudget(max_decompressed)
        self._known: dict[bytes, bool] = {}

    def read(self, payload: bytes | memoryview, *, is_usual: bool, batch: Callable[[], Batch]) -> bool | None:
        """See `read_marker`.

        Args:
            payload: of the control batch.
            is_usual: whether it holds one record, not compressed.
            batch: gives the batch, if these bytes have not been seen before.
        """
        key = bytes(payload) if is_usual else b""
        if key in self._known:
            return self._known[key]
        is_abort = read_marker(batch(), payload, max_decompressed=self._max_decompressed, items=self._items)
        if is_usual and is_abort is not None:
            if len(self._known) >= _MOST_KEPT:
                self._known.clear()
            self._known[key] = is_abort
        return is_abort


def scan_steps(scan: Scan, max_decompressed: int) -> Iterator[Step]:
    """What a segment shows of transactions, entry by entry; `transaction_rows` does it table by table."""
    markers = Markers(max_decompressed)
    for entry in scan.entries():
        if isinstance(entry, Damage):
            yield Lost(entry)
        elif isinstance(entry, Padding):
            yield entry
        elif entry.crc_valid is not False:
            yield from steps_of(entry, scan, markers)


def steps_of(batch: Batch, scan: Scan, markers: Markers) -> Iterator[Step]:
    """What one sound batch of a scan shows of transactions."""
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
        is_abort = markers.read(scan.payload(batch), is_usual=is_usual, batch=lambda: batch)
    except KafkaFormatError as error:
        yield Lost(scan.damage_of(batch, error, None), batch.producer_id)
        scan.passed(batch)
        return
    if is_abort is not None:
        yield Marker(batch.producer_id, batch.base_offset, is_abort)
