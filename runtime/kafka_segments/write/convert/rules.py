"""Tables of what becomes of each field of a rewritten batch.

Strategy: a table is a list of `Rule`s, one a field, in words and as a function. A batch that is
rewritten gets its fields from a table (`apply`), and tests hold batches before and after against it. So the
description that people read is the one that runs, and Kafka's own classes judge it.

Sources: MemoryRecords.filterTo and buildRetainedRecordsInto, DefaultRecordBatch.writeEmptyHeader,
RecordsUtil.convertRecordBatch, LogValidator, MemoryRecordsBuilder; KAFKA-8522 (delete horizon), KIP-534.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from kafka_segments.core.formats.entries import Batch, Record

__all__ = [
    "CLEANED",
    "CLEANED_AS_V2",
    "CLEANED_LEGACY",
    "CONVERTED_DOWN",
    "CONVERTED_UP",
    "EMPTIED",
    "NOTHING",
    "Case",
    "Rule",
    "Table",
    "apply",
]

NOTHING = -1
"""Kafka's value for no timestamp, no producer, no sequence, no epoch."""

Action = Literal["kept", "recomputed", "set", "dropped"]


@dataclass(frozen=True, slots=True)
class Case:
    """A batch to be rewritten.

    Attributes:
        batch: the original header; of several messages that become one batch, the first one's.
        records: those that stay, in order.
        magic: of what is written.
        delete_horizon_ms: of what is written, None for none.
        partition_leader_epoch: for batches whose source has none.
        log_append_time: the time of the append where the broker sets it, else None.
    """

    batch: Batch
    records: Sequence[Record]
    magic: int
    delete_horizon_ms: int | None = None
    partition_leader_epoch: int = NOTHING
    log_append_time: int | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """Rule for one field.

    Attributes:
        field: its name in `Batch`.
        action: kept; recomputed from the records that stay; set to something else; dropped, that is, set to
            the value of a batch without it.
        how: the same in words.
        value: computes the field from a `Case`.
    """

    field: str
    action: Action
    how: str
    value: Callable[[Case], Any]


Table = tuple[Rule, ...]


def apply(table: Table, case: Case) -> dict[str, Any]:
    """Return the fields of the rewritten batch, by name."""
    return {rule.field: rule.value(case) for rule in table}


def _kept(field: str, how: str = "as it was") -> Rule:
    return Rule(field, "kept", how, lambda case: getattr(case.batch, field))


def _dropped(field: str, value: Any, how: str) -> Rule:
    return Rule(field, "dropped", how, lambda _case: value)


def _timestamp_type(case: Case) -> str:
    if case.log_append_time is not None:
        return "LogAppendTime"
    return "CreateTime" if case.batch.timestamp_type == "NoTimestampType" else case.batch.timestamp_type


def _max_timestamp(case: Case) -> int:
    if case.log_append_time is not None:
        return case.log_append_time
    if case.batch.timestamp_type == "LogAppendTime":
        return case.batch.max_timestamp
    return max((record.timestamp for record in case.records), default=NOTHING)


def _base_timestamp(case: Case) -> int:
    return case.records[0].timestamp if case.delete_horizon_ms is None else case.delete_horizon_ms


_CODEC_KEPT = _kept("compression", "the codec; the level is the default")
_TO_MAGIC = Rule("magic", "set", "that of the target", lambda case: case.magic)
_FIRST_OFFSET = Rule(
    "base_offset", "recomputed", "offset of the first record", lambda case: case.records[0].offset
)
_LAST_OFFSET = Rule(
    "last_offset", "recomputed", "offset of the last record", lambda case: case.records[-1].offset
)
_NUM_RECORDS = Rule("num_records", "recomputed", "records that stay", lambda case: len(case.records))
_HORIZON = Rule(
    "delete_horizon_ms",
    "set",
    "as it was; where there was none, now + delete.retention.ms if a tombstone stays in the batch, or if "
    "it is the marker of a transaction of which nothing is left",
    lambda case: case.delete_horizon_ms,
)
_BASE_TIMESTAMP = Rule(
    "base_timestamp",
    "recomputed",
    "the delete horizon if there is one, else the timestamp of the first record",
    _base_timestamp,
)
_MAX_TIMESTAMP = Rule(
    "max_timestamp",
    "recomputed",
    "CreateTime: greatest timestamp of the records that stay, -1 at least; LogAppendTime: as it was",
    _max_timestamp,
)

_PRODUCER = (_kept("producer_id"), _kept("producer_epoch"), _kept("base_sequence"))
_FLAGS = (_kept("is_transactional"), _kept("is_control"))

