# ruff: noqa: ARG002, SLF001 (signatures are those of construct; trees, drafts and declarations are friends)
"""Integers in groups of seven bits, least significant first; the top bit of a byte says that more follow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from construct import Construct, IntegerError, SizeofError

from ._tree import MissingError, ask


class VarintNumber(int):
    """A number that knows the bytes it was read from or will be written as, which may be more than needed.

    It also has the fields and instances that the schema gives its encoding, by their names there. A subclass
    belongs to each encoding; only numbers in a longer form keep their bytes.
    """

    _encoding: Any
    _longer: bytes | None = None

    @property
    def _groups(self) -> bytes:
        return self._longer or bytes(self._encoding.encode(int(self)))

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
        self.number: type[VarintNumber] = type("VarintNumber", (VarintNumber,), {"_encoding": self})

    def _parse(self, stream: Any, context: Any, path: str) -> VarintNumber:
        groups = stream.read(1)
        while groups[-1:] > b"\x7f":
            if len(groups) == self.most_groups:
                raise IntegerError(f"a number of more than {self.most_groups} bytes", path=path)
            fresh = stream.read(1)
            groups = groups + fresh if fresh else b""
        if not groups:
            raise IntegerError("the bytes end within a number", path=path)
        bits = 0
        for group in reversed(groups):
            bits = bits << 7 | group & 0x7F
        is_longer = bits >> self.bits or (len(groups) > 1 and not groups[-1])
        bits &= (1 << self.bits) - 1
        number = self.number(bits >> 1 ^ -(bits & 1) if self.zigzag else bits)
        if is_longer:
            number._longer = groups
        return number

    def _prepare(self, obj: Any, this: Any, path: str) -> VarintNumber:
        if obj is None:
            raise MissingError("it is not given, and nothing implies it", path=path)
        if isinstance(obj, self.number):
            return obj
        least, most = (-1 << self.bits - 1, 1 << self.bits - 1) if self.zigzag else (0, 1 << self.bits)
        if not isinstance(obj, int) or not least <= obj < most:
            raise IntegerError(f"{obj!r} is not an integer from {least} to {most - 1}", path=path)
        return self.number(int(obj))

    def encode(self, value: int) -> bytes:
        """The shortest form of a number."""
        bits = value << 1 ^ value >> self.bits if self.zigzag else value
        groups = bytearray()
        while bits >= 0x80:
            groups.append(bits & 0x7F | 0x80)
            bits >>= 7
        groups.append(bits)
        return bytes(groups)

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        number = self._prepare(obj, context, path)
        stream.write(number._groups)
        return number

    def _sizeof(self, context: Any, path: str) -> int:
        raise SizeofError("the size depends on the number", path=path)
