"""Declarations of the schemas, before anything is resolved: names, scopes, enums, imports.

Strategy: types and enums are looked for as the Kaitai compiler does, from the innermost type outwards, then
among the schemas that the file imports. For that all of them have to be known by name first.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from compiler.errors import Problems, did_you_mean
from compiler.frontend import yaml_tree
from compiler.frontend.model import Enum, EnumMember
from compiler.frontend.nodes import Path as Names
from compiler.frontend.yaml_tree import Node

_META = (
    "id", "title", "application", "file-extension", "xref", "tags", "license", "ks-version", "imports",
    "endian", "bit-endian", "encoding",
)  # fmt: skip
_TYPE = ("meta", "doc", "doc-ref", "to-string", "params", "seq", "instances", "types", "enums")
INTEGERS = ("u1", "u2", "u4", "u8", "s1", "s2", "s4", "s8")
BUILT_IN = (*INTEGERS, "f4", "f8", "str", "strz", *(f"b{width}" for width in range(1, 65)))
BUILT_IN_LISTED = (
    f"{', '.join(BUILT_IN[:10])} (of more than a byte also with a suffix le or be), str, strz and b1 to b64"
)
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_IMPORT = re.compile(r"/?(\.\./)*([\w.-]+/)*[a-z][a-z0-9_]*")
_RESERVED = frozenset({"and", "or", "not", "true", "false", "sizeof"})


@dataclass(slots=True)
class Declared:
    """A type as it stands in the file: its members by name, each with its node."""

    path: Names
    node: Node
    schema: DeclaredSchema
    outer: Declared | None
    big_endian: bool | None = None
    bits_big_endian: bool = True
    encoding: str | None = None
    params: dict[str, Node] = field(default_factory=dict)
    fields: dict[str, Node] = field(default_factory=dict)
    instances: dict[str, Node] = field(default_factory=dict)
    types: dict[str, Declared] = field(default_factory=dict)
    enums: dict[str, Enum] = field(default_factory=dict)

    def walk(self) -> Iterator[Declared]:
        """This type and all nested ones."""
        yield self
        for nested in self.types.values():
            yield from nested.walk()

    def member_names(self) -> tuple[str, ...]:
        """All names that an expression may use here, the language's own left out."""
        return (*self.params, *self.fields, *self.instances)


@dataclass(slots=True)
class DeclaredSchema:
    """A file: its `meta`, and its outermost type."""

    stem: str
    problems: Problems
    title: str = ""
    files: tuple[str, ...] = ()
    imports: dict[str, Node] = field(default_factory=dict)
    root: Declared = field(init=False)


def declare_schema(path: Path) -> DeclaredSchema:
    """Read a file and note what it declares.

    What is wrong in it is among its problems, as far as the rest can be read without it.

    Raises:
        SchemaError: what it says is no schema.
    """
    node = yaml_tree.read(path)
    entries, problems = node.mapping(), Problems()
    if "meta" not in entries:
        raise node.error("a schema begins with meta")
    meta = entries["meta"].entries(_META, "meta", problems)
    if "id" not in meta or meta["id"].text() != path.stem:
        raise meta.get("id", entries["meta"]).error(f"the id has to be the name of the file, {path.stem}")
    schema = DeclaredSchema(path.stem, problems)
    with problems.noted():
        schema.title = meta["title"].text() if "title" in meta else ""
        schema.files = _files(meta)
    with problems.noted():
        schema.imports = _imports(meta)
    schema.root = _declare_type((path.stem,), node, schema, None)
    return schema


def _files(meta: dict[str, Node]) -> tuple[str, ...]:
    """The names of the files that a schema is for, as patterns: `-file-name`, else by `file-extension`."""
    if "-file-name" in meta:
        return meta["-file-name"].texts()
    return tuple(f"*.{each}" for each in meta["file-extension"].texts()) if "file-extension" in meta else ()


