"""A segment as entries, each with its records where they are wanted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from kafka_segments.formats.entries import Batch, Damage, Record
from kafka_segments.formats.on_damage import OnDamage
from kafka_segments.segment.segment import Segment, fast_rows
from kafka_segments.write.convert.loss_report import ConversionReport

__all__ = ["SourceEntry", "read_entries"]


@dataclass(slots=True)
class SourceEntry:
    """A batch, message or wrapper.

    Attributes:
        batch: its header, of a wrapper with its first offset if it was opened.
        records: those that are sound, None if they were not wanted.
        is_damaged: not all of them are sound; the damage was told.
    """

    batch: Batch
    records: list[Record] | None = None
    is_damaged: bool = False


def read_entries(
    segment: Segment, wanted: Callable[[Batch], bool], on_damage: OnDamage, report: ConversionReport
) -> Iterator[SourceEntry]:
    """Yield entries with right checksums, in file order; padding is left out.

    Args:
        segment: the source.
        wanted: whether an entry's records are.
        on_damage: "raise", "skip", or a function to call with it; what is sound of a damaged entry is yielded
            unless it is "raise".
        report: counts entries and damage.

    Raises:
        KafkaFormatError: damage, if `on_damage` is "raise"; the entries before it were yielded.
    """
    held: SourceEntry | None = None
    for event in segment.iter_events(on_damage="skip", wanted=wanted, rows=fast_rows()):
        if isinstance(event, Record):
            assert held is not None and held.records is not None
            held.records.append(event)
            continue
        is_its_own = isinstance(event, Damage) and held is not None and held.batch.position == event.position
        if held is not None and not is_its_own:
            yield held
            held = None
        if isinstance(event, Damage):
            report.num_damaged += 1
            _tell(event, on_damage)
            if held is not None:
                held.is_damaged = True
        elif isinstance(event, Batch) and event.crc_valid is not False:
            report.num_entries += 1
            held = SourceEntry(event, [] if wanted(event) else None)
    if held is not None:
        yield held


def _tell(damage: Damage, on_damage: OnDamage) -> None:
    if callable(on_damage):
        on_damage(damage)
    elif on_damage == "raise":
        raise damage.error
