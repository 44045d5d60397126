"""Every rule of the table of refusals, by name: what breaks it, what is said, and that Kafka's builder
agrees.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.write.builders import built, record

import kafka_segments
from kafka_segments.errors import EncodeError, KafkaFormatError, OptionError
from kafka_segments.write.refusals import all_refusals

REFUSALS = all_refusals()
ROW = {"offset": 5, "timestamp": 1, "key": b"k", "value": b"v"}
PRODUCER: dict[str, Any] = {"producer_id": 1, "producer_epoch": 0}
KRAFT = ("KRAFT_VERSION", {"version": 0, "k_raft_version": 1})

Attempt = Callable[[Path], object]


def records(rows: Any, **options: Any) -> Attempt:
    return lambda folder: kafka_segments.encode_records(rows, **options)


def batch(rows: Any, **options: Any) -> Attempt:
    return lambda folder: kafka_segments.encode_batch(rows, **options)


def control(pairs: Any, **options: Any) -> Attempt:
    return lambda folder: kafka_segments.encode_control(pairs, timestamp=1, **options)


def row(**values: Any) -> list[dict[str, Any]]:
    return [{**ROW, **values}]


def two(first: int, second: int) -> list[dict[str, Any]]:
    return [{**ROW, "offset": first}, {**ROW, "offset": second}]


def writing(*steps: Callable[[kafka_segments.SegmentWriter], object], **options: Any) -> Attempt:
    def attempt(folder: Path) -> None:
        with kafka_segments.open_writer(folder / "00000000000000000000.log", **options) as writer:
            for step in steps:
                step(writer)

    return attempt


def write(**options: Any) -> Callable[[kafka_segments.SegmentWriter], object]:
    return lambda writer: writer.write([{"value": b"v"}], **options)


def mark(kind: str, **options: Any) -> Callable[[kafka_segments.SegmentWriter], object]:
    return lambda writer: writer.write_marker(kind, timestamp=1, **options)


def large_row(folder: Path) -> object:
    """A record of two columns of which each is below what Arrow's offsets can say; the pages are never
    touched.
    """
    size = 2**30 + 2**20
    zeros = pa.py_buffer(bytes(size))
    ends = pa.array([0, size], pa.int32()).buffers()[1]
    column = pa.Array.from_buffers(pa.binary(), 1, [None, ends, zeros])
    rows = pa.RecordBatch.from_arrays([column, column], names=["key", "value"])
    return kafka_segments.encode_records(rows, max_message_bytes=None)


def many_headers(number: int) -> Attempt:
    """A record of so many headers, whose keys and values are empty."""

    def attempt(folder: Path) -> object:
        empty = pa.array([b""]).take(pa.array(np.zeros(number, np.int8)))
        pairs = pa.StructArray.from_arrays([empty, empty], ["key", "value"])
        headers = pa.ListArray.from_arrays(pa.array([0, 0, number], pa.int32()), pairs)
        rows = pa.RecordBatch.from_arrays([pa.array([b"v", b"w"]), headers], names=["value", "headers"])
        return kafka_segments.encode_records(rows, max_message_bytes=None)

    return attempt


CONTROL_RECORD = kafka_segments.Record(
    0,
    5,
    1,
    "CreateTime",
    -1,
    b"",
    b"",
    (),
    kafka_segments.core.formats.entries.ControlRecord("COMMIT", 1, 0, None),
)

ATTEMPTS: dict[str, Attempt] = {
    "unknown_compression": records(row(), compression="brotli"),
    "compression_level": records(row(), compression="gzip", compression_level=10),
    "unknown_magic": records(row(), magic=3),
    "zstd_below_magic_2": records(row(), magic=1, compression="zstd"),
    "transactional_below_magic_2": records(row(), magic=1, is_transactional=True),
    "idempotent_below_magic_2": records(row(), magic=1, **PRODUCER, base_sequence=0),
    "horizon_below_magic_2": records(row(), magic=1, delete_horizon_ms=7),
    "leader_epoch_below_magic_2": records(row(), magic=0, partition_leader_epoch=7),
    "append_time_in_magic_0": records(row(), magic=0, timestamp_type="LogAppendTime", log_append_time=7),
    "transactional_without_producer_id": records(row(), is_transactional=True),
    "producer_epoch": records(row(), producer_id=1),
    "base_sequence": records(row(), **PRODUCER, base_sequence=-1),
    "offset_order": records(two(5, 5)),
    "negative_offset": records(row(offset=-1)),
    "null_offset": records([ROW, {"value": b"v"}]),
    "offset_delta": batch(two(5, 5 + 2**31)),
    "negative_timestamp": records(row(timestamp=-2)),
    "null_header_key": records(row(headers=[(b"a", b""), (None, b"")])),
    "headers_below_magic_2": records(row(headers=[(b"a", b"")]), magic=1),
    "too_many_headers": many_headers(1_000_001),
    "control_record": records([CONTROL_RECORD]),
    "null_key": records(row(key=None), compacted=True),
    "no_records": batch([]),
    "record_too_large": large_row,
    "batch_too_large": records(row(value=bytes(1048588))),
    "unwritable": records(row(value=5)),
    "unknown_control_type": control([("UNKNOWN", {})]),
    "control_value": control([("KRAFT_VERSION", {"version": 0})]),
    "marker_without_producer_id": control([("COMMIT", {"coordinator_epoch": 0})]),
    "marker_not_transactional": control([("COMMIT", {"coordinator_epoch": 0})], **PRODUCER),
    "leader_change_without_epoch": control(
        [("LEADER_CHANGE", {"version": 0, "leader_id": 1, "voters": [], "granting_voters": []})]
    ),
    "segment_too_small": writing(write(), segment_bytes=60),
    "segment_full": writing(write(), write(), segment_bytes=100),
    "segment_offset": writing(lambda writer: writer.write(row(offset=2**31))),
    "out_of_order_sequence": writing(write(**PRODUCER), write(**PRODUCER, base_sequence=2)),
    "producer_fenced": writing(
        write(producer_id=1, producer_epoch=1), write(producer_id=1, producer_epoch=0, base_sequence=0)
    ),
    "open_transaction": writing(
        write(**PRODUCER, is_transactional=True), write(**PRODUCER, is_transactional=False)
    ),
    "coordinator_fenced": writing(
        write(**PRODUCER, is_transactional=True),
        mark("COMMIT", **PRODUCER, coordinator_epoch=4),
        mark("ABORT", **PRODUCER, coordinator_epoch=3),
    ),
}


def refusal(name: str, folder: Path) -> KafkaFormatError:
    with pytest.raises((EncodeError, OptionError)) as caught:
        ATTEMPTS[name](folder)
    return caught.value


@pytest.mark.parametrize("name", REFUSALS)
def test_it_is_refused(name: str, tmp_path: Path) -> None:
    """By its name, and nothing is left on the disk."""
    error = refusal(name, tmp_path)
    assert error.rule == name  # type: ignore[attr-defined]
    assert REFUSALS[name].reason in str(error) or name in (
        "unknown_compression",
        "compression_level",
        "unwritable",
    )
    assert list(tmp_path.iterdir()) == []


def test_each_rule_is_broken_once() -> None:
    assert ATTEMPTS.keys() == REFUSALS.keys()


def test_the_page_of_requirements_names_every_rule() -> None:
    page = Path(__file__).parents[2] / "docs" / "concepts" / "requirements.md"
    text = page.read_text(encoding="utf-8")
    assert [name for name in REFUSALS if f"`{name}`" not in text] == []


# What the near misses lack is just enough to break the rule.
NEAR_MISSES: dict[str, Attempt] = {
    "compression_level": records(row(), compression="gzip", compression_level=-1),
    "zstd_below_magic_2": records(row(), magic=2, compression="zstd"),
    "idempotent_below_magic_2": records(row(), magic=1, producer_id=-1, base_sequence=-1),
    "append_time_in_magic_0": records(row(), magic=1, timestamp_type="LogAppendTime", log_append_time=7),
    "base_sequence": records(row(), **PRODUCER, base_sequence=0),
    "offset_order": records(two(5, 6)),
    "negative_offset": records(row(offset=0)),
    "null_offset": records([{"value": b"v"}, {"value": b"v"}]),
    "offset_delta": batch(two(5, 5 + 2**31 - 1)),
    "negative_timestamp": records(row(timestamp=-1)),
    "null_header_key": records(row(headers=[(b"", None)])),
    "headers_below_magic_2": records(row(headers=[]), magic=1),
    "too_many_headers": many_headers(1_000_000),
    "null_key": records(row(key=b""), compacted=True),
    "batch_too_large": batch([{"value": bytes(1048588 - 61 - 11)}]),
    "marker_not_transactional": control(
        [("COMMIT", {"coordinator_epoch": 0})], **PRODUCER, is_transactional=True
    ),
    "segment_too_small": writing(write(), segment_bytes=61 + 8),
    "segment_full": writing(write(), write(), segment_bytes=2 * (61 + 8)),
    "segment_offset": writing(lambda writer: writer.write(row(offset=2**31 - 1))),
    "out_of_order_sequence": writing(write(**PRODUCER), write(**PRODUCER, base_sequence=1)),
    "producer_fenced": writing(
        write(producer_id=1, producer_epoch=1), write(producer_id=1, producer_epoch=2, base_sequence=0)
    ),
    "open_transaction": writing(
        write(**PRODUCER, is_transactional=True), mark("COMMIT", **PRODUCER), write(**PRODUCER)
    ),
    "coordinator_fenced": writing(
        mark("COMMIT", **PRODUCER, coordinator_epoch=4), mark("ABORT", **PRODUCER, coordinator_epoch=4)
    ),
}


@pytest.mark.parametrize("name", NEAR_MISSES)
def test_the_next_thing_to_it_is_not(name: str, tmp_path: Path) -> None:
    NEAR_MISSES[name](tmp_path)


def test_the_place_is_told(tmp_path: Path) -> None:
    """The row in all that was given, not in its arrow batch, and the offset."""
    rows = [{**ROW, "offset": at, "timestamp": -7 if at == 25_017 else 1} for at in range(30_000)]
    with pytest.raises(EncodeError) as caught:
        kafka_segments.encode_records(rows)
    assert (caught.value.row, caught.value.offset, caught.value.rule) == (
        25_017,
        25_017,
        "negative_timestamp",
    )
    with pytest.raises(EncodeError) as caught:
        kafka_segments.encode_records([ROW, {**ROW, "offset": 6, "headers": [(None, None)]}])
    assert (caught.value.row, caught.value.rule) == (1, "null_header_key")
    with pytest.raises(EncodeError) as caught:
        kafka_segments.encode_records([ROW, {**ROW, "offset": 6, "key": 17}])
    assert (caught.value.row, caught.value.rule) == (1, "unwritable")


# What the builder alone can judge, in its own words; a broker's rules are in classes that want a broker.
OF_THE_BUILDER: dict[str, dict[str, Any]] = {
    "unknown_compression": {"compression": "brotli"},
    "zstd_below_magic_2": {"magic": 1, "compression": "zstd"},
    "transactional_below_magic_2": {"magic": 1, "is_transactional": True},
    "idempotent_below_magic_2": {"magic": 1, "producer_id": 1, "producer_epoch": 0, "base_sequence": 0},
    "horizon_below_magic_2": {"magic": 1, "delete_horizon_ms": 7},
    "transactional_without_producer_id": {"is_transactional": True},
    "producer_epoch": {"producer_id": 1},
    "base_sequence": {"producer_id": 1, "producer_epoch": 0},
    "offset_order": {"records": [record(5), record(5)]},
    "offset_delta": {"records": [record(5), record(5 + 2**31)]},
    "negative_timestamp": {"records": [record(5, -2)]},
    "null_header_key": {"records": [record(5, headers=[(None, b"")])]},
    "headers_below_magic_2": {"magic": 1, "records": [record(5, headers=[(b"a", b"")])]},
    "marker_without_producer_id": {"is_control": True, "is_transactional": True},
    "marker_not_transactional": {"is_control": True, "producer_id": 1, "producer_epoch": 0},
    "leader_change_without_epoch": {"is_control": True},
}
_MARKER = {"offset": 0, "timestamp": 1, "control": "COMMIT", "fields": {"coordinatorEpoch": 0}}
_CHANGE = {
    "offset": 0,
    "timestamp": 1,
    "control": "LEADER_CHANGE",
    "fields": {"version": 0, "leaderId": 1, "voters": [], "grantingVoters": []},
}


@pytest.mark.oracle
def test_kafka_refuses_the_same() -> None:
    asked = []
    for name, case in OF_THE_BUILDER.items():
        lines = (
            [_CHANGE] if name.startswith("leader_change") else [_MARKER] if case.get("is_control") else None
        )
        asked.append({"records": lines or [record(5, 1, b"k", b"v")], **case})
    for name, answer in zip(OF_THE_BUILDER, built(asked), strict=True):
        assert isinstance(answer, str), name
        exception = answer[1:].partition(":")[0]
        assert exception in (REFUSALS[name].exception, "IllegalArgumentException", "NullPointerException"), (
            answer
        )
