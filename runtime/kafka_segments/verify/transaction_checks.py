"""Checks of transactions: open for too long, in doubt, and transaction indexes.

Strategy: the first pass over the log keeps the open transactions (`producer_checks`). Only where it has seen
one, or where there are transaction indexes, a second one computes the outcomes, verifies that each control
batch is a marker, and what the indexes say of aborted transactions.
"""

from __future__ import annotations

from collections.abc import Sequence

from kafka_segments.core.formats.entries import Damage
from kafka_segments.errors import CorruptBatchError, DecompressionError, TruncatedError
from kafka_segments.log.log_files import LogFile
from kafka_segments.log.model import PartitionCopy
from kafka_segments.log.transaction_outcomes import TransactionOutcome, by_records, check_indexes
from kafka_segments.verify.entry_checks import EntryChecks
from kafka_segments.verify.producer_checks import place_of
from kafka_segments.verify.sink import CheckSink

__all__ = ["abort_command", "check_transactions"]

_OF_CONTENT = (CorruptBatchError, DecompressionError)
"""Errors of a control batch with a right header; what else is damaged, the first pass has reported."""
_OF_OUTCOME = ("transaction-index", "transaction-in-doubt", "marker")


def check_transactions(
    copy: PartitionCopy,
    files: Sequence[LogFile],
    entries: EntryChecks,
    max_transaction_ms: int,
    gaps: Sequence[Damage],
    *,
    sink: CheckSink,
) -> None:
    """Check the transactions of a log.

    Args:
        copy: of the partition.
        files: its segments.
        entries: the checks of its entries, all of which have been seen.
        max_transaction_ms: for how long a transaction may be open.
        gaps: offsets that are in no segment, and segments in the wrong place.
        sink: collects the findings.
    """
    for producer_id, one in entries.producers.open.items():
        age = entries.greatest_timestamp - one.timestamp
        if one.broker_timestamp is not None:
            age = entries.broker_timestamp - one.broker_timestamp
        if age > max_transaction_ms and not one.is_in_doubt:
            detail = f"the transaction of producer {producer_id}, epoch {one.epoch}, is open, but the "
            detail += f"partition continues for {age} ms after it; a coordinator ends it after "
            detail += f"{max_transaction_ms} ms (transaction.max.timeout.ms)"
            sink.add("open-transaction", detail, **place_of(one))
    has_indexes = any("txnindex" in file.segment.beside for file in files)
    if files and sink.wants(*_OF_OUTCOME) and (entries.has_transactions or has_indexes):
        outcome = by_records(files, copy.log_start_offset, gaps=gaps)
        _check_outcome(outcome, files, sink, is_live=entries.limits.is_live)


def _check_outcome(
    outcome: TransactionOutcome, files: Sequence[LogFile], sink: CheckSink, *, is_live: bool
) -> None:
    known = {(one.path, one.position) for one in sink.findings}
    for error in check_indexes(files, outcome):
        sink.add("transaction-index", error.detail, path=error.path, position=error.position, error=error)
    ended = {one.first_offset for one in sink.findings if one.check == "lost-marker"}  # no doubt is left
    for doubt in outcome.doubtful:
        if doubt.first_offset not in ended:
            detail = (
                f"the transaction of producer {doubt.producer_id}: its marker may be {_where(doubt.damage)}"
            )
            _doubt(sink, detail, doubt.first_offset, doubt.last_offset, doubt.damage)
    for one in outcome.open:
        is_being_written = is_live and one.damage is not None and isinstance(one.damage.error, TruncatedError)
        if one.damage is not None and not is_being_written and one.first_offset not in ended:
            detail = f"the transaction of producer {one.producer_id} is open: its marker may be "
            _doubt(sink, f"{detail}{_where(one.damage)}", one.first_offset, None, one.damage)
    for damage in outcome.damage:
        is_content = type(damage.error) in _OF_CONTENT and damage.end_position > damage.position
        if is_content and (damage.path, damage.position) not in known:
            sink.add_damage("marker", damage)


def _doubt(sink: CheckSink, detail: str, first: int, last: int | None, damage: Damage) -> None:
    place = {"path": damage.path, "position": damage.position, "end_position": damage.end_position}
    sink.add("transaction-in-doubt", detail, first_offset=first, last_offset=last, **place)


def _where(damage: Damage) -> str:
    if damage.end_position > damage.position:
        return f"in the damage at {damage.path}, position {damage.position}"
    last = "?" if damage.last_lost_offset is None else damage.last_lost_offset
    return f"among offsets {damage.first_lost_offset} to {last}, which are missing"


def abort_command(topic: str, partition: int, first_offset: int, bootstrap_server: str) -> str:
    """Return the command of Kafka 3.0 and newer that ends a transaction (KIP-664, TransactionsCommand)."""
    where = f"--topic {topic} --partition {partition} --start-offset {first_offset}"
    return f"kafka-transactions.sh --bootstrap-server {bootstrap_server} abort {where}"
