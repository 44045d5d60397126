# ruff: noqa: ARG002, SLF001 (signatures are those of construct; trees, drafts and declarations are friends)
"""Structs. See `_support`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from construct import Construct, ConstructError, SizeofError, Subconstruct

from ._changes import given_now, member_has_changed, was_assigned
from ._draft import Draft, struct_params
from ._fields import Bits, Enum, prepare
from ._instances import At, Opened, Region
from ._members import Derived, If
from ._stream import Window
from ._tree import BuildingError, Tree, ask, nearest


class Member:
    """A field or buildable instance of a struct, taken apart."""

    def __init__(self, name: str, subcon: Any) -> None:
        self.name, self.whole = name, subcon
        self.condition = subcon.condition if isinstance(subcon, If) else None
        self.asks_for_room = isinstance(subcon, If) and subcon.asks_for_room
        self.subcon = subcon.subcon if isinstance(subcon, If | At | Opened) else subcon
        self.derived = self.subcon if isinstance(self.subcon, Derived) else None
        self.is_derived = self.derived is not None
        self.stand_in = self.derived.stand_in if self.derived else 0
        inner = self.subcon
        while isinstance(inner, Subconstruct):
            inner = inner.subcon
        self.is_bits = isinstance(inner, Bits)

    def subcon_size(self) -> int | None:
        """Its size in bytes, None if that is not fixed."""
        try:
            return int(self.subcon.sizeof())
        except SizeofError:
            return None

    def prepare(self, obj: Any, this: Any, path: str) -> Any:
        """A given value as expressions see it while building; derived if it is None."""
        return prepare(self.subcon, obj, this, path)


def _as_it_is(value: Any) -> Any:
    return value


class Struct(Construct):  # type: ignore[misc]
    """Fields one after the other, and instances, which are read or computed when they are first asked for.

    Args:
        label: what it is called in messages.
        members: fields and instances, each with its name.
        params: names of parameters; those that are enums, with the enum.
        size: in bytes, if the format fixes it.
        is_root: whether it is what a schema describes, where `_root` ends.
    """

    def __init__(
        self,
        label: str,
        *members: Construct,
        params: Mapping[str, Enum | None] | None = None,
        size: int | None = None,
        is_root: bool = False,
    ) -> None:
        super().__init__()
        self.label, self.size, self.is_root = label, size, is_root
        self.params: dict[str, Callable[[Any], Any]] = {
            name: _as_it_is if enum is None else enum.convert for name, enum in (params or {}).items()
        }
        self.by_name: dict[str, Member] = {}
        self.lazy: dict[str, Any] = {}
        for named in members:
            if hasattr(named.subcon, "compute"):
                self.lazy[named.name] = named.subcon
                named.subcon.name = named.name
            else:
                self.by_name[named.name] = Member(named.name, named.subcon)
        buildable = {name: Member(name, lazy) for name, lazy in self.lazy.items() if hasattr(lazy, "subcon")}
        self.members = self.by_name | buildable
        self.names = {*self.params, *self.by_name, *self.lazy}
        self.placed = [lazy for lazy in self.lazy.values() if lazy.is_placed and not isinstance(lazy, Region)]
        self.placed.sort(key=lambda at: (at.is_bytes, at.is_number))
        self.read_first = [
            *self.placed,
            *(lazy for lazy in self.lazy.values() if isinstance(lazy, Opened)),
        ]
        self.has_views = any(lazy.is_placed for lazy in self.lazy.values())
        self.shown = [at for at in self.placed if not at.is_number]
        self.has_bytes = any(at.is_bytes for at in self.placed)
        self.runs = list(_runs(self.by_name.values()))

    def __repr__(self) -> str:
        return self.label

    def takes(self, given: Any) -> bool:
        """Whether all that is given are fields or instances."""
        return isinstance(given, Mapping) and self.names >= given.keys()

    def _parse(self, stream: Any, context: Any, path: str, params: dict[str, Any] | None = None) -> Tree:
        window = Window.over(stream, path)
        begin = window.tell()
        if params is None:
            found = struct_params(context) if self.params and not isinstance(context, Tree | Draft) else {}
            params = {name: found[name] for name in self.params if name in found}
        params = {name: self.params[name](value) for name, value in params.items()}
        tree = Tree(self, window, context, params, path)
        own = tree.__dict__
        for name, member in self.by_name.items():
            value = member.whole._parse(window, tree, f"{path} -> {name}")
            if value is not None:
                own[name] = value
                if isinstance(value, list):
                    tree._keep(name, value)
        tree._end = window.tell()
        if window is not stream and window.num_left:
            stream.seek(window.tell() - begin - window.size, 2)
        return tree

    def _prepare(self, obj: Any, this: Any, path: str, params: dict[str, Any] | None = None) -> Draft:
        given = {} if obj is None else obj
        if isinstance(given, Draft):
            return given
        if not isinstance(given, Mapping | Tree):
            raise BuildingError(f"a mapping of fields is wanted, not {type(obj).__name__}", path=path)
        if isinstance(given, Tree):
            self._check_kind(given, path)
        else:
            self._check_names(given, path)
        return Draft(self, given, this, params, path)

    def _check_kind(self, given: Tree, path: str) -> None:
        if given._struct is not self:
            raise BuildingError(f"{self} is wanted, not {given._struct}", path=path)

    def _check_names(self, given: Mapping[Any, Any], path: str) -> None:
        unknown = [name for name in given if name not in self.names]
        if unknown:
            names = ", ".join(map(repr, unknown))
            raise BuildingError(
                f"no such field in {self}: {names}{nearest(unknown[0], self.names)}", path=path
            )

    def assignable(self, tree: Tree, name: str, value: Any) -> Any:
        """A value as a field or instance of a tree has it; numbers and bytes as parsing makes them.

        Raises:
            AttributeError: there is no such field, or it cannot be assigned.
            ConstructError: the field cannot have this value.
        """
        if name not in self.names:
            raise AttributeError(f"no field {name!r} in {self}{nearest(name, self.names)}")
        if name in self.params:
            raise AttributeError(f"{name} is a parameter of {self}: change what it is taken from")
        if isinstance(self.lazy.get(name), Region):
            raise AttributeError(f"{name} only shows bytes of other fields: change those")
        if name in self.members and isinstance(value, int | str | bytes | bytearray):
            return self.members[name].prepare(value, tree, f"{tree._path} -> {name}")
        return value

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        draft = self._prepare(obj, context, path)
        stream.write(draft._whole())
        return draft

    def _sizeof(self, context: Any, path: str) -> int:
        if self.size is None:
            raise SizeofError("the size depends on the fields", path=path)
        return self.size

    def plain(self, tree: Tree, convert: Callable[[Any], Any], derived: bool) -> dict[str, Any]:
        """What building needs of a tree; see `_tree.plain`."""
        own = tree.__dict__
        there = {name: own[name] for name in self.by_name if own.get(name) is not None}
        there = {name: value for name, value in there.items() if self.members[name].subcon_size() != 0}
        there |= self._instances_to_build(tree)
        kept: dict[str, Any] = {}
        for name, value in there.items():
            member = self.members[name]
            is_own = was_assigned(tree, name)  # by the caller: it says something
            if derived or is_own or not (member.derived and member.derived.says_nothing(tree, value, there)):
                kept[name] = convert(value)
        for name, member in self.by_name.items():
            if member.asks_for_room and member.is_derived and name not in there:
                kept[name] = None
        return kept

    def _instances_to_build(self, tree: Tree) -> dict[str, Any]:
        """Instances that have bytes which no field and no other instance has."""
        found: dict[str, Any] = {}
        end = tree._end
        for lazy in self.placed:
            try:
                value = getattr(tree, lazy.name)
            except ConstructError:
                continue  # what cannot be read this way is there as bytes
            begin = ask(lazy.pos, tree)
            stop = (tree._ends or {}).get(lazy.name, tree._io.size)
            # A value that leaves bytes after it gives way to the bytes, where the struct has them.
            is_all = lazy.is_bytes or stop == tree._io.size or not self.has_bytes
            if value is None or value == b"":
                continue
            if lazy.codec is not None and lazy.codec.source in self.by_name:
                found[lazy.name] = value  # the field that has its bytes follows from it
            elif begin >= end and is_all:
                found[lazy.name] = value
                end = max(end, stop)
            elif member_has_changed(tree, lazy.name):
                found[lazy.name] = value  # building compares it with the fields that have its bytes
        opened = {name: given_now(tree, name) for name, lazy in self.lazy.items() if isinstance(lazy, Opened)}
        return found | {name: value for name, value in opened.items() if value is not None}


def _runs(members: Any) -> Any:
    """Members one by one, but bit fields side by side together."""
    run: list[Member] = []
    for member in members:
        if run and member.is_bits:
            run.append(member)
            continue
        if run:
            yield run
        run = [member] if member.is_bits else []
        if not run:
            yield [member]
    if run:
        yield run
