"""Entries as rows of a table and as objects: each of them from the other."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from operator import itemgetter
from types import ModuleType

from kafka_segments.core import formats
from kafka_segments.core.formats.entries import Batch
from kafka_segments.core.segment.scan.entry_table import EntryTable
from kafka_segments_generated.columns import kafka_log_segment

__all__ = ["batch_of", "row_of"]

_WIDTH = kafka_log_segment.WIDTH


def _columns(names: str) -> Callable[[list[int]], tuple[int, ...]]:
    """Return what takes some columns from a row."""
    return itemgetter(*map(kafka_log_segment.BATCH_COLUMNS.index, names.split()))


_of_any = _columns(
    "position end_position content codec magic base_offset max_timestamp timestamp_type crc compression"
)
_of_batch = _columns(
    "last_offset_delta base_sequence partition_leader_epoch base_timestamp num_records producer_id "
    "producer_epoch is_transactional is_control has_delete_horizon"
)


def row_of(batch: Batch, module: ModuleType) -> EntryTable:
    """Return a table of one row for an entry that was read as a `Batch`."""
    is_repeated = batch.magic >= 2
    content = next(at for at, one in enumerate(module.CONTENTS) if one.is_repeated == is_repeated)
    len_head = formats.LEN_HEAD if is_repeated else formats.LEN_LOG_OVERHEAD
    known = {
        "content": content,
        "payload": batch.position + len_head,
        "end_payload": batch.end_position,
        "codec": batch.compression_id,
        "compression": batch.compression_id,
        "timestamp_type": int(batch.timestamp_type == "LogAppendTime"),
        "has_delete_horizon": batch.delete_horizon_ms is not None,
        "last_offset_delta": formats.wrap_long(batch.last_offset - (batch.base_offset or 0)),
        "base_offset": batch.base_offset if is_repeated else batch.last_offset,
    }
    values = [known.get(name, getattr(batch, name, 0)) or 0 for name in module.BATCH_COLUMNS]
    return EntryTable(memoryview(array("q", values)), module)


def batch_of(
    entries: EntryTable, row: int, path: str, previous_offset: int | None, *, crc_valid: bool | None
) -> Batch:
    """Return an entry as an object, as `formats.read_entry_header` reads it.

    Args:
        entries: a table of Kafka's own formats.
        row: of the entry.
        path: of the segment.
        previous_offset: the last sound offset before it.
        crc_valid: whether its checksum is right; None if that was not verified.
    """
    place = row * _WIDTH
    numbers = entries.memory[place : place + _WIDTH].tolist()
    position, end, content, codec, magic, base, timestamp, kind, crc, compression = _of_any(numbers)
    codecs = kafka_log_segment.CONTENTS[content].codecs
    if not kafka_log_segment.CONTENTS[content].is_repeated:
        return Batch(
            path=path,
            position=position,
            size=end - position,
            magic=magic,
            base_offset=base if codec == 0 else None,
            last_offset=base,
            crc=crc,
            crc_valid=crc_valid,
            compression=codecs.get(compression),
            compression_id=compression,
            timestamp_type=formats.TIMESTAMP_TYPE_NAMES[kind] if magic else "NoTimestampType",
            max_timestamp=timestamp if magic else -1,
            previous_offset=previous_offset,
            num_records=1 if codec == 0 else None,
        )
    delta, sequence, epoch, base_timestamp, count, producer_id, producer_epoch, *flags = _of_batch(numbers)
    is_transactional, is_control, has_delete_horizon = map(bool, flags)
    return Batch(
        path=path,
        position=position,
        size=end - position,
        magic=magic,
        base_offset=base,
        last_offset=formats.wrap_long(base + delta),
        partition_leader_epoch=epoch,
        crc=crc,
        crc_valid=crc_valid,
        compression=codecs.get(compression),
        compression_id=compression,
        timestamp_type=formats.TIMESTAMP_TYPE_NAMES[kind],
        is_transactional=is_transactional,
        is_control=is_control,
        delete_horizon_ms=base_timestamp if has_delete_horizon else None,
        base_timestamp=base_timestamp,
        max_timestamp=timestamp,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=sequence,
        last_sequence=-1 if sequence == -1 else formats.increment_sequence(sequence, delta),
        num_records=count,
        previous_offset=previous_offset,
    )
