"""Fields and instances of the model as declarations of Construct."""

from __future__ import annotations

import re
from dataclasses import replace

from compiler.frontend.model import (
    Aggregate,
    ArrayType,
    Attribute,
    BitsType,
    BoolType,
    Bytes,
    BytesType,
    CalcIntType,
    Checksum,
    DataType,
    EnumType,
    Expr,
    Field,
    Float,
    FloatType,
    Int,
    IntType,
    Model,
    Name,
    Param,
    Path,
    Str,
    StrType,
    Struct,
    SwitchType,
    UserType,
    Valid,
    ValueInstance,
)
from compiler.targets.construct.expression_text import Writer, function, quoted
from compiler.targets.construct.expression_values import asks_for_room, constant
from compiler.targets.construct.implied_fields import Implied, inverse_of
from compiler.targets.construct.names import Names
from compiler.targets.construct.python_text import Call, Mapped, Node

_FIXED = (Int, Float, Bytes, Str)  # values that a field is filled in with when it can have no other
_HELPERS = re.compile(r"\b(length_of|count_of|bytes_of|packed_of|place_of)\(")


class Declarer:
    """Writes the declarations of one struct's members.

    Args:
        model: all schemas.
        names: of the module.
        struct: whose members.
        implied: its fields that follow from others.
        late: structs that are declared later than this one, or in modules that import this one.
    """

    def __init__(
        self, model: Model, names: Names, struct: Struct, implied: dict[str, Implied], late: frozenset[Path]
    ) -> None:
        self.model, self.names, self.struct, self.implied, self.late = model, names, struct, implied, late

    def _call(self, name: str, *args: Node, **keywords: Node) -> Call:
        return Call(self.names.from_support(name), list(args), keywords)

    def _text(self, text: str) -> str:
        """A text that may call helpers of the support modules, which are imported for it."""
        for name in _HELPERS.findall(text):
            self.names.from_support(name)
        return text

    # Types

    def type(self, field: Field) -> Node:
        """A field's type, for one element, with its size."""
        kind = field.type
        size = self._size(field.size)
        if isinstance(kind, SwitchType) and not kind.has_structs_only:
            return self._switch(kind, field)
        if not isinstance(kind, UserType | SwitchType):
            return self._value(kind, field)
        inner = self._user(kind) if isinstance(kind, UserType) else self._switch(kind, field)
        if field.terminator is not None:
            return self._terminated(inner, field)
        if size is not None:
            return self._call("Sized", size, inner)
        return self._call("Rest", inner) if field.size_eos else inner

    def _size(self, expr: Expr | None) -> str | None:
        value = constant(self.struct, expr)
        if expr is None or value is not None:
            return None if value is None else str(value)
        return function(expr)

    def _terminated(self, inner: Node, field: Field) -> Node:
        keywords: dict[str, Node] = {} if field.eos_error else {"required": "False"}
        keywords |= {"include": "True"} if field.include else {}
        keywords |= {} if field.consume else {"consume": "False"}
        return self._call("Terminated", inner, f"{field.terminator:#04x}", **keywords)

    def _value(self, kind: DataType, field: Field) -> Node:
        """What is no struct: a number, bytes, a text."""
        if isinstance(kind, StrType):
            terminated = replace(field, terminator=0) if kind.zero and field.terminator is None else field
            return self._call("Text", self._bytes(terminated), quoted(kind.encoding))
        return self._bytes(field) if isinstance(kind, BytesType) else self._scalar(kind)

    def _bytes(self, field: Field) -> Node:
        size = self._size(field.size)
        inner: Node = self.names.from_construct("GreedyBytes")
        if size is not None:
            inner = self._call("Bytes", size)
        elif not field.size_eos:
            return self._terminated(inner, field)
        keywords: dict[str, Node] = {}
        if field.terminator is not None:
            keywords["terminator"] = f"{field.terminator:#04x}"
            keywords |= {"include": "True"} if field.include else {}
        if field.pad_right is not None:
            keywords["pad"] = f"{field.pad_right:#04x}"
        return self._call("Cut", inner, **keywords) if keywords else inner

    def _scalar(self, kind: DataType) -> Node:
        match kind:
            case FloatType(width_bytes=width, big_endian=big_endian):
                return self._call("Float", str(width), **({} if big_endian else {"big_endian": "False"}))
            case IntType(width_bytes=width, signed=signed, big_endian=big_endian):
                sign, order = "s" if signed else "u", "b" if big_endian else "l"
                return self.names.from_construct(f"Int{8 * width}{sign}{order}")
            case BitsType(width=width, big_endian=big_endian):
                keywords: dict[str, Node] = {} if big_endian else {"big_endian": "False"}
                return self._call("BitFlag", **keywords) if width == 1 else self._bits(width, keywords)
            case EnumType():
                return self.enum(kind)
        raise NotImplementedError(f"type {kind!r}")

    def _bits(self, width: int, keywords: dict[str, Node]) -> Node:
        return self._call("Bits", str(width), **keywords)

    def enum(self, kind: EnumType) -> Node:
        """A number that may have a name."""
        base = kind.base
        if isinstance(base, BitsType):
            inner = self._bits(base.width, {} if base.big_endian else {"big_endian": "False"})
        else:
            inner = self._scalar(base if isinstance(base, IntType) else IntType(8, True, True))
        return self._call("Enum", inner, self.names.use(kind.path, self.names.enum(kind.path)))

    def user(self, path: Path) -> Node:
        """Another struct, looked up when it is needed if it is declared later."""
        name = self.names.struct(path)
        if path not in self.late:
            return self.names.use(path, name)
        if path[0] != self.struct.path[0]:
            self.names.late.add(path[0])
            return Call(self.names.from_construct("LazyBound"), [f"_{path[0]}"])
        return Call(self.names.from_construct("LazyBound"), [f"lambda: {name}"])

    def _user(self, kind: UserType) -> Node:
        target = self.user(kind.path)
        if not kind.args:
            return target
        params = [param.id for param in self.model.struct(kind.path).params]
        given = {name: function(arg) for name, arg in zip(params, kind.args, strict=True)}
        return self._call("With", target, **given)

    def _switch(self, kind: SwitchType, field: Field) -> Node:
        has_bytes = field.size is not None or field.size_eos or field.terminator is not None
        default: Node | None = self.names.from_construct("GreedyBytes") if has_bytes else None
        if has_bytes and not kind.has_structs_only:
            default = self._bytes(field)
        cases: list[tuple[str, Node]] = []
        for expr, target in kind.cases:
            node = self._case(target, field, kind.has_structs_only)
            if expr is None:
                default = node
            else:
                cases.append((Writer().text(expr), node))
        args: list[Node] = [function(kind.on), Mapped(cases)]
        return self._call("Switch", *args, *([] if default is None else [default]))

    def _case(self, target: DataType, field: Field, has_structs_only: bool) -> Node:
        """A case; beside others that are no structs, each has the size by itself."""
        if has_structs_only and isinstance(target, UserType):
            return self._user(target)
        return self.type(replace(field, type=target))

    # Fields

    def field(self, field: Field) -> Node:
        """A field of `seq`: type, checks, repetition, derivation, condition."""
        node = self._repeated(field, self._checked(field))
        node = self._derived(field, node)
        if field.condition is None:
            return node
        name = "IfRoom" if asks_for_room(self.struct, field.condition) else "If"
        return self._call(name, function(field.condition), node)

    def _is_constant(self, field: Field) -> bool:
        valid = field.valid
        is_fixed = valid is not None and valid.kind == "eq" and isinstance(valid.exprs[0], _FIXED)
        return is_fixed and not field.repeat

    def _checked(self, field: Field) -> Node:
        node = self.type(field)
        if field.valid is None:
            return node
        if self._is_constant(field):
            return self._call("Constant", node, function_of(field.valid.exprs[0]))
        return self._valid(field.valid, node)

    def _valid(self, valid: Valid, node: Node) -> Node:
        if valid.kind == "never":
            return self._call("Valid", node, "lambda this, it: False")
        first = valid.exprs[0]
        if valid.kind == "expr":
            return self._call("Valid", node, function_of(first, "it"))
        if valid.kind == "eq":
            return self._call("Valid", node, equal=function_of(first))
        if valid.kind == "any_of":
            listed = [function_of(expr) for expr in valid.exprs]
            return self._call("Valid", node, any_of=f"({', '.join(listed)}{',' * (len(listed) == 1)})")
        bounds = {name: expr for name, expr in zip(("least", "most"), valid.exprs, strict=True) if expr}
        return self._call("Valid", node, **{name: function_of(expr) for name, expr in bounds.items()})

    def _repeated(self, field: Field, node: Node) -> Node:
        if field.repeat is None:
            return node
        if field.repeat.kind == "eos":
            return self._call("ArrayToEnd", node)
        if field.repeat.kind == "until":
            return self._call("ArrayUntil", function_of(field.repeat.expr, "it"), node)
        return self._call("Array", function_of(field.repeat.expr), node)

    def _derived(self, field: Field, node: Node) -> Node:
        extensions = field.extensions
        if extensions.checksum is not None:
            return self._checksum(extensions.checksum, node)
        if isinstance(extensions.derive, Aggregate):
            return self._call("Derived", node, self._aggregate(extensions.derive))
        if extensions.derive is not None:
            text = Writer(index="place_of(this)").text(extensions.derive)
            call = self._call("Derived", node, self._text(f"lambda this: {text}"))
            if "place_of(" in text:
                call.keywords["by_place"] = "True"
            return self._inverted(field, call)
        if extensions.default is not None and not self._is_constant(field):
            return self._inverted(field, self._call("Default", node, str(extensions.default)))
        if field.id in self.implied:
            implied = self.implied[field.id]
            keywords: dict[str, Node] = {"follows": quoted(implied.target)}
            if implied.absent:
                keywords["absent"] = str(implied.absent)
            return self._call("Derived", node, self._text(f"lambda this: {implied.text}"), **keywords)
        if extensions.codec is not None:
            content = extensions.codec.content_instance or opened_name(field)
            text = self._text(f'lambda this: packed_of(this, "{content}")')
            return self._call("Derived", node, text, follows=quoted(content))
        return node

    def _inverted(self, field: Field, call: Call) -> Call:
        """With the value instance that says as much as the field, if there is one."""
        found = inverse_of(self.model, self.struct, field)
        if found is not None:
            call.keywords |= {"given": quoted(found[0]), "solve": found[1]}
        return call

    def _checksum(self, checksum: Checksum, node: Node) -> Node:
        region = checksum.region
        owner = Writer().text(region.object) if isinstance(region, Attribute) else "this"
        assert isinstance(region, Attribute | Name)
        text = self._text(f'lambda this: bytes_of({owner}, "{region.id}")')
        return self._call("Checksum", node, self.names.from_support(checksum.algorithm), text)

    def _aggregate(self, derive: Aggregate) -> Node:
        args = ["this", quoted(derive.function), quoted(derive.over.id), function_of(derive.value, "it")]
        keywords: dict[str, Node] = {"default": str(derive.default)}
        if derive.plus is not None:
            keywords["plus"] = function(derive.plus)
        return Call(f"lambda this: {self.names.from_support('pick')}", [*args], keywords)

    # Instances

    def value_instance(self, instance: ValueInstance) -> Node:
        """An instance that is computed."""
        value = constant(self.struct, instance.value)
        args: list[Node] = [function(instance.value) if value is None else str(value)]
        if instance.condition is not None:
            args.append(function(instance.condition))
        if isinstance(instance.type, EnumType) and not isinstance(instance.value.type, EnumType):
            return self._call("Value", *args, enum=self.enum(instance.type))
        return self._call("Value", *args)

    def instance(self, instance: Field, is_region: bool) -> Node:
        """An instance that is read at a position."""
        assert instance.pos is not None
        pos = constant(self.struct, instance.pos)
        args: list[Node] = [function(instance.pos) if pos is None else str(pos)]
        args.append(self._repeated(instance, self._checked(instance)))
        keywords: dict[str, Node] = {}
        if instance.condition is not None:
            keywords["condition"] = function(instance.condition)
        for source in (*self.struct.fields, *self.struct.instances):
            codec = source.extensions.codec
            if codec is not None and codec.content_instance == instance.id:
                keywords["codec"] = self._codec(codec.algorithm, source.id)
        return self._call("Region" if is_region else "At", *args, **keywords)

    def opened(self, field: Field) -> Node:
        """The content of a field's bytes after decompression."""
        codec = field.extensions.codec
        assert codec is not None and codec.content_type is not None
        return self._call("Opened", self._codec(codec.algorithm, field.id), self.user(codec.content_type))

    def _codec(self, algorithm: Expr, source: str) -> Node:
        return self._call("Codec", function(algorithm), quoted(source))

    # Python's types, for mappings to build from

    def annotation(self, member: Field) -> str:
        """The type of the value that a member is built from."""
        text = self._annotation(member.type)
        if member.repeat is not None:
            text = f"list[{text}]"
        return text if member.condition is None or "None" in text else f"{text} | None"

    def _annotation(self, kind: DataType) -> str:
        match kind:
            case EnumType():
                return "int | str"
            case IntType() | CalcIntType():
                return "int"
            case FloatType():
                return "float"
            case StrType():
                return "str"
            case BitsType(width=width):
                return "bool" if width == 1 else "int"
            case BoolType():
                return "bool"
            case ArrayType(element=element):
                return f"list[{self._annotation(element)}]"
            case UserType(path=path):
                return self.values(path)
            case SwitchType(cases=cases):
                return " | ".join(dict.fromkeys([*(self._annotation(case) for _, case in cases), "bytes"]))
        return "bytes"

    def values(self, path: Path) -> str:
        """The type that a struct is built from."""
        if self.model.struct(path).varint is not None:
            return "int"
        return self.names.use(path, self.names.values(path), typing_only=True)

    def param(self, param: Param) -> Node:
        """The function that converts a parameter."""
        return self.enum(param.type) if isinstance(param.type, EnumType) else "None"


def opened_name(field: Field) -> str:
    """The name of the content of compressed bytes, where the schema has no instance for it."""
    return f"{field.id}_content"


def function_of(expr: Expr | None, *arguments: str) -> str:
    """Return `function` of an expression that is known to exist."""
    assert expr is not None
    if not arguments:
        return function(expr)
    return f"lambda {', '.join(('this', *arguments))}: {Writer().text(expr)}"
