# ruff: noqa: ARG002, SLF001 (signatures are those of construct; trees, drafts and declarations are friends)
"""Texts, bytes that end before their field does, and floats. See `_support`, which has all of them.

Some bytes say less than they are: what follows a terminator within a size, a NaN with a payload. A value that
would be built otherwise than it was read carries the bytes of its field along, so that a parsed tree is built
as it was. A new value has none.
"""

from __future__ import annotations

import struct
from io import BytesIO
from typing import Any

from construct import Construct, FormatFieldError, StringError

from ._fields import Bytes, Wrapper
from ._stream import Window
from ._tree import MissingError


class ReadBytes(bytes):
    """Bytes that were read, with all of their field's; so are the other two."""

    as_read: bytes


class ReadText(str):
    """See `ReadBytes`."""

    as_read: bytes
    __slots__ = ("as_read",)


class ReadFloat(float):
    """See `ReadBytes`."""

    as_read: bytes
    __slots__ = ("as_read",)


def _carrying(value: Any, as_read: bytes) -> Any:
    value.as_read = as_read
    return value


class _Framed(Wrapper):
    """Bytes with something around them, or a construct that is made of such bytes."""

    def _framed(self, data: bytes, path: str) -> bytes:
        """What is written for the bytes."""
        raise NotImplementedError

    def _value(self, part: Window, whole: bytes, context: Any, path: str) -> Any:
        """What is in a part, which was read as the whole."""
        value = self.subcon._parse(part, context, path)
        if isinstance(value, bytes) and self._framed(value, path) != whole:
            return _carrying(ReadBytes(value), whole)
        return value

    def _prepare(self, obj: Any, this: Any, path: str) -> Any:
        if obj is None:
            raise MissingError("it is not given, and nothing implies it", path=path)
        return obj if isinstance(obj, ReadBytes) else super()._prepare(obj, this, path)

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        if isinstance(obj, ReadBytes):
            stream.write(obj.as_read)
            return obj
        part = BytesIO()
        self.subcon._build(obj, part, context, path)
        stream.write(self._framed(part.getvalue(), path))
        return obj


class Terminated(_Framed):
    """A construct that has the bytes before a terminator for itself, or what is left if none is required.

    Args:
        subcon: the construct.
        terminator: a byte.
        required: whether it has to be there.
        include: whether it is part of what the construct has.
        consume: whether it is passed over; else what follows begins with it.
    """

    def __init__(
        self,
        subcon: Construct,
        terminator: int,
        required: bool = True,
        include: bool = False,
        consume: bool = True,
    ) -> None:
        super().__init__(subcon)
        self.terminator, self.required = terminator, required
        self.include, self.consume = include, consume

    def _parse(self, stream: Any, context: Any, path: str) -> Any:
        window = Window.over(stream, path)
        begin = window.tell()
        part = window.cut_at(self.terminator, self.required, path)
        is_there = window.tell() - begin > part.size
        if is_there and self.include:
            window.seek(begin)
            part = window.cut(part.size + 1, path)
        if is_there and not self.consume:
            window.seek(begin + part.size - self.include)
        whole = window.since(begin)
        return self._value(part, whole, context, path)

    def _framed(self, data: bytes, path: str) -> bytes:
        at = data.find(self.terminator)
        if 0 <= at < len(data) - self.include:
            raise StringError(f"the byte {self.terminator:#04x}, which ends it, is in it", path=path)
        if self.include:
            return data if self.consume else data[: at if at >= 0 else None]
        return data + bytes([self.terminator]) if self.consume else data


