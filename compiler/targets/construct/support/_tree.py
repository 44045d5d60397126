# ruff: noqa: SLF001 (trees, drafts and declarations are friends)
"""What parsing makes: trees. And what expressions may raise.

A tree's fields are its attributes: `tree.key`, or `tree["key"]`. A field or instance that is absent is
None. Instances are read or computed when they are first asked for, so that damage in one part does not hide
the others.

Fields can be assigned, and lists changed: `build` then computes again what follows from them. What is
computed in other parts of the tree (offsets, timestamps) is as parsed until the built bytes are parsed again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from difflib import get_close_matches
from functools import partial
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


class AsParsedError(MissingError):
    """The source of a derived field is in bytes that were not parsed or changed: it stays as parsed."""


class CodecError(ConstructError):  # type: ignore[misc]
    """A codec of the caller's failed."""


class NoCodecError(CodecError):
    """The bytes are compressed, and the caller gave no codec to read them with."""


def nearest(name: object, known: Iterable[str]) -> str:
    """What to add to a message about an unknown name: the known one that is most like it, or all of them."""
    names = sorted(known)
    close = get_close_matches(str(name), names, n=1)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; there are {', '.join(names)}" if names else ""


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
    __slots__ = (
        "__dict__",
        "_context",
        "_end",
        "_ends",
        "_failed",
        "_index",
        "_io",
        "_lists",
        "_original",
        "_parent",
        "_path",
        "_rest",
        "_struct",
    )

    def __init__(self, struct: Any, io: Any, context: Any, params: dict[str, Any], path: str) -> None:
        around = context if hasattr(type(context), "_struct_of_schema") else None
        self._struct, self._io, self._parent, self._path = struct, io, around, path
        self._context = context if around is None else around._context
        self._index: int | None = None  # of the element that is being read
        self._rest = b""  # what its field has beyond its own fields
        self._end = 0  # where the fields end in the stream
        self._ends: dict[str, int] | None = None  # where instances end that were read
        self._original: dict[str, Any] | None = None  # what was there before something was assigned
        self._failed: dict[str, ConstructError] | None = None  # why instances could not be read
        self._lists: dict[str, tuple[Any, ...]] | None = None  # the elements that lists were parsed with
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
            if self._failed and name in self._failed:
                raise self._failed[name]
            try:
                return self._keep(name, lazy.compute(self, name))
            except ConstructError:
                self.__dict__.pop(name, None)  # a list that was read in part
                raise
        if name in self._struct.params:
            raise ExpressionError(f"parameter {name} was not given", path=self._path)
        if name in self._struct.names:
            return None
        if name in _METHODS:
            return partial(_METHODS[name], self)
        raise AttributeError(f"no field {name!r} in {self._struct}{nearest(name, self._struct.names)}")

    def _keep(self, name: str, value: Any) -> Any:
        """Remember what a field or instance was parsed to, and the elements of a list."""
        self.__dict__[name] = value
        if isinstance(value, list):
            if self._lists is None:
                self._lists = {}
            self._lists[name] = tuple(value)
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_"):
            object.__setattr__(self, name, value)
            return
        value = self._struct.assignable(self, name, value)
        self._read_instances()
        original = self._original
        if original is None:
            self._original = original = {}
        if name not in original:
            try:
                original[name] = getattr(self, name)
            except ConstructError:  # an instance that cannot be read
                original[name] = None
        for other, lazy in self._struct.lazy.items():
            if lazy.is_computed and other not in original:
                self.__dict__.pop(other, None)
        self.__dict__[name] = value

    def _read_instances(self) -> None:
        """Read what is read at a position, here and around, before a change makes other positions of it."""
        tree: Any = self
        while isinstance(tree, Tree):
            for lazy in tree._struct.read_first:
                try:
                    getattr(tree, lazy.name)
                except ConstructError as error:
                    tree._failed = {**(tree._failed or {}), lazy.name: error}
            tree = tree._parent

    def __delattr__(self, name: str) -> None:
        setattr(self, name, None)

    def __setitem__(self, name: str, value: Any) -> None:
        if name.startswith("_") or name not in self._struct.names:
            raise KeyError(f"no field {name!r} in {self._struct}{nearest(name, self._struct.names)}")
        setattr(self, name, value)

    def __getitem__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._struct.names:
            raise KeyError(name)
        return getattr(self, name)

    def __contains__(self, name: object) -> bool:
        if name not in self._struct.names:
            return False
        try:
            return getattr(self, str(name)) is not None
        except NoCodecError:
            return False

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

    def __str__(self) -> str:
        return "\n".join(lines_of(self))


def _names(tree: Tree) -> list[str]:
    return list(tree)


def _items(tree: Tree) -> list[tuple[str, Any]]:
    return [(name, tree[name]) for name in tree]


# As dictionaries have them; a field of such a name is the attribute, and hides the method.
_METHODS: dict[str, Callable[[Tree], Any]] = {"keys": _names, "items": _items}
MOST_ELEMENTS = 20
MOST_CHARACTERS = 100


def lines_of(tree: Tree, indent: str = "") -> Iterator[str]:
    """A tree for people: a line a field, or instance that has bytes; long lists and long bytes cut off."""
    yield f"{indent}{tree._struct}:"
    for name in (*tree._struct.by_name, *(at.name for at in tree._struct.shown)):
        try:
            value = getattr(tree, name)
        except ConstructError as error:
            reason = str(error).strip().rpartition("\n")[2]
            yield f"{indent}  {name}: ({reason})"
            continue
        if value is not None:
            yield from _lines_of_member(name, value, f"{indent}  ")


def _lines_of_member(name: str, value: Any, indent: str) -> Iterator[str]:
    if isinstance(value, Tree):
        first, *others = lines_of(value, indent)
        yield f"{indent}{name}: {first.strip()}"
        yield from others
    elif isinstance(value, list) and any(isinstance(element, Tree) for element in value):
        yield f"{indent}{name}: {len(value)}"
        for index, element in enumerate(value[:MOST_ELEMENTS]):
            yield from _lines_of_member(f"[{index}]", element, f"{indent}  ")
        if len(value) > MOST_ELEMENTS:
            yield f"{indent}  ({len(value) - MOST_ELEMENTS} more)"
    else:
        text = repr(str(value) if isinstance(value, EnumIntegerString) else value)
        more = "" if len(text) <= MOST_CHARACTERS else f"... ({len(value)} in all)"
        yield f"{indent}{name}: {text[:MOST_CHARACTERS]}{more}"


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
    kind = next((kind for kind in (str, bytes, float) if isinstance(value, kind)), None)
    return value if kind is None else kind(value)


Question = Callable[..., Any] | int | None
