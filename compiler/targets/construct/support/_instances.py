# ruff: noqa: SLF001 (trees, drafts and declarations are friends)
"""Instances: what is computed, read elsewhere, or read from what was compressed. See `_support`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import construct
from construct import Construct, GreedyBytes, Subconstruct

from ._changes import member_has_changed, was_assigned
from ._draft import Draft, struct_params
from ._fields import Bytes
from ._stream import Window
from ._text import Float
from ._tree import BuildingError, CodecError, NoCodecError, Question, Tree, ask

_BEYOND = 1 << 48  # positions from here on are counted from the end of what is being built, see `Endless`


class Value(Construct):  # type: ignore[misc]
    """An instance that is computed from what was read, when it is first asked for."""

    is_placed = is_number = False
    is_computed = flagbuildnone = True

    def __init__(self, value: Any, condition: Any = None, enum: Any = None) -> None:
        super().__init__()
        self.value, self.condition, self.enum = value, condition, enum

    def compute(self, this: Any, name: str) -> Any:
        """The value in a tree or draft; None where its condition does not hold."""
        path = f"{this._path} -> {name}"
        if self.condition is not None and not ask(self.condition, this, path=path):
            return None
        value = ask(self.value, this, path=path)
        return value if self.enum is None else self.enum.convert(value, path)


class Codec:
    """Says that bytes may be compressed.

    Args:
        algorithm: the name of the algorithm, a function of the fields around.
        source: the field or instance that has the bytes.
    """

    def __init__(self, algorithm: Callable[[Any], Any], source: str) -> None:
        self.algorithm, self.source = algorithm, source

    def algorithm_of(self, this: Any) -> str:
        """The name of the algorithm in a tree or draft; its number if it has no name."""
        return str(ask(self.algorithm, this, path=this._path))

    def _find(self, this: Any) -> tuple[str, Any]:
        name = ask(self.algorithm, this, path=this._path)
        codecs = struct_params(this._context).get("codecs") or {}
        return str(name), None if name == "none" else codecs.get(name)

    def open(self, this: Any, path: str) -> Window | None:
        """What is in the bytes; None if they are absent, or not compressed.

        Raises:
            NoCodecError: they are compressed, and the caller of `parse` gave no codec.
        """
        name, codec = self._find(this)
        data = getattr(this, self.source)
        if data is None or name == "none" or (codec is None and (not data or isinstance(this, Draft))):
            return None
        if codec is None:
            hook = f'codecs={{"{name}": ...}}, an object with compress(data) and decompress(data)'
            raise NoCodecError(
                f"{self.source} is compressed with {name}: to see it, parse with {hook}", path=path
            )
        try:
            return Window(bytes(codec.decompress(data)))
        except Exception as error:
            raise CodecError(f"decompressing failed: {error}", path=path) from error

    def pack(self, this: Any, data: bytes, path: str) -> bytes:
        """The same bytes compressed."""
        name, codec = self._find(this)
        if codec is None:
            hook = f'codecs={{"{name}": ...}}, an object with compress(data) and decompress(data)'
            raise BuildingError(
                f"give a codec for {name} to build with ({hook}), or {self.source} as it is to be written",
                path=path,
            )
        try:
            return bytes(codec.compress(data))
        except Exception as error:
            raise CodecError(f"compressing failed: {error}", path=path) from error


class At(Construct):  # type: ignore[misc]
    """An instance that is read at a position of the stream, when it is first asked for.

    To build, what is given is written there if it lies after what is there already. Where there are bytes, a
    number is written over them; anything else has to be those bytes, seen in another way. (A tree has every
    view of its bytes, and some may be out of date: they are passed over.)
    """

    is_placed, is_computed = True, False
    name: str

    def __init__(
        self,
        pos: Question,
        subcon: Construct,
        condition: Callable[[Any], bool] | None = None,
        codec: Codec | None = None,
    ) -> None:
        super().__init__()
        self.pos, self.subcon, self.condition, self.codec = pos, subcon, condition, codec
        inner = subcon
        while isinstance(inner, Subconstruct):
            inner = inner.subcon
        self.is_number = isinstance(inner, construct.FormatField | construct.BytesInteger | Float)
        self.is_bytes = inner is GreedyBytes or isinstance(inner, Bytes)

    def compute(self, this: Any, name: str) -> Any:
        """Read it; from all bytes of a draft, built for that."""
        path = f"{this._path} -> {name}"
        window = Window(this._whole()) if isinstance(this, Draft) else this._io
        if self.condition is None or ask(self.condition, this, path=path):
            return self.read(window, this, path)
        opened = None if self.codec is None else self.codec.open(this, path)
        return None if opened is None else self.subcon._parse(opened, this, path)

    def read(self, window: Window, this: Any, path: str) -> Any:
        """Read it from the stream; a tree's stream goes on where it was."""
        before = window.tell()
        window.seek(ask(self.pos, this, path=path))
        value = self.subcon._parse(window, this, path)
        if isinstance(this, Tree):
            this._ends = {**(this._ends or {}), self.name: window.tell()}
            window.seek(before)
        return value

    def place(self, draft: Draft, whole: bytearray) -> None:
        """Put what was given for it into the bytes of a draft; see the class's text."""
        path = f"{draft._path} -> {self.name}"
        begin = ask(self.pos, draft, path=path)
        if begin >= _BEYOND:
            if not isinstance(draft._given, Tree) or draft._has_changed(self.name):
                reason = "its position depends on the size of all, which is not known while building"
                raise BuildingError(reason, path=path)
        elif begin >= len(whole):
            data = b"" if self._stays_packed(draft) else self.packed(draft, path)
            whole += bytes(begin - len(whole)) + data if data else b""
        elif not isinstance(draft._given, Tree) or draft._has_changed(self.name):
            data = self.packed(draft, path)
            there = bytes(whole[begin : begin + len(data)])
            if self.is_number or (there != data and self._may_cover(draft, there, data)):
                whole[begin : begin + len(data)] = data
            elif there != data:
                reason = f"{self.name} and the fields around do not agree"
                raise BuildingError(f"other bytes are given for the same place: {reason}", path=path)

    def _stays_packed(self, draft: Draft) -> bool:
        """Whether compressed bytes stay as they are, because nothing was changed in what is inside."""
        if self.codec is None or not isinstance(draft._given, Tree) or draft._has_changed(self.name):
            return False
        name = self.codec.algorithm_of(draft)
        return name != "none" and name == self.codec.algorithm_of(draft._as_parsed())

    def _may_cover(self, draft: Draft, there: bytes, data: bytes) -> bool:
        """Whether a changed view may be written over bytes: they are as parsed, and as many."""
        if self.is_bytes or not isinstance(draft._given, Tree) or was_assigned(draft._given, self.name):
            return False
        return len(there) == len(data) and there == draft._as_parsed()._inner_bytes(self.name)

    def packed(self, draft: Draft, path: str) -> bytes:
        """The bytes of what was given for it, compressed if its condition does not hold."""
        data = draft._inner_bytes(self.name)
        if self.condition is None or ask(self.condition, draft, path=path):
            return data
        if self.codec is None:
            raise BuildingError("it is given, but its condition says that it is absent", path=path)
        return self.codec.pack(draft, data, path)


