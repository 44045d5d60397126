"""Conversion from magic 0 and 1 to magic 2, as a broker does it with batches of old producers.

Strategy: a wrapper becomes a batch of the same codec. Messages without a wrapper are gathered in batches of
at most the size that a producer might have sent. The records keep their offsets, which a broker would assign
(LogValidator.convertAndAssignOffsetsNonCompressed, validateMessagesAndAssignOffsetsCompressed); those in a
log have been assigned already.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kafka_segments.core.formats.entries import Batch, Record
from kafka_segments.write.convert.loss_report import ConversionReport
from kafka_segments.write.convert.rules import CONVERTED_UP, Case, apply
from kafka_segments.write.convert.source_entries import Piece, Rewritten, SourceEntry, Untouched

__all__ = ["has_to_go_up", "up_pieces"]

_HIGHEST_DELTA = (1 << 31) - 1


def has_to_go_up(batch: Batch) -> bool:
    """Return whether an entry is of magic 0 or 1."""
    return batch.magic < 2


class _Group:
    """Consecutive messages that become one batch."""

    def __init__(self, batch: Batch, records: Sequence[Record]) -> None:
        self.batch = batch
        self.records = list(records)
        self.sources = [batch] * len(records)
        self._len_source = batch.size
        self._can_grow = batch.compression == "none"

    def takes(self, batch: Batch, records: Sequence[Record], batch_size: int) -> bool:
        """Add a message if it fits; return whether it does."""
        first, last = self.records[0].offset, self.records[-1].offset
        if not (
            self._can_grow
            and batch.compression == "none"
            and self._len_source + batch.size <= batch_size
            and batch.magic == self.batch.magic
            and batch.timestamp_type == self.batch.timestamp_type
            and (batch.timestamp_type != "LogAppendTime" or batch.max_timestamp == self.batch.max_timestamp)
            and last < records[0].offset <= first + _HIGHEST_DELTA
        ):
            return False
        self.records += records
        self.sources += [batch] * len(records)
        self._len_source += batch.size
        return True


def up_pieces(
    entries: Iterator[SourceEntry],
    *,
    batch_size: int,
    partition_leader_epoch: int,
    log_append_time: int | None,
    report: ConversionReport,
) -> Iterator[Piece]:
    """Yield what becomes of entries.

    Args:
        entries: with the records of those that are converted.
        batch_size: bytes of messages without compression that become one batch; 0 makes a batch of each.
        partition_leader_epoch: of all new batches.
        log_append_time: the time that the broker sets, None if the topic has CreateTime.
        report: counts entries.
    """
    group: _Group | None = None
    for entry in entries:
        batch, records = entry.batch, entry.records
        if records and group is not None and group.takes(batch, records, batch_size):
            report.num_rewritten += 1
            continue
        if group is not None:
            yield _rewritten(group, partition_leader_epoch, log_append_time)
            group = None
        if records is None:
            yield Untouched(batch)
        elif records:
            report.num_rewritten += 1
            group = _Group(batch, records)
        else:  # without a sound record
            report.num_dropped += 1
    if group is not None:
        yield _rewritten(group, partition_leader_epoch, log_append_time)


def _rewritten(group: _Group, partition_leader_epoch: int, log_append_time: int | None) -> Rewritten:
    case = Case(
        group.batch,
        group.records,
        magic=2,
        partition_leader_epoch=partition_leader_epoch,
        log_append_time=log_append_time,
    )
    return Rewritten(group.batch, apply(CONVERTED_UP, case), group.records, group.sources)
