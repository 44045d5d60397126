"""What is told about a range beside its records, and in which words."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from kafka_segments.errors import KafkaFormatError
from kafka_segments.formats.entries import Damage, SoundBatches
from kafka_segments.log.model import OffsetLoss, Split

__all__ = ["Collected", "Findings", "Note", "describe", "is_told_before", "name_partition"]


@dataclass(frozen=True, slots=True)
class Note:
    """Something that costs no record and that somebody may want to know.

    Attributes:
        topic: name.
        partition: number.
        path: the file.
        position: where in it, if that matters.
        detail: for people: what is the matter, and what was done about it.
    """

    topic: str
    partition: int
    path: str
    position: int | None
    detail: str

    def __str__(self) -> str:
        where = self.path if self.position is None else f"{self.path}, position {self.position}"
        return f"{where}: {self.detail} (topic {self.topic}, partition {self.partition})"


class Findings(Protocol):
    """Who is told, in the order of the log. Any of these may raise, and the reading ends then."""

    def batches(self, batches: SoundBatches) -> None:
        """Sound batches and messages that hold offsets of the range; at its edges others count them too."""
        ...

    def damage(self, damage: Damage) -> None:
        """A damaged region that may have cost records of the range; the next range may tell of it too."""
        ...

    def pending(self, damage: Damage) -> None:
        """The newest segment's last batch is not whole yet."""
        ...

    def lost(self, loss: OffsetLoss) -> None:
        """Offsets that are not there."""
        ...

    def note(self, note: Note) -> None:
        """What costs no record."""
        ...


@dataclass
class Collected:
    """`Findings` that keep everything, and raise nothing."""

    num_batches: int = 0
    num_bytes: int = 0
    damages: list[Damage] = field(default_factory=list)
    pendings: list[Damage] = field(default_factory=list)
    losses: list[OffsetLoss] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)

    def batches(self, batches: SoundBatches) -> None:
        """See `Findings`."""
        self.num_batches += batches.num_batches
        self.num_bytes += batches.num_bytes

    def damage(self, damage: Damage) -> None:
        """See `Findings`."""
        self.damages.append(damage)

    def pending(self, damage: Damage) -> None:
        """See `Findings`."""
        self.pendings.append(damage)

    def lost(self, loss: OffsetLoss) -> None:
        """See `Findings`."""
        self.losses.append(loss)

    def note(self, note: Note) -> None:
        """See `Findings`."""
        self.notes.append(note)


def describe(damage: Damage) -> str:
    """Where a damaged region is, what is wrong, and the offsets that it may have cost, for people."""
    first, last = damage.first_lost_offset, damage.last_lost_offset
    if first is None and last is None:
        lost = "offsets lost: unknown or none"
    else:
        lost = f"offsets lost: {'?' if first is None else first} to {'?' if last is None else last}"
    where = f"{damage.path}, position {damage.position} to {damage.end_position}"
    return f"{where}: {type(damage.error).__name__}: {damage.error.detail}; {lost}"


def is_told_before(damage: Damage, split: Split, is_continued: bool) -> bool:
    """Whether a region begins in the range before one, which has told of it if it is read too."""
    before = damage.previous_offset
    return is_continued and before is not None and before + 1 < split.start


def name_partition(error: KafkaFormatError, split: Split) -> KafkaFormatError:
    """The error, with file, topic and partition in its message."""
    error.path = error.path or split.segment.file.path
    whose = f"(topic {split.topic}, partition {split.partition})"
    if whose not in error.detail:
        error.detail += f" {whose}"
    return error
