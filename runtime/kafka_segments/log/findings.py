"""Findings: what is reported beside records, as values, with their one rendering to text and to rows.

`Finding.kind` is what code decides by; `detail` is for people, and nothing parses it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from kafka_segments.errors import DataLossError, KafkaFormatError, MissingCodecError
from kafka_segments.formats.entries import Damage, SoundBatches

__all__ = ["LEFT_OUT_KINDS", "Finding", "Findings", "Kind", "data_loss", "of_kinds", "summarize_damage"]


class Kind(Enum):
    """Kinds of findings."""

    DAMAGE = "damage"
    """Bytes that could not be read as they should; a transaction whose end damage has taken."""
    PENDING = "pending"
    """The newest segment's last batch is incomplete: a broker may be writing it."""
    NOT_OPENED = "not opened"
    """A segment that cannot be opened, or is another program's."""
    LOST = "lost"
    """Offsets that were asked for, that no file holds, and that neither retention nor cleaning explains."""
    LEFT_OUT = "left out"
    """Segments that the query does not ask for."""
    AFTER_END = "after end"
    """Records after the high watermark or the last stable offset."""
    DIVERGED = "diverged"
    """Records of a replica that are not part of the log."""
    UNUSED = "unused"
    """A file beside the segments that is wrong and was not used."""
    NOTE = "note"
    """Something that is not where, or not what, its name says; it costs no record."""
    REMARK = "remark"
    """Worth knowing; nothing is wrong."""


LEFT_OUT_KINDS = (Kind.LEFT_OUT, Kind.AFTER_END, Kind.DIVERGED)
"""Records that are there and are not read."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding in a partition.

    Attributes:
        kind: see `Kind`.
        topic: name.
        partition: number.
        detail: the reason, for people.
        first_offset: of the offsets concerned; None if unknown, or for a whole partition.
        last_offset: likewise; None also where the log's end is not known.
        path: the file, or the partition's first directory.
        position: where in the file.
        end_position: likewise.
        num_bytes: that are not read, of what is left out.
        error: of damage, or of a file that was not used.
        damage: the event of the scan that this wraps.
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
        """Whether a package that is not installed is the cause, and not the file."""
        return isinstance(self.error, MissingCodecError)

    @property
    def message(self) -> str:
        """The text without the partition."""
        offsets = (
            f"offsets {self.first_offset} to {'the end' if self.last_offset is None else self.last_offset}"
        )
        if self.kind is Kind.LOST:
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
            return summarize_damage(self.damage)
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
        """The columns of the Spark view `damage`; findings that cost no record are its notes."""
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
    """Collector of a reading's findings, in the order of the log, and of its counts.

    Subclasses may raise in `add`: the reading ends then.
    """

    num_batches: int = 0
    num_bytes: int = 0
    findings: list[Finding] = field(default_factory=list)

    def count(self, batches: SoundBatches) -> None:
        """Count sound batches that hold offsets of a range; at its edges other ranges count them too."""
        self.num_batches += batches.num_batches
        self.num_bytes += batches.num_bytes

    def add(self, finding: Finding) -> None:
        """Take a finding."""
        self.findings.append(finding)

    def of(self, *kinds: Kind) -> list[Finding]:
        """The findings of some kinds."""
        return of_kinds(self.findings, *kinds)


def of_kinds(findings: Iterable[Finding], *kinds: Kind) -> list[Finding]:
    """The findings of some kinds, in their order."""
    return [one for one in findings if one.kind in kinds]


def data_loss(loss: Finding, advice: str = "") -> DataLossError:
    """The error of lost offsets."""
    return DataLossError(
        f"{loss}{advice}",
        topic=loss.topic,
        partition=loss.partition,
        first_offset=loss.first_offset,
        last_offset=loss.last_offset,
    )


def summarize_damage(damage: Damage) -> str:
    """Where damage is, what is wrong, and the offsets that it may have cost, for people."""
    first, last = damage.first_lost_offset, damage.last_lost_offset
    if first is None and last is None:
        lost = "offsets lost: unknown or none"
    else:
        lost = f"offsets lost: {'?' if first is None else first} to {'?' if last is None else last}"
    where = f"{damage.path}, position {damage.position} to {damage.end_position}"
    return f"{where}: {type(damage.error).__name__}: {damage.error.detail}; {lost}"
