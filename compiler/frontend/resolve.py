"""Resolution of names: kinds and types of members, parents, sizes.

Strategy: on demand, with a memory. A member's type may need an expression's, which may need another member's;
if that leads back to where it began, the schema is wrong.
"""

from __future__ import annotations

import re
from typing import TypeAlias

from compiler.errors import Problems
from compiler.frontend.declare import BUILT_IN, BUILT_IN_LISTED, Declarations, Declared, encoding_of
from compiler.frontend.expressions import Syntax, parse_expression, parse_type
from compiler.frontend.infer import Inference, Scope, describe, without_arguments
from compiler.frontend.nodes import (
    ArrayType,
    Binary,
    BitsType,
    BoolType,
    BytesType,
    CalcIntType,
    DataType,
    EnumType,
    Expr,
    FloatType,
    Int,
    IntType,
    NameKind,
    StrType,
    SwitchType,
    UserType,
)
from compiler.frontend.nodes import Path as Names
from compiler.frontend.yaml_tree import Node

_INTEGER = re.compile(r"([us])([1248])(le|be)?")
_BITS = re.compile(r"b([1-9][0-9]?)(le|be)?")
_NUMBER = re.compile(r"([us](?=[1248])|f(?=[48]))([1248])(le|be)?")
_SUFFIXED = re.compile(r"([usf][248]|b[0-9]+)(le|be)")
_OTHER = re.compile(r"bool|bytes|struct|io|any")
_BuiltIn: TypeAlias = IntType | BitsType | FloatType | StrType


