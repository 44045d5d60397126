"""Wrappers by the compiled scanner and decoder: what they take, what they leave, and the same answers."""

from __future__ import annotations

import struct
import zlib
from random import Random
from typing import Any

import pytest
from tests.made.build import batch, message, patched
from tests.made.codecs import compress
from tests.made.segments import damages, told
from tests.made.wild_payloads import IDS
from tests.timestamps import stored

from kafka_segments import Damage, Record, open_segment
from kafka_segments.core.segment.columnar import decoding, reader, record_rows
from kafka_segments.core.segment.columnar import wrappers as unwrapping
from kafka_segments.core.segment.columnar.record_columns import Capacity
from kafka_segments.core.segment.scan import scanner

LOG_APPEND_TIME = 8
TYPES = {"NoTimestampType": -1, "CreateTime": 0, "LogAppendTime": 1}
CODECS = ["gzip", "snappy", "lz4"]


def wrapper(offset: int, inner: list[bytes], *, magic: int = 1, codec: str = "lz4", **fields: Any) -> bytes:
    payload = compress(codec, b"".join(inner), magic)
    attributes = IDS[codec] | fields.pop("attributes", 0)
    return message(offset, payload, magic=magic, attributes=attributes, **fields)


def usual(
    base: int, count: int, *, magic: int = 1, codec: str = "lz4", seed: int = 0, **fields: Any
) -> bytes:
    """A wrapper as producers and brokers write them, now and then with gaps as cleaning leaves them."""
    random = Random(seed)
    deltas, last = [], -1
    for _ in range(count):
        last += random.choice([1, 1, 1, 4])
        deltas.append(last)
    first = base if magic == 0 else 0
    values = [random.choice([None, b"", random.randbytes(random.randrange(90))]) for _ in deltas]
    inner = [
        message(first + delta, value, magic=magic, time=1000 + delta)
        for delta, value in zip(deltas, values, strict=True)
    ]
    return wrapper(base + last, inner, magic=magic, codec=codec, **fields)


def run_of(count: int, **options: Any) -> bytes:
    return b"".join(usual(1000 * at, 1 + at % 50, seed=at, **options) for at in range(count))


@pytest.fixture
def slow(monkeypatch) -> list[int]:
    """The positions of the entries that are left to the slow way."""
    left: list[int] = []
    events = record_rows.ExactRecords.events

    def watched(self, entry, start, **options):
        left.append(entry.position)
        return events(self, entry, start, **options)

    monkeypatch.setattr(record_rows.ExactRecords, "events", watched)
    return left


