"""Emitter of code that writes a struct which has been measured."""

from __future__ import annotations

from collections.abc import Callable

from compiler.frontend.model import BytesType, EnumType, Field, Int, IntType, UserType
from compiler.targets.columns.lower.constraints import BYTE, bits_of, is_bits
from compiler.targets.columns.lower.cursor import MOVING
from compiler.targets.columns.lower.python_source import Function
from compiler.targets.columns.lower.struct_values import BytesValue, Frame, Position, VarintValue, integer
from compiler.targets.columns.model.segment_layout import unsupported
from compiler.targets.columns.write.encoder_arguments import Columns, Table
from compiler.targets.columns.write.struct_measurer import StructMeasurer

__all__ = ["StructWriter"]


class StructWriter(StructMeasurer):
    """Emits code that writes structs into one function.

    Attributes:
        here: the place in `out`.
        on_checksum: called at the position of a checksum, which is left out.
    """

    def __init__(
        self, function: Function, columns: Columns, table: Table, refuse: Callable[[], None]
    ) -> None:
        super().__init__(function, columns, table, refuse)
        self.here = Position("at")
        self.on_checksum: Callable[[Frame, Field], None] = self._refuse_checksum
        self.names.new(MOVING)

    def settle(self) -> None:
        """Assign the position to the moving variable."""
        if self.here == Position(MOVING):
            return
        same = self.here.base == MOVING
        self.source.add(f"{MOVING} += {self.here.offset}" if same else f"{MOVING} = {self.here.text}")
        self.here = Position(MOVING)

    def write_all(self, frame: Frame, fields: tuple[Field, ...]) -> None:
        """Write fields that follow one another, and have been measured."""
        rest = list(fields)
        while rest:
            field = rest.pop(0)
            if is_bits(field.type) and field.condition is None:
                group = [field]
                while sum(bits_of(each.type).width for each in group) % BYTE or (
                    rest and is_bits(rest[0].type) and rest[0].condition is None
                ):
                    group.append(rest.pop(0))
                self._write_bits(frame, group)
                continue
            if field.is_check:
                continue
            condition = self.condition(frame, field)
            if condition.value == 1:
                self._write(frame, field)
            elif condition.value is None:
                self.settle()
                with self.source.block(f"if {condition.text}:"):
                    self._write(frame, field)
                    self.settle()

    def _write(self, frame: Frame, field: Field) -> None:
        found = field.type.base if isinstance(field.type, EnumType) else field.type
        if field.repeat is not None:
            self._write_list(frame, field)
        elif isinstance(found, IntType):
            if field.extensions.checksum is not None:
                self.on_checksum(frame, field)
            else:
                term = integer(frame.member(field.id, field.place), field.place)
                self._store(found.width_bytes, found.big_endian, term.text)
            self.here = self.here.plus(found.width_bytes)
        elif isinstance(found, BytesType):
            self._write_bytes(frame, field)
        else:
            value = frame.member(field.id, field.place)
            if isinstance(value, Frame):
                self.write_all(value, value.struct.fields)
                return
            assert isinstance(value, VarintValue) and isinstance(found, UserType)
            writer = f"write_{found.path[0]}"
            self.source.add(f"{MOVING} = {writer}(out, {self.here.text}, {value.value.text})")
            self.here = Position(MOVING)

    def _store(self, width: int, big_endian: bool, text: str) -> None:
        order = "" if width == 1 else "be" if big_endian else "le"
        self.source.add(f"store_{width}{order}(out, {self.here.text}, {text})")

    def _write_bits(self, frame: Frame, group: list[Field]) -> None:
        size = sum(bits_of(field.type).width for field in group) // BYTE
        big_endian = bits_of(group[0].type).big_endian
        if size not in (1, 2, 4):
            raise unsupported("bits are supported that fill 1, 2 or 4 bytes together", group[0].place)
        parts, done = [], 0
        for field in group:
            width = bits_of(field.type).width
            shift = BYTE * size - done - width if big_endian else done
            done += width
            term = integer(frame.member(field.id, field.place), field.place)
            if term.value != 0:
                parts.append(f"({term.text} << {shift})" if shift else term.text)
        self._store(size, big_endian, " | ".join(parts) or "0")
        self.here = self.here.plus(size)

    def _write_bytes(self, frame: Frame, field: Field) -> None:
        if field.size == Int(0):
            return
        value = frame.member(field.id, field.place)
        assert isinstance(value, BytesValue)
        array = self.columns.array_of[value.start]
        size = value.size.text
        self.source.add(f"copy_bytes(out, {self.here.text}, {array}, {value.start}, {size})")
        if isinstance(field.size, Int):
            self.here = self.here.plus(field.size.value)
        else:
            moves = self.here == Position(MOVING)
            self.source.add(f"{MOVING} += {size}" if moves else f"{MOVING} = {self.here.text} + {size}")
            self.here = Position(MOVING)

    def _write_list(self, frame: Frame, field: Field) -> None:
        struct = self.items(frame, field)[1]
        self.settle()

        def write(element: Frame) -> None:
            self.measure_quietly(element, struct.fields)
            self.write_all(element, struct.fields)
            self.settle()

        self.each(frame, field, False, write)

    def measure_quietly(self, frame: Frame, fields: tuple[Field, ...]) -> None:
        """Find the values of measured fields again, without checks."""
        for field in fields:
            if field.size != Int(0):
                frame.member(field.id, field.place)

    def _refuse_checksum(self, _frame: Frame, field: Field) -> None:
        raise unsupported("a checksum is not supported here", field.place)
