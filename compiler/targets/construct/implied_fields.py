"""Fields that building computes from other fields: lengths and counts.

Strategy: a `size:` or `repeat-expr:` that mentions one field of the same struct is solved for that field. The
outcome is an expression in the length or count of what is there: `len_body.value` of a varint gives just
that, `len_data_plus_one.value - 1` gives one more, and where the field is a struct that works its value out
(`num_voters.value`), what solves it is looked for inside.
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
    IntType,
    Model,
    Name,
    SizeOf,
    Struct,
    Ternary,
    UserType,
    ValueInstance,
)
from compiler.targets.construct.expression_text import Writer
from compiler.targets.construct.expression_values import instances_at, worth


@dataclass(frozen=True, slots=True)
class Implied:
    """The rule by which a field follows from another one.

    Attributes:
        target: what it is the length or count of.
        text: its value in Python.
        absent: its value if `target` is absent.
    """

    target: str
    text: str
    absent: int


@dataclass(frozen=True, slots=True)
class _Solution:
    """A field, and how its value is made of another one's text: something to add, within inner fields."""

    field: str
    plus: int = 0
    minus_texts: tuple[str, ...] = ()
    plus_texts: tuple[str, ...] = ()
    inside: tuple[str, ...] = ()

    def text(self, size: str) -> str:
        parts = [
            size,
            *(f"+ {text}" for text in self.plus_texts),
            *(f"- {text}" for text in self.minus_texts),
        ]
        if self.plus:
            parts.append(f"{'+' if self.plus > 0 else '-'} {abs(self.plus)}")
        found = " ".join(parts)
        for name in reversed(self.inside):
            found = f'{{"{name}": {found}}}'
        return found


def implied_fields(model: Model, struct: Struct, regions: frozenset[str]) -> dict[str, Implied]:
    """The fields of a struct that are lengths or counts of others, by name.

    Args:
        model: all schemas.
        struct: whose fields.
        regions: instances that only show other fields' bytes.
    """
    found: dict[str, Implied] = {}
    views = [instance for instance in instances_at(struct) if instance.id not in regions]
    for target in (*struct.fields, *views):
        for function, expr in _questions(target):
            solution = _solve(model, struct, expr)
            if solution is None or solution.field in found or not _is_free(struct, solution.field):
                continue
            absent = _when_absent(model, struct, target, solution)
            extra = f", absent={absent - solution.plus}" if absent != solution.plus else ""
            size = f'{function}(this, "{target.id}"{extra})'
            found[solution.field] = Implied(target.id, solution.text(size), absent)
    return found


def inverse_of(model: Model, struct: Struct, field: Field) -> tuple[str, str] | None:
    """A value instance from which a field follows, and how (a function of `this` and the value, `it`).

    So that an absolute value can be given where differences are written.
    """
    for instance in struct.instances:
        if not isinstance(instance, ValueInstance) or field.condition is not None:
            continue
        expr, guard = instance.value, ""
        if isinstance(expr, Ternary):
            guard = f"None if {Writer().text(expr.condition, 2)} else "
            expr = expr.otherwise
        solution = _solve(model, struct, expr) if isinstance(expr, Binary) else None
        if solution is not None and solution.field == field.id:
            return instance.id, f"lambda this, it: {guard}{solution.text('it')}"
    return None


def _questions(target: Field) -> Iterator[tuple[str, Expr]]:
    if target.repeat is not None and target.repeat.kind == "expr" and target.repeat.expr is not None:
        yield "count_of", target.repeat.expr
    if target.size is not None and target.repeat is None:
        yield "length_of", target.size


def _is_free(struct: Struct, name: str) -> bool:
    """Whether nothing else determines a field."""
    field = struct.member(name)
    if (
        not isinstance(field, Field)
        or field.repeat is not None
        or (field.valid is not None and field.valid.kind == "eq")
    ):
        return False
    extensions = field.extensions
    return extensions.derive is None and extensions.checksum is None and extensions.default is None


def _solve(model: Model, struct: Struct, expr: Expr) -> _Solution | None:
    match expr:
        case Name(id=name, kind="field", type=IntType()):
            return _Solution(name)
        case Attribute(object=Name(id=name, kind="field", type=UserType(path=path)), id=member):
            return _solve_inside(model, name, model.struct(path), member)
        case Binary(op="+" | "-" as op, left=left, right=right):
            return _solve_sum(model, struct, op, left, right)
    return None


def _solve_inside(model: Model, name: str, inner: Struct, member: str) -> _Solution | None:
    """Solve for a field that is a struct itself."""
    if inner.varint is not None:
        return _Solution(name) if member == "value" else None
    found = inner.member(member)
    if isinstance(found, Field):
        return _Solution(name, inside=(member,)) if isinstance(found.type, IntType) else None
    solution = _solve(model, inner, found.value) if isinstance(found, ValueInstance) else None
    if solution is None or solution.plus_texts or solution.minus_texts:
        return None
    return _Solution(name, solution.plus, inside=(solution.field, *solution.inside))


def _solve_sum(model: Model, struct: Struct, op: str, left: Expr, right: Expr) -> _Solution | None:
    for unknown, other in ((left, right), (right, left)):
        solution = _solve(model, struct, unknown)
        if solution is None or (op == "-" and unknown is right):
            continue
        # x + c = size means x = size - c; x - c = size means x = size + c.
        if isinstance(other, Int | SizeOf):
            plus = solution.plus + (-other.value if op == "+" else other.value)
            return _Solution(solution.field, plus, solution.minus_texts, solution.plus_texts, solution.inside)
        text = Writer().text(other, 11)
        minus = (*solution.minus_texts, text) if op == "+" else solution.minus_texts
        plus_texts = solution.plus_texts if op == "+" else (*solution.plus_texts, text)
        return _Solution(solution.field, solution.plus, minus, plus_texts, solution.inside)
    return None


def _when_absent(model: Model, struct: Struct, target: Field, solution: _Solution) -> int:
    """The value of a length for an absent target; less than 0 where that can be written.

    It is what `-null` says of the length, or else the first value for which the condition does not hold.
    """
    length = struct.member(solution.field)
    if isinstance(length, Field) and length.extensions.null is not None:
        return length.extensions.null
    if target.condition is not None:
        for value in (-1, 0) if _is_signed(model, struct.member(solution.field)) else (0,):
            if worth(target.condition, {solution.field: value}) == 0:
                return value
    return solution.plus


def _is_signed(model: Model, field: object) -> bool:
    kind = field.type if isinstance(field, Field) else None
    if isinstance(kind, UserType):
        varint = model.struct(kind.path).varint
        return varint is not None and varint.zigzag
    return isinstance(kind, IntType) and kind.signed
