"""Emitter of the code that writes values into the arrays of columns."""

from __future__ import annotations

from contextlib import nullcontext

from compiler.frontend.model import ValueInstance
from compiler.targets.columns.lower.python_source import Function
from compiler.targets.columns.lower.struct_values import (
    BytesValue,
    FloatValue,
    Frame,
    Value,
    integer,
    lower,
)
from compiler.targets.columns.lower.terms import TRUE, Term, logic, negate, stored, variable
from compiler.targets.columns.model.record_columns import RecordColumn
from compiler.targets.columns.model.segment_layout import unsupported

__all__ = ["ColumnWriter", "owner_of"]


class ColumnWriter:
    """Emits code that writes columns of a record into one function."""

    def __init__(self, function: Function) -> None:
        self._function = function
        self._source = function.source

    def write(self, column: RecordColumn, frame: Frame, row: str) -> None:
        """Write the value of a column into a row; `frame` is the struct that the column's member is in."""
        place = column.member.place
        value = frame.member(column.member.id, place)
        if not column.is_binary:
            self._write_number(column, value, frame, row)
            return
        if not isinstance(value, BytesValue):
            raise unsupported("a binary column has to be of bytes", place)
        if value.is_there.value == 1:
            self._write_bytes(column, value, row)
        else:
            with self._source.block(f"if {value.is_there.text}:"):
                self._write_bytes(column, value, row)
            with self._source.block("else:"):
                self._source.add(f"clear_bit({column.path}_validity, {row})", f"{column.path}_nulls += 1")
                if column.has_views:
                    with self._source.block("if views:"):
                        nothing = f"{value.start}, 0"
                        self._source.add(f"store_view({column.path}_views, {row}, data, {nothing}, buffer)")
        with self._source.block("if not views:") if column.has_views else nullcontext():
            self._source.add(f"store({column.path}_offsets, {row} + 1, {column.path}_used)")

    def _write_number(self, column: RecordColumn, value: Value, frame: Frame, row: str) -> None:
        if isinstance(value, FloatValue):
            number = value.bits
        else:
            number = self.number(column, integer(value, column.member.place))
        there = self._presence(column, frame) if column.nullable else TRUE
        if there.value is None:
            with self._source.block(f"if {negate(there).text}:"):
                self._source.add(f"clear_bit({column.path}_validity, {row})", f"{column.path}_nulls += 1")
        self._source.add(f"store({column.path}_values, {row}, {number})")

    def _presence(self, column: RecordColumn, frame: Frame) -> Term:
        """Whether a column's member is there, and all structs that lead to it."""
        conditions = [frame.there.get(column.member.id, TRUE)]
        if isinstance(column.member, ValueInstance) and column.member.condition is not None:
            conditions.append(lower(column.member.condition, frame, column.member.place))
        for name in reversed(column.inside):
            assert frame.parent is not None
            frame = frame.parent
            conditions.append(frame.there.get(name, TRUE))
        return logic("and", conditions[::-1])

    def number(self, column: RecordColumn, term: Term) -> str:
        """The text of a value to be stored, without conditions."""
        if term.is_choice:
            name = self._function.names.new(column.member.id)
            self._source.add(f"{name} = {term.text}")
            term = variable(name, (term.low, term.high))
        return stored(term)

    def _write_bytes(self, column: RecordColumn, value: BytesValue, row: str) -> None:
        used, size = f"{column.path}_used", value.size.text
        if column.has_views:
            with self._source.block("if views:"):
                self._source.add(
                    f"store_view({column.path}_views, {row}, data, {value.start}, {size}, buffer)",
                    f"{used} += {size} if {size} > MOST_INLINE else 0",
                )
        with self._source.block("else:") if column.has_views else nullcontext():
            self._source.add(
                f"copy_bytes({column.path}_bytes, {used}, data, {value.start}, {size})", f"{used} += {size}"
            )


def owner_of(column: RecordColumn, frame: Frame) -> Frame:
    """The struct that a column's member is in."""
    for name in column.inside:
        inner = frame.member(name, column.member.place)
        assert isinstance(inner, Frame)
        frame = inner
    return frame
