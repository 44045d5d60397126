"""What was built from values alone, read by Kafka's own classes: one Java process for all cases."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.construct.values import batch, hooks, message, segment
from tests.oracle import run

from kafka_segments_generated.construct.kafka_control_record_key import KafkaControlRecordKey
from kafka_segments_generated.construct.kafka_control_record_value import KafkaControlRecordValue

pytestmark = pytest.mark.oracle

TIME = 1_700_000_000_000


@dataclass
class Case:
    """Entries, and what Kafka has to say of batches and records."""

    entries: list[dict[str, Any]]
    batches: list[dict[str, Any]]
    records: list[dict[str, Any]]
    context: dict[str, Any] = field(default_factory=dict)


def marker(kind: str, epoch: int) -> dict[str, Any]:
    """The one record of a batch that ends a transaction."""
    return {
        "key": KafkaControlRecordKey.build({"record_type": kind}),
        "value": KafkaControlRecordValue.build({"content": {"coordinator_epoch": epoch}}, record_type=kind),
    }


def plain_records() -> Case:
    records = [{"key": b"k", "value": b"v"}, {"value": b"w", "timestamp": TIME + 5}, {"value": b"x"}]
    return Case(
        [batch(records, 100, base_timestamp=TIME), batch([{"value": b"y"}], 103, partition_leader_epoch=4)],
        [
            {"base_offset": 100, "last_offset": 102, "max_timestamp": TIME + 5, "num_records": 3, "magic": 2},
            {"base_offset": 103, "last_offset": 103, "partition_leader_epoch": 4, "producer_id": -1},
        ],
        [
            {"offset": 100, "key": b"k", "value": b"v", "timestamp": TIME},
            {"offset": 101, "key": None, "value": b"w", "timestamp": TIME + 5},
            {"offset": 102, "value": b"x", "timestamp": TIME},
            {"offset": 103, "value": b"y", "timestamp": -1},
        ],
    )


def headers_and_nulls() -> Case:
    headers = [{"key": b"a", "value": b"1"}, {"key": b"a", "value": None}, {"key": b"", "value": b""}]
    found = [{"key": b"a", "value": b"1"}, {"key": b"a", "value": None}, {"key": b"", "value": b""}]
    return Case(
        [
            batch(
                [
                    {"headers": headers},
                    {"key": b"", "value": b""},
                    {"key": bytes(300), "value": bytes(70_000)},
                ]
            )
        ],
        [{"num_records": 3, "last_offset": 2}],
        [
            {"key": None, "value": None, "headers": found},
            {"key": b"", "value": b"", "headers": []},
            {"key": bytes(300), "value": bytes(70_000)},
        ],
    )


def gaps() -> Case:
    """As after compaction: offsets are missing between records and behind the last one."""
    records = [{"offset": 12, "value": b"v"}, {"offset": 15, "value": b"w"}]
    return Case(
        [batch(records, 10, last_offset_delta=9), batch([], 20, last_offset_delta=3)],
        [{"base_offset": 10, "last_offset": 19, "num_records": 2}, {"last_offset": 23, "num_records": 0}],
        [{"offset": 12}, {"offset": 15}],
    )


def a_transaction() -> Case:
    producer = {"producer_id": 4000, "producer_epoch": 2}
    sent = batch([{"value": b"v"}] * 2, 0, **producer, base_sequence=7, attributes={"is_transactional": True})
    control = {"is_transactional": True, "is_control": True}
    ends = [batch([marker(kind, 3)], 2 + at, **producer, attributes=control) for at, kind in enumerate(KINDS)]
    return Case(
        [sent, *ends],
        [
            {
                "is_transactional": True,
                "is_control": False,
                **producer,
                "base_sequence": 7,
                "last_sequence": 8,
            },
            {"is_control": True, "is_transactional": True, **producer},
            {"is_control": True, "is_transactional": True, **producer},
        ],
        [{"sequence": 7}, {"sequence": 8}, {"control": {"type": "COMMIT"}}, {"control": {"type": "ABORT"}}],
    )


KINDS = ("commit", "abort")


def append_time() -> Case:
    attributes = {"timestamp_type": "log_append_time"}
    return Case(
        [batch([{"value": b"v"}], 1, attributes=attributes, max_timestamp=TIME + 9)],
        [{"timestamp_type": "LogAppendTime", "max_timestamp": TIME + 9}],
        [{"timestamp": TIME + 9, "timestamp_type": "LogAppendTime"}],
    )


def compressed() -> Case:
    names = ("gzip", "snappy", "lz4", "zstd")
    records = [{"key": b"k", "value": bytes(1000)}, {"value": b"w"}]
    return Case(
        [batch(records, 2 * at, attributes={"compression": name}) for at, name in enumerate(names)],
        [{"compression": name, "num_records": 2} for name in names],
        [{"offset": at, "value": b"w" if at % 2 else bytes(1000)} for at in range(8)],
        {"codecs": hooks()},
    )


def old_messages() -> Case:
    return Case(
        [
            message(0, 5, key=b"k", value=b"v"),
            message(1, 6, TIME, value=b"w"),
            message(1, 7, TIME, attributes={"timestamp_type": "log_append_time"}, key=b""),
            message(1, 8),
        ],
        [{"magic": 0, "base_offset": 5}, {"magic": 1, "max_timestamp": TIME}, {"magic": 1}, {"magic": 1}],
        [
            {"offset": 5, "key": b"k", "value": b"v", "timestamp_type": "NoTimestampType"},
            {"offset": 6, "key": None, "value": b"w", "timestamp": TIME, "timestamp_type": "CreateTime"},
            {"offset": 7, "key": b"", "value": None, "timestamp_type": "LogAppendTime"},
            {"offset": 8, "key": None, "value": None, "timestamp": -1},
        ],
    )


def old_wrappers(magic: int) -> Case:
    entries, records = [], []
    for at, name in enumerate(("gzip", "snappy", "lz4")):
        # Offsets inside are absolute in magic 0, and counted from 0 in magic 1.
        first = 10 * at
        base = first if magic == 0 else 0
        time = None if magic == 0 else TIME
        inner = [message(magic, base, time, value=b"v"), message(magic, base + 1, time, value=b"w")]
        outer = {"attributes": {"compression": name}, "value_content": {"entries": inner}}
        entries.append(message(magic, first + 1, time, **outer))
        records += [{"offset": first, "value": b"v"}, {"offset": first + 1, "value": b"w"}]
    batches = [{"magic": magic, "num_records": 2, "base_offset": 10 * at} for at in range(3)]
    return Case(entries, batches, records, {"codecs": hooks(magic)})


CASES = {
    "plain": plain_records(),
    "headers": headers_and_nulls(),
    "gaps": gaps(),
    "transaction": a_transaction(),
    "append-time": append_time(),
    "compressed": compressed(),
    "messages": old_messages(),
    "wrappers-0": old_wrappers(0),
    "wrappers-1": old_wrappers(1),
}


def test_kafka_reads_what_was_built(tmp_path: Path) -> None:
    for name, case in CASES.items():
        (tmp_path / f"{name}.log").write_bytes(segment(*case.entries, **case.context))
    result = run.oracle([f"{name}.log" for name in CASES], out=tmp_path, cwd=tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    for name, case in CASES.items():
        text = (tmp_path / f"{name}.log.jsonl").read_text(encoding="utf-8")
        lines = [json.loads(line) for line in text.splitlines()]
        batches = [line for line in lines if line["type"] == "batch"]
        assert all(line["crc_valid"] for line in batches), name
        check(name, batches, case.batches)
        check(name, [line for line in lines if line["type"] == "record"], case.records)


def check(name: str, lines: list[dict[str, Any]], expected: list[dict[str, Any]]) -> None:
    assert len(lines) == len(expected), name
    for line, wanted in zip(lines, expected, strict=True):
        assert {part: line[part] for part in wanted if part != "control"} == {
            part: as_json(value) for part, value in wanted.items() if part != "control"
        }, name
        if "control" in wanted:
            assert line["control"]["type"] == wanted["control"]["type"], name


def as_json(value: Any) -> Any:
    """A value as the lines have it: bytes in base64."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, list):
        return [as_json(part) for part in value]
    return {name: as_json(part) for name, part in value.items()} if isinstance(value, dict) else value


def test_kafka_refuses_the_damage_that_was_asked_for(tmp_path: Path) -> None:
    values = batch([{"value": b"v"}])
    content = values["body"]["content"]
    damaged = {"crc": {"crc": 1}, "count": {"num_records": 2}}
    for name, fields in damaged.items():
        entry = {**values, "body": {"content": {**content, **fields}}}
        (tmp_path / f"{name}.log").write_bytes(segment(entry))
    result = run.oracle([f"{name}.log" for name in damaged], cwd=tmp_path)
    assert result.returncode == 1
    assert "crc.log, position 0: CorruptRecordException" in result.stderr
    assert "count.log, position 0: InvalidRecordException" in result.stderr