CLEANED: Table = (
    _kept("magic"),
    _kept("base_offset", "even if the first record is gone"),
    _kept("last_offset", "even if the last record is gone: the producer's last sequence follows from it"),
    _kept("partition_leader_epoch"),
    _CODEC_KEPT,
    _kept("timestamp_type"),
    *_FLAGS,
    _HORIZON,
    _BASE_TIMESTAMP,
    _MAX_TIMESTAMP,
    *_PRODUCER,
    _NUM_RECORDS,
)
"""A batch of magic 2 of which some records stay, or which gets a delete horizon."""

EMPTIED: Table = (
    _kept("magic"),
    _kept("base_offset"),
    _kept("last_offset"),
    _kept("partition_leader_epoch"),
    _dropped("compression", "none", "there is nothing to compress: the batch is its header"),
    _kept("timestamp_type"),
    *_FLAGS,
    _dropped("delete_horizon_ms", None, "the flag is cleared"),
    _dropped("base_timestamp", NOTHING, "no record has a timestamp"),
    _kept("max_timestamp", "although no record has it"),
    *_PRODUCER,
    _dropped("num_records", 0, "none"),
)
"""A batch of magic 2 of which no record stays, kept for its producer's state or as the last of a round."""


def _set(field: str, value: Any, how: str) -> Rule:
    return Rule(field, "set", how, lambda _case: value)


_FIRST_PRODUCER = (
    _set("producer_id", NOTHING, "none: the old formats have no producers"),
    _set("producer_epoch", NOTHING, "none"),
    _set("base_sequence", NOTHING, "none"),
)
_UP_HEAD = (
    _TO_MAGIC,
    _FIRST_OFFSET,
    _LAST_OFFSET,
    Rule(
        "partition_leader_epoch",
        "set",
        "the leader's by a broker, -1 by a cleaner",
        lambda case: case.partition_leader_epoch,
    ),
    _CODEC_KEPT,
    Rule(
        "timestamp_type",
        "set",
        "as it was, by a broker the topic's; of magic 0 CreateTime",
        _timestamp_type,
    ),
    _set("is_transactional", False, "the old formats have no transactions"),
    _set("is_control", False, "the old formats have no control records"),
)
_UP_TAIL = (
    _BASE_TIMESTAMP,
    Rule(
        "max_timestamp",
        "recomputed",
        "CreateTime: greatest timestamp of the records, -1 at least; LogAppendTime: the wrapper's or the "
        "message's, by a broker the time of the append",
        _max_timestamp,
    ),
    *_FIRST_PRODUCER,
    _NUM_RECORDS,
)

CONVERTED_UP: Table = (*_UP_HEAD, _set("delete_horizon_ms", None, "none"), *_UP_TAIL)
"""Messages of magic 0 or 1, or one wrapper, that become a batch of magic 2, by a broker on append."""

CLEANED_AS_V2: Table = (
    *_UP_HEAD,
    Rule(
        "delete_horizon_ms",
        "set",
        "now + delete.retention.ms if a tombstone stays",
        lambda case: case.delete_horizon_ms,
    ),
    *_UP_TAIL,
)
"""Messages of magic 0 or 1, or one wrapper, that become a batch of magic 2, by a cleaner of Kafka 4."""

_OLD_TIMESTAMP_TYPE = Rule(
    "timestamp_type",
    "kept",
    "as it was; magic 0 has none",
    lambda case: "NoTimestampType" if case.magic == 0 else case.batch.timestamp_type,
)
_OLD_MAX_TIMESTAMP = Rule(
    "max_timestamp",
    "recomputed",
    "of a wrapper: as in magic 2; of a message: its own; magic 0 has none",
    lambda case: NOTHING if case.magic == 0 else _max_timestamp(case),
)

CONVERTED_DOWN: Table = (
    _TO_MAGIC,
    _FIRST_OFFSET,
    _LAST_OFFSET,
    _dropped("partition_leader_epoch", NOTHING, "the old formats have no leader epochs"),
    _CODEC_KEPT,
    _OLD_TIMESTAMP_TYPE,
    _dropped("is_transactional", False, "the old formats have no transactions"),
    _dropped("is_control", False, "the old formats have no control records: whole batches of them go"),
    _dropped("delete_horizon_ms", None, "the old formats have no delete horizon"),
    _dropped("base_timestamp", None, "messages have timestamps of their own"),
    _OLD_MAX_TIMESTAMP,
    _dropped("producer_id", NOTHING, "the old formats have no producers"),
    _dropped("producer_epoch", NOTHING, "the same"),
    _dropped("base_sequence", NOTHING, "the old formats have no sequences"),
    _NUM_RECORDS,
)
"""Records of a batch that become a wrapper, or, without compression, messages."""

CLEANED_LEGACY: Table = (
    _kept("magic"),
    _FIRST_OFFSET,
    _LAST_OFFSET,
    _CODEC_KEPT,
    _OLD_TIMESTAMP_TYPE,
    _OLD_MAX_TIMESTAMP,
    _NUM_RECORDS,
)
"""A wrapper of magic 0 or 1 of which some messages stay, by a cleaner up to Kafka 3.9."""
