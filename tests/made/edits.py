"""How a field's bytes are changed: by what it is, a number, a varint or bytes."""

from __future__ import annotations

import struct
from collections.abc import Callable
from random import Random

from tests.made.encoder import varint
from tests.made.parts import from_varint

INT, LONG = 31, 63
NUMBERS = {1: ">b", 2: ">h", 4: ">i", 8: ">q"}
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
    shape, bits = NUMBERS[len(data)], len(data) * 8
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
    return dice.choice([b"\x7f\xff\xff\xff", b"\x40\0\0\0", b"\x10\0\0\0", _flip(dice, data)])


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


def content(dice: Random, data: bytes) -> bytes:
    """Other bytes: changed, more, fewer, none."""
    for _ in range(dice.choice([1, 1, 1, 2, 3])):
        edit = dice.choice([_flip, _flip, _set, _set, _insert, _remove, _cut, _zero, _repeat, _append])
        data = edit(dice, data)
    return data


def text(dice: Random, data: bytes) -> bytes:
    """A header's key: bytes that are no UTF-8, as often as not."""
    if dice.randrange(2):
        return content(dice, data)
    at = dice.randrange(len(data) + 1)
    return data[:at] + b"".join(dice.choices(BAD_TEXT, k=dice.choice([1, 1, 2, 5]))) + data[at:]


def _place(dice: Random, data: bytes) -> int:
    """Somewhere in it; near its beginning as often as anywhere."""
    return dice.randrange(len(data) if dice.randrange(2) else min(len(data), 24))


def _flip(dice: Random, data: bytes) -> bytes:
    if not data:
        return data
    at = _place(dice, data)
    return data[:at] + bytes([data[at] ^ 1 << dice.randrange(8)]) + data[at + 1 :]


def _set(dice: Random, data: bytes) -> bytes:
    if not data:
        return data
    at = _place(dice, data)
    value = dice.choice([0, 1, 2, 0x7F, 0x80, 0x81, 0xFE, 0xFF, 0x10, dice.randrange(256)])
    return data[:at] + bytes([value]) + data[at + 1 :]


def _insert(dice: Random, data: bytes) -> bytes:
    at = dice.randrange(len(data) + 1)
    return data[:at] + dice.randbytes(dice.randrange(1, 7)) + data[at:]


def _remove(dice: Random, data: bytes) -> bytes:
    if not data:
        return data
    at = _place(dice, data)
    return data[:at] + data[at + dice.randrange(1, 7) :]


def _cut(dice: Random, data: bytes) -> bytes:
    return data[: dice.randrange(len(data) + 1)]


def _zero(dice: Random, data: bytes) -> bytes:
    if not data:
        return data
    at = _place(dice, data)
    size = min(dice.randrange(1, 16), len(data) - at)
    return data[:at] + bytes(size) + data[at + size :]


def _repeat(dice: Random, data: bytes) -> bytes:
    if not data:
        return data
    at = _place(dice, data)
    return data[: at + dice.randrange(1, 60)] + data[at:]


def _append(dice: Random, data: bytes) -> bytes:
    return data + dice.choice([bytes(dice.randrange(1, 30)), dice.randbytes(dice.randrange(1, 30)), data])
