"""Expressions of the schemas as Python text: functions of `this`, the fields around."""

from __future__ import annotations

import keyword

from compiler.frontend.model import (
    ArrayType,
    Attribute,
    Binary,
    Bool,
    Bytes,
    CalcFloatType,
    Compare,
    EnumLabel,
    Expr,
    Float,
    Int,
    Logic,
    Method,
    Name,
    SizeOf,
    Str,
    StreamType,
    Subscript,
    Ternary,
    Unary,
)

# How tightly Python's operators bind; what binds less than its surroundings wants gets parentheses.
TERNARY, OR, AND, NOT, COMPARE, UNARY, TIGHT = 1, 2, 3, 4, 5, 12, 15
_BINARY = {"|": 6, "^": 7, "&": 8, "<<": 9, ">>": 9, "+": 10, "-": 10, "*": 11, "/": 11, "%": 11}


class Writer:
    """Writes expressions.

    Args:
        this: what the fields around are called in the text.
        index: how the place in a repeated field is had.
        value: what `_` is called.
    """

    def __init__(self, this: str = "this", index: str = "this._index", value: str = "it") -> None:
        self.this, self.index, self.value = this, index, value

    def text(self, expr: Expr, outer: int = 0) -> str:
        """The expression, in parentheses if it binds less tightly than `outer`."""
        text, inner = self._write(expr)
        return f"({text})" if inner < outer else text

    def _write(self, expr: Expr) -> tuple[str, int]:
        match expr:
            case Int(value=value) | SizeOf(value=value):
                return str(value), TIGHT if value >= 0 else UNARY
            case Bool(value=truth):
                return str(truth), TIGHT
            case Float(value=number):
                return repr(number), TIGHT
            case Bytes(value=data):
                return quoted_bytes(data), TIGHT
            case Str(value=string) | EnumLabel(label=string):
                return quoted(string), TIGHT
            case Name():
                return self._name(expr), TIGHT
            case Attribute(object=owner, id=name):
                return attribute(self.text(owner, TIGHT), name), TIGHT
            case Method():
                return self._method(expr)
            case Subscript(object=owner, index=place):
                return f"{self.text(owner, TIGHT)}[{self.text(place)}]", TIGHT
            case _:
                return self._operation(expr)

    def _operation(self, expr: Expr) -> tuple[str, int]:
        match expr:
            case Unary(op="not", operand=operand):
                return f"not {self.text(operand, NOT)}", NOT
            case Unary(op=op, operand=operand):
                return f"{op}{self.text(operand, UNARY)}", UNARY
            case Binary(op=op, left=left, right=right):
                level = _BINARY[op]
                symbol = "//" if op == "/" and not isinstance(expr.type, CalcFloatType) else op
                return f"{self.text(left, level)} {symbol} {self.text(right, level + 1)}", level
            case Compare(op=op, left=left, right=right):
                return f"{self.text(left, COMPARE + 1)} {op} {self.text(right, COMPARE + 1)}", COMPARE
            case Logic(op=op, operands=operands):
                level = OR if op == "or" else AND
                return f" {op} ".join(self.text(operand, level + 1) for operand in operands), level
            case Ternary(condition=condition, then=then, otherwise=otherwise):
                parts = [self.text(then, OR), self.text(condition, OR), self.text(otherwise, TERNARY)]
                return f"{parts[0]} if {parts[1]} else {parts[2]}", TERNARY
        raise NotImplementedError(f"expression {expr!r}")

    def _name(self, expr: Name) -> str:
        special = {
            "parent": f"{self.this}._parent",
            "root": f"{self.this}._root",
            "io": f"{self.this}._io",
            "self": self.value,
            "index": self.index,
        }
        return special.get(expr.kind) or attribute(self.this, expr.id)

    def _method(self, expr: Method) -> tuple[str, int]:
        owner, kind = expr.object, expr.object.type
        inner = self.text(owner)
        tight = self.text(owner, TIGHT)
        if isinstance(kind, StreamType):
            return f"{tight}.{expr.id}", TIGHT
        if expr.id == "to_i" and isinstance(owner, EnumLabel):
            return str(owner.value), TIGHT
        if expr.id == "to_s" and expr.args:
            return f"{tight}.decode({self.text(expr.args[0])})", TIGHT
        places = {"first": f"{tight}[0]", "last": f"{tight}[-1]"}
        calls = {"to_i": "int", "to_s": "str", "size": "len", "length": "len", "min": "min", "max": "max"}
        if expr.id in places and isinstance(kind, ArrayType | type(kind)):
            return places[expr.id], TIGHT
        return f"{calls[expr.id]}({inner})", TIGHT


def attribute(owner: str, name: str) -> str:
    """An attribute's text; Python's own words are no names there."""
    return f'getattr({owner}, "{name}")' if keyword.iskeyword(name) else f"{owner}.{name}"


def quoted(text: str) -> str:
    """A string as Python text, in double quotes."""
    escaped = repr(text)[1:-1].replace("\\'", "'")
    return '"' + escaped.replace('"', '\\"') + '"'


def quoted_bytes(data: bytes) -> str:
    """Bytes as Python text, in double quotes."""
    plain = {byte: chr(byte) for byte in range(32, 127) if chr(byte) not in '"\\'}
    return 'b"' + "".join(plain.get(byte, f"\\x{byte:02x}") for byte in data) + '"'


def function(expr: Expr) -> str:
    """An expression as a function of `this`, or as itself if it is a constant."""
    if isinstance(expr, Int | Float | Bytes | SizeOf | EnumLabel | Bool | Str) or _is_negative(expr):
        return Writer().text(expr)
    return f"lambda this: {Writer().text(expr)}"


def _is_negative(expr: Expr) -> bool:
    return isinstance(expr, Unary) and expr.op == "-" and isinstance(expr.operand, Int)
