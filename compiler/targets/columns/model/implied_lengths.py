"""Fields that are lengths or counts of other fields, from which they are computed when written.

Strategy: a `size` or `repeat-expr` that is one integer field, give or take a constant, is solved for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from compiler.frontend.model import (
    Attribute,
    Binary,
    Expr,
    Field,
    Int,
    Name,
    SizeOf,
    Struct,
    UserType,
)

__all__ = ["Implied", "implied_fields"]


@dataclass(frozen=True, slots=True)
class Implied:
    """What a field is the length or count of.

    Attributes:
        target: the bytes, the struct or the repeated field.
        plus: what the field's value is more than that.
    """

    target: Field
    plus: int


def implied_fields(struct: Struct) -> dict[tuple[str, ...], Implied]:
    """The fields that follow from members of a struct, by the path to them."""
    found: dict[tuple[str, ...], Implied] = {}
    for target, expr in _questions(struct):
        solved = _solve(expr)
        if solved is not None:
            found.setdefault(solved[0], Implied(target, solved[1]))
    return found


def _questions(struct: Struct) -> Iterator[tuple[Field, Expr]]:
    for target in (*struct.fields, *struct.instances):
        if not isinstance(target, Field):
            continue
        if target.repeat is not None and target.repeat.expr is not None and target.repeat.kind == "expr":
            yield target, target.repeat.expr
        elif target.repeat is None and target.size is not None:
            yield target, target.size


def _solve(expr: Expr) -> tuple[tuple[str, ...], int] | None:
    if isinstance(expr, Name):
        return ((expr.id,), 0) if expr.kind == "field" else None
    if isinstance(expr, Attribute):
        inner = _solve(expr.object)
        if inner is None or inner[1]:
            return None
        if _is_struct(expr.object) and expr.kind == "field":
            return (*inner[0], expr.id), 0
        return inner if expr.id == "value" else None
    if isinstance(expr, Binary) and expr.op in "+-" and isinstance(expr.right, Int | SizeOf):
        inner = _solve(expr.left)
        step = -expr.right.value if expr.op == "+" else expr.right.value
        return None if inner is None else (inner[0], inner[1] + step)
    return None


def _is_struct(expr: Expr) -> bool:
    return isinstance(expr.type, UserType)
