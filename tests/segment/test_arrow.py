"""Records as Arrow: types, nulls, limits; tables of recorded segments equal Kafka's own reading of them."""

from __future__ import annotations

import base64
import json
import struct
import sys
import zlib
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from tests.forgotten import forget
from tests.python import run_python
from tests.timestamps import stored

from kafka_segments.core.formats.entries import ControlRecord, Damage, Record
from kafka_segments.core.segment.columnar import record_rows as rows_by_rows
from kafka_segments.core.segment.table import SCHEMA, read_table, record_batches
from kafka_segments.errors import (
    ChecksumMismatchError,
    EncodeError,
    MissingCodecError,
    OptionError,
    ReadError,
)

VECTORS = Path(__file__).resolve().parents[1] / "vectors"
RECORDED, ORACLE = VECTORS / "recorded", VECTORS / "oracle"

# One partition for each thing that a column could get wrong; Spark's tests go over all of them.
TOPICS = [f"codec-{codec}-0" for codec in ("none", "gzip", "snappy", "lz4", "zstd")]
TOPICS += ["shapes-0", "null-0", "bad-utf8-0", "append-time-0", "timestamps-0", "negative-rdkafka-0"]
TOPICS += ["transactions-0", "compact-horizon-0", "__cluster_metadata-0"]


def record(offset: int = 0, **fields: object) -> Record:
    plain = Record(
        position=0,
        offset=offset,
        timestamp=1_700_000_000_000 + offset,
        timestamp_type="CreateTime",
        sequence=-1,
        key=b"k",
        value=b"v",
        headers=(),
        control=None,
    )
    return replace(plain, **fields)


def table_of(records: list[Record], **limits: object) -> pa.Table:
    return pa.Table.from_batches(record_batches(records, **limits), SCHEMA)


def sizes(records: list[Record], **limits: int) -> list[int]:
    return [batch.num_rows for batch in record_batches(records, **limits)]


def test_schema() -> None:
    assert str(SCHEMA).splitlines()[:6] == [
        "offset: int64 not null",
        "timestamp: timestamp[ms, tz=UTC]",
        "timestamp_type: int8 not null",
        "key: binary",
        "value: binary",
        "headers: list<item: struct<key: binary not null, value: binary>> not null",
    ]


def test_null_and_empty_differ() -> None:
    headers = ((b"", None), (b"a", b""), (b"a", b"\xff"))
    table = table_of([record(0, key=None, value=b""), record(1, key=b"", value=None, headers=headers)])
    table.validate(full=True)
    assert table["key"].to_pylist() == [None, b""]
    assert table["value"].to_pylist() == [b"", None]
    assert table["headers"].to_pylist() == [
        [],
        [{"key": b"", "value": None}, {"key": b"a", "value": b""}, {"key": b"a", "value": b"\xff"}],
    ]
    assert table["headers"].null_count == 0


def test_any_timestamp_and_offset_fits() -> None:
    extremes = [-(2**63), -1, 0, 2**63 - 1]
    table = table_of([record(value, timestamp=value) for value in extremes])
    assert table["offset"].to_pylist() == extremes
    assert stored(table["timestamp"]) == extremes
    assert table["timestamp"].null_count == 1


def test_timestamp_types_are_kafkas_ids() -> None:
    names = ["NoTimestampType", "CreateTime", "LogAppendTime"]
    table = table_of([record(timestamp_type=name) for name in names])
    assert table["timestamp_type"].to_pylist() == [-1, 0, 1]


def test_control_records_are_left_out() -> None:
    marker = record(1, control=ControlRecord("COMMIT", 1, 0, {"coordinator_epoch": 0}))
    assert table_of([record(0), marker, record(2)])["offset"].to_pylist() == [0, 2]
    assert list(record_batches([marker])) == []


def test_rows_are_limited() -> None:
    records = [record(offset) for offset in range(7)]
    assert sizes(records, max_rows=3) == [3, 3, 1]
    assert sizes(records, max_rows=7) == [7]
    assert sizes(records, max_rows=1) == [1] * 7
    assert sizes([]) == []


def test_bytes_are_limited() -> None:
    records = [record(offset, key=b"kk", value=b"v" * 8) for offset in range(5)]
    assert sizes(records, max_bytes=20) == [2, 2, 1]
    assert sizes(records, max_bytes=29) == [2, 2, 1]
    assert sizes(records, max_bytes=30) == [3, 2]
    large = record(9, value=b"v" * 100)
    assert sizes([records[0], large, records[1]], max_bytes=20) == [1, 1, 1]


