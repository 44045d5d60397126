"""From declarations to the model: every attribute with its checks, every type with its members.

The Kaitai compiler takes more than what is spelled out here; whatever is not, is refused with its place. One
refusal hides no other: a member in which something is wrong is left out, and the rest is built.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from compiler.errors import Problems
from compiler.frontend.declare import Declared, DeclaredSchema, doc_of, original_names
from compiler.frontend.dependencies import check_circles
from compiler.frontend.extensions import ExtensionReader, check_dashed, read_varint
from compiler.frontend.infer import Scope, describe
from compiler.frontend.model import Field, Param, Repeat, Schema, Struct, Valid, ValueInstance
from compiler.frontend.nodes import (
    BitsType,
    Bytes,
    BytesType,
    DataType,
    EnumType,
    Expr,
    FloatType,
    Int,
    IntType,
    StrType,
    SwitchType,
)
from compiler.frontend.resolve import Resolver, contents_of, value_type
from compiler.frontend.yaml_tree import Node, Scalar

_PARAM = ("id", "type", "enum", "doc")
_CONTENT = (
    "type", "enum", "contents", "encoding", "size", "size-eos", "terminator", "include", "consume",
    "eos-error", "pad-right", "valid", "repeat", "repeat-expr", "repeat-until", "if", "doc", "doc-ref",
)  # fmt: skip
_FIELD = ("id", *_CONTENT)
_PARSE_INSTANCE = ("pos", *_CONTENT)
_VALUE_INSTANCE = ("value", "enum", "if", "doc", "doc-ref")
_DELIMITERS = ("size", "size-eos", "terminator")
_NUMBERS = {"integer", "float"}
_OF_TERMINATOR = ("include", "consume", "eos-error")


_M = TypeVar("_M", Param, Field, "Field | ValueInstance")


class Builder:
    """Builds the parts of a model.

    Args:
        resolver: knows what names mean.
        problems: what is wrong; parts in which something is are left out.
    """

    def __init__(self, resolver: Resolver, problems: Problems) -> None:
        self._resolver, self._problems = resolver, problems
        self._extensions = ExtensionReader(resolver)

    def check_keys(self, schema: DeclaredSchema) -> None:
        """Check that all keys of a file are known, dashed ones too."""
        check_dashed(schema.root.node, self._problems)
        for declared in schema.root.walk():
            for node in declared.params.values():
                node.entries(_PARAM, "a parameter", self._problems)
            for node in declared.fields.values():
                node.entries(_FIELD, "an attribute", self._problems)
            for node in declared.instances.values():
                if "value" in node.mapping():
                    node.entries(_VALUE_INSTANCE, "a value instance", self._problems)
                else:
                    node.entries(_PARSE_INSTANCE, "a parse instance", self._problems)

    def schema(self, declared: DeclaredSchema) -> Schema:
        """A whole file."""
        return Schema(
            declared.stem,
            declared.title,
            tuple(declared.imports),
            self._struct(declared.root),
            files=declared.files,
        )

    def _struct(self, declared: Declared) -> Struct:
        entries, noted = declared.node.mapping(), self._problems.noted
        with noted():
            self._extensions.check_type(declared)
        struct = Struct(
            path=declared.path,
            doc="",
            doc_refs=(),
            orig_id=(),
            place=declared.node.place,
            instances=self._members(declared, declared.instances, self._instance),
            params=self._members(declared, declared.params, self._param),
            fields=self._members(declared, declared.fields, self._field),
            enums=tuple(declared.enums.values()),
            types=tuple(self._struct(nested) for nested in declared.types.values()),
            parent=self._resolver.parent(declared.path),
        )
        with noted():
            check_circles(struct)
        with noted():
            return replace(
                struct,
                doc=doc_of(entries),
                doc_refs=entries["doc-ref"].texts() if "doc-ref" in entries else (),
                orig_id=original_names(entries),
                fixed_size=self._resolver.fixed_size(declared.path),
                varint=read_varint(declared, self._resolver),
            )
        return struct

    def _members(
        self, declared: Declared, nodes: dict[str, Node], build: Callable[[Declared, str, Node], _M]
    ) -> tuple[_M, ...]:
        """Members that can be built; what is wrong with the others is among the problems."""
        found = []
        for name, node in nodes.items():
            with self._problems.noted():
                found.append(build(declared, name, node))
        return tuple(found)

    def _param(self, declared: Declared, name: str, node: Node) -> Param:
        entries = node.mapping()
        self._extensions.check_none(node, "a parameter")
        found = self._resolver.param_type(declared, entries, node)
        return Param(name, found, doc_of(entries), node.place)

    def _instance(self, declared: Declared, name: str, node: Node) -> Field | ValueInstance:
        entries = node.mapping()
        if "value" in entries:
            return self._value_instance(declared, name, node)
        if "pos" not in entries:
            raise node.error("an instance needs value or pos")
        return self._field(declared, name, node)

    def _value_instance(self, declared: Declared, name: str, node: Node) -> ValueInstance:
        entries = node.mapping()
        value = self._resolver.expression(entries["value"], Scope(declared, entries["value"]))
        found = self._resolver.member(declared.path, name)
        assert found is not None
        return ValueInstance(
            id=name,
            orig_id=original_names(entries),
            doc=doc_of(entries),
            place=node.place,
            type=found[1],
            value=value,
            condition=self._condition(declared, entries),
            extensions=self._extensions.read(declared, name, node, found[1]),
        )

    def _field(self, declared: Declared, name: str, node: Node) -> Field:
        entries = node.mapping()
        found = self._resolver.attribute_type(declared, entries)
        check_delimiters(node, entries, found)
        repeat = self._repeat(declared, node, entries, found)
        contents = contents_of(entries["contents"]) if "contents" in entries else None
        return Field(
            id=name,
            orig_id=original_names(entries),
            doc=doc_of(entries),
            place=node.place,
            type=found,
            size=self._integer(declared, entries, "size") if contents is None else Int(len(contents)),
            size_eos="size-eos" in entries,
            terminator=_terminator(entries, found),
            eos_error=_flag(entries, "eos-error", True),
            include=_flag(entries, "include", False),
            consume=_flag(entries, "consume", True),
            pad_right=_byte(entries, "pad-right"),
            condition=self._condition(declared, entries),
            repeat=repeat,
            valid=self._valid(declared, entries, found) if contents is None else _is(contents),
            pos=self._integer(declared, entries, "pos"),
            extensions=self._extensions.read(declared, name, node, value_type(found, repeat is not None)),
        )

    def _integer(self, declared: Declared, entries: dict[str, Node], key: str) -> Expr | None:
        if key not in entries:
            return None
        scope = Scope(declared, entries[key], has_index="repeat" in entries and key == "size")
        return self._resolver.integer(entries[key], scope)

    def _condition(self, declared: Declared, entries: dict[str, Node]) -> Expr | None:
        if "if" not in entries:
            return None
        return self._resolver.condition(entries["if"], Scope(declared, entries["if"]))

    def _repeat(
        self, declared: Declared, node: Node, entries: dict[str, Node], found: DataType
    ) -> Repeat | None:
        kind = entries["repeat"].text() if "repeat" in entries else None
        if kind not in (None, "expr", "eos", "until"):
            raise entries["repeat"].error("supported are expr, eos and until")
        for needs, key in (("expr", "repeat-expr"), ("until", "repeat-until")):
            if (kind == needs) != (key in entries):
                raise entries.get(key, node).error(f"repeat: {needs} and {key} belong together")
        if kind == "expr":
            place = entries["repeat-expr"]
            return Repeat("expr", self._resolver.integer(place, Scope(declared, place)))
        if kind == "until":
            place = entries["repeat-until"]
            scope = Scope(declared, place, element=value_type(found, False), has_index=True)
            return Repeat("until", self._resolver.condition(place, scope))
        return None if kind is None else Repeat("eos")

    def _valid(self, declared: Declared, entries: dict[str, Node], found: DataType) -> Valid | None:
        if "valid" not in entries:
            return None
        node, element = entries["valid"], value_type(found, False)
        is_check = isinstance(node.content, Scalar) and node.scalar().text == "[0]" and "if" in entries
        if isinstance(found, BytesType) and is_check:
            return _check(node, entries)
        if isinstance(node.content, Scalar):
            return Valid("eq", (self._value(declared, node, element),))
        parts = node.check_keys(("eq", "min", "max", "any-of", "expr"), "valid")
        if parts.keys() == {"eq"}:
            return Valid("eq", (self._value(declared, parts["eq"], element),))
        if parts.keys() == {"any-of"}:
            allowed = (self._value(declared, item, element) for item in parts["any-of"].sequence())
            return Valid("any_of", tuple(allowed))
        if parts.keys() == {"expr"}:
            scope = Scope(declared, parts["expr"], element=element, has_index="repeat" in entries)
            return Valid("expr", (self._resolver.condition(parts["expr"], scope),))
        if not parts or not parts.keys() <= {"min", "max"}:
            raise node.error("supported are one value, eq, any-of, expr, and min or max or both")
        least, most = (
            self._bound(declared, parts[key], element) if key in parts else None for key in ("min", "max")
        )
        return Valid("min_max", (least, most))

    def _value(self, declared: Declared, node: Node, element: DataType) -> Expr:
        """A value that a field is compared with."""
        value = self._resolver.expression(node, Scope(declared, node))
        if (
            describe(value.type) != describe(element)
            and {describe(value.type), describe(element)} != _NUMBERS
        ):
            raise node.error(f"type mismatch: {describe(value.type)} for a field of {describe(element)}")
        return value

    def _bound(self, declared: Declared, node: Node, element: DataType) -> Expr:
        if describe(element) not in _NUMBERS:
            raise node.error(f"min and max are supported of numbers, not of {describe(element)}")
        return self._value(declared, node, element)


def _check(node: Node, entries: dict[str, Node]) -> Valid:
    """The constraint of a field that is there to refuse bytes.

    It is no `valid: {expr: ...}`, since the Kaitai compiler has none for Nim, and a wrong one for members of
    types in C++11 and Rust.
    """
    is_empty = "size" in entries and entries["size"].scalar().text == "0"
    if not is_empty or "if" not in entries or "repeat" in entries:
        raise node.error("valid: '[0]' is supported of a check only: if: <what is refused>, and size: 0")
    return Valid("never", ())


def check_delimiters(node: Node, entries: dict[str, Node], found: DataType) -> None:
    """Check how the end is found: bytes and texts need a way, structs may have one, numbers have none."""
    given = [key for key in _DELIMITERS if key in entries]
    is_bytes, is_text = isinstance(found, BytesType), isinstance(found, StrType)
    if "size-eos" in entries and not entries["size-eos"].boolean():
        raise entries["size-eos"].error("size-eos: false is not supported; leave it out")
    if "contents" in entries and (given or not is_bytes or "valid" in entries):
        raise entries["contents"].error("contents says all of the bytes: no type, size, terminator or valid")
    needed = "contents" not in entries and not (isinstance(found, StrType) and found.zero)
    if (is_bytes or is_text) and needed and not given:
        raise node.error(f"{'bytes need' if is_bytes else 'a text needs'} one of {', '.join(_DELIMITERS)}")
    if isinstance(found, IntType | BitsType | EnumType | FloatType) and given:
        raise entries[given[0]].error(f"a number has no {given[0]}")
    if isinstance(found, SwitchType) and given and any(map(_is_number, found.cases)):
        raise entries[given[0]].error(
            "a switched type with numbers among its cases has no size or terminator"
        )
    if given[:2] == ["size", "size-eos"] or (len(given) > 1 and not (is_bytes or is_text)):
        raise entries[given[1]].error(f"{' and '.join(given)} together are not supported")
    if not (is_bytes or is_text) and "pad-right" in entries:
        raise entries["pad-right"].error("pad-right is supported of bytes and texts")
    for key in _OF_TERMINATOR:
        if key in entries and "terminator" not in entries and not (isinstance(found, StrType) and found.zero):
            raise entries[key].error(f"{key} needs a terminator")


def _is_number(case: tuple[Expr | None, DataType]) -> bool:
    return isinstance(case[1], IntType | BitsType | FloatType)


def _is(contents: bytes) -> Valid:
    return Valid("eq", (Bytes(contents),))


def _flag(entries: dict[str, Node], key: str, default: bool) -> bool:
    return entries[key].boolean() if key in entries else default


def _terminator(entries: dict[str, Node], found: DataType) -> int | None:
    is_zero = isinstance(found, StrType) and found.zero
    return 0 if is_zero and "terminator" not in entries else _byte(entries, "terminator")


def _byte(entries: dict[str, Node], key: str) -> int | None:
    if key not in entries:
        return None
    found = entries[key].integer()
    if not 0 <= found <= 255:
        raise entries[key].error(f"{key} is one byte, and {found} is none")
    return found
