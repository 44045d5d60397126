"""The three varints: the generated classes read what `-varint` declares and what Kafka's ByteUtils reads.

Other targets take the declaration in place of the schema's arithmetic, so it has to be the same on any bytes:
value, length, and which bytes are refused.
"""

from __future__ import annotations

import random
from io import BytesIO
from pathlib import Path

import pytest
from compiler.frontend import load
from compiler.frontend.model import Varint
from hypothesis import given
from hypothesis import strategies as st
from kaitaistruct import EndOfStreamError, KaitaiStream, ValidationGreaterThanError
from tests.codegen.kafka_java import read_varints
from tests.codegen.trees import python_class

SCHEMAS = Path(__file__).resolve().parents[2] / "schemas"
MODEL = load(sorted(SCHEMAS.glob("*.ksy")))
DECLARED = {
    stem: schema.root.varint for stem, schema in MODEL.schemas.items() if schema.root.varint is not None
}
OTHERS: list[Varint] = [Varint(32, True), Varint(32, False), Varint(64, True), Varint(64, False)]

Outcome = tuple[str, int, int]  # "value", "refused" or "short", then the value and its length in bytes


def by_class(stem: str, data: bytes) -> Outcome:
    """What the schema's arithmetic makes of bytes."""
    try:
        stream = KaitaiStream(BytesIO(data))
        found = python_class(stem)(stream)
    except ValidationGreaterThanError:
        return "refused", 0, 0
    except EndOfStreamError:
        return "short", 0, 0
    assert found.len == stream.pos()
    return "value", found.value, found.len


def by_declaration(varint: Varint, data: bytes) -> Outcome:
    """What the declaration makes of the same bytes."""
    most = -(-varint.bits // 7)
    number = 0
    for index, byte in enumerate(data[:most]):
        number |= (byte & 0x7F) << 7 * index
        if byte < 0x80:
            number %= 1 << varint.bits
            return "value", (number >> 1) ^ -(number & 1) if varint.zigzag else number, index + 1
    return ("short" if len(data) < most else "refused"), 0, 0


def written(varint: Varint, value: int) -> bytes:
    """The shortest bytes of a value."""
    number = (value << 1 ^ (-1 if value < 0 else 0)) % (1 << varint.bits) if varint.zigzag else value
    groups = [number >> shift & 0x7F for shift in range(0, max(number.bit_length(), 1), 7)]
    return bytes([*(group | 0x80 for group in groups[:-1]), groups[-1]])


def boundary_values(varint: Varint) -> list[int]:
    """Powers of two and their neighbours, as far as the declaration goes."""
    low, high = (-(1 << varint.bits - 1), 1 << varint.bits - 1) if varint.zigzag else (0, 1 << varint.bits)
    near = {sign * (1 << bit) + step for bit in range(65) for step in (-1, 0, 1) for sign in (-1, 1)} | {0}
    return sorted(value for value in near if low <= value < high)


def boundary_bytes() -> list[bytes]:
    """Every length with interesting first, middle and last bytes; too long and cut off ones among them."""
    ends = (0x00, 0x01, 0x02, 0x07, 0x08, 0x0F, 0x10, 0x3F, 0x40, 0x7E, 0x7F, 0x80, 0xFF)
    middles = (0x80, 0x81, 0xAA, 0xD5, 0xFF)
    return [bytes([first, *[middle] * count, last]) for count in range(11) for first in middles
            for middle in middles for last in ends] + [bytes([last]) for last in ends] + [b""]  # fmt: skip


def test_all_three_are_declared() -> None:
    assert DECLARED.keys() == {"kafka_varint", "kafka_varlong", "kafka_unsigned_varint"}


@pytest.mark.parametrize("stem", DECLARED)
def test_boundaries(stem: str) -> None:
    varint = DECLARED[stem]
    for data in boundary_bytes():
        assert by_class(stem, data) == by_declaration(varint, data), data.hex()
    for value in boundary_values(varint):
        data = written(varint, value)
        assert by_class(stem, data) == by_declaration(varint, data) == ("value", value, len(data))


@pytest.mark.parametrize("stem", DECLARED)
@given(data=st.binary(max_size=12))
def test_any_bytes(stem: str, data: bytes) -> None:
    assert by_class(stem, data) == by_declaration(DECLARED[stem], data)


@pytest.mark.parametrize("stem", DECLARED)
@given(data=st.data())
def test_any_value(stem: str, data: st.DataObject) -> None:
    varint = DECLARED[stem]
    values = boundary_values(varint)
    value = data.draw(st.integers(values[0], values[-1]))
    assert by_class(stem, written(varint, value))[:2] == ("value", value)


@pytest.mark.parametrize("stem", DECLARED)
def test_another_declaration_would_be_noticed(stem: str) -> None:
    for other in OTHERS:
        same = all(by_class(stem, data) == by_declaration(other, data) for data in boundary_bytes())
        assert same == (other == DECLARED[stem])


@pytest.mark.oracle
def test_kafka_reads_the_same() -> None:
    choose = random.Random(1)
    cases = [case for case in boundary_bytes() if case]
    for length in range(1, 13):
        cases += [
            bytes([choose.randrange(256) | 0x80 * (choose.random() < 0.9) for _ in range(length)])
            for _ in range(400)
        ]
    verdicts = read_varints(cases)
    assert len(verdicts) == len(cases)
    ours = [tuple(in_words(by_class(stem, case)) for stem in IN_JAVA) for case in cases]
    assert ours == verdicts
    for kind in range(3):
        assert {"error", "end"} <= {verdict[kind] for verdict in verdicts}


IN_JAVA = ("kafka_varint", "kafka_varlong", "kafka_unsigned_varint")
"""The order in which ReadVarints.java answers."""


def in_words(outcome: Outcome) -> str:
    """An outcome as ReadVarints.java prints it."""
    kind, value, length = outcome
    return {"refused": "error", "short": "end"}.get(kind, f"{value}/{length}")
