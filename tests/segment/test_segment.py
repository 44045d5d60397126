"""Opening segments: options, what is refused by name, and the facade."""

from __future__ import annotations

import io
import struct
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import crc32c
import pytest
from tests.made.build import batch, message, patched
from tests.python import run_python

import kafka_segments
from kafka_segments import Batch, Damage, Record, open_partition, open_segment
from kafka_segments.core.codecs import CODEC_NAMES
from kafka_segments.errors import OptionError, ReadError, TruncatedError, UnknownFormatError
from kafka_segments_generated.kaitai.kafka_message_legacy import KafkaMessageLegacy
from kafka_segments_generated.kaitai.kafka_record_batch_v2 import KafkaRecordBatchV2

RECORDED = Path(__file__).resolve().parents[1] / "vectors" / "recorded"


def redpanda(offset: int, payload: bytes = b"records") -> bytes:
    """A batch as Redpanda keeps it: little-endian, with a checksum of the header alone in front."""
    header = struct.pack("<iqbIhiqqqhii", 61 + len(payload), offset, 1, 99, 0, 1, 7, 8, -1, -1, -1, 2)
    return struct.pack("<I", crc32c.crc32c(header)) + header + payload


def old_message(payload: bytes, *, magic: int = 0) -> bytes:
    """A message of Kafka 0.7: no offset, no key."""
    body = bytes([magic]) + (b"\0" if magic else b"") + struct.pack(">I", zlib.crc32(payload)) + payload
    return struct.pack(">i", len(body)) + body


@pytest.mark.parametrize("offset", [0, 1, 41, 1 << 40])
def test_redpanda_is_refused_by_name(offset: int) -> None:
    with pytest.raises(UnknownFormatError, match=r"Redpanda.*Kafka client") as caught:
        open_segment(redpanda(offset) + redpanda(offset + 2))
    assert caught.value.format == "Redpanda"


@pytest.mark.parametrize("magic", [0, 1])
def test_kafka_0_7_is_refused_by_name(magic: int) -> None:
    for payload in (b"x", b"hello", b"z" * 100_000):
        with pytest.raises(UnknownFormatError, match=r"Kafka 0\.7.*MigrationTool") as caught:
            open_segment(old_message(payload, magic=magic) + old_message(b"y"))
        assert caught.value.format == "Kafka 0.7"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0",
        bytes(5000),
        b"\0\0\0\x05\0\0\0\0\0",  # an empty message of 0.7, or nearly anything else
        b"plain text, longer than any header is, so that every recogniser has something to read",
        redpanda(3)[:60],
        patched(redpanda(3), 20, b"\xff"),
        patched(old_message(b"hello"), 10, b"\xff"),
        struct.pack(">i", 1 << 30) + b"\0abcd",
        batch(5 << 32) + batch(6 << 32),
    ],
)
def test_nothing_else_is_refused(data: bytes) -> None:
    open_segment(data).close()


def test_no_recorded_segment_is_refused_however_its_first_entry_is_damaged() -> None:
    paths = list(RECORDED.rglob("*.log"))
    assert len(paths) > 100
    for path in paths:
        data = path.read_bytes()[:5000]
        for position in range(0, min(80, len(data)), 3):
            open_segment(patched(data, position, b"\xa5")).close()


def test_a_true_entry_of_kafka_outweighs_a_likeness() -> None:
    # Neither checksum of a Kafka batch covers its first four bytes, where Redpanda keeps that of its header.
    true = batch(77)
    both = patched(true, 0, struct.pack("<I", crc32c.crc32c(true[4:61])))
    (entry, _) = open_segment(both).iter_events()
    assert isinstance(entry, Batch)
    assert entry.base_offset == int.from_bytes(both[:8], "big", signed=True)
    with pytest.raises(UnknownFormatError):
        open_segment(both[:61])


