"""The declarations that generated modules are made of, beside those of `construct` itself.

They are constructs like any other: `parse`, `build` and `sizeof` work on each, and they can be used in one's
own declarations. Keyword arguments of `parse` and `build` are a format's parameters, and `codecs`: names of
algorithms, to objects with `compress(data)` and `decompress(data)`. What is compressed stays as it is where
no codec is given. Whatever the bytes, parsing returns or raises a `ConstructError`, and so does asking a tree
for an instance.

For building, what is given wins over what would be derived, however wrong; what is not given is derived, and
None counts as not given. Of a parsed tree, what was assigned counts as given; lengths, counts and checksums
that were not assigned follow what was changed, and are as parsed where nothing was.
"""

from __future__ import annotations

import zlib

from ._draft import Draft, bytes_of, count_of, elements_of, length_of, pick, place_of
from ._fields import (
    Array,
    ArrayToEnd,
    ArrayUntil,
    BitFlag,
    Bits,
    Bytes,
    Enum,
    Rest,
    Sized,
    Valid,
)
from ._instances import At, Codec, Opened, Region, Value, packed_of
from ._members import Checksum, Constant, Default, Derived, If, IfRoom, Switch, With
from ._stream import Window
from ._struct import Struct
from ._text import Cut, Float, Terminated, Text
from ._tree import (
    BuildingError,
    CircularError,
    CodecError,
    ExpressionError,
    MissingError,
    NoCodecError,
    Tree,
    plain,
)
from ._varint import Varint, VarintNumber

__all__ = [
    "Array",
    "ArrayToEnd",
    "ArrayUntil",
    "At",
    "BitFlag",
    "Bits",
    "BuildingError",
    "Bytes",
    "Checksum",
    "CircularError",
    "Codec",
    "CodecError",
    "Constant",
    "Cut",
    "Default",
    "Derived",
    "Draft",
    "Enum",
    "ExpressionError",
    "Float",
    "If",
    "IfRoom",
    "MissingError",
    "NoCodecError",
    "Opened",
    "Region",
    "Rest",
    "Sized",
    "Struct",
    "Switch",
    "Terminated",
    "Text",
    "Tree",
    "Valid",
    "Value",
    "Varint",
    "VarintNumber",
    "Window",
    "With",
    "bytes_of",
    "count_of",
    "crc32",
    "crc32c",
    "elements_of",
    "length_of",
    "packed_of",
    "pick",
    "place_of",
    "plain",
]


def crc32(data: bytes) -> int:
    """CRC-32, that of zlib."""
    return zlib.crc32(data)


def _crc32c_table() -> list[int]:
    table = []
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = crc >> 1 ^ 0x82F63B78 * (crc & 1)
        table.append(crc)
    return table


_CRC32C = _crc32c_table()


def crc32c(data: bytes) -> int:
    """CRC-32C (Castagnoli), with the package of that name where it is installed."""
    try:
        import crc32c as fast

        return int(fast.crc32c(data))
    except ImportError:
        crc = 0xFFFFFFFF
        for byte in data:
            crc = crc >> 8 ^ _CRC32C[(crc ^ byte) & 0xFF]
        return crc ^ 0xFFFFFFFF
