# ruff: noqa: SLF001 (trees, drafts and declarations are friends)
"""What building works on: drafts.

Strategy: nothing is built in the order of the bytes. A draft stands for one struct that is to be built; asked
for a field's value or bytes, it takes what the caller gave, or else works out what the declaration says,
asking other fields in turn (a length asks for the bytes that it counts, a checksum for its region). Each is
worked out once. Where that goes round in a circle, the caller has to give one of them.

The one circle that is meant to be: a checksum asks for bytes among which it lies itself. While it is worked
out, zeros stand in its place, and what was made with them is not kept.
"""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from typing import Any

from construct import ConstructError

from ._changes import as_parsed as value_as_parsed
from ._changes import check_codecs, given_now, has_changed, member_has_changed, was_assigned
from ._stream import BitSink, Endless, Window
from ._tree import AsParsedError, BuildingError, CircularError, MissingError, Tree, ask


class _Work:
    """What all drafts of one building share.

    Attributes:
        is_original: whether trees are asked for what they were when they were parsed.
        has_changed: whether anything was changed in the tree that is built.
        before: another one, for what trees were when they were parsed.
        originals: the drafts of trees that were made so far, if it is that.
        placed: lists in which every element is known to stand at its own place.
        busy: what is being worked out, so that circles are found.
        checksums: those that are being worked out.
        num_stand_ins: how often zeros have stood in for one.
    """

    def __init__(self, given: Any, is_original: bool = False) -> None:
        self.is_original = is_original
        self.has_changed = not is_original and (not isinstance(given, Tree) or has_changed(given))
        self.originals: dict[int, Draft] = {}
        self.placed: set[tuple[int, str]] = set()
        self.before: _Work | None = None
        self.busy: set[tuple[int, str, str]] = set()
        self.checksums: frozenset[tuple[int, str]] = frozenset()
        self.num_stand_ins = 0