def _imports(meta: dict[str, Node]) -> dict[str, Node]:
    """The schemas that a file imports, by stem; a relative or absolute path may lead to each."""
    nodes = meta["imports"].sequence() if "imports" in meta else []
    for node in nodes:
        if not _IMPORT.fullmatch(node.text()):
            raise node.error("an import is the name of another schema, or a path to it, without extension")
    return {node.text().rpartition("/")[2]: node for node in nodes}


def _endian(node: Node) -> bool:
    if not isinstance(node.content, yaml_tree.Scalar) or node.text() not in ("be", "le"):
        raise node.error("supported are be and le")
    return node.text() == "be"


def _declare_type(path: Names, node: Node, schema: DeclaredSchema, outer: Declared | None) -> Declared:
    declared, problems = Declared(path, node, schema, outer), schema.problems
    entries = node.entries(_TYPE, "a schema" if outer is None else "a type", problems)
    _read_defaults(declared, entries)
    for section, members in (("params", declared.params), ("seq", declared.fields)):
        for item in entries[section].sequence() if section in entries else ():
            with problems.noted():
                _add_member(declared, members, _id_of(item), item)
    for name, instance in _section(entries, "instances", problems):
        with problems.noted():
            instance.mapping()
            _add_member(declared, declared.instances, name, instance)
    for name, enum in _section(entries, "enums", problems):
        with problems.noted():
            declared.enums[name] = _declare_enum((*path, name), enum)
    for name, nested in _section(entries, "types", problems):
        declared.types[name] = _declare_type((*path, name), nested, schema, declared)
    return declared


def _read_defaults(declared: Declared, entries: dict[str, Node]) -> None:
    """The order of bytes and bits and the encoding of a type: from its `meta`, else as around it."""
    outer, problems = declared.outer, declared.schema.problems
    if outer is not None:
        declared.big_endian, declared.bits_big_endian = outer.big_endian, outer.bits_big_endian
        declared.encoding = outer.encoding
    if "meta" not in entries:
        return
    known = _META if outer is None else ("endian", "bit-endian", "encoding")
    meta = entries["meta"].mapping() if outer is None else entries["meta"].entries(known, "meta", problems)
    if "bit-endian" in meta:
        with problems.noted():
            declared.bits_big_endian = _endian(meta["bit-endian"])
    if "endian" in meta:
        declared.big_endian = True  # in what is read of the rest, if what stands there is not supported
        with problems.noted():
            declared.big_endian = _endian(meta["endian"])
    if "encoding" in meta:
        with problems.noted():
            declared.encoding = encoding_of(meta["encoding"])


def encoding_of(node: Node) -> str:
    """The name of an encoding, which Python has to know."""
    try:
        codecs.lookup(node.text())
    except LookupError:
        raise node.error(f"Python knows no encoding {node.text()!r}") from None
    return node.text()


def _section(entries: dict[str, Node], section: str, problems: Problems) -> Iterator[tuple[str, Node]]:
    """The named parts of a section; an illegal name is among the problems."""
    for name, node in entries[section].mapping().items() if section in entries else ():
        with problems.noted():
            _check_name(name, node)
        yield name, node


def _id_of(item: Node) -> str:
    entries = item.mapping()
    if "id" not in entries:
        raise item.error("an id is missing here; attributes without one are not supported")
    name = entries["id"].text()
    _check_name(name, entries["id"])
    return name


def _add_member(declared: Declared, members: dict[str, Node], name: str, node: Node) -> None:
    if name in declared.member_names():
        raise node.error(f"{name!r} is declared twice in this type")
    members[name] = node


def _check_name(name: str, node: Node) -> None:
    if not _NAME.fullmatch(name) or name in _RESERVED:
        raise node.error(f"{name!r} is no name; names are of lower case, digits and underscores")


