"""Damage for bytes, by a seeded generator: anywhere, or in a field of which it is known what it is."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from tests.made.encoder import varint
from tests.made.parts import from_varint

EDGES = [0, 1, 2, 7, 8, 15, 16, 31, 32, 63]
NUMBERS = sorted({sign * (1 << bit) + more for bit in EDGES for sign in (1, -1) for more in (-1, 0, 1)})
BYTES = [0x00, 0x01, 0x02, 0x03, 0x7E, 0x7F, 0x80, 0x81, 0xFE, 0xFF]
OVERLONG = [b"\x80" * 12, b"\xff" * 10, b"\x80\x80\x00", b"\xff\xff\xff\xff\x0f", b"\xff\xff\xff\xff\x7f"]
NEAR = 100
"""Bytes from the beginning within which every other edit is: most of what steers a reader is there."""

Blind = Callable[[Random, bytearray, int], None]


@dataclass(frozen=True)
class Field:
    """A field: where it is, how many bytes it has now, and whether that depends on its value."""

    at: int
    width: int
    is_varint: bool = False


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


def _append(dice: Random, data: bytearray, _at: int) -> None:
    size = 1 + dice.randrange(30)
    data += dice.choice((bytes(size), dice.randbytes(size), bytes(data)))


BLIND: list[Blind] = [
    _flip,
    _flip,
    _set,
    _set_any,
    _insert,
    _remove,
    _cut,
    _zero,
    _repeat,
    _overlong,
    _append,
]


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
            out += dice.randbytes(1 + dice.randrange(8))
        reach = len(out) - start
        at = start + dice.randrange(min(reach, NEAR) if dice.randrange(2) else reach)
        kind = dice.randrange(len(BLIND) + (1 if others else 0))
        if kind < len(BLIND):
            BLIND[kind](dice, out, at)
        else:
            other = others[dice.randrange(len(others))]
            out[at:] = other[dice.randrange(len(other) + 1) :]
    return bytes(out)


# Of one field: by what it is, a number, a varint or bytes.

FORMS = {1: ">b", 2: ">h", 4: ">i", 8: ">q"}
BAD_TEXT = [
    b"\xff\xfe",
    b"\xc0\xaf",
    b"\xed\xa0\x80",
    b"\xed\xa0\x80\xed\xb0\x80",
    b"\xf4\x90\x80\x80",
    b"\xf0\x9f\x98",
    b"a\xe2\x82z",
    b"\x80",
    b"\xe0\x80\x80x",
    b"\xf8\x88\x80\x80\x80",
    "schlüssel\N{GRINNING FACE}".encode(),
    b"\xef\xbf\xbd",
]
"""Header keys: what UTF-8 does not allow, and how decoders differ in what they put in its place."""

Edit = Callable[[Random, bytes], bytes]


def number(dice: Random, data: bytes) -> bytes:
    """Another number of the same width."""
    shape, bits = FORMS[len(data)], len(data) * 8
    (value,) = struct.unpack(shape, data)
    near = [value + 1, value - 1, value ^ 1 << dice.randrange(bits), -value, dice.getrandbits(bits)]
    value = dice.choice([0, 1, -1, -2, (1 << bits - 1) - 1, 1 << bits - 1, *near])
    return struct.pack(shape, (value + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1))


def length(dice: Random, data: bytes) -> bytes:
    """Another length in a fixed width: most of them near the right one, or negative."""
    (value,) = struct.unpack(">i", data)
    few = [0, 1, -1, -2, -(1 << 31), 13, 14, 17, 48, 49, 60, 61]
    near = value + dice.choice([-40, -9, -4, -2, -1, 1, 2, 4, 9, 40])
    near = min(max(near, -(1 << 31)), (1 << 31) - 1)
    return struct.pack(">i", dice.choice([*few, near, near, near, near]))


def shorter(dice: Random, data: bytes) -> bytes:
    """A length below the right one, or a very small one, or none at all."""
    (value,) = struct.unpack(">i", data)
    few = [0, 1, 13, 14, 21, 22, 48, 49, 60, 61, -1, -(1 << 31)]
    near = value - dice.choice([1, 1, 2, 4, 5, 8, 9, 22, dice.randrange(1, 200)])
    return struct.pack(">i", max(dice.choice([*few, *[near] * 12]), -(1 << 31)))


def size(dice: Random, data: bytes) -> bytes:
    """The same with some that no memory holds, and changed bits."""
    if dice.randrange(40):
        return length(dice, data)
    return dice.choice([b"\x7f\xff\xff\xff", b"\x40\0\0\0", b"\x10\0\0\0", number(dice, data)])


def any_varint(dice: Random, data: bytes) -> bytes:
    """Another value, the same in more bytes, or bytes that are no varint."""
    value = from_varint(data)
    kind = dice.randrange(8)
    if kind == 0:
        return _widened(dice, data)
    if kind == 1:
        return dice.choice([b"\x80" * 4, b"\x80" * 5, b"\xff" * 5, b"\x80" * 9, b"\xff" * 9, b"\xff" * 10])
    if kind == 2:
        return bytes([data[0] ^ 1 << dice.randrange(8)]) + data[1:]
    if kind == 3:  # bits that an int has no place for
        return data[:-1] + bytes([data[-1] | 0x80]) + b"\x80" * (4 - len(data)) + b"\x7f"
    if kind in (4, 5):
        return varint(value + dice.choice([-2, -1, 1, 2, 64, -64]))
    few = [0, 1, -1, -2, 63, 64, -64, -65, (1 << 31) - 1, -(1 << 31), 1 << 31, 1 << 35, (1 << 63) - 1]
    return varint(dice.choice([*few, 8191, 8192, -(1 << 63)]))


def _widened(dice: Random, data: bytes) -> bytes:
    more = dice.randrange(1, 10)
    return data[:-1] + bytes([data[-1] | 0x80]) + b"\x80" * (more - 1) + b"\0"


content = edited
"""Other bytes: changed, more, fewer, none."""


def text(dice: Random, data: bytes) -> bytes:
    """A header's key: bytes that are no UTF-8, as often as not."""
    if dice.randrange(2):
        return content(dice, data)
    at = dice.randrange(len(data) + 1)
    return data[:at] + b"".join(dice.choices(BAD_TEXT, k=dice.choice([1, 1, 2, 5]))) + data[at:]
