"""The reader and the writer of a `-varint` schema."""

from __future__ import annotations

from compiler.frontend.model import Varint

__all__ = ["reader", "writer"]

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
        '    """The integer and the position after it; 0 and `end + 1` if it is cut off or too long."""',
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


def writer(varint: Varint) -> list[str]:
    """The functions `write` and `size`; nearly all integers in records take one byte or two."""
    one, two = (
        ("-0x40 <= value < 0x40", "-0x2000 <= value < 0x2000")
        if varint.zigzag
        else ("0 <= value < 0x80", "0 <= value < 0x4000")
    )
    shift = 31 if varint.bits == 32 else 63
    doubled = "value << 1" if varint.bits == 32 else "wrap(value << 1)"
    quick = f"(value << 1) ^ (value >> {shift})" if varint.zigzag else "value"
    groups = f"({doubled}) ^ (value >> {shift})" if varint.zigzag else "value"
    if varint.bits == 64:
        groups = groups.replace("(wrap(value << 1))", "wrap(value << 1)")
    return [
        "def write(out: Bytes, at: int, value: int) -> int:",
        '    """Write an integer in as few bytes as possible; returns the position after them."""',
        f"    if {one}:",
        f"        store_1(out, at, {quick})",
        "        return at + 1",
        f"    if {two}:",
        f"        groups = {quick}",
        "        store_2le(out, at, 0x80 | (groups & 0x7F) | ((groups >> 7) << 8))",
        "        return at + 2",
        "    return write_slowly(out, at, value)",
        "",
        "",
        "def write_slowly(out: Bytes, at: int, value: int) -> int:",
        '    """The same, byte by byte."""',
        f"    groups = {groups}",
        "    while not 0 <= groups < 0x80:",
        "        store_1(out, at, 0x80 | (groups & 0x7F))",
        "        groups = (groups >> 7) & 0x1FF_FFFF_FFFF_FFFF",
        "        at += 1",
        "    store_1(out, at, groups)",
        "    return at + 1",
        "",
        "",
        "def size(value: int) -> int:",
        '    """How many bytes `write` takes."""',
        f"    if {one}:",
        "        return 1",
        f"    if {two}:",
        "        return 2",
        "    return size_slowly(value)",
        "",
        "",
        "def size_slowly(value: int) -> int:",
        '    """The same, group by group."""',
        f"    groups = {groups}",
        "    number = 1",
        "    while not 0 <= groups < 0x80:",
        "        groups = (groups >> 7) & 0x1FF_FFFF_FFFF_FFFF",
        "        number += 1",
        "    return number",
    ]
