"""Emitter of code that reads what schemas of other formats have: texts, floats, contents, switches.

Strategy: a text is bytes whose encoding is checked, so that the same is refused as by the Kaitai classes;
a float is the integer that its bits are, which Arrow takes as it is. Of a switch each alternative is read
under its condition, and its columns are null where that does not hold.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace

from compiler.errors import Problems, SchemaError
from compiler.frontend.extensions import UTF_8
from compiler.frontend.model import (
    Bytes,
    BytesType,
    DataType,
    Field,
    FloatType,
    Int,
    IntType,
    Place,
    StrType,
    SwitchType,
    UserType,
)
from compiler.targets.columns.lower.constraints import widened
from compiler.targets.columns.lower.cursor import MOVING
from compiler.targets.columns.lower.struct_values import (
    BytesValue,
    Failure,
    FloatValue,
    Frame,
    Io,
    Position,
    Value,
    lower,
)
from compiler.targets.columns.lower.terms import TRUE, Term, compare, constant, flag, logic, negate, variable
from compiler.targets.columns.model.row_files import Alternative, alternatives
from compiler.targets.columns.model.segment_layout import unsupported
from compiler.targets.columns.read.struct_reader import StructReader

__all__ = ["HELPERS", "ValueReader"]

HELPERS = {
    "find_byte": '''\
def find_byte(data: Bytes, at: int, end: int, byte: int) -> int:
    """The position of the first such byte, `end` if there is none."""
    while at < end and load_u1(data, at) != byte:
        at += 1
    return at
''',
    "without_padding": '''\
def without_padding(data: Bytes, start: int, end: int, pad: int) -> int:
    """The end of bytes without the padding at it."""
    while end > start and load_u1(data, end - 1) == pad:
        end -= 1
    return end
''',
    "is_ascii": '''\
def is_ascii(data: Bytes, at: int, end: int) -> bool:
    """Whether all bytes are ASCII."""
    while at < end and load_u1(data, at) < 0x80:
        at += 1
    return at == end
''',
    "is_utf8": '''\
def is_utf8(data: Bytes, at: int, end: int) -> bool:
    """Whether bytes are UTF-8 as RFC 3629 has it: in the shortest form, and without surrogates."""
    while at < end:
        first = load_u1(data, at)
        at += 1
        if first >= 0x80:
            low, high, more = 0x80, 0xBF, 1
            if first >= 0xF0:
                low, high, more = 0x90 if first == 0xF0 else 0x80, 0x8F if first == 0xF4 else 0xBF, 3
            elif first >= 0xE0:
                low, high, more = 0xA0 if first == 0xE0 else 0x80, 0x9F if first == 0xED else 0xBF, 2
            if first < 0xC2 or first > 0xF4 or end - at < more:
                return False
            for place in range(at, at + more):
                byte = load_u1(data, place)
                if byte < low or byte > high:
                    return False
                low, high = 0x80, 0xBF
            at += more
    return True
''',
}


class ValueReader(StructReader):
    """A `StructReader` of more types.

    Attributes:
        problems: where what is not supported is noted, field by field; None to stop at the first.
        has_nulls: whether it is kept which fields are there, for numbers that are null where they are not.
    """

    problems: Problems | None = None
    has_nulls = False

    def read_field(self, frame: Frame, field: Field) -> None:
        """Read one field, if its condition holds."""
        try:
            super().read_field(frame, field)
        except SchemaError as failure:
            if self.problems is None:
                raise
            self.problems.add(failure)
            frame.values[field.id] = Failure(failure)

    def _read_if(self, frame: Frame, field: Field, condition: Term) -> None:
        if self.has_nulls:
            self.settle()
            self.finish()
            condition = self._kept(frame, field.id, f"{frame.prefix}has_{field.id}", condition)
        super()._read_if(frame, field, condition)

    def _kept(self, frame: Frame, key: str, wanted: str, condition: Term) -> Term:
        """A condition in a variable, so that it can be asked for when all is read."""
        name = self.names.new(wanted)
        self.source.let(name, condition.text)
        frame.there[key] = flag(name)
        return flag(name)

    def _defaults(self, frame: Frame, field: Field, condition: Term) -> list[tuple[str, str]]:
        return [*super()._defaults(frame, field, condition), *_variables(frame.values[field.id])]

    def _read(self, frame: Frame, field: Field) -> None:
        valid = field.valid
        expected = valid.exprs[0] if valid is not None and valid.kind == "eq" else None
        if field.repeat is not None or not isinstance(expected, Bytes):
            super()._read(frame, field)
            return
        if field.size != Int(len(expected.value)) or not isinstance(field.type, BytesType):
            raise unsupported("bytes that are always the same are supported with their size", field.place)
        value = self._read_value(frame, field)
        assert isinstance(value, BytesValue)
        frame.values[field.id] = value
        for condition in _same(value.start, expected.value, field.place):
            self.require(condition)

    def _read_value(self, frame: Frame, field: Field) -> Value:
        if isinstance(field.type, FloatType):
            kind = IntType(field.type.width_bytes, False, field.type.big_endian)
            bits = self._load(f"{frame.prefix}{field.id}", kind, self.here)
            self.here = self.here.plus(kind.width_bytes)
            return FloatValue(bits.text)
        if isinstance(field.type, StrType):
            is_zero = field.type.zero and field.terminator is None
            ended = replace(field, terminator=0) if is_zero else field
            value = self._read_bytes(frame, ended, TRUE)
            self._check_text(value, field.type.encoding, field)
            return value
        if isinstance(field.type, SwitchType):
            return self._read_switch(frame, field, field.type)
        return super()._read_value(frame, field)

    # Texts

    def _check_text(self, value: BytesValue, encoding: str, field: Field) -> None:
        """Emit a failure if bytes are no text."""
        codec = codecs.lookup(encoding).name
        if codec not in UTF_8:
            if not _decodes_all(encoding):
                detail = "texts are supported in UTF-8, ASCII, and where each byte is a character"
                raise unsupported(f"{detail}, not in {encoding}", field.place)
            return
        self.finish()
        name = "is_utf8" if codec == "utf-8" else "is_ascii"
        end = f"{value.start} + {value.size.within(10)}"
        with self.source.rarely(f"not {name}(data, {value.start}, {end})"):
            self.fail(False)

    def _read_bytes(self, frame: Frame, field: Field, condition: Term) -> BytesValue:
        if field.terminator is None and field.pad_right is None:
            return super()._read_bytes(frame, field, condition)
        name = f"{frame.prefix}{field.id}"
        if field.size is not None or field.size_eos:
            whole = super()._read_bytes(frame, replace(field, terminator=None), TRUE)
            self.settle()
            return self._cut(name, field, whole)
        self.finish()
        self.settle()
        start, stop = self.names.new(f"{name}_start"), self.names.new(f"{name}_end")
        self.source.let(start, MOVING)
        self.source.add(f"{stop} = find_byte(data, {start}, {self.end}, {field.terminator})")
        if field.eos_error:
            with self.source.rarely(f"{stop} == {self.end}"):
                self.fail(True)
        past = f"{stop} + 1" if field.eos_error else f"min({stop} + 1, {self.end})"
        self.source.add(f"{MOVING} = {past if field.consume else stop}")
        self.moved()
        return self._span(name, start, past if field.include else stop)

    def _cut(self, name: str, field: Field, whole: BytesValue) -> BytesValue:
        """Bytes of a size up to their terminator or padding."""
        stop = self.names.new(f"{name}_end")
        self.source.add(f"{stop} = {whole.start} + {whole.size.within(10)}")
        if field.pad_right is not None:
            self.source.add(f"{stop} = without_padding(data, {whole.start}, {stop}, {field.pad_right})")
        if field.terminator is not None:
            limit = stop
            stop = self.names.new(f"{name}_end")
            self.source.add(f"{stop} = find_byte(data, {whole.start}, {limit}, {field.terminator})")
            if field.include:
                self.source.add(f"{stop} = min({stop} + 1, {limit})")
        return self._span(name, whole.start, stop)

    def _span(self, name: str, start: str, stop: str) -> BytesValue:
        size = self.names.new(f"len_{name}")
        self.source.add(f"{size} = {stop} - {start}")
        return BytesValue(start, variable(size, (0, 1 << 40)), TRUE, is_measured=True)

    # Switches: what they have a size for is a part, from one position to another

    def _read_switch(self, frame: Frame, field: Field, kind: SwitchType) -> Value:
        """Read the one alternative that fits; its value is in the frame under its key."""
        if field.terminator is not None or field.valid is not None:
            raise unsupported("a switched type with terminator or valid is not supported", field.place)
        on = lower(kind.on, frame, field.place)
        found = alternatives(field, kind)
        tests = {each.key: self._test(each, on, frame, field) for each in found if None not in each.values}
        self.settle()
        part = self._part(frame, field)
        for each in found:
            condition = tests.get(each.key) or negate(logic("or", [*tests.values()]))
            name = f"{frame.prefix}has_{field.id}_{found.index(each)}"
            condition = self._kept(frame, each.key, name, condition)
            self._read_alternative(frame, field, each, condition, part)
        if part is not None:
            self.here = Position(part[1])
        return FloatValue("0")  # no expression has a value of it

    def _test(self, each: Alternative, on: Term, frame: Frame, field: Field) -> Term:
        values = [lower(value, frame, field.place) for value in each.values if value is not None]
        return logic("or", [compare("==", on, value, field.place) for value in values])

    def _part(self, frame: Frame, field: Field) -> tuple[str, str] | None:
        """Start and end of a switched field with a size; None without one."""
        if field.size is None and not field.size_eos:
            return None
        self.finish()
        size = Term(f"{self.end} - {self.here.operand}", 10, 0, 1 << 40)
        if field.size is not None:
            size = lower(field.size, frame, field.place)
            self.require_size(size)
            self.on_size(size)
        start, end = (self.names.new(f"{frame.prefix}{field.id}_{part}") for part in ("start", "end"))
        self.source.let(start, self.here.text)
        self.source.add(f"{end} = {self.here.text} + {size.within(10)}")
        return start, end

    def _read_alternative(
        self, frame: Frame, field: Field, each: Alternative, condition: Term, part: tuple[str, str] | None
    ) -> None:
        inner = replace(field, id=each.key.replace("#", "_"), type=each.type, valid=None, condition=None)
        is_struct = isinstance(each.type, UserType)
        if part is not None or is_struct:
            inner = replace(inner, size=None, size_eos=not is_struct)
        mark = self.source.mark()
        self._depth += 1
        with self.under(condition):
            if part is not None:
                self.here = Position(part[0])
            with nullcontext() if part is None else self.limited(part[1]):
                frame.values[each.key] = self._alternative(frame, inner, each.type, part)
                self.finish()
        self._depth -= 1
        value, targets = widened(frame.values[each.key], 0, condition)
        frame.values[each.key] = value
        for target, default in [*targets, *_variables(value)]:
            self.source.let_before(mark, target, default)

    def _alternative(self, frame: Frame, inner: Field, kind: DataType, part: tuple[str, str] | None) -> Value:
        if not isinstance(kind, UserType):
            return self._read_value(frame, inner)
        struct = self.model.struct(kind.path)
        if struct.varint is not None:
            return self._read_struct(frame, inner, struct)
        io = frame.io if part is None else Io(Position(part[0]), part[1])
        found = self.frame(struct, io, frame, "", f"{frame.prefix}{struct.path[-1]}_")
        self._give_arguments(found, inner, frame)
        self.read_fields(found, struct.fields)
        return found


def _variables(value: Value) -> Iterator[tuple[str, str]]:
    """Variables that only reading sets, with defaults: bits of floats, sizes that were measured."""
    if isinstance(value, FloatValue) and value.bits.isidentifier():
        yield value.bits, "0"
    elif isinstance(value, BytesValue) and value.is_measured:
        yield value.size.text, "0"
    elif isinstance(value, Frame):
        for inner in value.values.values():
            yield from _variables(inner)


def _same(start: str, wanted: bytes, place_in_schema: Place) -> Iterator[Term]:
    """Conditions that bytes are those that are wanted, up to four at once."""
    at = 0
    while at < len(wanted):
        width = next(width for width in (4, 2, 1) if at + width <= len(wanted))
        loader = "load_u1" if width == 1 else f"load_u{width}be"
        place = f"{start} + {at}" if at else start
        word = variable(f"{loader}(data, {place})", (0, (1 << 8 * width) - 1))
        number = int.from_bytes(wanted[at : at + width], "big")
        yield compare("==", word, constant(number), place_in_schema)
        at += width


def _decodes_all(encoding: str) -> bool:
    """Whether each byte by itself is a character in an encoding."""
    decoder = codecs.lookup(encoding)
    try:
        return all(len(decoder.decode(bytes([byte]))[0]) == 1 for byte in range(256))
    except UnicodeError:
        return False
