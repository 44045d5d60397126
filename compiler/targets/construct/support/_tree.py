# ruff: noqa: SLF001 (trees, drafts and declarations are friends)
"""What parsing makes: trees. And what expressions may raise.

A tree's fields are its attributes, and nothing else is (no methods that a field could be confused with):
`tree.key`, or `tree["key"]`. A field or instance that is not there is None. Instances are read or computed
when they are first asked for, so that damage in one part does not hide the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from construct import ConstructError, EnumInteger, EnumIntegerString


class ExpressionError(ConstructError):  # type: ignore[misc]
    """An expression of the schema has no value with these bytes: no such text, an absent field, 1 / 0."""


class BuildingError(ConstructError):  # type: ignore[misc]
    """These values cannot be built, or not without more of them."""


class MissingError(BuildingError):
    """A value was not given, and nothing implies it."""


class CircularError(MissingError):
    """A value was not given, and what implies it depends on the value itself."""


class CodecError(ConstructError):  # type: ignore[misc]
    """A codec of the caller's failed."""


# Of what expressions are made, on values of the wrong kind: never an error of this code's own.
EXPRESSION_ERRORS = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


def ask(question: Any, this: Any, *more: Any, path: str = "") -> Any:
    """The value of an expression (a function of the fields around), or of a constant."""
    if not callable(question):
        return question
    try:
        return question(this, *more)
    except ConstructError:
        raise
    except EXPRESSION_ERRORS as error:
        text = f"no value in {type(this).__name__.lower()} {path}: {type(error).__name__}: {error}"
        raise ExpressionError(text[:300], path=path) from error


class Tree:
    """A struct that was parsed; see the module's text."""

    _struct_of_schema = True
    # What belongs to the tree itself; its own dictionary has nothing but parameters, fields and instances.
    __slots__ = ("__dict__", "_context", "_end", "_ends", "_index", "_io", "_parent", "_path", "_struct")

    def __init__(self, struct: Any, io: Any, context: Any, params: dict[str, Any], path: str) -> None:
        around = context if hasattr(type(context), "_struct_of_schema") else None
        self._struct, self._io, self._parent, self._path = struct, io, around, path
        self._context = context if around is None else around._context
        self._index: int | None = None  # of the element that is being read
        self._end = 0  # where the fields end in the stream
        self._ends: dict[str, int] | None = None  # where instances end that were read
        if params:
            self.__dict__.update(params)

    @property
    def _root(self) -> Any:
        return self if self._struct.is_root or self._parent is None else self._parent._root

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        lazy = self._struct.lazy.get(name)
        if lazy is not None:
            value = lazy.compute(self, name)
            self.__dict__[name] = value
            return value
        if name in self._struct.params:
            raise ExpressionError(f"parameter {name} was not given", path=self._path)
        if name in self._struct.names:
            return None
        raise AttributeError(f"no field {name!r} in {self._struct}")

    def __getitem__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._struct.names:
            raise KeyError(name)
        return getattr(self, name)

    def __contains__(self, name: object) -> bool:
        return name in self._struct.names and getattr(self, str(name)) is not None

    def __iter__(self) -> Iterator[str]:
        """The names of the fields that are there, then those of all instances."""
        own = self.__dict__
        yield from (name for name in self._struct.by_name if own.get(name) is not None)
        yield from self._struct.lazy

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tree):
            return NotImplemented
        return self._struct is other._struct and bool(plain(self) == plain(other))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        own = self.__dict__
        there = {name: own[name] for name in self._struct.by_name if own.get(name) is not None}
        fields = (
            f"{name}={(str(value) if isinstance(value, EnumIntegerString) else value)!r}"
            for name, value in there.items()
        )
        return f"{self._struct}({', '.join(fields)})"


def plain(value: Any, *, derived: bool = False) -> Any:
    """What was parsed as dictionaries, lists and plain values: what `build` needs to make the same bytes.

    Args:
        value: a tree, or a part of one.
        derived: also lengths, counts, checksums and constants. Without them, they follow what is changed.
    """
    if isinstance(value, Tree):
        return value._struct.plain(value, lambda part: plain(part, derived=derived), derived)
    if isinstance(value, list):
        return [plain(part, derived=derived) for part in value]
    if isinstance(value, EnumIntegerString):
        return str(value)
    if isinstance(value, EnumInteger) or (isinstance(value, int) and type(value) not in (int, bool)):
        return int(value)
    return value


Question = Callable[..., Any] | int | None
