"""Headers of generated entries: both ways read the fields that the encoder was given."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from tests.made.codecs import IDS, codec_of
from tests.made.encoder import Batch, Entry, Message, encode_segment
from tests.made.shapes import QUICK, segments

from kafka_segments import open_segment

TYPES = {-1: "NoTimestampType", 0: "CreateTime", 1: "LogAppendTime"}


def header_of(entry: Entry) -> dict[str, Any]:
    """What the header says, in the words of `kafka_segments.Batch`."""
    if isinstance(entry, Batch):
        return {
            "magic": 2,
            "base_offset": entry.base_offset,
            "last_offset": entry.last_offset(),
            "partition_leader_epoch": entry.leader_epoch,
            "compression": codec_of(entry.form),
            "timestamp_type": TYPES[entry.timestamp_type],
            "is_transactional": entry.is_transactional,
            "is_control": entry.is_control,
            "delete_horizon_ms": entry.base_timestamp if entry.has_delete_horizon else None,
            "base_timestamp": entry.base_timestamp,
            "max_timestamp": entry.highest_timestamp(),
            "producer_id": entry.producer_id,
            "producer_epoch": entry.producer_epoch,
            "base_sequence": entry.base_sequence,
            "num_records": len(entry.records),
        }
    return {
        "magic": entry.magic,
        "last_offset": entry.last_offset(),
        "compression": "none" if isinstance(entry, Message) else codec_of(entry.form),
        "timestamp_type": TYPES[entry.timestamp_type if entry.magic else -1],
        "max_timestamp": entry.timestamp if entry.magic else -1,
        "partition_leader_epoch": -1,
        "base_timestamp": None,
    }


@settings(QUICK, max_examples=250)
@given(segments())
def test_rows(entries: list[Entry]) -> None:
    with open_segment(encode_segment(entries), headers_only=True) as segment:
        found = list(segment.iter_entries())
    position = 0
    for batch, entry in zip(found, entries, strict=True):
        right = {"position": position, "size": len(entry.encode())} | header_of(entry)
        assert {name: getattr(batch, name) for name in right} == right
        position += right["size"]


@settings(QUICK, max_examples=250)
@given(segments())
def test_columns(entries: list[Entry]) -> None:
    with open_segment(encode_segment(entries)) as segment:
        table = segment.read_headers()
    table.validate(full=True)
    times = {"base_timestamp", "max_timestamp"}
    columns = {
        name: (table.column(name).cast("int64") if name in times else table.column(name)).to_pylist()
        for name in table.column_names
    }
    position = 0
    for at, entry in enumerate(entries):
        right = {"position": position, "end_position": position + len(entry.encode())} | columns_of(entry)
        right |= {name: None for name in times if right[name] == -1}  # Kafka's none
        assert {name: columns[name][at] for name in right} == right
        position = right["end_position"]
    assert table.num_rows == len(entries)


def columns_of(entry: Entry) -> dict[str, Any]:
    """The same as numbers, and what an old message has not is null."""
    right = header_of(entry)
    numbers = {
        "compression": IDS[right.pop("compression")],
        "timestamp_type": entry.timestamp_type if right["magic"] else 0,
    }
    del right["timestamp_type"]
    last_offset = right.pop("last_offset")
    if not isinstance(entry, Batch):
        nulls = dict.fromkeys(["partition_leader_epoch", "producer_id", "is_control", "num_records"])
        return right | numbers | nulls | {"base_offset": last_offset}
    right["has_delete_horizon"] = right.pop("delete_horizon_ms") is not None
    return right | numbers | {"last_offset_delta": last_offset - entry.base_offset}
