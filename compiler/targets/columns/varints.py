"""The reader of a `-varint` schema."""

from __future__ import annotations

from compiler.frontend.model import Varint

__all__ = ["reader"]

_QUICK = 3  # bytes that are read without a loop: most numbers in records have one or two


def reader(varint: Varint) -> list[str]:
    """The functions `read` and `read_slowly`, and `read_size` where integers may be negative."""
    sizes = [
        "def read_size(data: Bytes, at: int, end: int) -> tuple[int, int]:",
        '    """The same, of a size or a number of things: what is negative is rare."""',
        *_quick(varint, is_size=True),
        "    return read_slowly(data, at, end)",
        "",
        "",
    ]
    return [
        "def read(data: Bytes, at: int, end: int) -> tuple[int, int]:",
        '    """The integer and the place behind it; 0 and `end + 1` if it is cut off or too long."""',
        *_quick(varint),
        "    return read_slowly(data, at, end)",
        "",
        "",
        *(sizes if varint.zigzag else []),
        "def read_slowly(data: Bytes, at: int, end: int) -> tuple[int, int]:",
        '    """The same, byte by byte."""',
        "    groups = 0",
        f"    for shift in range(0, {-(-varint.bits // 7) * 7}, 7):",
        "        if at >= end:",
        "            break",
        "        group = load_u1(data, at)",
        "        at += 1",
        "        groups |= (group & 0x7F) << shift",
        "        if group < 0x80:",
        *_slow_value(varint),
        "    return 0, end + 1",
    ]


def _quick(varint: Varint, *, is_size: bool = False) -> list[str]:
    lines = []
    value = [
        "first",
        "(first & 0x7F) | (second << 7)",
        "(first & 0x7F) | ((second & 0x7F) << 7) | (third << 14)",
    ]
    for number, name in enumerate(("first", "second", "third")[:_QUICK]):
        place = f"at + {number}" if number else "at"
        lines += [f"    if rare({place} >= end):", "        return 0, end + 1"]
        lines += [f"    {name} = load_u1(data, {place})", f"    if {name} < 0x80:"]
        groups = "first" if number == 0 else "groups"
        if varint.zigzag and number:
            lines += [f"        groups = {value[number]}"]
        if is_size:
            lines += [
                f"        if rare(({groups} & 1) != 0):",
                f"            return ~({groups} >> 1), at + {number + 1}",
            ]
        plain = f"{groups} >> 1" if is_size else f"({groups} >> 1) ^ -({groups} & 1)"
        lines += [f"        return {plain if varint.zigzag else value[number]}, at + {number + 1}"]
    return lines


def _slow_value(varint: Varint) -> list[str]:
    """What the groups mean: bits beyond those that count are shifted out."""
    if varint.zigzag:
        mask = "0x7FFF_FFFF" if varint.bits == 32 else "0x7FFF_FFFF_FFFF_FFFF"
        return [f"            return ((groups >> 1) & {mask}) ^ -(groups & 1), at"]
    if varint.bits == 32:
        return ["            return groups & 0xFFFF_FFFF, at"]
    return ["            return wrap(groups & 0xFFFF_FFFF_FFFF_FFFF), at"]
