"""Arguments of an encoder: the arrays of columns, and a row of the table.

Strategy: what is asked for is loaded once: of the table in front of all rows, of a column at the beginning of
its row or item. There it is also checked that offsets are within the bytes that they are of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from compiler.frontend.model import Column
from compiler.targets.columns.lower.python_source import Function, Reserved
from compiler.targets.columns.lower.struct_values import BytesValue, ListValue, Value
from compiler.targets.columns.lower.terms import LONG, Term, flag, variable
from compiler.targets.columns.model.record_columns import RecordColumn

__all__ = ["Columns", "Scope", "Table", "depth_first", "used_columns"]

_BOUNDS = {"int8": (-128, 127), "int32": (-(1 << 31), (1 << 31) - 1)}


def depth_first(columns: tuple[RecordColumn, ...]) -> Iterator[RecordColumn]:
    """Columns, each before its members."""
    for column in columns:
        yield column
        yield from depth_first(column.members)


def used_columns(columns: tuple[RecordColumn, ...], uses: Callable[[str], bool]) -> tuple[RecordColumn, ...]:
    """The columns with an array that is used."""
    kept = []
    for column in columns:
        if any(uses(name) for name, _ in column.arrays()):
            kept.append(replace(column, members=used_columns(column.members, uses)))
    return tuple(kept)


class Table:
    """The columns of one row of the table, loaded first."""

    def __init__(self, function: Function, place: Callable[[str], int]) -> None:
        self._function, self._place = function, place
        self._known: dict[str, str] = {}
        self._reserved = function.source.reserve()

    def load(self, name: str) -> str:
        """A variable that holds a column."""
        if name not in self._known:
            self._known[name] = self._function.names.new(f"batch_{name}")
            with self._function.source.within(self._reserved):
                self._function.source.let(self._known[name], f"load(batches, {self.at(name)})")
        return self._known[name]

    def at(self, name: str) -> str:
        """The place of a column."""
        place = self._place(name)
        return f"head + {place}" if place else "head"

    def value(self, column: Column) -> Term:
        """A column's value, without bounds: the caller may have put anything into it."""
        return variable(self.load(column.name), LONG)


@dataclass(slots=True)
class Scope:
    """A row, or an item of a list.

    Attributes:
        row: the variable that has its number.
        place: where its values are loaded.
        refuse: writes what is to be done if they cannot be written.
        checks: whether offsets are still to be checked.
        values: those that have been asked for, by column.
    """

    row: str
    place: Reserved
    refuse: Callable[[], None]
    checks: bool
    values: dict[str, Value]


class Columns:
    """The arrays of all columns.

    Args:
        function: what is being written.
        columns: those that there are.

    Attributes:
        by_member: the columns by `id` of the members that they hold.
        array_of: the array with the bytes that a variable is the start of.
    """

    def __init__(self, function: Function, columns: tuple[RecordColumn, ...]) -> None:
        self._source, self._names = function.source, function.names
        self.columns = columns
        self.by_member = {id(column.member): column for column in depth_first(columns)}
        self.array_of: dict[str, str] = {}
        self._slots = {column.path: number for number, column in enumerate(depth_first(columns))}
        self._is_member = {each.path for column in columns for each in depth_first(column.members)}
        self._prologue = function.source.reserve()
        for column in depth_first(columns):
            function.names.new(f"{column.path}_first")

    def begin(self, refuse: Callable[[], None]) -> None:
        """Load what all rows share, and check that all rows are present."""
        tests = []
        with self._source.within(self._prologue):
            for column in depth_first(self.columns):
                slot = self._slots[column.path]
                place = f"ENC_COLUMNS + {slot}" if slot else "ENC_COLUMNS"
                self._source.let(f"{column.path}_first", f"load(state, {place})")
            for column in self.columns:
                tests += self._tests(column, "end_row")
            if tests:
                with self._source.block("if row < end_row:"), self._source.rarely(" or ".join(tests)):
                    refuse()

    def _tests(self, column: RecordColumn, end: str) -> list[str]:
        """Conditions for rows up to `end` that are not all in a column's arrays."""
        first, path = f"{column.path}_first", column.path
        lengths = {
            f"{path}_offsets": f"{first} + {end} >= length({path}_offsets)",
            f"{path}_values": f"{first} + {end} > length({path}_values)",
            f"{path}_validity": f"0 < length({path}_validity) < ({first} + {end} + 7) >> 3",
        }
        return [f"{first} < 0", *(lengths[name] for name, _ in column.arrays() if name in lengths)]

    def value(self, column: RecordColumn, scope: Scope) -> Value:
        """The value of a column in a row."""
        if column.path not in scope.values:
            with self._source.within(scope.place):
                scope.values[column.path] = self._load(column, scope)
        return scope.values[column.path]

    def _load(self, column: RecordColumn, scope: Scope) -> Value:
        source, path = self._source, column.path
        at = self._names.new(f"{path}_row")
        source.let(at, f"{scope.row} + {path}_first")
        if column.members:
            return self._list(column, scope, at)
        if column.kind != "binary":
            name = self._names.new(path)
            source.let(name, f"load({path}_values, {at})")
            return variable(name, _BOUNDS.get(column.kind, LONG))
        start, size, there = (self._names.new(f"{path}_{part}") for part in ("start", "size", "there"))
        source.let(start, f"load({path}_offsets, {at})")
        source.let(size, f"load({path}_offsets, {at} + 1) - {start}")
        source.let(there, f"length({path}_validity) == 0 or load_bit({path}_validity, {at}) != 0")
        if scope.checks:
            with source.rarely(f"{start} < 0 or {size} < 0 or {start} + {size} > length({path}_bytes)"):
                scope.refuse()
        self.array_of[start] = f"{path}_bytes"
        return BytesValue(start, variable(size, (0, (1 << 31) - 1)), flag(there))

    def _list(self, column: RecordColumn, scope: Scope, at: str) -> Value:
        source, path = self._source, column.path
        start, number = self._names.new(f"{path}_start"), self._names.new(f"num_{path}")
        source.let(start, f"load({path}_offsets, {at})")
        source.let(number, f"load({path}_offsets, {at} + 1) - {start}")
        if scope.checks:
            with source.rarely(f"{number} < 0"):
                scope.refuse()
            with source.block(f"if {number} > 0:"):
                end = self._names.new(f"{path}_end")
                source.let(end, f"{start} + {number}")
                tests = [test for each in column.members for test in self._tests(each, end)]
                with source.rarely(" or ".join([f"{start} < 0", *tests])):
                    scope.refuse()
        self.array_of[number] = start
        return ListValue(variable(number, (0, (1 << 31) - 1)))
