"""Constraints of the schemas on values: bounds, validity, conditions, and defaults of absent fields."""

from __future__ import annotations

import re
from dataclasses import replace

from compiler.frontend.dependencies import names
from compiler.frontend.model import (
    Attribute,
    BitsType,
    BytesType,
    Checksum,
    Compare,
    DataType,
    EnumType,
    Expr,
    Field,
    FloatType,
    Int,
    IntType,
    Model,
    Name,
    Place,
    Struct,
    UserType,
    Valid,
)
from compiler.targets.columns.lower.struct_values import BytesValue, Frame, Value, VarintValue, integer, lower
from compiler.targets.columns.lower.terms import LONG, TRUE, Term, compare, logic
from compiler.targets.columns.model.segment_layout import unsupported

__all__ = [
    "BYTE",
    "bits_of",
    "bounds_of",
    "facts_of",
    "is_bits",
    "is_count",
    "is_size_test",
    "min_size",
    "refined",
    "region_of",
    "validity",
    "widened",
]

BYTE = 8
_BOUND = re.compile(r"\w+ [<>]=? -?\d+")


def bounds_of(found: DataType) -> tuple[int, int]:
    """Lowest and highest value of a numeric type."""
    if isinstance(found, EnumType):
        found = found.base
    if isinstance(found, BitsType):
        return 0, (1 << found.width) - 1
    if isinstance(found, IntType) and not found.signed and found.width_bytes < BYTE:
        return 0, (1 << 8 * found.width_bytes) - 1
    if isinstance(found, IntType):
        return -(1 << 8 * found.width_bytes - 1), (1 << 8 * found.width_bytes - 1) - 1
    return LONG


def bits_of(found: DataType) -> BitsType:
    base = found.base if isinstance(found, EnumType) else found
    assert isinstance(base, BitsType)
    return base


def is_bits(found: DataType) -> bool:
    return isinstance(found.base if isinstance(found, EnumType) else found, BitsType)


def min_size(struct: Struct, model: Model) -> int:
    """Least size of a struct in bytes."""
    if struct.varint is not None:
        return 1
    bits = 0
    for field in struct.fields:
        found = field.type.base if isinstance(field.type, EnumType) else field.type
        if field.condition is not None or field.repeat is not None or field.size is not None:
            continue
        if isinstance(found, IntType | FloatType):
            bits += BYTE * found.width_bytes
        elif field.terminator is not None and field.eos_error and field.consume:
            bits += BYTE
        elif isinstance(found, BitsType):
            bits += found.width
        elif isinstance(found, UserType):
            bits += BYTE * min_size(model.struct(found.path), model)
    return bits // BYTE


def is_count(field: Field, struct: Struct) -> bool:
    """Whether a field is the size or the count of another one in its struct."""
    said = [expr for each in struct.fields for expr in (each.size, each.repeat.expr if each.repeat else None)]
    return any(name.id == field.id for expr in said if expr is not None for name in names(expr))


def is_size_test(field: Field) -> bool:
    """Whether a field is present if its size is not negative."""
    return (
        isinstance(field.type, BytesType)
        and field.repeat is None
        and field.valid is None
        and isinstance(field.condition, Compare)
        and field.condition.op == ">="
        and field.condition.left == field.size
        and field.condition.right == Int(0)
    )


def validity(valid: Valid, value: Value, frame: Frame, place: Place) -> Term:
    """The condition that a value is valid by the schema."""

    def is_related(op: str, expr: Expr | None) -> Term:
        return TRUE if expr is None else compare(op, integer(value, place), lower(expr, frame, place), place)

    if valid.kind == "eq":
        return is_related("==", valid.exprs[0])
    if valid.kind == "any_of":
        return logic("or", [is_related("==", expr) for expr in valid.exprs])
    if valid.kind == "min_max":
        return logic("and", [is_related(">=", valid.exprs[0]), is_related("<=", valid.exprs[1])])
    assert valid.exprs[0] is not None
    return lower(valid.exprs[0], frame, place)


def facts_of(text: str) -> list[str]:
    """Conditions that follow from a condition that holds, as text."""
    return [] if " or " in text else text.split(" and ")


def refined(value: Value, facts: list[str]) -> Value:
    """A value with narrower bounds, by conditions of `facts_of`."""
    if isinstance(value, VarintValue):
        number = refined(value.value, facts)
        assert isinstance(number, Term)
        return replace(value, value=number)
    if not isinstance(value, Term):
        return value
    for fact in filter(_BOUND.fullmatch, facts):
        name, op, number_text = fact.split()
        bound = int(number_text)
        if name == value.text and op in (">=", ">"):
            value = replace(value, low=max(value.low, bound + (op == ">")))
        elif name == value.text:
            value = replace(value, high=min(value.high, bound - (op == "<")))
    return value


def widened(value: Value, default: int, condition: Term) -> tuple[Value, list[tuple[str, str]]]:
    """What a value is that was read under a condition; and the variables to be set before, to what.

    An absent number is `default`, one in an absent struct its own default. Bytes are
    not there.
    """
    if isinstance(value, Term):
        if not value.text.isidentifier():
            return value, []  # made of others, which are widened themselves
        wide = replace(value, low=min(value.low, default), high=max(value.high, default))
        return wide, [(value.text, str(default))]
    if isinstance(value, VarintValue):
        number, targets = widened(value.value, default, condition)
        assert isinstance(number, Term)
        return VarintValue(number, value.size), [*targets, (value.size.text, "0")]
    if isinstance(value, BytesValue):
        is_there = logic("and", [condition, value.is_there])
        return replace(value, is_there=is_there), [(value.start, "0")]
    targets = []
    if isinstance(value, Frame):
        for name, each in value.values.items():
            member = value.struct.member(name)
            if isinstance(member, Field):
                own = member.extensions.default or 0
                value.values[name], more = widened(each, own, condition)
                targets += more
    return value, targets


def region_of(frame: Frame, checksum: Checksum, place: Place) -> tuple[Frame, Field]:
    """The member whose bytes a checksum covers, and the struct that has it."""
    found = checksum.region
    if isinstance(found, Attribute) and isinstance(found.object, Name) and found.object.kind == "parent":
        assert frame.parent is not None
        owner = frame.parent
    elif isinstance(found, Name):
        owner = frame
    else:
        raise unsupported("a region of another struct is not supported", place)
    member = owner.struct.member(found.id)
    if not isinstance(member, Field):
        raise unsupported("a region has to be a field or a parse instance", place)
    return owner, member