class Cut(_Framed):
    """Bytes of some size, of which what follows a terminator, or is padding at the end, does not count.

    Args:
        subcon: the bytes.
        terminator: the byte that ends those that count, if there is one.
        include: whether it counts itself.
        pad: the byte that is cut off at the end.
    """

    def __init__(
        self, subcon: Any, terminator: int | None = None, include: bool = False, pad: int | None = None
    ) -> None:
        super().__init__(subcon)
        self.terminator, self.include, self.pad = terminator, include, pad

    def _parse(self, stream: Any, context: Any, path: str) -> Any:
        whole = self.subcon._parse(stream, context, path)
        found = whole if self.pad is None else whole.rstrip(bytes([self.pad]))
        if self.terminator is not None and self.terminator in found:
            found = found[: found.index(self.terminator) + self.include]
        return found if self._framed(found, path) == whole else _carrying(ReadBytes(found), whole)

    def _prepare(self, obj: Any, this: Any, path: str) -> Any:
        if obj is None:
            raise MissingError("it is not given, and nothing implies it", path=path)
        return obj

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        data = obj.as_read if isinstance(obj, ReadBytes) else self._framed(obj, path)
        return self.subcon._build(data, stream, context, path)

    def _framed(self, data: bytes, path: str) -> bytes:
        """The bytes, filled up to the size if the format fixes it."""
        at = -1 if self.terminator is None else data.find(self.terminator)
        if 0 <= at < len(data) - self.include:
            raise StringError(f"the byte {self.terminator:#04x}, which ends it, is in it", path=path)
        size = self.subcon.size if isinstance(self.subcon, Bytes) else None
        if not isinstance(size, int) or len(data) >= size:
            return data
        pad = self.pad or 0
        end = bytes([pad if self.terminator is None or self.include else self.terminator])
        return (data + end).ljust(size, bytes([pad]))


class Text(Wrapper):
    """Bytes as a text."""

    def __init__(self, subcon: Construct, encoding: str) -> None:
        super().__init__(subcon)
        self.encoding = encoding

    def _parse(self, stream: Any, context: Any, path: str) -> str:
        data = self.subcon._parse(stream, context, path)
        try:
            text = data.decode(self.encoding)
        except UnicodeError as error:
            raise StringError(f"no text in {self.encoding}: {error}", path=path) from error
        if isinstance(data, ReadBytes):
            return _carrying(ReadText(text), data.as_read)  # type: ignore[no-any-return]
        if self._encoded(text, path) != data:
            framed = self.subcon._framed(data, path) if isinstance(self.subcon, _Framed) else data
            return _carrying(ReadText(text), framed)  # type: ignore[no-any-return]
        return str(text)

    def _encoded(self, text: str, path: str) -> bytes:
        try:
            return text.encode(self.encoding)
        except UnicodeError as error:
            raise StringError(
                f"{text!r:.60} cannot be written in {self.encoding}: {error}", path=path
            ) from error

    def _prepare(self, obj: Any, this: Any, path: str) -> str:
        if obj is None and isinstance(self.subcon, Bytes) and self.subcon.size == 0:
            return ""
        if obj is None:
            raise MissingError("it is not given, and nothing implies it", path=path)
        if not isinstance(obj, str):
            raise StringError(f"a text is wanted, not {type(obj).__name__}", path=path)
        return obj

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        if isinstance(obj, ReadText):
            stream.write(obj.as_read)
            return obj
        return self.subcon._build(self._encoded(obj, path), stream, context, path)


class Float(Construct):  # type: ignore[misc]
    """A number of IEEE 754 in 4 or 8 bytes."""

    def __init__(self, width: int, big_endian: bool = True) -> None:
        super().__init__()
        self.width = width
        self._format = struct.Struct(f"{'>' if big_endian else '<'}{'f' if width == 4 else 'd'}")

    def _parse(self, stream: Any, context: Any, path: str) -> float:
        data = Window.over(stream, path).take(self.width, path)
        value = float(self._format.unpack(data)[0])
        return value if self._packed(value, path) == data else _carrying(ReadFloat(value), data)

    def _packed(self, value: float, path: str) -> bytes:
        try:
            return self._format.pack(value)
        except (struct.error, OverflowError) as error:
            raise FormatFieldError(f"{value!r:.60} is no float of {self.width} bytes", path=path) from error

    def _prepare(self, obj: Any, this: Any, path: str) -> float:
        if obj is None:
            raise MissingError("it is not given, and nothing implies it", path=path)
        if isinstance(obj, ReadFloat):
            return obj
        return float(self._format.unpack(self._packed(obj, path))[0])

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        stream.write(obj.as_read if isinstance(obj, ReadFloat) else self._packed(obj, path))
        return obj

    def _sizeof(self, context: Any, path: str) -> int:
        return self.width
