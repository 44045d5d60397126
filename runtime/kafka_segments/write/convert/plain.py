"""Copies without compression, for programs that have no codecs."""

from __future__ import annotations

from collections.abc import Iterator

from kafka_segments.core.formats.entries import Batch
from kafka_segments.write.convert.loss_report import ConversionReport
from kafka_segments.write.convert.pieces import Piece, Rewritten, Untouched
from kafka_segments.write.convert.rules import CLEANED, CLEANED_LEGACY, Case, apply
from kafka_segments.write.convert.source_entries import SourceEntry

__all__ = ["is_compressed", "plain_pieces"]


def is_compressed(batch: Batch) -> bool:
    """Return whether an entry's payload is compressed: only then its records are needed for a plain copy."""
    return batch.compression != "none"


def plain_pieces(entries: Iterator[SourceEntry], report: ConversionReport) -> Iterator[Piece]:
    """Yield entries without compression: a batch under its own header, the messages of a wrapper one by one.

    Args:
        entries: with the records of those that are compressed.
        report: counts what was rewritten. Nothing is lost but the compression.
    """
    for entry in entries:
        batch, records = entry.batch, entry.records
        if not records:  # not compressed, or nothing in it is sound
            report.num_untouched += 1
            yield Untouched(batch)
            continue
        report.num_rewritten += 1
        table = CLEANED if batch.magic >= 2 else CLEANED_LEGACY
        fields = apply(table, Case(batch, records, batch.magic, batch.delete_horizon_ms))
        yield Rewritten(batch, fields | {"compression": "none"}, records)
