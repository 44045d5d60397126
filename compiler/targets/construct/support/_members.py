# ruff: noqa: ARG002, SLF001 (signatures are those of construct; trees, drafts and declarations are friends)
"""Fields that depend on others: conditions, choices, what is derived. See `_support`, which has all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import construct
from construct import Construct, ConstructError, GreedyBytes, SizeofError, Subconstruct

from ._changes import check_places, was_assigned
from ._draft import Draft, as_parsed
from ._fields import Wrapper, prepare, resolved
from ._tree import AsParsedError, BuildingError, MissingError, Question, Tree, ask


class If(Wrapper):
    """A field that is there if a condition holds. To build it where it does not hold is an error."""

    asks_for_room = False

    def __init__(self, condition: Callable[[Any], bool], subcon: Construct) -> None:
        super().__init__(subcon)
        self.condition = condition

    def _parse(self, stream: Any, context: Any, path: str) -> Any:
        holds = ask(self.condition, context, path=path)
        return self.subcon._parse(stream, context, path) if holds else None

    def _sizeof(self, context: Any, path: str) -> int:
        raise SizeofError("the size depends on a condition", path=path)


class IfRoom(If):
    """An `If` whose condition asks how many bytes are left.

    While building this is not known. What is given is built then, and what is derived unless None is given.
    """

    asks_for_room = True


class Derived(Wrapper):
    """A field that the caller need not give when building.

    Args:
        subcon: the field's construct.
        derive: what it is then, a function of the fields around.
        follows: the field that it is the length or count of: it says nothing which that one does not.
        absent: what it is if that field is absent.
        given: an instance that is computed from the field, and may be given instead.
        solve: what the field is then, a function of the fields around and of that value.
        by_place: whether it is the place in a list, which a field that was parsed keeps.
    """

    stand_in: int = 0

    def __init__(
        self,
        subcon: Construct,
        derive: Question | bool,
        *,
        follows: str | None = None,
        absent: int = 0,
        given: str | None = None,
        solve: Callable[[Any, Any], int | None] | None = None,
        by_place: bool = False,
    ) -> None:
        super().__init__(subcon)
        self.derive, self.follows, self.absent = derive, follows, absent
        self.given, self.solve, self.by_place = given, solve, by_place

    def _prepare(self, obj: Any, this: Any, path: str) -> Any:
        if obj is None and self.given is not None:
            value = this._given_for(self.given)
            obj = None if value is None else ask(self.solve, this, value, path=path)
        if obj is None:
            if self.by_place:
                check_places(this, path)
            obj = self._derive(this, path)
        return prepare(self.subcon, obj, this, path)

    def _derive(self, this: Draft, path: str) -> Any:
        try:
            return ask(self.derive, this, path=path)
        except MissingError as error:
            if error.path != this._path:
                raise
            reason = str(error).rpartition("\n")[2]  # of this field, which its message does not name yet
            raise type(error)(reason, path=path) from error

    def follow(self, parsed: Any, this: Draft, path: str) -> Any:
        """What a parsed field is to be built as: as parsed, unless what it is derived from was changed.

        Returns:
            None: it is to be derived.
        """
        if self.given is not None and was_assigned(this._given, self.given):
            return None
        if self.by_place or isinstance(self, Default | Constant):
            return parsed
        try:
            now = self._derive(this, path)
        except AsParsedError:
            return parsed
        if now == parsed:
            return parsed
        before = this._as_parsed()
        try:
            then = ask(self.derive, before, path=path)
        except ConstructError:
            return None
        if now == then:
            return parsed
        if self.is_aggregate and then != parsed:
            raise BuildingError(
                f"it was parsed as {parsed!r:.60}, where what it is derived from gave {then!r:.60}, "
                f"and now gives {now!r:.60}: assign it",
                path=path,
            )
        return None

    @property
    def is_aggregate(self) -> bool:
        """Whether it states something of other fields that is neither their length nor a checksum."""
        return self.follows is None and not self.by_place and not self.stand_in

    def says_nothing(self, tree: Tree, value: Any, kept: Mapping[str, Any]) -> bool:
        """Whether a parsed value need not be given to build the same bytes from those that are kept."""
        if isinstance(self, Default) or self.by_place:
            return False
        if self.follows is None:
            try:
                return bool(ask(self.derive, as_parsed(tree)) == value)
            except ConstructError:
                return False
        if isinstance(value, Tree) and len(value._struct.by_name) > 1:
            return False  # its other fields say something
        return self.follows in kept or (value == self.absent and getattr(tree, self.follows) is None)


class Default(Derived):
    """A field that has a value of its own where the caller gives none."""


class Constant(Derived):
    """A field that can have one value only; others are refused in parsing, and built if they are given."""

    def __init__(self, subcon: Construct, value: int | bytes) -> None:
        super().__init__(subcon, lambda _: value)
        self.value = value

    def _parse(self, stream: Any, context: Any, path: str) -> Any:
        found = self.subcon._parse(stream, context, path)
        if found != self.value:
            raise construct.ConstError(f"{self.value!r} is wanted, not {found!r:.60}", path=path)
        return found

    def says_nothing(self, tree: Tree, value: Any, kept: Mapping[str, Any]) -> bool:
        return True


class Checksum(Derived):
    """A field that holds a checksum. Parsing does not compare it: compute it if you want to be sure.

    Args:
        subcon: of the field, of a fixed size.
        function: of bytes, to their checksum.
        region: the bytes that it covers, a function of the fields around. Where the field lies among them
            itself, it counts as zeros.
    """

    def __init__(
        self, subcon: Construct, function: Callable[[bytes], int], region: Callable[[Any], bytes]
    ) -> None:
        super().__init__(subcon, lambda this: function(region(this)))
        self.stand_in = subcon.sizeof()

    def says_nothing(self, tree: Tree, value: Any, kept: Mapping[str, Any]) -> bool:
        return True


class Switch(Construct):  # type: ignore[misc]
    """One of several constructs, by a key; if none fits `default`: one, the bytes as they are, or nothing.

    To build, bytes are taken as they are. If the key is not given either, it is the one case that has all
    fields that are given.
    """

    def __init__(self, key: Callable[[Any], Any], cases: dict[Any, Construct], default: Any = None) -> None:
        super().__init__()
        self.key, self.cases, self.default = key, cases, default

    @cached_property
    def _has_values(self) -> bool:
        """Whether some case is no struct."""
        return any(not hasattr(struct_of(case), "takes") for case in self.cases.values())

    def _parse(self, stream: Any, context: Any, path: str) -> Any:
        subcon = self.cases.get(ask(self.key, context, path=path), self.default)
        return None if subcon is None else subcon._parse(stream, context, path)

    def _prepare(self, obj: Any, this: Any, path: str) -> Any:
        if obj is None:
            if self.default is None and ask(self.key, this, path=path) not in self.cases:
                return None
            raise MissingError("it is not given, and nothing implies it", path=path)
        if isinstance(obj, bytes | bytearray | memoryview) and not self._is_value(obj, this, path):
            return bytes(obj)
        return prepare(self._choose(obj, this, path), obj, this, path)

    def _is_value(self, obj: Any, this: Any, path: str) -> bool:
        """Whether bytes are the value of a case that is no struct."""
        case = self.cases.get(ask(self.key, this, path=path), self.default) if self._has_values else None
        return case is not None and case is not GreedyBytes and not hasattr(struct_of(case), "takes")

    def _choose(self, obj: Any, this: Any, path: str) -> Any:
        others = () if self.default is None or self.default is GreedyBytes else (self.default,)
        cases = (*self.cases.values(), *others)
        if isinstance(obj, Tree):
            return next(case for case in cases if struct_of(case) is obj._struct)
        try:
            key = ask(self.key, this, path=path)
        except MissingError as error:
            structs = {struct_of(case): case for case in cases}
            fits = {
                each: case for each, case in structs.items() if hasattr(each, "takes") and each.takes(obj)
            }
            if len(fits) != 1:
                raise MissingError("nothing tells which of the cases it is", path=path) from error
            return next(iter(fits.values()))
        if key not in self.cases and not others:
            raise BuildingError(f"bytes are wanted where the type is {key!r}", path=path)
        return self.cases.get(key, self.default)

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        if isinstance(obj, Draft):
            return obj._struct._build(obj, stream, context, path)
        if not isinstance(obj, bytes) or self._is_value(obj, context, path):
            return self._choose(obj, context, path)._build(obj, stream, context, path)
        stream.write(obj)
        return obj

    def _sizeof(self, context: Any, path: str) -> int:
        raise SizeofError("the size depends on the case", path=path)


class With(Subconstruct):  # type: ignore[misc]
    """A struct with its parameters: values, or functions of the fields around."""

    def __init__(self, subcon: Construct, **params: Any) -> None:
        super().__init__(subcon)
        self.params = params

    def _parse(self, stream: Any, context: Any, path: str) -> Any:
        struct = resolved(self.subcon)
        params = {name: ask(value, context, path=path) for name, value in self.params.items()}
        return struct._parse(stream, context, path, params)

    def _prepare(self, obj: Any, this: Any, path: str) -> Any:
        return resolved(self.subcon)._prepare(obj, this, path, self.params)

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        return resolved(self.subcon)._build(obj, stream, context, path)


def struct_of(subcon: Any) -> Any:
    """The struct that parameters, names and late bindings lead to."""
    subcon = resolved(subcon)
    return resolved(subcon.subcon) if isinstance(subcon, With) else subcon