def _declare_enum(path: Names, node: Node) -> Enum:
    members = []
    for key, value in node.mapping().items():
        if not re.fullmatch(r"-?[0-9]+", key):
            raise value.error(f"{key!r} is not a number; supported are integers")
        members.append(_enum_member(int(key), value))
    labels = [member.id for member in members]
    for label in labels:
        if labels.count(label) > 1:
            raise node.error(f"two numbers are called {label!r}")
    return Enum(path, tuple(members), node.place)


def _enum_member(number: int, node: Node) -> EnumMember:
    if isinstance(node.content, yaml_tree.Scalar):
        _check_name(node.text(), node)
        return EnumMember(number, node.text())
    entries = node.check_keys(("id", "doc", "doc-ref"), "a member of an enum")
    return EnumMember(number, _id_of(node), original_names(entries), doc_of(entries))


def original_names(entries: dict[str, Node]) -> tuple[str, ...]:
    """The names in `-orig-id`."""
    return entries["-orig-id"].texts() if "-orig-id" in entries else ()


def doc_of(entries: dict[str, Node]) -> str:
    """The text of `doc`, without the newline that a YAML block ends with."""
    return entries["doc"].text().rstrip("\n") if "doc" in entries else ""


class Declarations:
    """All types and enums of all schemas, by path and by name from a given type.

    Args:
        schemas: by stem, those that are imported first.
    """

    def __init__(self, schemas: dict[str, DeclaredSchema]) -> None:
        self.schemas = schemas
        everything = (declared for schema in schemas.values() for declared in schema.root.walk())
        self.types = {declared.path: declared for declared in everything}

    def find_type(self, names: Names, start: Declared, place: Node, offset: int | None = None) -> Declared:
        """The type that a name means inside another one.

        Raises:
            SchemaError: there is none; the error is at `place`.
        """
        found = self._search(names, start)
        imported = start.schema.imports.get(names[0])
        if found is None and imported is not None and names[0] not in self.schemas:
            raise imported.error(f"it imports {names[0]}, which is left out")
        if found is None:
            name = "::".join(names)
            visible = self._visible(start)
            listed = ", ".join(visible) or "none"
            hint = did_you_mean(name, [*visible, *BUILT_IN])
            known = f"visible are {listed}; built in are {BUILT_IN_LISTED}"
            raise place.error(f"unknown type {name!r}; {known}{hint}", offset)
        return found

    def find_enum(self, names: Names, start: Declared, place: Node, offset: int | None = None) -> Enum:
        """The enum that a name means inside a type.

        Raises:
            SchemaError: there is none; the error is at `place`.
        """
        *types, name = names
        scope: Declared | None = start if not types else self._search(tuple(types), start)
        while scope is not None:
            if name in scope.enums:
                return scope.enums[name]
            scope = scope.outer if not types else None
        enums: set[str] = set()
        scope = start
        while scope is not None:
            enums.update(scope.enums)
            scope = scope.outer
        hint = did_you_mean(name, enums)
        raise place.error(f"unknown enum {'::'.join(names)!r}{hint}", offset)

    def _search(self, names: Names, start: Declared) -> Declared | None:
        scope: Declared | None = start
        while scope is not None:
            found = self._first(names[0], scope)
            if found is not None:
                for name in names[1:]:
                    found = found.types.get(name) if found is not None else None
                return found
            scope = scope.outer
        return None

    def _first(self, name: str, scope: Declared) -> Declared | None:
        """The type of a name that a scope has by itself: its own, nested in it, or imported by the file."""
        if scope.path[-1] == name:
            return scope
        if name in scope.types:
            return scope.types[name]
        if scope.outer is None and name in scope.schema.imports and name in self.schemas:
            return self.schemas[name].root
        return None

    def _visible(self, start: Declared) -> list[str]:
        """The types that a name can mean inside another one, without the built-in ones."""
        names: list[str] = []
        scope: Declared | None = start
        while scope is not None:
            names += scope.types
            scope = scope.outer
        return sorted({*names, *start.schema.imports})
