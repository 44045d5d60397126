"""Offsets of streams as Spark keeps them in a checkpoint: Kafka's JSON, and what identifies the logs.

    {"orders": {"0": 123, "1": 45}, "#logs": {"orders": {"topicId": "...", "0": "epoch=3 crc=..."}}}

By topic and partition the offset where reading goes on, as Spark's connector has it (JsonUtils). `#logs`,
which can be no topic (Topic.LEGAL_CHARS), has the topic's id, the leader epoch of the offset before, and the
last batch that was read, by its header: with them a topic that was recreated, or a log that was truncated and
written again, is noticed, though it may be long enough. Without it nothing is compared.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import fields
from operator import index
from typing import Any

from kafka_segments.core.segment.beside.index_files import LeaderEpoch
from kafka_segments.core.segment.columnar.entry_counts import EntryMark
from kafka_segments.errors import OptionError
from kafka_segments.query.continuation import PartitionState
from kafka_segments.query.query import TopicPartition

__all__ = ["Positions", "from_offset", "to_kafka_json", "to_offset"]

Positions = Mapping[TopicPartition, PartitionState]

_LOGS, _TOPIC_ID, _EPOCH = "#logs", "topicId", "epoch"
# By names that are in Kafka's headers; what an entry has none of is left out.
_MARK = {
    "base_offset": "baseOffset",
    "last_offset": "lastOffset",
    "crc": "crc",
    "num_records": "numRecords",
    "leader_epoch": "leaderEpoch",
    "producer_id": "producerId",
    "base_sequence": "baseSequence",
    "has_delete_horizon": "hasDeleteHorizon",
}


def to_kafka_json(offsets: Mapping[TopicPartition, int]) -> dict[str, Any]:
    """Return offsets by topic and partition in Kafka's form: `{"orders": {"0": 123}}`."""
    found: dict[str, dict[str, int]] = {}
    for (topic, partition), offset in sorted(offsets.items()):
        found.setdefault(topic, {})[str(partition)] = offset
    return found


def to_offset(positions: Positions) -> dict[str, Any]:
    """Return the offset of some positions; the same ones give the same text."""
    offset = to_kafka_json({key: one.next_offset for key, one in positions.items()})
    logs: dict[str, dict[str, str]] = {}
    for (topic, _), one in positions.items():
        if one.topic_id is not None:
            logs[topic] = {_TOPIC_ID: one.topic_id}
    for (topic, partition), one in sorted(positions.items()):
        own = logs.setdefault(topic, {})
        if (text := _to_text(one)) != "":
            own[str(partition)] = text
    if any(logs.values()):
        offset[_LOGS] = {topic: own for topic, own in sorted(logs.items()) if own}
    return offset


def from_offset(offset: Mapping[str, Any]) -> dict[TopicPartition, PartitionState]:
    """Return the positions of an offset.

    Raises:
        OptionError: it is not of a stream of this format.
    """
    try:
        logs = offset.get(_LOGS, {})
        return {
            (state.topic, state.partition): state
            for topic, numbers in offset.items()
            if topic != _LOGS
            for state in _states(topic, numbers, logs.get(topic, {}))
        }
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise OptionError(
            f"the checkpoint has the offset {json.dumps(offset):.200}, which does not look like "
            '{"topic": {"0": 23}}: it is from another source, or was edited; start again with '
            "another checkpoint, and startingOffsets"
        ) from error


def _states(topic: str, numbers: Mapping[str, int], own: Mapping[str, str]) -> Iterable[PartitionState]:
    for partition, number in numbers.items():
        words = dict(word.split("=") for word in own.get(partition, "").split())
        epochs = (LeaderEpoch(int(words.pop(_EPOCH)), 0),) if _EPOCH in words else ()
        yield PartitionState(
            topic, int(partition), index(number), own.get(_TOPIC_ID), epochs, _to_mark(words)
        )


def _to_text(state: PartitionState) -> str:
    epochs = [one.epoch for one in state.leader_epochs if one.start_offset < state.next_offset]
    words = {_EPOCH: epochs[-1]} if epochs else {}
    if state.last is not None:
        values = {field.name: getattr(state.last, field.name) for field in fields(state.last)}
        there = {
            name: value for name, value in values.items() if value not in (None, -1) and value is not False
        }
        words |= {_MARK[name]: int(value) for name, value in there.items()}
    return " ".join(f"{name}={value}" for name, value in words.items())


def _to_mark(words: Mapping[str, str]) -> EntryMark | None:
    if not words:
        return None
    values = {name: int(words[word]) for name, word in _MARK.items() if word in words}
    horizon = bool(values.pop("has_delete_horizon", 0))
    num_records = values.pop("num_records", None)
    return EntryMark(**values, num_records=num_records, has_delete_horizon=horizon)
