"""Output of the log cleaner for given decisions about records: MemoryRecords.filterTo.

Strategy: a batch whose records all stay is copied byte for byte, unless it needs a delete horizon or (in
Kafka 4) is of an old format. If some records stay, they are rewritten under the batch's own offsets and
producer state. If none stays, the batch is dropped, or kept as a header alone. The caller decides about
records and batches: LogCleaner does so by an offset for each key, and by transactions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from kafka_segments.core.formats import java_text
from kafka_segments.core.formats.entries import Batch, Header, Record
from kafka_segments.errors import EncodeError, OptionError
from kafka_segments.write.convert.loss_report import ConversionReport
from kafka_segments.write.convert.rules import (
    CLEANED,
    CLEANED_AS_V2,
    CLEANED_LEGACY,
    EMPTIED,
    NOTHING,
    Case,
    Table,
    apply,
)
from kafka_segments.write.convert.source_entries import Piece, Rewritten, SourceEntry, Untouched

__all__ = ["Cleaning", "Retention"]


class Retention(Enum):
    """What becomes of a batch that is filtered (RecordFilter.BatchRetention)."""

    DELETE = "delete"
    """The batch is dropped with all records."""
    RETAIN_EMPTY = "retain_empty"
    """The batch stays, as a header alone if no record stays."""
    DELETE_EMPTY = "delete_empty"
    """The batch is dropped if no record stays."""


@dataclass(frozen=True, slots=True)
class Cleaning:
    """Decisions of one round of cleaning.

    Attributes:
        retain: whether a record stays.
        delete_horizon_ms: for batches that get one: the current time + delete.retention.ms.
        retention: what becomes of a batch; None is `DELETE_EMPTY` for all.
        ends_nothing: whether a control batch is the marker of a transaction without any remaining record, so
            that it can be dropped after its horizon; None for no batch.
        keeps_magic: as up to Kafka 3.9; else the old formats become magic 2, as in Kafka 4.
    """

    retain: Callable[[Record], bool]
    delete_horizon_ms: int
    retention: Callable[[Batch], Retention] | None = None
    ends_nothing: Callable[[Batch], bool] | None = None
    keeps_magic: bool = False

    def pieces(self, entries: Iterator[SourceEntry], report: ConversionReport) -> Iterator[Piece]:
        """Yield what becomes of entries, which come with all their records.

        Raises:
            EncodeError: a message of the old formats that would be kept as a header alone; offsets below 0.
        """
        for entry in entries:
            piece = self._piece(entry, report)
            if piece is None:
                report.num_dropped += 1
                continue
            _check_offsets(piece)
            report.num_rewritten += isinstance(piece, Rewritten)
            yield piece

    def _piece(self, entry: SourceEntry, report: ConversionReport) -> Piece | None:
        batch, records = entry.batch, entry.records or []
        retention = Retention.DELETE_EMPTY if self.retention is None else _checked(self.retention(batch))
        if retention is Retention.DELETE:
            report.num_skipped += len(records)
            return None
        stay = [record for record in records if self.retain(record)]
        report.num_skipped += len(records) - len(stay)
        if not stay:
            return _emptied(batch) if retention is Retention.RETAIN_EMPTY else None
        horizon = self._horizon(batch, stay)
        is_whole = len(stay) == len(records) and not entry.is_damaged
        if is_whole and horizon == batch.delete_horizon_ms and self._can_be_copied(batch, stay):
            return Untouched(batch)
        return self._rewritten(batch, stay, horizon, report)

    def _horizon(self, batch: Batch, stay: Sequence[Record]) -> int | None:
        """Return the delete horizon of a batch after cleaning."""
        if batch.delete_horizon_ms is not None or (batch.magic < 2 and self.keeps_magic):
            return batch.delete_horizon_ms
        has_tombstone = any(record.value is None for record in stay)
        ends_nothing = self.ends_nothing is not None and self.ends_nothing(batch)
        return self.delete_horizon_ms if has_tombstone or ends_nothing else None

    def _can_be_copied(self, batch: Batch, stay: Sequence[Record]) -> bool:
        if batch.magic >= 2:
            return True
        return self.keeps_magic and not any(_is_of_other_magic(record, batch) for record in stay)

    def _rewritten(
        self, batch: Batch, stay: Sequence[Record], horizon: int | None, report: ConversionReport
    ) -> Rewritten:
        table: Table = CLEANED
        if batch.magic < 2:
            table = CLEANED_LEGACY if self.keeps_magic else CLEANED_AS_V2
        # Kafka's writer ignores a negative horizon, though its reader returns it.
        horizon = None if horizon is not None and horizon < 0 else horizon
        case = Case(batch, stay, batch.magic if self.keeps_magic else 2, horizon)
        records = [_with_java_keys(record, report) for record in stay]
        return Rewritten(batch, apply(table, case), records)


def _checked(retention: Retention) -> Retention:
    """Return the result of the caller's function as a `Retention`, also by its value."""
    try:
        return Retention(retention)
    except ValueError:
        known = ", ".join(repr(one.value) for one in Retention)
        detail = f"retention returned {retention!r}; it must be a Retention, one of {known}"
        raise OptionError(detail) from None


def _emptied(batch: Batch) -> Rewritten:
    if batch.magic < 2:
        detail = f"a message of magic {batch.magic} cannot be kept without records, as a batch of magic 2 can"
        raise EncodeError(detail, position=batch.position, path=batch.path)
    return Rewritten(batch, apply(EMPTIED, Case(batch, (), batch.magic)), ())


def _check_offsets(piece: Piece) -> None:
    """Refuse offsets below 0, as the cleaner does (FilterResult)."""
    if isinstance(piece, Untouched):
        batch = piece.batch
        last_offset, max_timestamp, highest = batch.last_offset, batch.max_timestamp, batch.last_offset
    else:
        batch = piece.source
        last_offset, max_timestamp = piece.fields["last_offset"], piece.fields["max_timestamp"]
        highest = max((record.offset for record in piece.records), default=last_offset)
    if highest < 0 or (last_offset < 0 and max_timestamp != NOTHING):
        detail = f"its last offset is {last_offset}: the cleaner refuses offsets below 0"
        raise EncodeError(detail, position=batch.position, path=batch.path)


def _is_of_other_magic(record: Record, batch: Batch) -> bool:
    """Return whether a message's magic differs from its wrapper's, as old brokers wrote them (KAFKA-4298).

    A message of magic 1 without a timestamp looks like the magic 0 of its wrapper, which is harmless.
    """
    return record.timestamp_type != batch.timestamp_type or (batch.magic == 0 and record.timestamp != NOTHING)


def _with_java_keys(record: Record, report: ConversionReport) -> Record:
    """Return the record with header keys as a Java client rewrites them (RecordHeader.key is a string)."""
    headers: list[Header] = [(java_text(key).encode(), value) for key, value in record.headers]
    num_changed = sum(new != old for new, old in zip(headers, record.headers, strict=True))
    if not num_changed:
        return record
    report.lose("header_keys", num_changed, record.offset)
    return replace(record, headers=tuple(headers))
