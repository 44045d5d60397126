"""Emitter of code that measures a struct: its size, and whether all its values can be written.

Strategy: everything is found, checked and measured before the first byte is written. So a record is written
or not, lengths can stand in front of what they are the lengths of, and a function that only counts is the
same code.
"""

from __future__ import annotations

from collections.abc import Callable

from compiler.frontend.model import (
    BytesType,
    EnumType,
    Expr,
    Field,
    Int,
    IntType,
    Logic,
    Struct,
    UserType,
    Valid,
)
from compiler.targets.columns.lower.constraints import (
    BYTE,
    bits_of,
    bounds_of,
    is_bits,
    is_size_test,
    validity,
)
from compiler.targets.columns.lower.python_source import Function
from compiler.targets.columns.lower.struct_values import (
    BytesValue,
    Frame,
    Io,
    ListValue,
    Value,
    VarintValue,
    depends_on_io,
    integer,
    lower,
)
from compiler.targets.columns.lower.terms import (
    LONG,
    TRUE,
    Term,
    arithmetic,
    compare,
    constant,
    logic,
    negate,
    variable,
)
from compiler.targets.columns.model.segment_layout import unsupported
from compiler.targets.columns.write.encoder_arguments import Columns, Scope, Table
from compiler.targets.columns.write.value_sources import ValueFinder

__all__ = ["StructMeasurer"]

_INT32 = (-(1 << 31), (1 << 31) - 1)