class Region(At):
    """An instance that only shows bytes of other fields; nothing is built from it."""


class Opened(Construct):  # type: ignore[misc]
    """An instance that is read from a field's bytes once they are decompressed."""

    is_placed = is_number = is_computed = False
    name: str

    def __init__(self, codec: Codec, subcon: Construct) -> None:
        super().__init__()
        self.codec, self.subcon = codec, subcon

    def compute(self, this: Any, name: str) -> Any:
        """What is inside; None if it is not compressed, or the caller gave no codec."""
        path = f"{this._path} -> {name}"
        if isinstance(this, Draft) and this._given_for(name) is not None:
            return this._inner(name)
        opened = self.codec.open(this, path)
        return None if opened is None else self.subcon._parse(opened, this, path)

    def packed(self, draft: Draft, path: str) -> bytes:
        """The bytes of what was given for it, compressed."""
        return self.codec.pack(draft, draft._inner_bytes(self.name), path)


def packed_of(this: Draft, name: str) -> bytes | None:
    """The bytes of an instance that was given, compressed if it is to be; None if it was not given."""
    if this._given_for(name) is None:
        return None
    opened = this._struct.lazy[name]
    if isinstance(this._given, Tree) and not member_has_changed(this._given, name):
        before, now = opened.codec.algorithm_of(this._as_parsed()), opened.codec.algorithm_of(this)
        if before == now:
            found: bytes | None = this._given_for(opened.codec.source)
            return found
    return bytes(opened.packed(this, this._path))
