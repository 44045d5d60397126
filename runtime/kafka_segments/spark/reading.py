"""From a split to its data records, and what is to be done about what is not sound.

Strategy: everything goes through one place, `iter_batches`, for the data source and for `ingest`. They
differ in the `Findings` they pass: one raises or warns, the other counts and lists.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Protocol

from kafka_segments.entries import Batch, Damage, Padding, SoundBatches
from kafka_segments.errors import KafkaFormatError
from kafka_segments.ranges.findings import describe
from kafka_segments.ranges.pending import judge
from kafka_segments.segment import open_segment
from kafka_segments.spark.splits import SegmentSplit
from kafka_segments.storage import open_source

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Findings", "describe", "iter_batches", "name_partition"]


class Findings(Protocol):
    """What is told about a segment beside its records, in file order. Any of these may raise."""

    def batches(self, batches: SoundBatches) -> None:
        """Sound batches and messages that hold offsets at or above the log start offset."""

    def damage(self, damage: Damage) -> None:
        """A damaged region that may have cost records."""

    def pending(self, damage: Damage) -> None:
        """The newest segment's last batch is not whole yet."""


def iter_batches(
    split: SegmentSplit, findings: Findings, columns: Sequence[str], *, check_crc: bool, max_decompressed: int
) -> Iterator[pa.RecordBatch]:
    """Yield the data records at or above the log start offset; control records are left out.

    Args:
        split: what to read.
        findings: who is told of the rest.
        columns: names of the columns wanted, see `columnar.schema`.
        check_crc: verify the checksum of every batch.
        max_decompressed: bytes that one batch may decompress to.

    Raises:
        KafkaFormatError: the file cannot be opened or is another program's; and whatever `findings` raises.
    """
    start = split.log_start_offset
    with (
        closing(open_source(split.path)) as source,
        open_segment(source, check_crc=check_crc, max_decompressed=max_decompressed) as segment,
    ):
        events = segment.iter_columnar(columns, (start, None))
        for event, is_pending in judge(events, source, split.is_newest):
            if isinstance(event, SoundBatches):
                findings.batches(event)
            elif isinstance(event, Damage):
                if is_pending:
                    findings.pending(event)
                elif event.touches(start, None):
                    findings.damage(event)
            elif not isinstance(event, Batch | Padding):  # the damage of such a batch follows it
                yield event


def name_partition(error: KafkaFormatError, split: SegmentSplit) -> KafkaFormatError:
    """The error, with file, topic and partition in its message."""
    error.path = error.path or split.path
    error.detail += f" (topic {split.topic}, partition {split.partition})"
    return error
