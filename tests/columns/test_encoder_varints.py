"""The generated writers of varints against the generated readers, and the schemas' own arithmetic."""

from __future__ import annotations

import random
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from tests.columns.encoding import payload_of
from tests.columns.test_decoder_varints import READERS, expected
from tests.columns.test_encoder_room import row_of, table_of
from tests.made.encoder import Record, encode_record

from kafka_segments_generated.columns import kafka_record, kafka_unsigned_varint, kafka_varint

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
