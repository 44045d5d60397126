"""Policy for damage and losses: the table in docs/spark.md, and nothing else.

| what | FAILFAST | PERMISSIVE | DROPMALFORMED |
|---|---|---|---|
| damage | error | sound rows, a row for the damage if `damage` is a column, warning | sound rows, warning |
| loss, `failOnDataLoss=true` | error | error | error |
| loss, `failOnDataLoss=false` | rows, warning | as damage | rows, warning |
| a batch not whole yet | nothing | nothing | nothing |
| a wrong index or hint | warning | warning | warning |

A codec that is not installed is not damage of the file: it is an error in all modes.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from kafka_segments.errors import DataLossError, KafkaFormatError, MissingCodecError
from kafka_segments.formats.entries import Damage, SoundBatches
from kafka_segments.io.loggers import get_logger
from kafka_segments.log.model import OffsetLoss, Split
from kafka_segments.query.read.findings import Note, describe, is_told_before
from kafka_segments.spark.read_options import DROPMALFORMED, FAILFAST, PERMISSIVE, ReadOptions

__all__ = ["DamagePolicy", "DamageRow", "data_loss", "refuse_damage"]

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class DamageRow:
    """A row for damage or a loss, which has no rows of its own.

    Attributes:
        topic: name.
        partition: number.
        offset: the first one lost; None if it is not known.
        text: what happened, for people.
    """

    topic: str
    partition: int
    offset: int | None
    text: str


def data_loss(loss: OffsetLoss, num_more: int = 0) -> DataLossError:
    """Return a loss as an error that says what to do."""
    more = f", and {num_more} more such ranges" if num_more else ""
    return DataLossError(
        f"{loss}{more}; failOnDataLoss=false reads what is there",
        topic=loss.topic,
        partition=loss.partition,
        first_offset=loss.first_offset,
        last_offset=loss.last_offset,
    )


def refuse_damage(damage: Damage) -> KafkaFormatError:
    """Return the error of damage, with what to do."""
    error = damage.error
    error.path = error.path or damage.path
    error.detail += f"; mode={PERMISSIVE} or {DROPMALFORMED} reads what is sound"
    return error


@dataclass
class DamagePolicy:
    """Findings of one split, handled by the options of a read.

    Attributes:
        options: of the read.
        split: what is read.
        is_continued: the split before ends where this one begins, and has reported damage there.
        told: rows to be yielded.
    """

    options: ReadOptions
    split: Split
    is_continued: bool = False
    told: list[DamageRow] = field(default_factory=list)

    def batches(self, batches: SoundBatches) -> None:
        """Ignore sound batches."""

    def damage(self, damage: Damage) -> None:
        """Raise the error, or add a row and warn.

        Raises:
            KafkaFormatError: the error of the damage.
        """
        if isinstance(damage.error, MissingCodecError):
            damage.error.path = damage.error.path or damage.path
            raise damage.error
        if self.options.mode == FAILFAST:
            raise refuse_damage(damage)
        if not is_told_before(damage, self.split, self.is_continued):
            self._tell(damage.first_lost_offset, describe(damage))

    def pending(self, damage: Damage) -> None:
        """Ignore a batch that is still being written; a later read will return it."""

    def lost(self, loss: OffsetLoss) -> None:
        """Raise an error, or add a row and warn.

        Raises:
            DataLossError: losses are errors.
        """
        if self.options.query.fail_on_data_loss:
            error = data_loss(loss)
            error.detail += (
                "; if files were removed since the frame was first used, call load again (Spark 4.1 and "
                "later plan a frame once)"
            )
            raise error
        self._tell(loss.first_offset, str(loss))

    def note(self, note: Note) -> None:
        """Warn; a note costs no rows."""
        _log.warning("kafka-segments: %s", note)

    def _tell(self, offset: int | None, text: str) -> None:
        _log.warning(
            "kafka-segments: topic %s, partition %d: %s", self.split.topic, self.split.partition, text
        )
        if self.options.mode == PERMISSIVE:
            self.told.append(DamageRow(self.split.topic, self.split.partition, offset, text))
