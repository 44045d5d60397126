"""Type inference for expressions: the kind and type of each name and result.

Strategy: one method for each kind of node in the syntax tree (`grammar.lark`). An operation on types that is
not spelled out here is refused, so that no target meets anything that its author did not think of.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol, cast

from lark import Token

from compiler.errors import SchemaError
from compiler.frontend.declare import INTEGERS, Declarations, Declared, encoding_of
from compiler.frontend.expressions import Syntax, as_tree, offset_of
from compiler.frontend.nodes import (
    ArrayType,
    Attribute,
    Binary,
    BitsType,
    Bool,
    BoolType,
    Bytes,
    BytesType,
    CalcFloatType,
    CalcIntType,
    Compare,
    DataType,
    EnumLabel,
    EnumType,
    Expr,
    Float,
    FloatType,
    Int,
    IntType,
    Logic,
    Method,
    Name,
    NameKind,
    SizeOf,
    Str,
    StreamType,
    StrType,
    Subscript,
    Ternary,
    Unary,
    UserType,
)
from compiler.frontend.nodes import Path as Names
from compiler.frontend.yaml_tree import Node

_INT, _BOOL, _FLOAT = CalcIntType(), BoolType(), CalcFloatType()
_NUMBERS = ("integer", "float")
# What the language offers on values: type of the value, name, type of the outcome (None: that of an element).
_METHODS: dict[type, dict[str, DataType | None]] = {
    ArrayType: {"size": _INT, "first": None, "last": None, "min": None, "max": None},
    BytesType: {"size": _INT, "to_s": StrType("")},
    StrType: {"length": _INT, "to_i": _INT},
    IntType: {"to_s": StrType("")},
    CalcIntType: {"to_s": StrType("")},
    FloatType: {"to_i": _INT},
    CalcFloatType: {"to_i": _INT},
    EnumType: {"to_i": _INT},
    BoolType: {"to_i": _INT},
    StreamType: {"size": _INT, "pos": _INT, "eof": _BOOL},
}


@dataclass(frozen=True, slots=True)
class Scope:
    """The scope of an expression.

    Attributes:
        struct: the type whose members it may name.
        place: the node, for errors.
        element: the type of `_`, None where there is no such thing.
        has_index: whether there is `_index`.
    """

    struct: Declared
    place: Node
    element: DataType | None = None
    has_index: bool = False


class Members(Protocol):
    """Look-ups that type inference needs; see `resolve.Resolver`."""

    declarations: Declarations

    def member(self, struct: Names, name: str) -> tuple[NameKind, DataType] | None:
        """Kind and type of a member, None if there is none."""

    def parent(self, struct: Names) -> Names | None:
        """The type of `_parent`, None if it is not known."""

    def size_of_type(self, names: Names, scope: Scope, offset: int) -> tuple[DataType, int]:
        """A type by name, and its size in bytes."""

    def size_of_member(self, struct: Names, name: str) -> tuple[DataType, int] | None:
        """The type and the size in bytes of a field, None if its size is not fixed."""


def is_int(found: DataType) -> bool:
    """Whether a value of this type is an integer."""
    return isinstance(found, IntType | CalcIntType) or (isinstance(found, BitsType) and found.width > 1)


def describe(found: DataType) -> str:
    """A type in the words of a message."""
    if isinstance(found, UserType | EnumType):
        return "::".join(found.path)
    if isinstance(found, ArrayType):
        return f"array of {describe(found.element)}"
    names = {BoolType: "bool", BytesType: "bytes", StrType: "text", StreamType: "stream"}
    names |= {FloatType: "float", CalcFloatType: "float"}
    return "integer" if is_int(found) else names.get(type(found), "switched type")


class Inference:
    """Turns syntax trees into typed expressions.

    Args:
        members: what the schemas declare.
    """

    def __init__(self, members: Members) -> None:
        self._members = members

    def infer(self, tree: Syntax, scope: Scope) -> Expr:
        """The typed expression.

        Raises:
            SchemaError: an unknown name, operands whose types do not fit, or something that is not supported.
        """
        literal = _literal(tree)
        if literal is not None:
            return literal
        return cast(Expr, getattr(self, f"_{tree.data}")(tree, scope))

    def _error(self, tree: Syntax, scope: Scope, detail: str) -> SchemaError:
        return scope.place.error(detail, offset_of(tree))

    def _children(self, tree: Syntax, scope: Scope) -> list[Expr]:
        return [self.infer(as_tree(child), scope) for child in tree.children if not isinstance(child, Token)]

    # Names and members

    def _label(self, tree: Syntax, scope: Scope) -> Expr:
        *names, label = (str(child) for child in tree.children)
        enum = self._members.declarations.find_enum(tuple(names), scope.struct, scope.place, offset_of(tree))
        number = enum.number(label)
        if number is None:
            known = ", ".join(member.id for member in enum.members)
            raise self._error(tree, scope, f"enum {names[-1]} has no {label!r}; it has {known}")
        return EnumLabel(enum.path, label, number, EnumType(enum.path, _INT))

    def _sizeof(self, tree: Syntax, scope: Scope) -> Expr:
        inside = str(tree.children[0]).partition("<")[2].rstrip("> \n")
        names = tuple(part.strip() for part in inside.split("::"))
        return SizeOf(*self._members.size_of_type(names, scope, offset_of(tree)))

    def _name(self, tree: Syntax, scope: Scope) -> Expr:
        name = str(tree.children[0])
        own = self._own_name(tree, scope, name)
        if own is not None:
            return own
        found = self._members.member(scope.struct.path, name)
        if found is None:
            raise self._unknown(tree, scope, name, scope.struct)
        return Name(name, *found)

    def _own_name(self, tree: Syntax, scope: Scope, name: str) -> Name | None:
        """One of the language's own names."""
        if name == "_":
            if scope.element is None:
                raise self._error(tree, scope, "there is no _ here; valid, repeat-until have one")
            return Name("_", "self", scope.element)
        if name == "_index":
            if not scope.has_index:
                raise self._error(tree, scope, "there is no _index here, where nothing is repeated")
            return Name("_index", "index", _INT)
        found = self._relative(tree, scope, scope.struct.path, name)
        return None if found is None else Name(name, *found)

    def _relative(
        self, tree: Syntax, scope: Scope, struct: Names, name: str
    ) -> tuple[NameKind, DataType] | None:
        """Return the member `_parent`, `_root` or `_io` of a struct."""
        if name == "_io":
            return "io", StreamType()
        if name == "_root":
            return "root", UserType(struct[:1])
        if name == "_parent":
            parent = self._members.parent(struct)
            if parent is None:
                detail = (
                    f"_parent of {'::'.join(struct)} is not one type: it is used nowhere, in several types"
                )
                raise self._error(tree, scope, f"{detail}, or by another schema; supported are parameters")
            return "parent", UserType(parent)
        return None

    def _unknown(self, tree: Syntax, scope: Scope, name: str, struct: Declared) -> SchemaError:
        known = ", ".join(struct.member_names()) or "nothing"
        return self._error(tree, scope, f"{'::'.join(struct.path)} has no {name!r}; it has {known}")

    def _member(self, tree: Syntax, scope: Scope) -> Expr:
        owner, name = as_tree(tree.children[0]), str(tree.children[1])
        if name == "_sizeof":
            return self._size_of_value(tree, owner, scope)
        value = self.infer(owner, scope)
        if not isinstance(value.type, UserType):
            return self._call_method(tree, scope, value, name, ())
        path = value.type.path
        found = self._relative(tree, scope, path, name) or self._members.member(path, name)
        if found is None:
            raise self._unknown(tree, scope, name, self._members.declarations.types[path])
        return Attribute(value, name, *found)

    def _size_of_value(self, tree: Syntax, owner: Syntax, scope: Scope) -> Expr:
        value = self.infer(owner, scope)
        found = None
        if isinstance(value, Name) and value.kind == "field":
            found = self._members.size_of_member(scope.struct.path, value.id)
        elif (
            isinstance(value, Attribute) and value.kind == "field" and isinstance(value.object.type, UserType)
        ):
            found = self._members.size_of_member(value.object.type.path, value.id)
        if found is None:
            raise self._error(tree, scope, "_sizeof is supported of fields that always have the same size")
        return SizeOf(*found)

    def _call(self, tree: Syntax, scope: Scope) -> Expr:
        owner, name, *arguments = tree.children
        value = self.infer(as_tree(owner), scope)
        given = tuple(self.infer(as_tree(argument), scope) for argument in arguments)
        if isinstance(value.type, UserType):
            raise self._error(tree, scope, "members of a type take no arguments")
        return self._call_method(tree, scope, value, str(name), given)

    def _call_method(
        self, tree: Syntax, scope: Scope, value: Expr, name: str, given: tuple[Expr, ...]
    ) -> Expr:
        known = _METHODS.get(type(value.type), {})
        if name not in known:
            has = ", ".join(known) or "nothing"
            raise self._error(tree, scope, f"{describe(value.type)} has no {name!r}; supported is {has}")
        outcome = known[name]
        if name == "to_s" and isinstance(value.type, BytesType):
            return Method(value, name, given, StrType(self._encoding(tree, scope, given)))
        if given:
            raise self._error(tree, scope, f"{name} is supported without arguments only")
        if isinstance(value.type, ArrayType) and outcome is None:
            if name in ("min", "max") and not is_int(value.type.element):
                raise self._error(tree, scope, f"{name} is supported of arrays of integers only")
            outcome = value.type.element
        assert outcome is not None
        return Method(value, name, (), outcome)

    def _encoding(self, tree: Syntax, scope: Scope, given: tuple[Expr, ...]) -> str:
        if len(given) != 1 or not isinstance(given[0], Str):
            raise self._error(tree, scope, "to_s takes the name of an encoding")
        return encoding_of(scope.place.as_key(given[0].value))

    def _subscript(self, tree: Syntax, scope: Scope) -> Expr:
        value, index = self._children(tree, scope)
        if not isinstance(value.type, ArrayType | BytesType):
            raise self._error(
                tree, scope, f"[] is supported of arrays and bytes, not of {describe(value.type)}"
            )
        self._need(tree, scope, index, "integer")
        element = value.type.element if isinstance(value.type, ArrayType) else IntType(1, False, True)
        return Subscript(value, index, element)

    def _array(self, tree: Syntax, scope: Scope) -> Expr:
        """Bytes as written."""
        items = self._children(tree, scope)
        values = [item.value for item in items if isinstance(item, Int) and 0 <= item.value <= 255]
        if len(values) < len(items):
            raise self._error(tree, scope, "a list is supported of bytes as written, numbers from 0 to 255")
        return Bytes(bytes(values))

    def _cast(self, tree: Syntax, scope: Scope) -> Expr:
        """The operand: a cast says in how many bits a language computes, and leaves the value as it is."""
        (value,) = self._children(tree, scope)
        wanted = str(tree.children[1]).partition("<")[2].rstrip("> \n").strip()
        if wanted not in INTEGERS:
            known = ", ".join(INTEGERS)
            raise self._error(tree, scope, f"a cast to {wanted!r} is not supported; supported are {known}")
        self._need(tree, scope, value, "integer")
        return value

    # Operators

    def _need(self, tree: Syntax, scope: Scope, value: Expr, what: str) -> None:
        if describe(value.type) != what:
            detail = f"{describe(value.type)} stands where {what} is expected"
            raise self._error(tree, scope, f"type mismatch: {detail}")

    def _unary(self, tree: Syntax, scope: Scope) -> Expr:
        (operand,) = self._children(tree, scope)
        op = str(tree.children[0])
        if op == "-" and describe(operand.type) == "float":
            return Unary("-", operand, _FLOAT)
        self._need(tree, scope, operand, "bool" if op == "not" else "integer")
        return Unary(cast(Any, op), operand, _BOOL if op == "not" else _INT)

    def _binary(self, tree: Syntax, scope: Scope) -> Expr:
        left, right = self._children(tree, scope)
        op = str(tree.children[1])
        kinds = describe(left.type), describe(right.type)
        if op == "+" and kinds == ("text", "text"):
            return Binary("+", left, right, StrType("UTF-8"))
        if op in ("+", "-", "*", "/") and "float" in kinds and {*kinds} <= {*_NUMBERS}:
            return Binary(cast(Any, op), left, right, _FLOAT)
        for operand in (left, right):
            self._need(tree, scope, operand, "integer")
        return Binary(cast(Any, op), left, right, _INT)

    def _compare(self, tree: Syntax, scope: Scope) -> Expr:
        left, right = self._children(tree, scope)
        op = str(tree.children[1])
        kinds = describe(left.type), describe(right.type)
        ordered = {*kinds} <= {*_NUMBERS}
        equal = ordered or isinstance(left.type, EnumType | BoolType | StrType | BytesType)
        same = ordered or kinds[0] == kinds[1]
        if not same or not (ordered if op not in ("==", "!=") else equal):
            raise self._error(tree, scope, f"type mismatch: {kinds[0]} {op} {kinds[1]}")
        return Compare(cast(Any, op), left, right)

    def _logic(self, tree: Syntax, scope: Scope, op: str) -> Expr:
        operands = self._children(tree, scope)
        for operand in operands:
            self._need(tree, scope, operand, "bool")
        return Logic(cast(Any, op), tuple(operands))

    def _logic_and(self, tree: Syntax, scope: Scope) -> Expr:
        return self._logic(tree, scope, "and")

    def _logic_or(self, tree: Syntax, scope: Scope) -> Expr:
        return self._logic(tree, scope, "or")

    def _ternary(self, tree: Syntax, scope: Scope) -> Expr:
        condition, then, otherwise = self._children(tree, scope)
        self._need(tree, scope, condition, "bool")
        kinds = describe(then.type), describe(otherwise.type)
        if kinds[0] != kinds[1]:
            raise self._error(tree, scope, f"type mismatch: {kinds[0]} or else {kinds[1]}")
        outcome = then.type if then.type == otherwise.type or not is_int(then.type) else _INT
        return Ternary(condition, then, otherwise, outcome)


def _literal(tree: Syntax) -> Expr | None:
    """The value, if the tree is one as written."""
    if tree.data in ("true", "false"):
        return Bool(tree.data == "true")
    if tree.data == "float":
        return Float(float(str(tree.children[0]).replace("_", "")))
    if tree.data == "text":
        return Str(str(tree.children[0])[1:-1])
    if tree.data == "integer":
        digits = str(tree.children[0]).replace("_", "")
        return Int(int(digits, 0) if digits.startswith(("0x", "0o", "0b")) else int(digits))
    return None


def without_arguments(found: DataType) -> DataType:
    """A type as expressions have it: a struct's arguments do not matter to its users."""
    if isinstance(found, UserType):
        return replace(found, args=())
    return replace(found, element=without_arguments(found.element)) if isinstance(found, ArrayType) else found
