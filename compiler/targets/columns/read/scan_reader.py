"""Common parts of a scanner's functions: signatures, failures, storing into the table."""

from __future__ import annotations

from compiler.frontend.model import Field
from compiler.targets.columns.lower.cursor import Fail
from compiler.targets.columns.lower.python_source import Function, Names, Source, bracketed
from compiler.targets.columns.lower.struct_values import Frame, Position, integer, lower
from compiler.targets.columns.lower.terms import Term, stored
from compiler.targets.columns.model.segment_layout import SegmentLayout, unsupported
from compiler.targets.columns.read.struct_reader import StructReader

__all__ = ["ScanReader", "failing", "signature"]

_TYPES = {"data": "Bytes", "table": "Longs", "check_crc": "bool", "whole": "bool"}


def signature(name: str, parameters: tuple[str, ...], flags: frozenset[str] = frozenset()) -> list[str]:
    """The first line of a function; parameters are arrays, truth values (`flags`) or integers."""
    types = {**_TYPES, **dict.fromkeys(flags, "bool")}
    typed = [f"{each}: {types.get(each, 'int')}" for each in parameters]
    return bracketed(f"def {name}(", typed, ") -> tuple[int, int]:")


def failing(source: Source, start: str, end: str, whole: str) -> Fail:
    """The failure for what begins at `start`; SHORT if `end` is before the end of the `whole`."""

    def fail(is_missing: bool) -> None:
        status = f"(SHORT if {end} < {whole} else DAMAGED)" if is_missing else "DAMAGED"
        source.add(f"return {status}, {start}")

    return fail


class ScanReader(StructReader):
    """Emitter of one function of a scanner.

    Args:
        layout: the table's columns.
        taken: the function's parameters.
        start: the one that has the first byte's place.
        end: the one that has the end of what may be read.
        whole: the one that has the end of all that there should be.
    """

    def __init__(
        self, layout: SegmentLayout, taken: tuple[str, ...], start: str, end: str, whole: str
    ) -> None:
        names = Names(*taken, "limit", "end", "codec", "payload", "end_payload")
        function = Function(layout.model, names)
        super().__init__(function, start, end, failing(function.source, start, end, whole))
        self.layout = layout

    def start_of(self, frame: Frame, member: Field) -> Position:
        """The position of a parse instance that extends to the end."""
        if member.pos is None or not member.size_eos:
            raise unsupported("it has to have a pos and go on to the end (size-eos)", member.place)
        return self.place_of(frame, lower(member.pos, frame, member.place), member)

    def place_of(self, frame: Frame, pos: Term, member: Field) -> Position:
        """A position in a struct's stream, with a bounds check."""
        start = frame.io.start
        if start is None:
            raise unsupported("a pos is not supported here", member.place)
        if pos.value is not None and pos.value >= 0:
            place = start.plus(pos.value)
            if self.is_known(place):
                return place
        else:
            name = self.names.new(f"{member.id}_start")
            self.source.let(name, f"{start.text} + {pos.within(9)}")
            place = Position(name)
            self._require_not(f"{pos.within(5)} < 0" if pos.low < 0 else "")
        self._require_not(f"{place.text} > {frame.io.end}")
        return place

    def _require_not(self, condition: str) -> None:
        if condition:
            with self.source.rarely(condition):
                self.fail(False)

    def store(self, name: str, value: str) -> None:
        """Set a column of the table's row."""
        place = self.layout.place(name)
        self.source.add(f"store(table, {f'row + {place}' if place else 'row'}, {value})")

    def store_members(self, frame: Frame) -> None:
        """Set the columns that a struct and those in it have."""
        for member in (*frame.struct.fields, *frame.struct.instances):
            column, value = member.extensions.batch_column, frame.values.get(member.id)
            if column is not None:
                self.store(column.name, stored(integer(frame.member(member.id, member.place), member.place)))
            elif isinstance(value, Frame):
                self.store_members(value)