class Draft:
    """A struct that is to be built from `given`, a mapping or a tree; fields are attributes, as in trees."""

    _struct_of_schema = True

    def __init__(
        self, struct: Any, given: Any, context: Any, params: dict[str, Any] | None, path: str
    ) -> None:
        around: Any = context if hasattr(type(context), "_struct_of_schema") else None
        self._struct, self._given, self._parent, self._path = struct, given, around, path
        self._params = params
        self._context = context if around is None else around._context
        self._position = None if around is None else around._index
        self._index: int | None = None  # of the element that is being prepared
        self._memo: dict[tuple[str, str], Any] = {}
        self._work: _Work = around._work if isinstance(around, Draft) else _Work(given)

    @property
    def _root(self) -> Any:
        return self if self._struct.is_root or self._parent is None else self._parent._root

    _io = Endless()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._value(name)

    def _once(self, kind: str, name: str, make: Callable[[str], Any]) -> Any:
        key, work, mark = (kind, name), self._work, (id(self), kind, name)
        if key in self._memo:
            return self._memo[key]
        if mark in work.busy:
            what = name or "something"
            raise CircularError(f"{what} is not given, and what implies it depends on it", path=self._path)
        work.busy.add(mark)
        before = work.num_stand_ins
        try:
            made = make(name)
        finally:
            work.busy.discard(mark)
        if work.num_stand_ins == before:
            self._memo[key] = made
        return made

    # What the caller gave

    def _given_for(self, name: str) -> Any:
        """What was given for a field or instance; None if nothing was, or None."""
        if not isinstance(self._given, Tree):
            return self._given.get(name)
        if self._work.is_original:
            return value_as_parsed(self._given, name)
        return given_now(self._given, name)

    def _has_changed(self, name: str) -> bool:
        """Whether a tree was given, and its field or instance was changed since it was parsed."""
        return isinstance(self._given, Tree) and member_has_changed(self._given, name)

    def _as_parsed(self) -> Draft:
        """The draft of what the given tree was when it was parsed."""
        if self._work.before is None:
            self._work.before = _Work(None, is_original=True)
        return as_parsed(self._given, self._work.before)

    def _is_declined(self, name: str) -> bool:
        """Whether a field is not to be there by the caller's word: None was given, or parsed."""
        if isinstance(self._given, Tree):
            return self._given_for(name) is None
        return name in self._given and self._given[name] is None

    # Values

    def _value(self, name: str) -> Any:
        struct = self._struct
        if name in struct.params:
            return self._once("param", name, self._param)
        if name in struct.by_name:
            return self._once("value", name, self._field)
        if name in struct.lazy:
            return self._once("value", name, self._instance)
        raise AttributeError(f"no field {name!r} in {struct}")

    def _param(self, name: str) -> Any:
        if self._params is None and isinstance(self._given, Tree) and name in self._given.__dict__:
            given = struct_params(self._context).get(name, self._given.__dict__[name])
            return self._struct.params[name](given)
        if self._params is None:
            given = struct_params(self._context).get(name)
            if given is None:
                raise MissingError(f"parameter {name} was not given", path=self._path)
            return self._struct.params[name](given)
        around: Any = self._parent
        before, around._index = around._index, self._position
        try:
            return self._struct.params[name](ask(self._params[name], around, path=self._path))
        finally:
            around._index = before

    def _field(self, name: str) -> Any:
        member = self._struct.by_name[name]
        if member.condition is None:
            return self._inner(name)
        if member.asks_for_room:
            return self._inner(name) if self._has_room(name, member) else None
        if ask(member.condition, self, path=self._path):
            return self._inner(name)
        if self._given_for(name) is not None:
            raise BuildingError(f"{name} is given, but its condition says that it is absent", path=self._path)
        return None

    def _has_room(self, name: str, member: Any) -> bool:
        """Whether a field is there whose condition asks how many bytes are left, which is not known yet."""
        if self._given_for(name) is not None:
            return True
        if self._is_declined(name) or not member.is_derived:
            return False
        try:
            return bool(ask(member.condition, self, path=self._path))
        except ConstructError:
            return False

    def _inner(self, name: str) -> Any:
        """A field's value, whether or not its condition holds: given, or derived."""
        return self._once("inner", name, self._prepare)

    def _prepare(self, name: str) -> Any:
        member, path = self._struct.members[name], f"{self._path} -> {name}"
        given = self._given_for(name)
        if member.derived is not None and given is not None and self._may_follow(name):
            follow = member.derived.follow
            given = self._with_stand_in(name, lambda: follow(given, self, path))
        return self._with_stand_in(name, lambda: member.prepare(given, self, path))

    def _may_follow(self, name: str) -> bool:
        """Whether a derived field was parsed, and something around it may have been changed since."""
        return (
            self._work.has_changed and isinstance(self._given, Tree) and not was_assigned(self._given, name)
        )

    def _with_stand_in(self, name: str, make: Callable[[], Any]) -> Any:
        """Work out a field; if it is a checksum, with zeros in its place."""
        if not self._struct.members[name].stand_in:
            return make()
        # What is being worked out further up may be asked for again: here it gets zeros and comes to an end.
        work = self._work
        before, mark = (work.busy, work.checksums), (id(self), name)
        work.busy, work.checksums = set(), work.checksums | {mark}
        try:
            return make()
        finally:
            work.busy, work.checksums = before

    def _instance(self, name: str) -> Any:
        lazy = self._struct.lazy[name]
        if lazy.is_placed and self._given_for(name) is not None:
            return self._inner(name)
        return lazy.compute(self, name)

    # Bytes

    def _inner_bytes(self, name: str) -> bytes:
        return bytes(self._once("inner bytes", name, self._build_inner))

    def _build_inner(self, name: str) -> bytes:
        stream = BytesIO()
        self._struct.members[name].subcon._build(self._inner(name), stream, self, f"{self._path} -> {name}")
        return stream.getvalue()

    def _bytes(self, name: str) -> bytes:
        """A field's bytes, none if it is absent; an instance's, cut out of the whole."""
        lazy = self._struct.lazy.get(name)
        if lazy is not None:
            return bytes(self._once("region", name, self._region))
        member = self._struct.by_name[name]
        if (id(self), name) in self._work.checksums:
            self._work.num_stand_ins += 1
            return bytes(member.stand_in)
        return bytes(self._once("bytes", name, self._build_field))

    def _build_field(self, name: str) -> bytes:
        return b"" if self._value(name) is None else self._inner_bytes(name)

    def _region(self, name: str) -> bytes:
        lazy, window = self._struct.lazy[name], Window(self._whole())
        begin = ask(lazy.pos, self, path=self._path)
        lazy.read(window, self, f"{self._path} -> {name}")
        return self._whole()[begin : window.pos]

    def _whole(self) -> bytes:
        """All bytes of the struct, with what is placed after its fields."""
        return bytes(self._once("whole", "", self._assemble))

    def _assemble(self, _: str) -> bytes:
        parts: list[bytes] = []
        for run in self._struct.runs:
            parts.append(self._bits(run) if run[0].is_bits else self._bytes(run[0].name))
        whole = bytearray(b"".join(parts))
        if self._work.has_changed and isinstance(self._given, Tree):
            check_codecs(self)
        for lazy in self._struct.placed:
            if self._given_for(lazy.name) is not None:
                lazy.place(self, whole)
        self._check_values()
        return bytes(whole)

    def _check_values(self) -> None:
        """What is computed may be given, if it is what the fields make it."""
        for name, lazy in self._struct.lazy.items():
            if isinstance(self._given, Tree) and (
                self._work.is_original or not was_assigned(self._given, name)
            ):
                continue
            given = self._given_for(name)
            if lazy.is_computed and given is not None and self._value(name) != given:
                raise BuildingError(
                    f"{name} is {self._value(name)!r:.60}, not {given!r:.60}", path=self._path
                )

    def _bits(self, run: list[Any]) -> bytes:
        sink = BitSink()
        for member in run:
            value = self._value(member.name)
            if value is not None:
                member.subcon._build(value, sink, self, f"{self._path} -> {member.name}")
        return sink.getvalue()


