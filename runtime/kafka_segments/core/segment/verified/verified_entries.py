"""Entries of a segment with what their records show: their greatest timestamp, and whether they are in order.

`verifying` gives those of a segment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kafka_segments.core.codecs.bounds import possible_records
from kafka_segments.core.formats.entries import Batch, Damage, Record
from kafka_segments.core.segment.records.batch_records import open_records
from kafka_segments.core.segment.scan.entry_scan import Scan, read_payload
from kafka_segments.errors import (
    CorruptBatchError,
    KafkaFormatError,
    raise_unless_file_at_fault,
)

if TYPE_CHECKING:
    pass

__all__ = ["VerifiedEntry", "read_verified", "verified_entry"]


class VerifiedEntry(NamedTuple):
    """A sound batch, or message or wrapper of the old formats.

    Attributes:
        position: where it begins in the file.
        end_position: where it ends.
        magic: its format.
        first_offset: its base offset; of a wrapper that was not opened, the lowest one possible.
        last_offset: by its header, at least `first_offset`.
        num_records: by its header; None for a wrapper that was not opened.
        num_data_records: those that were read; without reading, by the header, if its bytes can hold them.
        max_timestamp: by its header, in milliseconds.
        greatest_timestamp: of its records; None if they were not read, or there are none.
        leader_epoch: -1 for none; also in the old formats, as what follows.
        producer_id: likewise.
        producer_epoch: likewise.
        base_sequence: likewise.
        last_sequence: likewise.
        is_transactional: part of a transaction.
        is_control: a control batch.
        is_whole: no record of it was removed, and its timestamps are as they were written.
        has_ordered_records: the offsets of its records increase, and are inside its own.
        is_append_time: a broker has set its timestamps (LogAppendTime).
        is_overflowing: its last offset by the header is below the first one, or above the greatest.
        crc: as it is stored.
        has_delete_horizon: the log cleaner has marked it.
    """

    position: int
    end_position: int
    magic: int
    first_offset: int
    last_offset: int
    num_records: int | None
    num_data_records: int
    max_timestamp: int
    greatest_timestamp: int | None = None
    leader_epoch: int = -1
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    last_sequence: int = -1
    is_transactional: bool = False
    is_control: bool = False
    is_whole: bool = False
    has_ordered_records: bool = True
    is_append_time: bool = False
    is_overflowing: bool = False
    crc: int = 0
    has_delete_horizon: bool = False


class _Seen:
    """Offsets and timestamps of an entry's records."""

    def __init__(self) -> None:
        self.num_data_records = 0
        self.first: int | None = None
        self.last: int | None = None
        self.is_ordered = True
        self.greatest: int | None = None

    def add(self, record: Record) -> None:
        if self.first is None:
            self.first = record.offset
        self.is_ordered &= self.last is None or record.offset > self.last
        self.last = record.offset
        if record.control is None:
            self.num_data_records += 1
            self.greatest = (
                record.timestamp if self.greatest is None else max(self.greatest, record.timestamp)
            )


def read_verified(
    batch: Batch, scan: Scan, *, check_crc: bool, max_decompressed: int
) -> tuple[VerifiedEntry, Damage | None]:
    """Read one sound entry record by record.

    Args:
        batch: the entry.
        scan: of the segment; has the budget of items, and receives which offset was the last sound one.
        check_crc: verify checksums of messages in a wrapper.
        max_decompressed: bytes that the entry may decompress to.

    Returns:
        The entry, and the damage of records that cannot be read.
    """
    seen, opened = _Seen(), batch
    try:
        payload = read_payload(scan.window, batch)
        opened, records = open_records(
            batch, payload, max_decompressed=max_decompressed, check_crc=check_crc, items=scan.items
        )
        for record in records:
            seen.add(record)
        if opened.num_left:  # Kafka's reader ends there without a word
            raise CorruptBatchError(f"{opened.num_left} bytes are left after the last whole message")
    except KafkaFormatError as error:
        raise_unless_file_at_fault(error)
        found = verified_entry(opened)._replace(num_data_records=seen.num_data_records)
        return found, scan.damage_of(batch, error, seen.last)
    scan.note_sound(batch)
    return verified_entry(opened, seen), None


def verified_entry(batch: Batch, seen: _Seen | None = None) -> VerifiedEntry:
    """Make an entry of a batch, and of what its records have shown."""
    first = batch.base_offset
    if first is None:
        previous = batch.last_offset - 1 if batch.previous_offset is None else batch.previous_offset
        first = min(previous + 1, batch.last_offset)
    last = max(first, batch.last_offset)
    is_ordered, greatest, count = True, None, batch.num_records
    num_read = 0 if batch.is_control else possible_records(count or 0, batch.size, batch.compression_id)
    if seen is not None and seen.first is not None and seen.last is not None:
        greatest, num_read = seen.greatest, seen.num_data_records
        is_ordered = seen.is_ordered and seen.first >= first and seen.last <= last
    return VerifiedEntry(
        batch.position,
        batch.end_position,
        batch.magic,
        first,
        last,
        count,
        num_read,
        batch.max_timestamp,
        greatest,
        batch.partition_leader_epoch,
        batch.producer_id,
        batch.producer_epoch,
        batch.base_sequence,
        batch.last_sequence,
        batch.is_transactional,
        batch.is_control,
        count == last - first + 1 and batch.delete_horizon_ms is None,
        is_ordered,
        batch.timestamp_type == "LogAppendTime",
        batch.last_offset < first,
        batch.crc,
        batch.delete_horizon_ms is not None,
    )