def test_headers_count_even_if_empty() -> None:
    """Else a million empty headers a row would pass any limit."""
    records = [record(offset, key=None, value=None, headers=((b"", None),) * 10) for offset in range(4)]
    assert sizes(records, max_bytes=160) == [2, 2]


def test_a_record_that_no_column_can_hold(monkeypatch) -> None:
    monkeypatch.setattr(rows_by_rows, "_LARGEST_COLUMN", 100)
    limits = {"max_rows": 9, "max_bytes": 50}
    assert sizes([record(0, key=b"", value=b"v" * 100)], **limits) == [1]
    iterator = record_batches([record(6), record(7, key=b"k", value=b"v" * 100)], **limits)
    with pytest.raises(EncodeError, match="offset 7: 101 bytes"):
        list(iterator)


@pytest.mark.parametrize(
    "limits", [{"max_rows": 0}, {"max_rows": -1}, {"max_bytes": 0}, {"max_bytes": 2**31}]
)
def test_limits_are_checked_at_once(limits) -> None:
    with pytest.raises(OptionError, match="max_rows"):
        record_batches([], **limits)


def test_columns() -> None:
    table = pa.Table.from_batches(record_batches([record(3, value=None)], columns=["value", "offset"]))
    assert table.schema.names == ["value", "offset"]
    assert table.to_pylist() == [{"value": None, "offset": 3}]


@pytest.mark.parametrize("columns", [["offset", "topic"], [], ["key", "key"], "key"])
def test_wrong_columns(columns) -> None:
    with pytest.raises(OptionError, match="columns must be some of offset, timestamp"):
        record_batches([], columns=columns)


def rows_of_kafka(log: Path) -> list[dict[str, object]]:
    """The data records of Kafka's own reading, as rows of our schema."""
    oracle = ORACLE / log.relative_to(RECORDED).with_name(f"{log.name}.jsonl")
    lines = [json.loads(line) for line in oracle.read_text().splitlines()]
    control = {line["position"] for line in lines if line["type"] == "batch" and line["is_control"]}
    return [
        {
            "offset": line["offset"],
            "timestamp": line["timestamp"],
            "timestamp_type": {"CreateTime": 0, "LogAppendTime": 1}[line["timestamp_type"]],
            "key": decoded(line["key"]),
            "value": decoded(line["value"]),
            "headers": [{name: decoded(text) for name, text in header.items()} for header in line["headers"]],
        }
        for line in lines
        if line["type"] == "record" and line["position"] not in control
    ]


def decoded(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)


def rows(table: pa.Table) -> list[dict[str, object]]:
    index = table.schema.get_field_index("timestamp")
    return table.set_column(index, "timestamp", pa.array(stored(table["timestamp"]))).to_pylist()


def logs_of(topic: str) -> list[Path]:
    return sorted((RECORDED / "kafka-4.3" / "clean" / topic).glob("*.log"))


@pytest.mark.parametrize("topic", TOPICS)
def test_tables_equal_kafkas_reading(topic) -> None:
    logs = logs_of(topic)
    assert logs
    total = 0
    for log in logs:
        table = read_table(log)
        table.validate(full=True)
        assert table.schema == SCHEMA
        assert rows(table) == rows_of_kafka(log)
        total += table.num_rows
    assert total > 0


def test_extreme_timestamps() -> None:
    logs = list((RECORDED / "kafka-4.3" / "extreme-timestamps").glob("*/*.log"))
    expected = {log: rows_of_kafka(log) for log in logs}
    assert max(row["timestamp"] for found in expected.values() for row in found) > 2**61
    for log in logs:
        assert rows(read_table(log)) == expected[log]


@pytest.fixture
def log(tmp_path) -> Path:
    """A copy of a segment of several batches."""
    (source,) = logs_of("codec-none-0")
    copy = tmp_path / source.name
    copy.write_bytes(source.read_bytes())
    return copy


def batches_of(log: Path) -> list[tuple[int, int, int]]:
    """Position, base and last offset of each batch, by the oracle."""
    oracle = ORACLE / "kafka-4.3" / "clean" / "codec-none-0" / f"{log.name}.jsonl"
    lines = [json.loads(line) for line in oracle.read_text().splitlines()]
    return [(b["position"], b["base_offset"], b["last_offset"]) for b in lines if b["type"] == "batch"]


def flip(log: Path, position: int) -> None:
    data = bytearray(log.read_bytes())
    data[position] ^= 1
    log.write_bytes(data)