def test_a_segment_is_a_context_manager(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(batch(0))
    with open_segment(path) as segment:
        assert (segment.path, segment.size) == (str(path), len(batch(0)))
        assert len(list(segment.iter_events())) == 2
        assert len(list(segment.iter_events())) == 2
    segment.close()
    with pytest.raises(ReadError):
        list(segment.iter_events())


def test_maps_and_streams_give_the_same_events(tmp_path: Path) -> None:
    data = batch(0) + message(1) + patched(batch(2), 64, b"\xff") + batch(3)
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(data)

    def seen(segment: kafka_segments.Segment) -> list[tuple[object, ...]]:
        return [
            (type(e).__name__, e.position, getattr(e, "base_offset", None))
            for e in segment.iter_events(on_damage="skip")
        ]

    expected = seen(open_segment(path))
    assert len(expected) == 8
    assert seen(open_segment(path, mmap=True)) == expected
    assert seen(open_segment(io.BytesIO(data))) == expected
    assert seen(open_segment(data)) == expected


def test_raising_stops_at_damage_and_says_where(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(batch(0) + batch(1)[:-5])
    events = []
    with open_segment(path) as segment, pytest.raises(TruncatedError) as caught:
        for event in segment.iter_events():
            events.append(event)
    assert [type(event) for event in events] == [Batch, Record]
    assert (caught.value.position, caught.value.path) == (len(batch(0)), str(path))
    assert (caught.value.needed, caught.value.available) == (len(batch(1)), len(batch(1)) - 5)


def test_wanted_batches_only_are_decoded() -> None:
    data = batch(0) + batch(1, count=5) + batch(2)
    with open_segment(data) as segment:
        events = list(segment.iter_events(wanted=lambda entry: entry.base_offset != 1))
    assert [type(event) for event in events] == [Batch, Record, Batch, Batch, Record]


def test_damage_knows_whether_it_touches_a_range() -> None:
    (damage,) = (
        e for e in open_segment(batch(3) + b"x" * 30 + batch(9)).iter_entries("skip") if isinstance(e, Damage)
    )
    assert (damage.first_lost_offset, damage.last_lost_offset) == (4, 8)
    touched = [
        damage.touches(start, end)
        for start, end in [(0, 4), (0, 5), (8, 9), (9, 20), (None, None), (5, None)]
    ]
    assert touched == [False, True, True, False, True, True]
    (unknown,) = (e for e in open_segment(b"x" * 30).iter_entries("skip") if isinstance(e, Damage))
    assert unknown.touches(5, 6)
    (nothing,) = (
        e for e in open_segment(batch(3) + b"x" * 30 + batch(4)).iter_entries("skip") if isinstance(e, Damage)
    )
    assert [nothing.touches(*r) for r in [(0, 4), (4, 9), (3, 5)]] == [False, False, True]
    falling = replace(damage, previous_offset=8, next_offset=8)
    assert [falling.touches(*r) for r in [(0, 9), (8, None), (9, 20)]] == [False, True, True]


@pytest.mark.parametrize("number", range(8))
def test_names_of_codecs_and_timestamp_types_are_kafkas(number: int) -> None:
    names = ["none", "gzip", "snappy", "lz4", "zstd", None, None, None]
    for bit, timestamp_type in ((0, "CreateTime"), (8, "LogAppendTime")):
        data = batch(attributes=number | bit) + message(1, attributes=number | bit)
        data += message(2, magic=0, attributes=number | bit)
        entries = [entry for entry in open_segment(data).iter_entries() if isinstance(entry, Batch)]
        assert [entry.compression for entry in entries] == [names[number]] * 3
        assert [entry.compression_id for entry in entries] == [number] * 3
        assert [entry.timestamp_type for entry in entries] == [timestamp_type] * 2 + ["NoTimestampType"]


@pytest.mark.parametrize("generated", [KafkaRecordBatchV2, KafkaMessageLegacy])
def test_every_codec_of_the_schemas_can_be_had(generated: Any) -> None:
    assert [each.name for each in generated.Compression] == ["none", *CODEC_NAMES]


def test_the_core_needs_no_extra() -> None:
    code = (
        "import sys; sys.modules.update(pyarrow=None, pyspark=None, numba=None)\n"
        "import kafka_segments, kafka_segments.cli.main as cli\n"
        "assert cli.main(['--version']) == 0\n"
        "assert 'read_table' in kafka_segments.__all__\n"
        "assert set(kafka_segments.__all__) <= {*dir(kafka_segments)}\n"
    )
    assert kafka_segments.__version__ in run_python("-c", code).stdout


def test_the_facade() -> None:
    assert kafka_segments.read_table.__name__ == "read_table"
    with pytest.raises(AttributeError, match="no attribute 'read_tables'"):
        _ = kafka_segments.read_tables


def test_another_on_damage_is_refused_at_once(tmp_path: Path) -> None:
    """Not first at damage, of which a sound file has none."""
    (tmp_path / "t-0").mkdir()
    (tmp_path / "t-0" / f"{0:020d}.log").write_bytes(batch(0))
    with open_partition(tmp_path / "t-0") as partition, open_segment(batch(0)) as segment:
        for opened in (segment.iter_entries, segment.iter_events, partition.iter_events):
            with pytest.raises(OptionError, match="on_damage is 'ignore'"):
                opened(on_damage="ignore")  # type: ignore[operator]
