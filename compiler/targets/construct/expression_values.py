"""Values of expressions that are known at generation, and what expressions depend on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from compiler.frontend.dependencies import names
from compiler.frontend.model import (
    Attribute,
    Binary,
    Compare,
    Expr,
    Field,
    Int,
    Logic,
    Name,
    SizeOf,
    Struct,
    Unary,
    ValueInstance,
)


def asks_for_room(struct: Struct, expr: Expr | None, seen: frozenset[str] = frozenset()) -> bool:
    """Whether an expression needs the stream, itself or through instances of the struct."""
    for name in () if expr is None else names(expr):
        if name.kind == "io":
            return True
        member = struct.member(name.id) if name.kind == "instance" and name.id not in seen else None
        if isinstance(member, ValueInstance):
            inner = seen | {name.id}
            if asks_for_room(struct, member.value, inner) or asks_for_room(struct, member.condition, inner):
                return True
    return False


def constant(struct: Struct, expr: Expr | None) -> int | None:
    """The value of an expression that does not depend on bytes; else None."""
    if expr is None:
        return None
    if isinstance(expr, Name):
        member = struct.member(expr.id) if expr.kind == "instance" else None
        return constant(struct, member.value) if isinstance(member, ValueInstance) else None
    if isinstance(expr, Attribute) and isinstance(expr.object, Name):
        return None
    return worth(expr, {}, struct)


def worth(expr: Expr, known: Mapping[str, int], struct: Struct | None = None) -> int | None:
    """The value of an expression by those of some fields; None if they are not enough.

    A field's value stands for the field and for its `value`.
    """
    match expr:
        case Int(value=value) | SizeOf(value=value):
            return value
        case Name(id=name, kind="field"):
            return known.get(name)
        case Name(kind="instance") if struct is not None:
            return constant(struct, expr)
        case Attribute(object=Name(id=name, kind="field"), id="value"):
            return known.get(name)
        case Unary(op=op, operand=operand):
            inner = worth(operand, known, struct)
            return None if inner is None else {"-": -inner, "~": ~inner, "not": int(not inner)}[op]
        case Binary(op=op, left=left, right=right) | Compare(op=op, left=left, right=right):
            values = worth(left, known, struct), worth(right, known, struct)
            return _result(op, *values)
        case Logic(op=op, operands=operands):
            outcomes = [worth(operand, known, struct) for operand in operands]
            decisive = 0 if op == "and" else 1
            if any(outcome is not None and bool(outcome) == bool(decisive) for outcome in outcomes):
                return decisive
            return None if None in outcomes else 1 - decisive
    return None


def _result(op: str, left: int | None, right: int | None) -> int | None:
    if left is None or right is None or (op in "/%" and right == 0):
        return None
    results = {
        "+": lambda: left + right, "-": lambda: left - right, "*": lambda: left * right,
        "/": lambda: left // right, "%": lambda: left % right, "==": lambda: int(left == right),
        "!=": lambda: int(left != right), "<": lambda: int(left < right), "<=": lambda: int(left <= right),
        ">": lambda: int(left > right), ">=": lambda: int(left >= right),
    }  # fmt: skip
    return results[op]() if op in results else None


def instances_at(struct: Struct) -> Iterator[Field]:
    """The instances of a struct that are read at a position."""
    yield from (instance for instance in struct.instances if isinstance(instance, Field))