class StructMeasurer(ValueFinder):
    """Emitter of code that measures structs, and refuses values."""

    def __init__(
        self, function: Function, columns: Columns, table: Table, refuse: Callable[[], None]
    ) -> None:
        super().__init__(function, columns, table, refuse)
        self.measure = self._measure_once

    # Checks

    def require(self, condition: Term) -> None:
        """Refuse unless a condition holds."""
        if condition.value != 1:
            with self.source.rarely(negate(condition).text):
                self.refuse()

    def _checked(self, frame: Frame, field: Field, bounds: tuple[int, int]) -> None:
        """Refuse a number that does not fit, or that the schema does not allow."""
        value = frame.member(field.id, field.place)
        term = self.kept(f"{frame.prefix}{field.id}", integer(value, field.place))
        least, most = constant(bounds[0]), constant(bounds[1])
        fits = [compare(">=", term, least, field.place), compare("<=", term, most, field.place)]
        self.require(logic("and", fits))
        checked = Term(term.text, term.power, max(term.low, bounds[0]), min(term.high, bounds[1]))
        if term.value is not None:
            checked = term
        value = VarintValue(checked, value.size) if isinstance(value, VarintValue) else checked
        frame.values[field.id] = value
        if field.valid is not None:
            frame.element = value
            self._check_valid(field.valid, value, frame, field)
            frame.element = None

    def _check_valid(self, valid: Valid, value: Value, frame: Frame, field: Field) -> None:
        """Check the schema's constraints on a value; those on positions follow from the rest."""
        if valid.kind != "expr":
            self.require(validity(valid, value, frame, field.place))
            return
        for condition in _parts("and", valid.exprs[0]):
            if not depends_on_io(condition):
                self.require(lower(condition, frame, field.place))

    def _check(self, frame: Frame, field: Field) -> None:
        """Refuse what a check refuses, but for positions, as above."""
        for condition in _parts("or", field.condition):
            if not depends_on_io(condition):
                self.require(negate(lower(condition, frame, field.place)))

    # Sizes

    def measure_all(self, frame: Frame, fields: tuple[Field, ...]) -> Term:
        """The size of fields that follow one another, all of which are checked."""
        total = constant(0)
        bits = 0
        for field in fields:
            if is_bits(field.type) and field.condition is None:
                frame.member(field.id, field.place)
                self._checked(frame, field, bounds_of(bits_of(field.type)))
                bits += bits_of(field.type).width
                continue
            if field.is_check:
                self._check(frame, field)
                continue
            condition = self.condition(frame, field)
            if condition.value == 0:
                continue
            size = (
                self.measure(frame, field) if condition.value == 1 else self._maybe(frame, field, condition)
            )
            total = arithmetic("+", total, size, field.place)
        if bits % BYTE:
            raise unsupported("bits have to fill whole bytes", frame.struct.place)
        return arithmetic("+", constant(bits // BYTE), total, frame.struct.place)

    def condition(self, frame: Frame, field: Field) -> Term:
        return TRUE if field.condition is None else lower(field.condition, frame, field.place)

    def _maybe(self, frame: Frame, field: Field, condition: Term) -> Term:
        """The size of a conditional field."""
        value = frame.member(field.id, field.place)
        if is_size_test(field) and isinstance(value, BytesValue):
            assert field.size is not None
            size = lower(field.size, frame, field.place)
            return Term(f"max({size.text}, 0)", 20, 0, size.high)
        name = self.names.new(f"len_{frame.prefix}{field.id}")
        self.source.add(f"{name} = 0")
        with self.source.block(f"if {condition.text}:"):
            size = self.measure(frame, field)
            self.source.add(f"{name} = {size.text}")
        return variable(name, (0, size.high))

    def _measure_once(self, frame: Frame, field: Field) -> Term:
        """The size of one field that is present."""
        known = self.lengths.get((id(frame), field.id))
        if known is None:
            known = self.lengths[id(frame), field.id] = self._measure(frame, field)
        return known

    def _measure(self, frame: Frame, field: Field) -> Term:
        found = field.type.base if isinstance(field.type, EnumType) else field.type
        if field.repeat is not None:
            return self._measure_list(frame, field)
        if isinstance(found, IntType):
            if field.extensions.checksum is not None:
                return constant(found.width_bytes)
            frame.member(field.id, field.place)
            self._checked(frame, field, bounds_of(found))
            return constant(found.width_bytes)
        if isinstance(found, BytesType):
            return self._measure_bytes(frame, field)
        if not isinstance(found, UserType):
            raise unsupported("a field of this type is not supported", field.place)
        value = frame.member(field.id, field.place)
        if isinstance(value, VarintValue):
            self._checked(frame, field, varint_bounds(self.model.struct(found.path)))
            return value.size
        assert isinstance(value, Frame)
        size = self.kept(f"len_{field.id}", self.measure_all(value, value.struct.fields))
        self._has_size(frame, field, size)
        return size

    def _measure_bytes(self, frame: Frame, field: Field) -> Term:
        if field.size == Int(0):
            return constant(0)
        value = frame.member(field.id, field.place)
        if not isinstance(value, BytesValue) or field.terminator is not None:
            raise unsupported("such bytes are not supported", field.place)
        self.require(value.is_there)
        self._has_size(frame, field, value.size)
        return value.size

    def _has_size(self, frame: Frame, field: Field, size: Term) -> None:
        """Refuse a size that differs from the schema's."""
        if field.size is not None and not self._is_implied(frame, field):
            wanted = lower(field.size, frame, field.place)
            self.require(compare("==", size, wanted, field.place))

    def _is_implied(self, frame: Frame, field: Field) -> bool:
        return any(found[1].target is field for found in self._implied[id(frame)].values())

    # Lists

    def items(self, frame: Frame, field: Field) -> tuple[ListValue, Struct]:
        value = frame.member(field.id, field.place)
        if not isinstance(value, ListValue) or not isinstance(field.type, UserType) or field.size is not None:
            raise unsupported("such a repeated field is not supported", field.place)
        return value, self.model.struct(field.type.path)

    def each(self, frame: Frame, field: Field, checks: bool, body: Callable[[Frame], None]) -> None:
        """A loop over the items of a list."""
        value, struct = self.items(frame, field)
        column = self.columns.by_member[id(field)]
        start, count = self.columns.array_of[value.size.text], value.size.text
        item = self.names.new("item")
        assert isinstance(field.type, UserType)
        with self.source.block(f"for {item} in range({start}, {start} + {count}):"):
            outer, self.scope = (
                self.scope,
                Scope(item, self.source.reserve(), self.refuse, checks, {}),
            )
            element = self.frame(struct, Io(None, ""), frame, "", f"{column.path}_")
            for param, argument in zip(struct.params, field.type.args, strict=True):
                element.values[param.id] = lower(argument, frame, field.place)
            body(element)
            self.scope = outer

    def _measure_list(self, frame: Frame, field: Field) -> Term:
        value, struct = self.items(frame, field)
        name = self.names.new(f"len_{frame.prefix}{field.id}")
        self.source.add(f"{name} = 0")

        def add(element: Frame) -> None:
            size = self.measure_all(element, struct.fields)
            self.source.add(f"{name} += {size.text}")

        with self.source.block(f"if {value.size.text} > 0:"):
            self.each(frame, field, True, add)
            with self.source.rarely("status != DONE"):
                self.source.add("break")
        return variable(name, (0, 1 << 40))


def varint_bounds(struct: Struct) -> tuple[int, int]:
    """Lowest and highest value of a varint."""
    assert struct.varint is not None
    if struct.varint.bits == 64:
        return LONG
    return _INT32 if struct.varint.zigzag else (0, (1 << 32) - 1)


def _parts(op: str, expr: Expr | None) -> tuple[Expr, ...]:
    """The operands of a logical operator, or the expression itself."""
    if isinstance(expr, Logic) and expr.op == op:
        return expr.operands
    return () if expr is None else (expr,)
