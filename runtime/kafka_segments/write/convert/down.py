"""Conversion to older formats, as brokers up to Kafka 3.9 did it for old consumers.

Strategy: the rules of RecordsUtil.downConvert, entry by entry. Entries that are old enough are copied; other
records keep offset, key and value. Kafka 4 has no such conversion.
"""

from __future__ import annotations

from collections.abc import Iterator

from kafka_segments.core.formats.entries import Batch, Record
from kafka_segments.errors import EncodeError
from kafka_segments.write.convert.loss_report import ConversionReport
from kafka_segments.write.convert.rules import CONVERTED_DOWN, NOTHING, Case, apply
from kafka_segments.write.convert.source_entries import Piece, Rewritten, SourceEntry, Untouched

__all__ = ["down_pieces", "has_to_go_down"]


def has_to_go_down(batch: Batch, to_magic: int) -> bool:
    """Return whether a batch's records are needed to convert it to `to_magic`."""
    return batch.magic > to_magic and not batch.is_control and batch.compression != "zstd"


def down_pieces(
    entries: Iterator[SourceEntry], to_magic: int, first_offset: int | None, report: ConversionReport
) -> Iterator[Piece]:
    """Yield what becomes of entries.

    Args:
        entries: with the records of those that are converted.
        to_magic: 0 or 1.
        first_offset: records of uncompressed batches below this are left out.
        report: counts what is lost.

    Raises:
        EncodeError: a batch compressed with zstd, which only magic 2 has.
    """
    for entry in entries:
        batch = entry.batch
        if batch.is_control:
            _count_control(batch, report)
            continue
        if batch.compression == "zstd":
            raise EncodeError(
                f"it is compressed with zstd, which magic {to_magic} does not have; Kafka refuses this, too",
                position=batch.position,
                path=batch.path,
            )
        if batch.magic <= to_magic:
            yield Untouched(batch)
            continue
        records = _wanted_records(entry, first_offset, report)
        if records:
            report.num_rewritten += 1
            _count_losses(batch, records, to_magic, report)
            yield Rewritten(batch, apply(CONVERTED_DOWN, Case(batch, records, to_magic)), records)
        else:
            _count_dropped(entry, report)


def _wanted_records(entry: SourceEntry, first_offset: int | None, report: ConversionReport) -> list[Record]:
    """Return the records from `first_offset` on; all of a compressed batch: consumers skip the others."""
    records = entry.records or []
    if first_offset is None or entry.batch.compression != "none":
        return records
    wanted = [record for record in records if record.offset >= first_offset]
    report.num_skipped += len(records) - len(wanted)
    return wanted


def _count_control(batch: Batch, report: ConversionReport) -> None:
    report.num_dropped += 1
    assert batch.base_offset is not None and batch.num_records is not None
    bounds = batch.base_offset, batch.last_offset
    report.lose("control_batches", 1, *bounds)
    # The batch is not opened, as in Kafka: the header's count is used, unless it is negative.
    report.lose("control_records", max(batch.num_records, 0), *bounds)


def _count_dropped(entry: SourceEntry, report: ConversionReport) -> None:
    report.num_dropped += 1
    batch = entry.batch
    if batch.num_records == 0 and batch.base_offset is not None:
        report.lose("empty_batches", 1, batch.base_offset, batch.last_offset)


def _count_losses(batch: Batch, records: list[Record], to_magic: int, report: ConversionReport) -> None:
    for record in records:
        report.lose("headers", len(record.headers), record.offset)
        if to_magic == 0:
            report.lose("timestamps", record.timestamp != NOTHING, record.offset)
    bounds = records[0].offset, records[-1].offset
    lost = {
        "log_append_times": to_magic == 0 and batch.timestamp_type == "LogAppendTime",
        "transactional_batches": batch.is_transactional,
        "producer_ids": batch.producer_id != NOTHING,
        "sequences": batch.base_sequence != NOTHING,
        "leader_epochs": batch.partition_leader_epoch != NOTHING,
        "delete_horizons": batch.delete_horizon_ms is not None,
        "offset_bounds": (batch.base_offset, batch.last_offset) != bounds,
    }
    for what, is_lost in lost.items():
        report.lose(what, is_lost, *bounds)
