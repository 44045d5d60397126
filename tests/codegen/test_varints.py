"""The three varints read what Kafka's ByteUtils reads, and refuse what it refuses."""

from __future__ import annotations

import random
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kaitaistruct import EndOfStreamError, KaitaiStream, ValidationGreaterThanError
from tests.codegen.kafka_java import read_varints

from kafka_segments_generated.kaitai.kafka_unsigned_varint import KafkaUnsignedVarint
from kafka_segments_generated.kaitai.kafka_varint import KafkaVarint
from kafka_segments_generated.kaitai.kafka_varlong import KafkaVarlong

CLASSES = (KafkaVarint, KafkaVarlong, KafkaUnsignedVarint)


def read(cls: type, data: bytes) -> str:
    """What a class makes of bytes, in the words of ReadVarints.java."""
    stream = KaitaiStream(BytesIO(data))
    try:
        found = cls(stream)
    except ValidationGreaterThanError:
        return "error"
    except EndOfStreamError:
        return "end"
    assert found.len == stream.pos()
    return f"{found.value}/{found.len}"


def expected(data: bytes, longest: int, bits: int, signed: bool) -> str:
    """The same by the rules of ByteUtils, with shifts where the schemas add and multiply."""
    number = 0
    for index, byte in enumerate(data):
        if index == longest - 1 and byte & 0x80:
            return "error"
        number |= (byte & 0x7F) << (7 * index)
        if not byte & 0x80:
            number &= (1 << bits) - 1
            return f"{(number >> 1) ^ -(number & 1) if signed else number}/{index + 1}"
    return "end"


def written(number: int) -> bytes:
    """An unsigned number as groups of seven bits."""
    groups = bytearray()
    while number > 0x7F:
        groups.append(number & 0x7F | 0x80)
        number >>= 7
    groups.append(number)
    return bytes(groups)


def edge_cases() -> list[bytes]:
    """Every length with every interesting first, middle and last byte."""
    cases = [b"", b"\x80" * 12, b"\xff" * 12, b"\xff" * 9 + b"\x7f", b"\xff" * 4 + b"\x7f"]
    for length in range(12):
        for middle in (0x80, 0xFF, 0xAA, 0xD5):
            for last in (0x00, 0x01, 0x02, 0x07, 0x08, 0x0F, 0x10, 0x40, 0x70, 0x7E, 0x7F):
                cases.append(bytes([middle] * length + [last]))
                cases.append(bytes([0x81] + [middle] * length + [last, 0x55]))
    return cases


def check(data: bytes) -> None:
    """All three classes against the rules."""
    assert read(KafkaVarint, data) == expected(data, 5, 32, signed=True)
    assert read(KafkaVarlong, data) == expected(data, 10, 64, signed=True)
    assert read(KafkaUnsignedVarint, data) == expected(data, 5, 32, signed=False)


def test_edge_cases() -> None:
    for data in edge_cases():
        check(data)


@given(st.binary(max_size=12))
def test_any_bytes(data: bytes) -> None:
    check(data)


@given(st.integers(-(2**31), 2**31 - 1))
def test_every_int_comes_back(value: int) -> None:
    assert KafkaVarint.from_bytes(written(((value << 1) ^ (value >> 31)) & (2**32 - 1))).value == value


@given(st.integers(-(2**63), 2**63 - 1))
def test_every_long_comes_back(value: int) -> None:
    assert KafkaVarlong.from_bytes(written(((value << 1) ^ (value >> 63)) & (2**64 - 1))).value == value


@pytest.mark.oracle
def test_kafka_reads_the_same() -> None:
    choose = random.Random(1)
    cases = edge_cases()
    for length in range(1, 13):
        cases += [
            bytes([choose.randrange(256) | 0x80 * (choose.random() < 0.9) for _ in range(length)])
            for _ in range(400)
        ]
    cases = [case for case in cases if case]
    verdicts = read_varints(cases)
    assert len(verdicts) == len(cases)
    ours = [tuple(read(cls, case) for cls in CLASSES) for case in cases]
    assert ours == verdicts
    for kind in range(3):
        assert {"error", "end"} <= {verdict[kind] for verdict in verdicts}
