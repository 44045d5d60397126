"""Damage for bytes, by a seeded generator: anywhere, or in a field of which it is known where it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from tests.fuzz.anatomy import Field

EDGES = [0, 1, 2, 7, 8, 15, 16, 31, 32, 63]
NUMBERS = sorted({sign * (1 << bit) + more for bit in EDGES for sign in (1, -1) for more in (-1, 0, 1)})
BYTES = [0x00, 0x01, 0x02, 0x03, 0x7E, 0x7F, 0x80, 0x81, 0xFE, 0xFF]
OVERLONG = [b"\x80" * 12, b"\xff" * 10, b"\x80\x80\x00", b"\xff\xff\xff\xff\x0f", b"\xff\xff\xff\xff\x7f"]
NEAR = 100
"""Bytes from the beginning within which every other edit is: most of what steers a reader is there."""

Edit = Callable[[Random, bytearray, int], None]


def varint(value: int) -> bytes:
    """A signed number as records have it."""
    rest = value << 1 if value >= 0 else ~(value << 1)
    out = bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def _flip(dice: Random, data: bytearray, at: int) -> None:
    data[at] ^= 1 << dice.randrange(8)


def _set(dice: Random, data: bytearray, at: int) -> None:
    data[at] = dice.choice(BYTES)


def _set_any(dice: Random, data: bytearray, at: int) -> None:
    data[at] = dice.randrange(256)


def _insert(dice: Random, data: bytearray, at: int) -> None:
    data[at:at] = dice.randbytes(1 + dice.randrange(8))


def _remove(dice: Random, data: bytearray, at: int) -> None:
    del data[at : at + 1 + dice.randrange(8)]


def _cut(_dice: Random, data: bytearray, at: int) -> None:
    del data[at:]


def _zero(dice: Random, data: bytearray, at: int) -> None:
    size = min(1 + dice.randrange(40), len(data) - at)
    data[at : at + size] = bytes(size)


def _repeat(dice: Random, data: bytearray, at: int) -> None:
    data[at:at] = data[at : at + 1 + dice.randrange(60)]


def _overlong(dice: Random, data: bytearray, at: int) -> None:
    data[at : at + 1] = dice.choice(OVERLONG)


EDITS: list[Edit] = [_flip, _flip, _set, _set_any, _insert, _remove, _cut, _zero, _repeat, _overlong]


def set_field(dice: Random, data: bytearray, field: Field) -> None:
    """Another number in a field: an edge of some width, what is left of the bytes, or a little off."""
    left = len(data) - field.at - field.width
    old = int.from_bytes(data[field.at : field.at + field.width], "big")
    value = dice.choice((dice.choice(NUMBERS), left + dice.randrange(-2, 3), old + dice.choice((-1, 1, 2))))
    if field.is_varint:
        new = dice.choice(OVERLONG) if dice.randrange(6) == 0 else varint(value)
    else:
        new = (value % (1 << 8 * field.width)).to_bytes(field.width, "big")
    data[field.at : field.at + field.width] = new


def edited(
    dice: Random, data: bytes, fields: Sequence[Field] = (), others: Sequence[bytes] = (), start: int = 0
) -> bytes:
    """The bytes with one to four edits behind `start`; `others` are spliced in."""
    out = bytearray(data)
    for _ in range(dice.choice((1, 1, 1, 2, 4))):
        if fields and dice.randrange(3) == 0:
            field = fields[dice.randrange(len(fields))]
            if start <= field.at < len(out):
                set_field(dice, out, field)
            continue
        if len(out) <= start:
            break
        reach = len(out) - start
        at = start + dice.randrange(min(reach, NEAR) if dice.randrange(2) else reach)
        kind = dice.randrange(len(EDITS) + (1 if others else 0))
        if kind < len(EDITS):
            EDITS[kind](dice, out, at)
        else:
            other = others[dice.randrange(len(others))]
            out[at:] = other[dice.randrange(len(other) + 1) :]
    return bytes(out)
