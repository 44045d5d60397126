"""Findings: reports in addition to records, as values, rendered to text and to rows here.

Code decides by `Finding.kind`; `detail` is for people and is never parsed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from kafka_segments.errors import DataLossError, KafkaFormatError, MissingCodecError
from kafka_segments.formats.entries import Damage, SoundBatches

__all__ = [
    "LEFT_OUT_KINDS",
    "Finding",
    "Findings",
    "Kind",
    "damage_words",
    "data_loss",
    "lost_offsets",
    "of_kinds",
]


class Kind(Enum):
    """Kinds of findings."""

    DAMAGE = "damage"
    """Bytes that could not be decoded; a transaction whose marker may be in damaged bytes."""
    PENDING = "pending"
    """The newest segment's last batch is incomplete: a broker may be writing it."""
    NOT_OPENED = "not opened"
    """A segment that cannot be opened, or belongs to another program."""
    LOST = "lost"
    """Requested offsets that are in no file, and that neither retention nor the cleaner has removed."""
    LEFT_OUT = "left out"
    """Segments outside the query."""
    AFTER_END = "after end"
    """Records after the high watermark or the last stable offset."""
    DIVERGED = "diverged"
    """Records of a replica that are not part of the log."""
    UNUSED = "unused"
    """An index, snapshot or checkpoint that is wrong and was not used."""
    NOTE = "note"
    """A contradiction between a name and a content that costs no record."""
    REMARK = "remark"
    """Information; nothing is wrong."""


LEFT_OUT_KINDS = (Kind.LEFT_OUT, Kind.AFTER_END, Kind.DIVERGED)
"""Kinds of existing records that are not read."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding in a partition.

    Attributes:
        kind: see `Kind`.
        topic: name.
        partition: number.
        detail: the reason, for people.
        first_offset: of the affected offsets; None if unknown, or for a whole partition.
        last_offset: likewise; None also if the log's end is unknown.
        path: the file, or the partition's first directory.
        position: where in the file.
        end_position: likewise.
        num_bytes: bytes that are left out.
        error: of damage, of lost offsets, or of a file that was not used.
        damage: the event of the scan that this wraps.
        check: id of the check of `verify` that it is of; None elsewhere.
    """

    kind: Kind
    topic: str
    partition: int
    detail: str = ""
    first_offset: int | None = None
    last_offset: int | None = None
    path: str | None = None
    position: int | None = None
    end_position: int | None = None
    num_bytes: int = 0
    error: KafkaFormatError | None = None
    damage: Damage | None = None
    check: str | None = None

    @classmethod
    def of_damage(cls, damage: Damage, topic: str, partition: int, kind: Kind = Kind.DAMAGE) -> Finding:
        """Wrap a scan's damage."""
        return cls(
            kind,
            topic,
            partition,
            damage.error.detail,
            damage.first_lost_offset,
            damage.last_lost_offset,
            damage.path,
            damage.position,
            damage.end_position,
            error=damage.error,
            damage=damage,
        )

    @classmethod
    def of_error(cls, kind: Kind, topic: str, partition: int, error: KafkaFormatError) -> Finding:
        """Wrap the error of a file."""
        return cls(
            kind, topic, partition, error.detail, path=error.path, position=error.position, error=error
        )

    @property
    def is_missing_codec(self) -> bool:
        """Whether the cause is a package that is not installed."""
        return isinstance(self.error, MissingCodecError)

    @property
    def message(self) -> str:
        """The text without the partition."""
        offsets = (
            f"offsets {self.first_offset} to {'the end' if self.last_offset is None else self.last_offset}"
        )
        if self.kind is Kind.LOST and self.error is None:  # an error names the offsets itself
            return f"{offsets} are missing: {self.detail}"
        if self.kind in LEFT_OUT_KINDS:
            which = "it is" if self.first_offset is None else f"{offsets} are"
            where = f" in {self.path}" if self.kind is Kind.DIVERGED else ""
            return f"{which} not read{where}: {self.detail}"
        if self.kind is Kind.UNUSED:
            return f"{self.error}; what it says was not used"
        if self.kind is Kind.PENDING and self.damage is not None:
            size = self.damage.end_position - self.damage.position
            return f"{self._place}: the last batch is not whole yet ({size} bytes); read again later"
        if self.damage is not None:
            return damage_words(self.damage)
        if self.error is not None:
            return str(self.error)
        return f"{self._place}: {self.detail}" if self.path else self.detail

    @property
    def _place(self) -> str:
        end = "" if self.end_position is None else f" to {self.end_position}"
        return f"{self.path}" if self.position is None else f"{self.path}, position {self.position}{end}"

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}: {self.message}"

    def as_row(self) -> dict[str, Any]:
        """Render as a row of the Spark view `damage`; findings that cost no record are notes there."""
        is_own = self.kind in (Kind.DAMAGE, Kind.PENDING, Kind.LOST)
        return {
            "topic": self.topic,
            "partition": self.partition,
            "kind": self.kind.value if is_own else Kind.NOTE.value,
            "firstOffset": self.first_offset,
            "lastOffset": self.last_offset,
            "position": self.position,
            "endPosition": self.end_position,
            "error": None if self.error is None else type(self.error).__name__,
            "message": self.message,
            "sourceFile": self.path,
        }


@dataclass
class Findings:
    """Collector of findings, in the order of the log, and of counts.

    Subclasses may raise in `add` to stop the reader.
    """

    num_batches: int = 0
    num_bytes: int = 0
    findings: list[Finding] = field(default_factory=list)

    def count(self, batches: SoundBatches) -> None:
        """Count sound batches with offsets of a range; adjacent ranges count those at its edges too."""
        self.num_batches += batches.num_batches
        self.num_bytes += batches.num_bytes

    def add(self, finding: Finding) -> None:
        """Add a finding."""
        self.findings.append(finding)

    def of(self, *kinds: Kind) -> list[Finding]:
        """Select the findings of some kinds."""
        return of_kinds(self.findings, *kinds)


def of_kinds(findings: Iterable[Finding], *kinds: Kind) -> list[Finding]:
    """Select the findings of some kinds, in their order."""
    return [one for one in findings if one.kind in kinds]


def data_loss(loss: Finding, advice: str = "") -> DataLossError:
    """Make the error for lost offsets."""
    return DataLossError(
        f"{loss}{advice}",
        topic=loss.topic,
        partition=loss.partition,
        first_offset=loss.first_offset,
        last_offset=loss.last_offset,
    )


def damage_words(damage: Damage) -> str:
    """Return the message on damage: its place, what is wrong, and which offsets are missing."""
    place = f"{damage.path}, position {damage.position} to {damage.end_position}"
    return f"{place}: {type(damage.error).__name__}: {damage.error.detail}; {lost_offsets(damage)}"


def lost_offsets(damage: Damage) -> str:
    """Return which offsets are missing, in words."""
    first, last = damage.first_lost_offset, damage.last_lost_offset
    if first is None and last is None:
        neighbours_known = damage.previous_offset is not None and damage.next_offset is not None
        return "no offsets lost" if neighbours_known else "offsets lost: unknown"
    if last is None:
        return f"offsets lost: {first} and above"
    if first is None:
        return f"offsets lost: up to {last}"
    return f"offsets lost: {first} to {last}"
