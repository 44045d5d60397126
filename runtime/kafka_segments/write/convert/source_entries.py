"""Entries of a segment, each with its records where they are needed, and what becomes of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kafka_segments.core.formats.entries import Batch, Damage, Record
from kafka_segments.core.formats.on_damage import OnDamage, handle_damage
from kafka_segments.core.segment.segment import Segment, fast_rows
from kafka_segments.write.convert.loss_report import ConversionReport

__all__ = ["Piece", "Recoded", "Rewritten", "SourceEntry", "Untouched", "read_entries"]


@dataclass(slots=True)
class SourceEntry:
    """A batch, message or wrapper.

    Attributes:
        batch: its header, of a wrapper with its first offset if it was opened.
        records: the sound ones, None if they were not requested.
        is_damaged: whether some records are damaged; the damage has been reported.
    """

    batch: Batch
    records: list[Record] | None = None
    is_damaged: bool = False


@dataclass(frozen=True, slots=True)
class Untouched:
    """An entry that is copied byte for byte."""

    batch: Batch


@dataclass(frozen=True, slots=True)
class Rewritten:
    """Records to be written: as a batch, a wrapper, or, uncompressed in the old formats, a message each.

    Attributes:
        source: the original entry, or the first of several; for errors.
        fields: of what is written, by the names of `Batch`, from a table of `rules`.
        records: empty for a batch that is only its header.
        sources: the original entry of each record, where there are several.
    """

    source: Batch
    fields: dict[str, Any]
    records: Sequence[Record]
    sources: Sequence[Batch] = ()

    def source_of(self, row: int | None) -> Batch:
        """Return the original entry of a record, by its number; `source` for None."""
        return self.source if row is None or not self.sources else self.sources[row]


@dataclass(frozen=True, slots=True)
class Recoded:
    """A batch whose bytes are made from its own bytes, all of its records included.

    Attributes:
        batch: the original entry.
        num_records: records in it.
        recode: makes the new bytes of the old ones.
    """

    batch: Batch
    num_records: int
    recode: Callable[[bytes], bytes]


Piece = Untouched | Rewritten


def read_entries(
    segment: Segment, wanted: Callable[[Batch], bool], on_damage: OnDamage, report: ConversionReport
) -> Iterator[SourceEntry]:
    """Yield entries with right checksums, in file order; padding is left out.

    Args:
        segment: the source.
        wanted: whether an entry's records are needed.
        on_damage: "raise", "skip", or a function to call with it; the sound records of a damaged entry are
            yielded unless it is "raise".
        report: counts entries and damage.

    Raises:
        KafkaFormatError: damage, if `on_damage` is "raise"; the entries before it were yielded.
    """
    entry: SourceEntry | None = None
    for event in segment.iter_events(on_damage="skip", wanted=wanted, rows=fast_rows()):
        if isinstance(event, Record):
            assert entry is not None and entry.records is not None
            entry.records.append(event)
            continue
        is_its_own = (
            isinstance(event, Damage) and entry is not None and entry.batch.position == event.position
        )
        if entry is not None and not is_its_own:
            yield entry
            entry = None
        if isinstance(event, Damage):
            report.num_damaged += 1
            tuple(handle_damage(event, on_damage))
            if entry is not None:
                entry.is_damaged = True
        elif isinstance(event, Batch) and event.crc_valid is not False:
            report.num_entries += 1
            entry = SourceEntry(event, [] if wanted(event) else None)
    if entry is not None:
        yield entry