def as_parsed(tree: Tree, work: _Work | None = None) -> Draft:
    """A draft of what a tree was when it was parsed, whatever was changed since."""
    work = work or _Work(tree, is_original=True)
    found = work.originals.get(id(tree))
    if found is None:
        around = tree._parent
        context = tree._context if around is None else as_parsed(around, work)
        found = work.originals[id(tree)] = Draft(tree._struct, tree, context, None, tree._path)
        found._work = work
    return found


def struct_params(context: Any) -> dict[str, Any]:
    """The parameters that the caller of `parse` or `build` gave as keywords."""
    return {**(getattr(context, "_params", None) or {}), **(context or {})}


# What declarations ask of drafts. `this` is always a draft here: trees have these values themselves.


def length_of(this: Draft, name: str, absent: int = 0) -> int:
    """How many bytes a field takes; `absent` if it is not to be there."""
    return absent if _is_absent(this, name) else len(this._inner_bytes(name))


def count_of(this: Draft, name: str, absent: int = 0) -> int:
    """How many elements a repeated field has; `absent` if it is not to be there."""
    return absent if _is_absent(this, name) else len(elements_of(this, name))


def _is_absent(this: Draft, name: str) -> bool:
    member = this._struct.by_name.get(name)
    if member is None or member.condition is None or this._given_for(name) is not None:
        return False
    if not this._work.is_original and was_assigned(this._given, name):
        return True
    try:
        return not member.is_derived or this._inner(name) is None
    except MissingError:
        return True


def elements_of(this: Draft, name: str) -> Any:
    """The elements of a repeated field or instance that was given, none if no such thing was.

    Raises:
        MissingError: they were given as bytes, which were not parsed for elements.
    """
    lazy = this._struct.lazy.get(name)
    if lazy is None or this._given_for(name) is not None:
        return this._inner(name) or []
    others = [other.name for other in this._struct.placed if other is not lazy and not other.is_number]
    for other in [*others, *([lazy.codec.source] if lazy.codec else [])]:
        if this._given_for(other) is not None:
            is_as_parsed = isinstance(this._given, Tree) and not this._has_changed(other)
            kind = AsParsedError if is_as_parsed else MissingError
            raise kind(f"it follows from {name}, but {other} was given instead", path=this._path)
    return []


def bytes_of(this: Draft, name: str) -> bytes:
    """The bytes of a field or instance."""
    return this._bytes(name)


def place_of(this: Any) -> int:
    """The place in the nearest repeated field around."""
    node = this
    while node is not None:
        if node._position is not None:
            return int(node._position)
        node = node._parent
    raise MissingError("no repeated field is around that would tell the place", path=this._path)


def pick(
    this: Draft,
    function: str,
    name: str,
    value: Callable[[Any, Any], int],
    *,
    default: int,
    plus: Any = 0,
) -> int:
    """The first, last or greatest of the values that a repeated field's elements have; see `elements_of`."""
    values = [ask(value, this, element, path=this._path) for element in elements_of(this, name)]
    if not values:
        return default
    picked = {"first": values[0], "last": values[-1], "max": max(values)}[function]
    return int(picked + ask(plus, this, path=this._path))