def test_offsets_and_columns(log) -> None:
    every = read_table(log)["offset"].to_pylist()
    first, last = every[0], every[-1]
    middle = every[len(every) // 2]
    for offsets in [(middle, None), (None, middle), (middle, last), (last + 1, None), (None, None), (5, 5)]:
        start, end = offsets
        table = read_table(log, columns=["offset"], offsets=offsets)
        assert table.schema.names == ["offset"]
        kept = [o for o in every if (start is None or o >= start) and (end is None or o < end)]
        assert table["offset"].to_pylist() == kept
    assert first < middle < last


@pytest.mark.parametrize("offsets", [5, (1,), (1, 2, 3), ("1", None), (1.0, 2), [1, 2], (True, 2)])
def test_wrong_offsets(log, offsets) -> None:
    with pytest.raises(OptionError, match="offsets must be a pair"):
        read_table(log, offsets=offsets)


def test_damage(log) -> None:
    sound = read_table(log)
    position, base_offset, last_offset = batches_of(log)[1]
    flip(log, position + 70)
    with pytest.raises(ChecksumMismatchError) as caught:
        read_table(log)
    assert (caught.value.position, caught.value.path) == (position, str(log))

    kept = [row for row in rows(sound) if not base_offset <= row["offset"] <= last_offset]
    assert rows(read_table(log, on_damage="skip")) == kept
    found: list[Damage] = []
    assert rows(read_table(log, on_damage=found.append)) == kept
    assert [(damage.position, damage.first_lost_offset, damage.last_lost_offset) for damage in found] == [
        (position, base_offset, last_offset)
    ]


def test_damage_outside_the_offsets_does_not_count(log) -> None:
    position, base_offset, last_offset = batches_of(log)[1]
    flip(log, position + 70)
    read_table(log, offsets=(None, base_offset))
    read_table(log, offsets=(last_offset + 1, None))
    for offsets in [(base_offset, base_offset + 1), (last_offset, None), (None, base_offset + 1)]:
        with pytest.raises(ChecksumMismatchError):
            read_table(log, offsets=offsets)


def test_crc_can_be_left_unchecked(log) -> None:
    sound = read_table(log)
    position = batches_of(log)[1][0]
    flip(log, position + 17)  # the checksum's own first byte
    with pytest.raises(ChecksumMismatchError):
        read_table(log)
    assert read_table(log, check_crc=False).equals(sound)


def test_a_missing_codec_is_no_damage(monkeypatch) -> None:
    (log,) = logs_of("codec-lz4-0")
    monkeypatch.setitem(sys.modules, "lz4.frame", None)
    forget(monkeypatch, ["kafka_segments.core.codecs.lz4"])
    for on_damage in ("raise", "skip", pytest.fail):
        with pytest.raises(MissingCodecError, match="pip install lz4"):
            read_table(log, on_damage=on_damage)


def test_wrong_on_damage(log) -> None:
    with pytest.raises(OptionError, match="on_damage"):
        read_table(log, on_damage="ignore")


def test_missing_file(tmp_path) -> None:
    with pytest.raises(ReadError) as caught:
        read_table(tmp_path / "none.log")
    assert isinstance(caught.value, OSError)
    assert caught.value.errno == 2


def legacy_message(offset: int, value: bytes) -> bytes:
    body = struct.pack(">bbi", 0, 0, -1) + struct.pack(">i", len(value)) + value
    message = struct.pack(">I", zlib.crc32(body)) + body
    return struct.pack(">qi", offset, len(message)) + message


def test_old_messages_are_records_too(log) -> None:
    sound = read_table(log)
    next_offset = sound["offset"].to_pylist()[-1] + 1
    with log.open("ab") as file:
        file.write(legacy_message(next_offset, b"old"))
    found = read_table(log)
    assert found.slice(0, sound.num_rows).equals(sound)
    (last,) = (
        found.slice(sound.num_rows)
        .select(["offset", "key", "value", "headers", "timestamp_type"])
        .to_pylist()
    )
    assert last == {"offset": next_offset, "key": None, "value": b"old", "headers": [], "timestamp_type": -1}
    assert read_table(log, offsets=(None, next_offset)).equals(sound)


def test_without_pyarrow() -> None:
    program = (
        "import sys\n"
        "sys.modules['pyarrow'] = None\n"
        "import kafka_segments\n"
        "from kafka_segments.errors import MissingExtraError\n"
        "try:\n"
        "    kafka_segments.read_table('any.log')\n"
        "except MissingExtraError as error:\n"
        "    assert error.extra == 'arrow'\n"
        "    print(error)\n"
    )
    assert "pip install 'kafka-segments[arrow]'" in run_python("-c", program).stdout
