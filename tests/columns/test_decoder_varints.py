"""The generated readers of varints against the schemas' own arithmetic."""

from __future__ import annotations

import random
from io import BytesIO
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from kaitaistruct import KaitaiStream, KaitaiStructError

from kafka_segments_generated.columns import kafka_unsigned_varint, kafka_varint, kafka_varlong
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
