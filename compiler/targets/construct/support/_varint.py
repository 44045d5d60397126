# ruff: noqa: ARG002, SLF001 (signatures are those of construct; trees, drafts and declarations are friends)
"""Integers in groups of seven bits, least significant first; the top bit of a byte says that more follow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from construct import Construct, IntegerError, SizeofError

from ._tree import MissingError, ask


class VarintNumber(int):
    """A number with the bytes it was read from or will be written as, which may be more than needed.

    It also has the fields and instances that the schema gives its encoding, by their names there.
    """

    _encoding: Any
    _groups: bytes

    def __getattr__(self, name: str) -> Any:
        compute = None if name.startswith("_") else self._encoding.members.get(name)
        if compute is None:
            raise AttributeError(name)
        return ask(compute, self, path=name)


class Varint(Construct):  # type: ignore[misc]
    """Signed (zigzag) or unsigned integers of so many bits; see the module's text.

    Longer forms than needed are read, but no byte more than the widest number takes; bits of that one's last
    byte which the number has no room for are passed over.

    Args:
        bits: of the number.
        zigzag: whether the lowest bit is the sign.
        members: what else a number can be asked for, by name: functions of the number.
    """

    def __init__(self, bits: int, *, zigzag: bool, **members: Callable[[Any], Any]) -> None:
        super().__init__()
        self.bits, self.zigzag, self.members = bits, zigzag, members
        self.most_groups = (bits + 6) // 7

    def _parse(self, stream: Any, context: Any, path: str) -> VarintNumber:
        groups = bytearray()
        while True:
            data = stream.read(1)
            if not data:
                raise IntegerError("the bytes end within a number", path=path)
            groups += data
            if data[0] < 0x80:
                break
            if len(groups) == self.most_groups:
                raise IntegerError(f"a number of more than {self.most_groups} bytes", path=path)
        return self._number(self._decode(groups), bytes(groups))

    def _decode(self, groups: bytearray) -> int:
        number = 0
        for group in reversed(groups):
            number = number << 7 | group & 0x7F
        number &= (1 << self.bits) - 1
        return number >> 1 ^ -(number & 1) if self.zigzag else number

    def _number(self, value: int, groups: bytes) -> VarintNumber:
        number = VarintNumber(value)
        number._encoding, number._groups = self, groups
        return number

    def _prepare(self, obj: Any, this: Any, path: str) -> VarintNumber:
        if obj is None:
            raise MissingError("it is not given, and nothing implies it", path=path)
        if isinstance(obj, VarintNumber) and obj._encoding is self:
            return obj
        least, most = (-1 << self.bits - 1, 1 << self.bits - 1) if self.zigzag else (0, 1 << self.bits)
        if not isinstance(obj, int) or not least <= obj < most:
            raise IntegerError(f"{obj!r} is no integer from {least} to {most - 1}", path=path)
        return self._number(int(obj), self._encode(int(obj)))

    def _encode(self, value: int) -> bytes:
        number = value << 1 ^ value >> self.bits if self.zigzag else value
        groups = bytearray()
        while number >= 0x80:
            groups.append(number & 0x7F | 0x80)
            number >>= 7
        groups.append(number)
        return bytes(groups)

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        number = self._prepare(obj, context, path)
        stream.write(number._groups)
        return number

    def _sizeof(self, context: Any, path: str) -> int:
        raise SizeofError("the size depends on the number", path=path)
