"""The generated readers and writers of varints, against the schemas' own arithmetic and each other."""

from __future__ import annotations

import random
from collections.abc import Iterator
from io import BytesIO
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from kaitaistruct import KaitaiStream, KaitaiStructError
from tests.columns.encoding import payload_of
from tests.columns.test_encoder_room import row_of, table_of
from tests.made.encoder import Record, encode_record

from kafka_segments_generated.columns import kafka_record, kafka_unsigned_varint, kafka_varint, kafka_varlong
from kafka_segments_generated.kaitai.kafka_unsigned_varint import KafkaUnsignedVarint
from kafka_segments_generated.kaitai.kafka_varint import KafkaVarint
from kafka_segments_generated.kaitai.kafka_varlong import KafkaVarlong

READERS = [
    (kafka_varint, KafkaVarint),
    (kafka_varlong, KafkaVarlong),
    (kafka_unsigned_varint, KafkaUnsignedVarint),
]


def expected(kaitai: Any, data: bytes) -> tuple[int, int]:
    """Value and size; 0 and one byte more than there are if it cannot be read."""
    try:
        found = kaitai(KaitaiStream(BytesIO(data)))
    except (KaitaiStructError, EOFError):
        return 0, len(data) + 1
    return found.value, found.len


def samples() -> list[bytes]:
    dice = random.Random(11)
    found = [b"", *(bytes([first]) for first in range(256))]
    for _ in range(6000):
        size = dice.randrange(13)
        groups = bytes(dice.randrange(256) | 0x80 for _ in range(size))
        found.append(groups + dice.randbytes(dice.randrange(3)))
    return found


@pytest.mark.parametrize(("module", "kaitai"), READERS, ids=lambda each: each.__name__.rpartition(".")[2])
def test_readers_do_what_the_schema_says(module: ModuleType, kaitai: Any) -> None:
    for data in samples():
        before = np.frombuffer(b"\xff" * 3 + data + b"\x00" * 12, np.uint8)
        for read in (module.read, module.read_slowly):
            value, at = read(before, 3, 3 + len(data))
            assert (value, at - 3) == expected(kaitai, data), data.hex()


@pytest.mark.parametrize("module", [module for module, _ in READERS], ids=lambda each: each.__name__[-20:])
def test_beyond_the_end_it_stays_beyond(module: ModuleType) -> None:
    data = np.zeros(8, np.uint8)
    value, at = module.read(data, 4, 4)
    assert (value, at) == (0, 5)
    assert module.read(data, at, 4) == (0, 5)


LIMITS = {
    kafka_varint.__name__: (-(1 << 31), (1 << 31) - 1),
    kafka_unsigned_varint.__name__: (0, (1 << 32) - 1),
}
LONG = -(1 << 63), (1 << 63) - 1


def numbers(low: int, high: int) -> Iterator[int]:
    """Around every power of two, and others."""
    dice = random.Random(5)
    found = {sign * (1 << bit) + step for bit in range(64) for sign in (1, -1) for step in (-1, 0, 1)}
    found |= {dice.randint(low, high) >> dice.randrange(64) for _ in range(3000)}
    yield from (number for number in sorted(found) if low <= number <= high)


@pytest.mark.parametrize(("module", "kaitai"), READERS, ids=lambda each: each.__name__.rpartition(".")[2])
def test_what_is_written_is_read(module: ModuleType, kaitai: Any) -> None:
    for number in numbers(*LIMITS.get(module.__name__, LONG)):
        size = module.size(number)
        assert module.size_slowly(number) == size
        for write in (module.write, module.write_slowly):
            out = np.full(24, 0xAA, np.uint8)
            assert write(out, 3, number) == 3 + size
            written = out[3 : 3 + size].tobytes()
            assert expected(kaitai, written) == (number, size)
            assert module.read(out, 3, 3 + size) == (number, 3 + size)
            assert size == 1 or written[-1] != 0  # no longer than it has to be
            assert set(out[:3].tolist() + out[3 + size :].tolist()) == {0xAA}


def test_numbers_of_every_size_compiled() -> None:
    """As differences of timestamps and offsets, which are the two sorts of signed varints."""
    longs = list(numbers(*LONG))
    ints = list(numbers(-(1 << 31), (1 << 31) - 1))
    base = 1_700_000_000_000
    rows, records = [], []
    for at, step in enumerate(longs):
        delta = ints[at % len(ints)]
        timestamp = (base + step + (1 << 63)) % (1 << 64) - (1 << 63)
        rows.append({**row_of(0, None, b""), "offset": 100 + delta, "timestamp": timestamp})
        records.append(encode_record(Record(delta, step, None, b"")))
    assert payload_of(kafka_record, rows, table_of(), compiled=True) == b"".join(records)


@pytest.mark.parametrize("size", [0, 1, 15, 16, 17, 63, 64, 65, 255, 256, 257, 8191, 8192, 70_000, 1 << 21])
def test_values_of_every_size_compiled(size: int) -> None:
    value = random.Random(size).randbytes(size)
    rows = [row_of(0, value, None), row_of(1, None, value), row_of(2, b"k", b"v", ((value, value),))]
    records = [
        Record(0, 0, value, None),
        Record(1, 7, None, value),
        Record(2, 14, b"k", b"v", ((value, value),)),
    ]
    found = payload_of(kafka_record, rows, table_of(), compiled=True)
    assert found == b"".join(map(encode_record, records))