class Resolver:
    """Resolver of names; see `infer.Members`.

    Args:
        declarations: all types of all schemas.
    """

    def __init__(self, declarations: Declarations) -> None:
        self.declarations = declarations
        self._inference = Inference(self)
        self._known: dict[tuple[Names, str], DataType] = {}
        self._busy: set[tuple[Names, str]] = set()
        self._sizes: dict[Names, int | None] = {}
        self._parents = self._find_parents()

    # Members

    def member(self, struct: Names, name: str) -> tuple[NameKind, DataType] | None:
        """Kind and type of a member of a struct, None if there is none."""
        declared = self.declarations.types[struct]
        kinds: tuple[tuple[NameKind, dict[str, Node]], ...] = (
            ("param", declared.params), ("field", declared.fields), ("instance", declared.instances),
        )  # fmt: skip
        for kind, members in kinds:
            if name in members:
                return kind, self._type_of(declared, name, kind, members[name])
        return None

    def _type_of(self, declared: Declared, name: str, kind: NameKind, node: Node) -> DataType:
        key = (declared.path, name)
        if key in self._known:
            return self._known[key]
        if key in self._busy:
            raise node.error(f"{name!r} depends on itself")
        self._busy.add(key)
        try:
            self._known[key] = found = without_arguments(self._found_type(declared, kind, node))
        finally:
            self._busy.discard(key)
        return found

    def _found_type(self, declared: Declared, kind: NameKind, node: Node) -> DataType:
        entries = node.mapping()
        if kind == "param":
            return self.param_type(declared, entries, node)
        if "value" in entries:
            value = self.expression(entries["value"], Scope(declared, entries["value"])).type
            return self._with_enum(value, declared, entries)
        return value_type(self.attribute_type(declared, entries, shallow=True), "repeat" in entries)

    def expression(self, node: Node, scope: Scope, tree: Syntax | None = None) -> Expr:
        """The typed expression that stands at a node.

        Raises:
            SchemaError: it is none, or its names or types are wrong.
        """
        return self._inference.infer(tree if tree is not None else parse_expression(node), scope)

    def integer(self, node: Node, scope: Scope) -> Expr:
        """The expression at a node, which must be an integer."""
        return self._of(self.expression(node, scope), "integer", node)

    def condition(self, node: Node, scope: Scope) -> Expr:
        """The expression at a node, which must be true or false."""
        return self._of(self.expression(node, scope), "bool", node)

    def _of(self, found: Expr, what: str, node: Node) -> Expr:
        if describe(found.type) != what:
            raise node.error(f"type mismatch: {describe(found.type)} stands where {what} is expected")
        return found

    # Types

    def param_type(self, declared: Declared, entries: dict[str, Node], node: Node) -> DataType:
        """The type of a parameter."""
        if "type" not in entries:
            raise node.error("a parameter needs a type")
        text = entries["type"].text()
        found = BoolType() if text == "bool" else self._built_in(text, declared, entries["type"])
        if not isinstance(found, BoolType | IntType):
            raise entries["type"].error(
                f"the type {text!r} is not supported for parameters; supported are bool and u1 to s8"
            )
        return self._with_enum(found, declared, entries)

    def attribute_type(
        self, declared: Declared, entries: dict[str, Node], *, shallow: bool = False
    ) -> DataType:
        """The type of one element of an attribute or parse instance; arguments are left out if `shallow`."""
        if "type" not in entries:
            if "enum" in entries:
                raise entries["enum"].error("an enum needs an integer type")
            return BytesType()
        place = entries["type"]
        scope = Scope(declared, place, has_index="repeat" in entries)
        if isinstance(place.content, dict):
            return self._switch_type(place, scope, entries, shallow)
        return self._with_enum(self._named_type(place, scope, entries, shallow), declared, entries)

    def _named_type(self, place: Node, scope: Scope, entries: dict[str, Node], shallow: bool) -> DataType:
        names, arguments = parse_type(place)
        found = self._built_in(names[0], scope.struct, place, entries) if len(names) == 1 else None
        if found is None:
            return self._user_type(names, arguments, place, scope, shallow)
        if arguments:
            raise place.error(f"{names[0]} takes no arguments")
        return found

    def _user_type(
        self, names: Names, arguments: tuple[Syntax, ...], place: Node, scope: Scope, shallow: bool
    ) -> UserType:
        declared = self.declarations.find_type(names, scope.struct, place)
        if shallow:
            return UserType(declared.path)
        if len(arguments) != len(declared.params):
            needs = ", ".join(declared.params) or "none"
            raise place.error(f"{len(arguments)} arguments for {'::'.join(names)}, which takes {needs}")
        inner = Scope(scope.struct, place, has_index=scope.has_index)
        given = tuple(self.expression(place, inner, tree) for tree in arguments)
        for (name, node), argument in zip(declared.params.items(), given, strict=True):
            wanted = self.param_type(declared, node.mapping(), node)
            if describe(wanted) != describe(argument.type):
                detail = f"{describe(argument.type)} is given for {name}, which is {describe(wanted)}"
                raise place.error(f"type mismatch: {detail}")
        return UserType(declared.path, given)

    def _switch_type(self, place: Node, scope: Scope, entries: dict[str, Node], shallow: bool) -> SwitchType:
        if "enum" in entries:
            raise entries["enum"].error("an enum needs an integer type")
        parts = place.all_of(("switch-on", "cases"), "a switched type")
        on = self.expression(parts["switch-on"], Scope(scope.struct, parts["switch-on"]))
        cases: list[tuple[Expr | None, DataType]] = []
        for text, node in parts["cases"].mapping().items():
            case = None if text == "_" else self._case(text, node, scope, on)
            cases.append((case, self._named_type(node, scope, entries, shallow)))
        return SwitchType(on, tuple(cases))

    def _case(self, text: str, node: Node, scope: Scope, on: Expr) -> Expr:
        key = node.as_key(text)
        found = self.expression(key, Scope(scope.struct, key))
        if describe(found.type) != describe(on.type):
            raise node.error(
                f"type mismatch: the case is {describe(found.type)}, what is switched on {describe(on.type)}"
            )
        return found

    def _built_in(
        self, text: str, declared: Declared, place: Node, entries: dict[str, Node] | None = None
    ) -> _BuiltIn | None:
        """A built-in type, None if it is none; a parameter (without `entries`) needs no order of bytes."""
        bits = _BITS.fullmatch(text)
        if bits is not None and int(bits[1]) <= 64:
            return BitsType(int(bits[1]), bits[2] == "be" if bits[2] else declared.bits_big_endian)
        number = _NUMBER.fullmatch(text)
        if number is not None:
            kind, width = number[1], int(number[2])
            big_endian = number[3] == "be" if number[3] else declared.big_endian
            if width > 1 and big_endian is None and entries is not None:
                raise place.error(f"{text} needs an endian in meta, or a suffix le or be")
            if kind == "f":
                return FloatType(width, big_endian is not False)
            return IntType(width, kind == "s", big_endian is not False or width == 1)
        if text in ("str", "strz") and entries is not None:
            encoding, ends = (
                self._encoding(declared, entries, place),
                text == "strz" or "terminator" in entries,
            )
            if ends and encoding.upper().startswith(("UTF-16", "UTF-32")):
                raise place.error(f"a text in {encoding} ends before more than one byte: not supported")
            return StrType(encoding, text == "strz")
        if _OTHER.fullmatch(text) and text != "bool":
            supported = f"{BUILT_IN_LISTED}, and the schemas' own types; without a type, bytes"
            raise place.error(f"the type {text} is not supported; supported are {supported}")
        return None

    def _encoding(self, declared: Declared, entries: dict[str, Node], place: Node) -> str:
        if "encoding" in entries:
            return encoding_of(entries["encoding"])
        if declared.encoding is None:
            raise place.error("a text needs an encoding, here or in meta")
        return declared.encoding

    def _with_enum(self, found: DataType, declared: Declared, entries: dict[str, Node]) -> DataType:
        if "enum" not in entries:
            return found
        if not isinstance(found, IntType | BitsType | CalcIntType):
            raise entries["enum"].error("an enum needs an integer type")
        names = tuple(entries["enum"].text().split("::"))
        return EnumType(self.declarations.find_enum(names, declared, entries["enum"]).path, found)

    # Parents

    def parent(self, struct: Names) -> Names | None:
        """The type of `_parent`, where all uses of the struct in its own schema agree on it."""
        return self._parents.get(struct)

    def _find_parents(self) -> dict[Names, Names]:
        uses: dict[Names, set[Names]] = {}
        for declared in self.declarations.types.values():
            for node in (*declared.fields.values(), *declared.instances.values()):
                for used in self._types_used(declared, node):
                    # The compiler hands a type of another schema no parent.
                    if used[0] == declared.path[0]:
                        uses.setdefault(used, set()).add(declared.path)
        parents = {}
        for used, users in uses.items():
            (user, *others) = users
            if not others and len(used) > 1:
                parents[used] = user
        return parents

    def _types_used(self, declared: Declared, node: Node) -> list[Names]:
        place = node.mapping().get("type")
        if place is None:
            return []
        places = [place]
        if isinstance(place.content, dict):
            cases = place.content.get("cases")
            places = list(cases.mapping().values()) if cases is not None else []
        found, told_later = [], Problems()
        for each in places:
            with told_later.noted():
                names, _ = parse_type(each)
                if len(names) > 1 or (names[0] not in BUILT_IN and not _SUFFIXED.fullmatch(names[0])):
                    found.append(self.declarations.find_type(names, declared, each).path)
        return found

    # Sizes

    def size_of_type(self, names: Names, scope: Scope, offset: int) -> tuple[DataType, int]:
        """A type by name, and its size in bytes.

        Raises:
            SchemaError: there is none, or its size is not fixed.
        """
        integer = _INTEGER.fullmatch(names[0]) if len(names) == 1 else None
        if integer is not None:
            width = int(integer[2])
            big_endian = integer[3] == "be" if integer[3] else scope.struct.big_endian
            return IntType(width, integer[1] == "s", big_endian is not False or width == 1), width
        declared = self.declarations.find_type(names, scope.struct, scope.place, offset)
        size = self.fixed_size(declared.path)
        if size is None:
            raise scope.place.error(f"the size of {'::'.join(names)} is not fixed", offset)
        return UserType(declared.path), size

    def size_of_member(self, struct: Names, name: str) -> tuple[DataType, int] | None:
        """The type and the size in bytes of a field; None if it is repeated, or its size is not fixed."""
        declared = self.declarations.types[struct]
        node, key = declared.fields[name], (struct, f"{name}._sizeof")
        if key in self._busy:
            raise node.error(f"the size of {name!r} depends on itself")
        self._busy.add(key)
        try:
            entries = node.mapping()
            found = self.attribute_type(declared, entries, shallow=True)
            bits = None if "repeat" in entries else self._bits_of(declared, entries, found)
        finally:
            self._busy.discard(key)
        return None if bits is None else (found, (bits + 7) // 8)

    def fixed_size(self, struct: Names) -> int | None:
        """The size of a struct's fields in bytes, None if it is not fixed."""
        if struct not in self._sizes:
            self._sizes[struct] = None  # so it is for a type that contains itself
            self._sizes[struct] = self._sum_of_fields(self.declarations.types[struct])
        return self._sizes[struct]

    def _sum_of_fields(self, declared: Declared) -> int | None:
        total = 0
        for node in declared.fields.values():
            entries = node.mapping()
            found = self.attribute_type(declared, entries, shallow=True)
            bits = None if "if" in entries else self._bits_of(declared, entries, found)
            count = self._count_of(declared, entries)
            if bits is None or count is None:
                return None
            in_bits = isinstance(found, BitsType) or (
                isinstance(found, EnumType) and isinstance(found.base, BitsType)
            )
            # What follows bits begins at a whole byte, which the Kaitai compiler forgets to count.
            if total % 8 != 0 and not in_bits:
                return None
            total += bits * count
        return total // 8 if total % 8 == 0 else None

    def _count_of(self, declared: Declared, entries: dict[str, Node]) -> int | None:
        if "repeat" not in entries:
            return 1
        place = entries.get("repeat-expr")
        return None if place is None else constant(self.integer(place, Scope(declared, place)))

    def _bits_of(self, declared: Declared, entries: dict[str, Node], found: DataType) -> int | None:
        """The size of one element in bits, None if it is not fixed."""
        if isinstance(found, EnumType):
            found = found.base
        if isinstance(found, IntType | FloatType):
            return 8 * found.width_bytes
        if isinstance(found, BitsType):
            return found.width
        if "contents" in entries:
            return 8 * len(contents_of(entries["contents"]))
        if "size" in entries:
            scope = Scope(declared, entries["size"], has_index="repeat" in entries)
            size = constant(self.integer(entries["size"], scope))
            return None if size is None else 8 * size
        if not isinstance(found, UserType) or entries.keys() & {"size-eos", "terminator"}:
            return None
        size = self.fixed_size(found.path)
        return None if size is None else 8 * size


def value_type(element: DataType, repeated: bool) -> DataType:
    """The type of an attribute in expressions: an array if repeated, a bool for a single bit."""
    if isinstance(element, BitsType) and element.width == 1:
        element = BoolType()
    if isinstance(element, SwitchType) and all(isinstance(case, IntType) for _, case in element.cases):
        element = CalcIntType()
    return ArrayType(element) if repeated else element


def contents_of(node: Node) -> bytes:
    """The bytes that `contents` says: a text, or a list of texts and numbers."""
    parts = b""
    for item in node.content if isinstance(node.content, list) else [node]:
        value = item.scalar().value
        if isinstance(value, bool) or (isinstance(value, int) and not 0 <= value <= 255):
            raise item.error(f"{item.scalar().text} is no byte")
        parts += bytes([value]) if isinstance(value, int) else str(value).encode()
    return parts


def constant(found: Expr) -> int | None:
    """The value of integers as written, their sums and products; None of all else, as in the compiler."""
    if isinstance(found, Int):
        return found.value
    if isinstance(found, Binary) and found.op in ("+", "-", "*"):
        left, right = constant(found.left), constant(found.right)
        if left is None or right is None:
            return None
        return {"+": left + right, "-": left - right, "*": left * right}[found.op]
    return None
