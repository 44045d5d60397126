# ruff: noqa: ARG002, SLF001 (signatures are those of construct; trees, drafts and declarations are friends)
"""Single fields: bytes, numbers, names of numbers, repetitions. See `_support`, which has all of them."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from typing import Any

import construct
from construct import (
    Construct,
    IntegerError,
    LazyBound,
    RangeError,
    Renamed,
    StreamError,
    StringError,
    Subconstruct,
    ValidationError,
)

from ._stream import Window
from ._tree import BuildingError, MissingError, Question, Tree, ask


def resolved(subcon: Any) -> Any:
    """The construct that names and late bindings lead to."""
    while isinstance(subcon, LazyBound | Renamed):
        subcon = subcon.subconfunc() if isinstance(subcon, LazyBound) else subcon.subcon
    return subcon


def prepare(subcon: Any, obj: Any, this: Any, path: str) -> Any:
    """A given value as expressions see it while building: what parsing its bytes would make, or a draft."""
    subcon = resolved(subcon)
    own = getattr(type(subcon), "_prepare", None)
    if own is not None:
        return own(subcon, obj, this, path)
    if obj is None:
        raise MissingError("it is not given, and nothing implies it", path=path)
    return obj


class Wrapper(Subconstruct):  # type: ignore[misc]
    """A construct around another one, which values pass through unchanged."""

    def _prepare(self, obj: Any, this: Any, path: str) -> Any:
        return prepare(self.subcon, obj, this, path)

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        return self.subcon._build(obj, stream, context, path)


class Bytes(Construct):  # type: ignore[misc]
    """As many bytes. Built from any number of them, unless the size is a constant."""

    def __init__(self, size: Question) -> None:
        super().__init__()
        self.size = size

    def _parse(self, stream: Any, context: Any, path: str) -> bytes:
        return Window.over(stream, path).take(ask(self.size, context, path=path), path)

    def _prepare(self, obj: Any, this: Any, path: str) -> bytes:
        if obj is None and self.size == 0:
            return b""
        if obj is None:
            raise MissingError("it is not given, and nothing implies it", path=path)
        return _as_bytes(obj, path)

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        data = _as_bytes(obj, path)
        _check_size(data, self.size, path)
        stream.write(data)
        return obj

    def _sizeof(self, context: Any, path: str) -> int:
        return _constant_size(self.size, path)


def _as_bytes(obj: Any, path: str) -> bytes:
    if not isinstance(obj, bytes | bytearray | memoryview):
        raise StringError(f"bytes are wanted, not {type(obj).__name__}", path=path)
    return bytes(obj)


def _check_size(data: bytes, size: Any, path: str) -> None:
    """Keep a size that the format fixes; one that a field holds is what the caller makes it."""
    if not callable(size) and len(data) != size:
        raise StreamError(f"{size} bytes are wanted, not {len(data)}", path=path)


def _constant_size(size: Any, path: str) -> int:
    if callable(size):
        raise construct.SizeofError("the size depends on other fields", path=path)
    return int(size)


class Sized(Wrapper):
    """A construct that has as many bytes for itself; those that a struct leaves are kept for building."""

    def __init__(self, size: Question, subcon: Construct) -> None:
        super().__init__(subcon)
        self.size = size

    def _parse(self, stream: Any, context: Any, path: str) -> Any:
        part = Window.over(stream, path).cut(ask(self.size, context, path=path), path)
        value = self.subcon._parse(part, context, path)
        if part.num_left and isinstance(value, Tree) and not value._struct.has_views:
            value._rest = part.read()
        return value

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        part = BytesIO()
        self.subcon._build(obj, part, context, path)
        part.write(getattr(getattr(obj, "_given", None), "_rest", b""))
        _check_size(part.getvalue(), self.size, path)
        stream.write(part.getvalue())
        return obj

    def _sizeof(self, context: Any, path: str) -> int:
        return _constant_size(self.size, path)


class Rest(Wrapper):
    """A construct that has all bytes for itself that are left."""

    def _parse(self, stream: Any, context: Any, path: str) -> Any:
        window = Window.over(stream, path)
        return self.subcon._parse(window.cut(window.num_left, path), context, path)


class Bits(Construct):  # type: ignore[misc]
    """An unsigned number of some bits, which share bytes with the fields beside them."""

    def __init__(self, width: int, big_endian: bool = True) -> None:
        super().__init__()
        self.width, self.big_endian = width, big_endian

    def _parse(self, stream: Any, context: Any, path: str) -> int:
        return stream.read_bits(self.width, self.big_endian, path)  # type: ignore[no-any-return]

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        if not isinstance(obj, int) or not 0 <= obj < 1 << self.width:
            raise IntegerError(f"{obj!r} is not a number of {self.width} bits", path=path)
        stream.write_bits(int(obj), self.width, self.big_endian)
        return obj


class BitFlag(Bits):
    """One bit, as a truth value."""

    def __init__(self, big_endian: bool = True) -> None:
        super().__init__(1, big_endian)

    def _parse(self, stream: Any, context: Any, path: str) -> bool:
        return bool(super()._parse(stream, context, path))

    def _prepare(self, obj: Any, this: Any, path: str) -> bool:
        if obj is None:
            raise MissingError("it is not given, and nothing implies it", path=path)
        return bool(obj)


class Enum(construct.Enum):  # type: ignore[misc]
    """A number that may have a name: parsed to the name (`int(...)` gives the number), else to the number."""

    def _prepare(self, obj: Any, this: Any, path: str) -> Any:
        if obj is None:
            raise MissingError("it is not given, and nothing implies it", path=path)
        return self.convert(obj, path)

    def convert(self, obj: Any, path: str = "") -> Any:
        """A name or number as parsing has it."""
        try:
            return self._decode(self._encode(obj, None, path), None, path)
        except TypeError as error:
            raise BuildingError(f"{obj!r} is neither name nor number", path=path) from error


class Valid(Wrapper):
    """A construct whose value has to be as said, or its bytes are refused. Building does not look."""

    def __init__(
        self,
        subcon: Construct,
        check: Callable[[Any, Any], bool] | None = None,
        *,
        equal: Any = None,
        any_of: tuple[Any, ...] = (),
        least: Any = None,
        most: Any = None,
    ) -> None:
        super().__init__(subcon)
        self.check, self.equal, self.any_of, self.least, self.most = check, equal, any_of, least, most
        self.asks = any(map(callable, (check, equal, least, most, *any_of)))

    def _parse(self, stream: Any, context: Any, path: str) -> Any:
        value = self.subcon._parse(stream, context, path)
        if self.asks and isinstance(context, Tree):  # an expression may name the field itself
            context.__dict__.setdefault(path.rpartition(" -> ")[2], value)
        if not ask(lambda this: self._is_valid(value, this), context, path=path):
            raise ValidationError(f"{value!r:.60} is no valid value", path=path)
        return value

    def _is_valid(self, value: Any, this: Any) -> bool:
        if self.check is not None:
            return bool(self.check(this, value))
        if self.any_of:
            return any(value == ask(one, this) for one in self.any_of)
        if self.equal is not None:
            return bool(value == ask(self.equal, this))
        least, most = ask(self.least, this), ask(self.most, this)
        return (least is None or value >= least) and (most is None or value <= most)


class _Repeated(Wrapper):
    """What repetitions have in common: each element knows its place while it is read or built."""

    def _begin(self, context: Any, path: str) -> list[Any]:
        """The list to read into. Expressions see it grow: an element may ask for the one before it."""
        elements: list[Any] = []
        name = path.rpartition(" -> ")[2]
        if isinstance(context, Tree) and name in context._struct.names:
            context.__dict__[name] = elements
        return elements

    def _one(self, stream: Any, context: Any, path: str, index: int) -> Any:
        context._index = index
        return self.subcon._parse(stream, context, path)

    def _prepare(self, obj: Any, this: Any, path: str) -> list[Any]:
        if obj is not None and not isinstance(obj, list | tuple):
            raise BuildingError(f"a list is wanted, not {type(obj).__name__}", path=path)
        elements = []
        before = this._index
        try:
            for index, element in enumerate(obj or ()):
                this._index = index
                elements.append(prepare(self.subcon, element, this, f"{path}[{index}]"))
        finally:
            this._index = before
        return elements

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        for element in obj:
            self.subcon._build(element, stream, context, path)
        return obj


class Array(_Repeated):
    """As many elements; none if the count is negative."""

    def __init__(self, count: Question, subcon: Construct) -> None:
        super().__init__(subcon)
        self.count = count

    def _parse(self, stream: Any, context: Any, path: str) -> list[Any]:
        count = ask(self.count, context, path=path)
        elements = self._begin(context, path)
        for index in range(count):
            before = stream.pos
            elements.append(self._one(stream, context, path, index))
            if stream.pos == before and not stream.num_left and count - index > stream.size + 1:
                raise RangeError(f"{count} elements without a byte each", path=path)
        return elements


class ArrayToEnd(_Repeated):
    """Elements until nothing is left."""

    def _parse(self, stream: Any, context: Any, path: str) -> list[Any]:
        elements = self._begin(context, path)
        while not stream.eof:
            before = stream.pos
            elements.append(self._one(stream, context, path, len(elements)))
            if stream.pos == before:
                raise RangeError("an element without bytes, where there are some left", path=path)
        return elements


class ArrayUntil(_Repeated):
    """Elements up to the first of which a condition holds."""

    def __init__(self, condition: Callable[[Any, Any], bool], subcon: Construct) -> None:
        super().__init__(subcon)
        self.condition = condition

    def _parse(self, stream: Any, context: Any, path: str) -> list[Any]:
        elements = self._begin(context, path)
        while True:
            before = stream.pos
            elements.append(self._one(stream, context, path, len(elements)))
            if ask(self.condition, context, elements[-1], path=path):
                return elements
            if stream.pos == before:
                raise RangeError("elements without bytes, and no last one among them", path=path)
