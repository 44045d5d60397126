"""Findings: reports in addition to records, as values, rendered to text and to rows here.

Code decides by `Finding.kind`; `detail` is for people and is never parsed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from math import inf
from typing import Any, TypeVar

from kafka_segments.core.formats.entries import Damage, SoundBatches
from kafka_segments.errors import DataLossError, DecompressionError, KafkaFormatError, MissingCodecError

__all__ = [
    "LEFT_OUT_KINDS",
    "Finding",
    "Findings",
    "Kind",
    "copy_words",
    "damage_words",
    "data_loss",
    "error_words",
    "loss_words",
    "lost_offsets",
    "lost_spans",
    "merged",
    "of_kinds",
    "worst_first",
    "wrong_words",
]

N = TypeVar("N", int, float)

_WRONG = {
    "ChecksumMismatchError": "the checksum of the batch is wrong",
    "LengthMismatchError": "the batch has an impossible length",
    "TruncatedError": "the batch is cut off",
    "UnsupportedMagicError": "the batch has an unknown format",
    "DecompressionError": "the batch does not decompress",
    "CorruptBatchError": "the records of the batch cannot be decoded",
    "ReadError": "the disk or store cannot read these bytes",
}
_NUM_NAMED = 3  # ranges in a line


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
_WORST_FIRST = (Kind.NOT_OPENED, Kind.DAMAGE, Kind.LOST, Kind.UNUSED, Kind.PENDING, Kind.NOTE)


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
    def is_loss(self) -> bool:
        """Whether it says from which offset on records cannot be read."""
        is_lost = self.kind is Kind.LOST or (self.kind is Kind.DAMAGE and self.damage is not None)
        return is_lost and self.first_offset is not None

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
            return f"{self.error}; it was not used"
        if self.kind is Kind.PENDING and self.damage is not None:
            size = self.damage.end_position - self.damage.position
            return f"{self.place}: the last batch is incomplete ({size} bytes); read again later"
        if self.damage is not None:
            return damage_words(self.damage)
        if self.error is not None:
            return str(self.error)
        return f"{self.place}: {self.detail}" if self.path else self.detail

    @property
    def place(self) -> str:
        """The file, and where in it."""
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


def worst_first(finding: Finding) -> int:
    """Return the place of a finding among others, by its weight: a key to sort by."""
    return _WORST_FIRST.index(finding.kind) if finding.kind in _WORST_FIRST else len(_WORST_FIRST)


def copy_words(name: str, findings: Sequence[Finding], noted_end: int = 0) -> str:
    """Return in one line what findings say of a copy: what is lost (`lost_spans`), or how many there are."""
    ranges = [(first, stop - 1) for first, stop in lost_spans(findings, noted_end)]
    if not ranges:
        return f"{name}: {len(findings)} finding{'s' * (len(findings) > 1)}, no offsets known to be lost"
    is_all = all(one.is_loss for one in findings if one.kind in (Kind.DAMAGE, Kind.NOT_OPENED))
    return loss_words(name, ranges, "the rest is readable" if is_all else "there are other findings")


def lost_spans(findings: Iterable[Finding], noted_end: int = 0) -> list[tuple[int, float]]:
    """Return the offsets that findings say are lost, as first offset and offset after the last one.

    Args:
        findings: of a copy.
        noted_end: of its log, by its checkpoints; damage at its end holds offsets up to there.
    """
    lost = [(one.first_offset or 0, one.last_offset) for one in findings if one.is_loss]
    ends = (noted_end if noted_end > first else inf for first, _last in lost)
    return merged(
        (first, end if last is None else last + 1) for (first, last), end in zip(lost, ends, strict=True)
    )


def merged(spans: Iterable[tuple[int, N]]) -> list[tuple[int, N]]:
    """Return spans of offsets `[start, stop)` in order, without overlaps and empty ones."""
    found: list[tuple[int, N]] = []
    for start, stop in sorted(spans):
        if start >= stop:
            continue
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], stop)
        else:
            found.append((start, stop))
    return found


def loss_words(name: str, ranges: Sequence[tuple[int, float]], rest: str = "the rest is readable") -> str:
    """Return in one line which offsets of a partition are lost, and what there is to say of the rest.

    Example:
        >>> loss_words("multi-0", [(105, 109)])
        'multi-0: 5 records lost, offsets 105 to 109; the rest is readable'
    """
    named = [f"{first} {'and above' if last == inf else f'to {last}'}" for first, last in ranges]
    more = f" and {len(ranges) - _NUM_NAMED} more ranges" if len(ranges) > _NUM_NAMED else ""
    number = sum(last - first + 1 for first, last in ranges)
    count = "records" if number == inf else f"{number:,} record{'s' * (number != 1)}"
    return f"{name}: {count} lost, offsets {', '.join(named[:_NUM_NAMED])}{more}; {rest}"


def error_words(error: KafkaFormatError) -> str:
    """Return what is wrong, and the values that show it."""
    wrong = wrong_words(error)
    return wrong if wrong == error.detail else f"{wrong}: {error.detail}"


def wrong_words(error: KafkaFormatError) -> str:
    """Return what is wrong, without the values that show it where there are words for it."""
    return _WRONG.get(type(error).__name__, error.detail)


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
    return f"{place}: {error_words(damage.error)}; {lost_offsets(damage)}"


def lost_offsets(damage: Damage) -> str:
    """Return which offsets are missing, in words."""
    first, last = damage.first_lost_offset, damage.last_lost_offset
    if isinstance(damage.error, DecompressionError) and damage.error.is_bound:
        return f"larger than the limit, not read: offsets {first} to {last}"
    if first is None and last is None:
        neighbours_known = damage.previous_offset is not None and damage.next_offset is not None
        return "no offsets lost" if neighbours_known else "offsets lost: unknown"
    if last is None:
        return f"offsets lost: {first} and above"
    if first is None:
        return f"offsets lost: up to {last}"
    return f"offsets lost: {first} to {last}"
