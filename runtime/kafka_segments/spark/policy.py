"""Policy for damage and losses: the table in docs/spark-reference.md, and nothing else.

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

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kafka_segments.core.io.loggers import get_logger
from kafka_segments.errors import DataLossError, KafkaFormatError
from kafka_segments.log.findings import Finding, Findings, Kind, data_loss
from kafka_segments.log.model import Split, is_reported_before
from kafka_segments.spark.read_options import BEST, DROPMALFORMED, FAILFAST, PERMISSIVE, ReadOptions

if TYPE_CHECKING:
    from kafka_segments.query.read.split_reader import Reading

__all__ = ["DamagePolicy", "apply_to_plan"]

_log = get_logger(__name__)

_IN_BATCH = (
    "; if files were removed since the frame was first used, call load again (Spark 4.1 and later plan a "
    "frame once)"
)
_IN_STREAM = "; if files were removed since the batch was planned, its offsets are in the query's checkpoint"


class DamagePolicy(Findings):
    """Findings of one split, under the options of a read.

    Args:
        options: of the read.
        split: what is read.
        is_continued: the split before ends where this one begins: what is damaged there, it has reported.

    `findings` are those whose rows are due.
    """

    def __init__(self, options: ReadOptions, split: Split, is_continued: bool = False) -> None:
        super().__init__()
        self.options, self.split, self.is_continued = options, split, is_continued

    def reading(self, *columns: str, max_row_size: int | None = None) -> Reading:
        """Return how columns of the split are read; in a task alone, as this needs pyarrow."""
        from kafka_segments.query.read.split_reader import Reading

        options, is_best = self.options, self.options.replicas == BEST
        return Reading(columns, options.check_crc, options.max_decompressed, is_best, max_row_size)

    def add(self, finding: Finding) -> None:
        """Raise, warn, or keep it for a row.

        Raises:
            KafkaFormatError: the error of damage.
            DataLossError: losses are errors.
        """
        if finding.kind is Kind.PENDING:  # a later read will see it
            return
        if finding.kind is Kind.LOST and self.options.query.fail_on_data_loss:
            raise _loss_error(finding, _IN_STREAM if self.options.is_stream else _IN_BATCH)
        if finding.kind is Kind.DAMAGE:
            _raise_if_fatal(finding, self.options)
        if not is_reported_before(finding, self.split, self.is_continued):
            _log.warning("%s", finding)
            if finding.kind is not Kind.NOTE and self.options.mode == PERMISSIVE:
                super().add(finding)


def apply_to_plan(found: Sequence[Finding], options: ReadOptions) -> list[Finding]:
    """Raise or warn of what planning found missing or damaged; returns the findings whose rows are due."""
    losses = [one for one in found if one.kind is Kind.LOST]
    if losses and options.query.fail_on_data_loss:
        more = f", and {len(losses) - 1} more such ranges" if len(losses) > 1 else ""
        raise _loss_error(losses[0], more=more)
    doubts = [one for one in found if one.kind is Kind.DAMAGE]
    for one in doubts:
        _raise_if_fatal(one, options)
    for one in (*losses, *doubts):
        _log.warning("%s", one)
    return losses if options.mode == PERMISSIVE and options.view == "records" else []


def _loss_error(loss: Finding, advice: str = "", more: str = "") -> DataLossError:
    return data_loss(loss, f"{more}; failOnDataLoss=false reads what is there{advice}")


def _raise_if_fatal(finding: Finding, options: ReadOptions) -> None:
    """Raise the error of damage, with what to do, where the mode or a codec that is missing asks for it."""
    error = finding.error or KafkaFormatError(finding.detail)
    path = error.path or finding.path
    if finding.is_missing_codec:
        raise error.with_context(path=path)
    if options.mode == FAILFAST:
        advice = f"; mode={PERMISSIVE} or {DROPMALFORMED} reads what is sound"
        raise error.with_context(advice, path=path)
