"""Going through expressions."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.frontend.nodes import (
    Attribute,
    Binary,
    Compare,
    Expr,
    Logic,
    Method,
    Name,
    Subscript,
    Ternary,
    Unary,
)

__all__ = ["names", "parts"]


def parts(expr: Expr) -> tuple[Expr, ...]:
    """The expressions that an expression is made of."""
    match expr:
        case Attribute(object=owner):
            return (owner,)
        case Method(object=owner, args=args):
            return (owner, *args)
        case Subscript(object=owner, index=index):
            return (owner, index)
        case Unary(operand=operand):
            return (operand,)
        case Binary(left=left, right=right) | Compare(left=left, right=right):
            return (left, right)
        case Logic(operands=operands):
            return operands
        case Ternary(condition=condition, then=then, otherwise=otherwise):
            return (condition, then, otherwise)
    return ()


def names(expr: Expr) -> Iterator[Name]:
    """All names in an expression."""
    if isinstance(expr, Name):
        yield expr
    for part in parts(expr):
        yield from names(part)