def compare(data: bytes, **options: Any) -> int:
    """Rows, with the types of their times, and damage of both ways; returns how many rows."""
    with open_segment(data, **options) as segment:
        events = list(segment.iter_events(on_damage="skip"))
        expected = [
            (one.offset, one.timestamp, TYPES[one.timestamp_type], one.key, one.value)
            for one in events
            if isinstance(one, Record)
        ]
        table = segment.read_batches(on_damage="skip").read_all()
        names = ["offset", "timestamp", "timestamp_type", "key", "value"]
        columns = [stored(table[name]) if name == "timestamp" else table[name].to_pylist() for name in names]
        assert list(zip(*columns, strict=True)) == expected
        assert damages(segment) == [told(one) for one in events if isinstance(one, Damage)]
        for start, end in (
            (None, None),
            (expected[len(expected) // 2][0] if expected else 0, None),
            (3, 2500),
        ):
            part = segment.read_batches(
                ["value", "timestamp"], offsets=(start, end), on_damage="skip"
            ).read_all()
            inside = [
                row
                for row in expected
                if (start is None or row[0] >= start) and (end is None or row[0] < end)
            ]
            assert part["value"].to_pylist() == [row[4] for row in inside]
            assert stored(part["timestamp"]) == [row[1] for row in inside]
    return len(expected)


@pytest.mark.parametrize("attributes", [0, LOG_APPEND_TIME])
@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", CODECS)
def test_the_usual_ones_are_never_left(slow, codec: str, magic: int, attributes: int) -> None:
    data = run_of(60, codec=codec, magic=magic, attributes=attributes, time=77)
    assert compare(data) > 1000
    assert compare(data, check_crc=False) > 1000
    assert slow == []


def test_everything_in_one_file(slow) -> None:
    random = Random(1)
    entries, offset = [], 0
    for at in range(300):
        kind = random.randrange(4)
        if kind == 0:
            entries.append(message(offset, b"plain", magic=random.randrange(2), time=at))
        elif kind == 1:
            entries.append(batch(offset))
        else:
            options = {"magic": random.randrange(2), "codec": random.choice(CODECS), "time": 5000 + at}
            options["attributes"] = random.choice([0, LOG_APPEND_TIME])
            entries.append(usual(offset, random.choice([1, 2, 30]), seed=at, **options))
        offset += 200
    assert compare(b"".join(entries)) > 1000
    assert slow == []


@pytest.mark.parametrize("capacity", [Capacity(1, 90, 1), Capacity(7, 1000, 5), Capacity(64, 500, 1)])
@pytest.mark.parametrize("attributes", [0, LOG_APPEND_TIME])
def test_an_arrow_batch_may_be_full_anywhere(monkeypatch, slow, capacity: Capacity, attributes: int) -> None:
    monkeypatch.setattr(decoding.RecordDecoder.__init__, "__kwdefaults__", {"capacity": capacity})
    compare(run_of(30, attributes=attributes, time=99))
    assert slow == []


def odd() -> dict[str, bytes]:
    """Wrappers that the compiled way leaves; what is right about them, the slow way knows."""
    inner = [message(at, b"%d" % at) for at in range(5)]
    old = [message(at, b"%d" % at, magic=0) for at in range(5)]
    wrong = [*inner[:2], inner[2][:-1] + b"?", *inner[3:]]
    return {
        "a tail that is cut": wrapper(4, [*inner, message(5)[:-1]]),
        "a tail of a few bytes": wrapper(4, [*inner, b"\0\0\0"]),
        "a wrong checksum": wrapper(4, wrong),
        "nothing": wrapper(4, []),
        "another magic, lower": wrapper(4, [*inner[:3], *old[3:]]),
        "another magic, higher": wrapper(4, [*old[:3], *inner[3:]], magic=0),
        "magic 2 inside": wrapper(4, [*inner, batch(9)]),
        "compressed again": wrapper(4, [*inner[:2], wrapper(2, inner), *inner[3:]]),
        "an offset below the last": wrapper(3, inner),
        "a broker's time inside": wrapper(4, [*inner[:4], message(4, attributes=LOG_APPEND_TIME)]),
        "zstd": message(4, b"?", attributes=4),
        "no codec": message(4, b"?", attributes=7),
        "no payload of its codec": message(4, b"?", attributes=IDS["lz4"]),
        "a key beyond its end": wrapper(4, [*inner[:3], with_key_length(inner[3], 1000), inner[4]]),
    }


def with_key_length(one: bytes, length: int) -> bytes:
    """A message with a right checksum whose key does not fit."""
    changed = patched(one, 26, struct.pack(">i", length))
    return patched(changed, 12, struct.pack(">I", zlib.crc32(changed[16:])))


@pytest.mark.parametrize("name", odd())
def test_odd_ones_are_left_to_the_slow_way(slow, name: str) -> None:
    before, behind = run_of(20), b"".join(usual(100_000 + 1000 * at, 3) for at in range(20))
    compare(before + odd()[name] + behind)
    assert set(slow) == {len(before)}
    compare(odd()[name] * 3 + behind)


def test_old_versions_of_librdkafka_and_renumbered_offsets(slow) -> None:
    relative = [message(at, b"x") for at in (0, 5, 6)]
    data = wrapper(0, relative) + wrapper(20, relative) + wrapper(6, relative)
    with open_segment(data) as segment:
        offsets = segment.read_batches(["offset"]).read_all()["offset"].to_pylist()
    assert offsets == [0, 5, 6, 14, 19, 20, 0, 5, 6]
    high = (1 << 63) - 1
    compare(wrapper(high, [message(5), message(-(1 << 63))]))
    assert slow == []


@pytest.mark.parametrize("count", [16_384, 16_385])
def test_wrappers_of_many_messages(slow, count: int) -> None:
    many = wrapper(count - 1, [message(at, b"") for at in range(count)])
    assert compare(many + usual(count, 5)) == count + 5
    assert slow == []


def test_too_many_messages_are_left(slow, monkeypatch) -> None:
    monkeypatch.setattr(unwrapping, "_MOST_MESSAGES", 64)
    monkeypatch.setattr(unwrapping, "_FEW_MESSAGES", 16)
    data = b"".join(usual(1000 * at, count, seed=at) for at, count in enumerate([3, 40, 64, 65, 10, 16, 17]))
    compare(data)
    starts = [entry.position for entry in open_segment(data).iter_entries()]
    assert set(slow) == {starts[3]}


def test_many_wrappers_at_a_time(monkeypatch, slow) -> None:
    monkeypatch.setattr(unwrapping, "_MOST_WRAPPERS", 7)
    compare(run_of(50))
    assert slow == []


def test_without_the_instructions_for_checksums(monkeypatch, slow) -> None:
    for module in (scanner, reader):
        monkeypatch.setattr(module, "has_crc32c", lambda: False)
    data = run_of(9)
    compare(data)
    assert len(set(slow)) == 9
