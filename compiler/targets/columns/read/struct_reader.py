"""Emitter of code that reads a struct: a variable for each member, a bounds check before each access.

Strategy: `StructReader` goes through the fields in order and keeps track of the position: a variable, plus
a number of bytes. Fields of fixed size that follow one another are checked at once. A varint that cannot be
read is 0, and the position after it is beyond the end: every later check fails, so one fails at the latest
when all is read.
"""

from __future__ import annotations

from collections.abc import Callable

from compiler.frontend.model import (
    BitsType,
    BytesType,
    EnumType,
    Field,
    Int,
    IntType,
    Struct,
    UserType,
    ValueInstance,
)
from compiler.targets.columns.lower.constraints import (
    BYTE,
    bits_of,
    bounds_of,
    facts_of,
    is_bits,
    is_count,
    is_size_test,
    refined,
    validity,
    widened,
)
from compiler.targets.columns.lower.cursor import MOVING, Cursor, Fail
from compiler.targets.columns.lower.python_source import Function
from compiler.targets.columns.lower.struct_values import (
    BytesValue,
    Frame,
    Io,
    Position,
    Value,
    VarintValue,
    lower,
)
from compiler.targets.columns.lower.terms import LONG, TRUE, Term, flag, negate, variable
from compiler.targets.columns.model.segment_layout import unsupported

__all__ = ["StructReader", "varint_reader"]


def varint_reader(struct: Struct, *, is_count: bool = False) -> str:
    """The imported name of the function that reads a `-varint` schema."""
    assert struct.varint is not None
    return f"read_{struct.path[0]}{'_size' if is_count and struct.varint.zigzag else ''}"


class StructReader(Cursor):
    """Emits code that reads structs into one function.

    Attributes:
        read_list: reads a repeated field.
        on_size: called with the size of each struct that has a stream of its own, after its bounds check.
    """

    read_list: Callable[[Frame, Field], None]
    on_size: Callable[[Term], None]

    def __init__(self, function: Function, start: str, end: str, fail: Fail) -> None:
        super().__init__(function, start, end, fail)
        self.model = function.model
        self.read_list = self._refuse_list
        self.on_size = lambda _size: None
        self.meanings: dict[str, str] = {}  # of variables that hold what a value instance is
        self._depth = 0  # of conditions around

    def frame(
        self, struct: Struct, io: Io, parent: Frame | None = None, name: str = "", prefix: str = ""
    ) -> Frame:
        """A struct that is about to be read.

        Args:
            struct: what it is.
            io: its stream.
            parent: the struct whose field it is.
            name: of that field.
            prefix: what variables for its members begin with.
        """
        return Frame(struct, io, parent, name, prefix, lambda: self.here, self.read_instance, self._remember)

    # Structs

    def read_fields(self, frame: Frame, fields: tuple[Field, ...]) -> None:
        """Read fields that follow one another."""
        rest = list(fields)
        while rest:
            run = self._fixed_run(tuple(rest))
            if run:
                self.require_bytes(run)
            if is_bits(rest[0].type) and rest[0].condition is None:
                group = self._bits_group(rest)
                self._read_bits(frame, group)
                del rest[: len(group)]
            else:
                self.read_field(frame, rest.pop(0))

    def _fixed_run(self, fields: tuple[Field, ...]) -> int:
        """Number of bytes of the next fields of fixed size."""
        bits = 0
        for field in fields:
            if field.condition is not None or field.repeat is not None:
                break
            found = field.type.base if isinstance(field.type, EnumType) else field.type
            if isinstance(found, IntType):
                bits += BYTE * found.width_bytes
            elif isinstance(found, BitsType):
                bits += found.width
            elif isinstance(found, UserType) and self._struct(found).varint is None:
                struct = self._struct(found)
                if struct.fixed_size is None and field.size is None:
                    return bits // BYTE + self._fixed_run(struct.fields)
                if struct.fixed_size is None or field.size not in (None, Int(struct.fixed_size)):
                    break
                bits += BYTE * struct.fixed_size
            else:
                break
        return bits // BYTE

    def _struct(self, found: UserType) -> Struct:
        return self.model.struct(found.path)

    def read_field(self, frame: Frame, field: Field) -> None:
        """Read one field, if its condition holds."""
        condition = TRUE if field.condition is None else lower(field.condition, frame, field.place)
        if condition.value == 0:
            return
        if field.is_check:
            self._refuse_if(frame, condition)
        elif condition.value == 1:
            self._read(frame, field)
        elif is_size_test(field):
            frame.values[field.id] = self._read_bytes(frame, field, condition)
        else:
            self._read_if(frame, field, condition)

    def _refuse_if(self, frame: Frame, condition: Term) -> None:
        """Refuse bytes for which a condition holds; afterwards it is known that it does not."""
        sound = negate(condition)
        self.require(sound)
        facts = facts_of(sound.text)
        frame.values.update({name: refined(value, facts) for name, value in frame.values.items()})

    def _read_if(self, frame: Frame, field: Field, condition: Term) -> None:
        """Read a conditional field; its variables get defaults before."""
        self.settle()
        self.finish()
        mark = self.source.mark()
        self._depth += 1
        with self.under(condition):
            self._read(frame, field)
        self._depth -= 1
        for target, value in self._defaults(frame, field, condition):
            self.source.let_before(mark, target, value)

    def _defaults(self, frame: Frame, field: Field, condition: Term) -> list[tuple[str, str]]:
        """Merge values read under a condition with their defaults; returns variables and defaults."""
        value, targets = widened(frame.values[field.id], field.extensions.default or 0, condition)
        frame.values[field.id] = value
        return targets

    def _read(self, frame: Frame, field: Field) -> None:
        if field.repeat is not None:
            self.read_list(frame, field)
            return
        value = self._read_value(frame, field)
        frame.values[field.id] = value
        if field.valid is not None:
            frame.element = value
            condition = validity(field.valid, value, frame, field.place)
            self.require(condition)
            frame.values[field.id] = refined(value, facts_of(condition.text))
            frame.element = None

    def _read_value(self, frame: Frame, field: Field) -> Value:
        found = field.type.base if isinstance(field.type, EnumType) else field.type
        if isinstance(found, IntType):
            value = self._load(f"{frame.prefix}{field.id}", found, self.here)
            self.here = self.here.plus(found.width_bytes)
            return value
        if isinstance(found, BytesType):
            return self._read_bytes(frame, field, TRUE)
        if isinstance(found, UserType):
            return self._read_struct(frame, field, self._struct(found))
        raise unsupported("a field of this type is not supported", field.place)

    def _load(self, name: str, found: IntType, at: Position) -> Term:
        self.require_bytes(found.width_bytes, at)
        order = "" if found.width_bytes == 1 else "be" if found.big_endian else "le"
        loader = f"load_{'s' if found.signed else 'u'}{found.width_bytes}{order}"
        target = self.names.new(name)
        self.source.let(target, f"{loader}(data, {at.text})")
        return variable(target, bounds_of(found))

    # Bits

    def _bits_group(self, fields: list[Field]) -> list[Field]:
        """The leading bit fields, up to a whole byte."""
        group = []
        for field in fields:
            if not is_bits(field.type) or field.condition is not None or field.repeat is not None:
                break
            group.append(field)
        return group

    def _read_bits(self, frame: Frame, group: list[Field]) -> None:
        widths = [bits_of(field.type).width for field in group]
        size, rest = divmod(sum(widths), BYTE)
        big_endian = bits_of(group[0].type).big_endian
        if rest or size not in (1, 2, 4):
            raise unsupported("bits are supported that fill 1, 2 or 4 bytes together", group[0].place)
        name = frame.name if len(group) == len(frame.struct.fields) and frame.name else "bits"
        word = self._load(f"{frame.prefix}{name}", IntType(size, False, big_endian), self.here)
        self.here = self.here.plus(size)
        done = 0
        for field, width in zip(group, widths, strict=True):
            shift = BYTE * size - done - width if big_endian else done
            done += width
            target = self.names.new(f"{frame.prefix}{field.id}")
            shifted = f"({word.text} >> {shift})" if shift else word.text
            mask = (1 << width) - 1
            self.source.let(target, f"{shifted} & {mask if mask < 10 else hex(mask)}")
            frame.values[field.id] = flag(target) if width == 1 else variable(target, (0, mask))
            if field.valid is not None:
                raise unsupported("valid is not supported of bits", field.place)

    # Bytes and structs

    def _read_bytes(self, frame: Frame, field: Field, condition: Term) -> BytesValue:
        """Read bytes; conditional ones are present if their size is not negative."""
        if field.terminator is not None:
            raise unsupported("a terminator is not supported", field.place)
        name = f"{frame.prefix}{field.id}"
        if field.size_eos:
            self.finish()
            return self._to_end(name)
        assert field.size is not None
        size = lower(field.size, frame, field.place)
        if condition.value is not None:
            self.require_size(size)
        if size.value == 0:
            return BytesValue(self.here.text, size, TRUE)
        self.settle()
        start = self.names.new(f"{name}_start")
        self.source.let(start, MOVING)
        if condition.value is None:
            # Everything about the size under the one condition: then the CPU need not know it to go on.
            with self.source.block(f"if {condition.text}:"):
                self.require_room(size)
                self.source.move(MOVING, size.text)
        else:
            self.source.move(MOVING, size.text)
        self.moved()
        return BytesValue(start, size, condition)

    def _to_end(self, name: str) -> BytesValue:
        start = self.names.new(f"{name}_start")
        self.source.let(start, self.here.text)
        size = Term(f"{self.end} - {start}", 10, 0, 1 << 40)
        self.here = Position(self.end)
        return BytesValue(start, size, TRUE)

    def _read_struct(self, frame: Frame, field: Field, struct: Struct) -> Value:
        if struct.varint is not None:
            name = f"{frame.prefix}{field.id}"
            return self._read_varint(name, struct, is_count(field, frame.struct))
        if field.terminator is not None:
            raise unsupported("a terminator is not supported", field.place)
        if field.size is not None:
            return self._read_sized(frame, field, struct)
        if field.size_eos:
            raise unsupported("a struct up to the end is not supported here", field.place)
        inner = self.frame(struct, frame.io, frame, field.id, frame.prefix)
        self._give_arguments(inner, field, frame)
        self.read_fields(inner, struct.fields)
        return inner

    def _read_sized(self, frame: Frame, field: Field, struct: Struct) -> Value:
        """Read a struct with a stream of its own."""
        assert field.size is not None
        size = lower(field.size, frame, field.place)
        if size.value is not None and size.value == struct.fixed_size:
            self.require_bytes(size.value)
            io = Io(self.here, self.here.plus(size.value).text)
            inner = self.frame(struct, io, frame, field.id, frame.prefix)
            self._give_arguments(inner, field, frame)
            self.read_fields(inner, struct.fields)
            return inner
        self.require_size(size)
        self.settle()
        self.on_size(size)
        start, end = (self.names.new(f"{frame.prefix}{field.id}_{part}") for part in ("start", "end"))
        self.source.let(start, MOVING)
        self.source.add(f"{end} = {MOVING} + {size.within(10)}")
        inner = self.frame(struct, Io(Position(start), end), frame, field.id, frame.prefix)
        self._give_arguments(inner, field, frame)
        with self.limited(end):
            self.read_fields(inner, struct.fields)
            self.finish()
        self.here = Position(end)
        return inner

    def _give_arguments(self, inner: Frame, field: Field, frame: Frame) -> None:
        assert isinstance(field.type, UserType)
        for param, argument in zip(inner.struct.params, field.type.args, strict=True):
            inner.values[param.id] = lower(argument, frame, field.place)

    def _read_varint(self, name: str, struct: Struct, is_count: bool) -> VarintValue:
        assert struct.varint is not None
        target, size, at = (self.names.new(each) for each in (name, f"{name}_size", f"{name}_at"))
        self.source.let(at, self.here.text)
        reader = varint_reader(struct, is_count=is_count)
        self.source.add(f"{target}, {MOVING} = {reader}(data, {self.here.text}, {self.end})")
        self.moved()
        self.source.let(size, f"{MOVING} - {at}")
        self.doubtful = True
        bits, zigzag = struct.varint.bits, struct.varint.zigzag
        bounds = LONG if bits == 64 else (-(1 << 31), (1 << 31) - 1) if zigzag else (0, (1 << 32) - 1)
        return VarintValue(variable(target, bounds), variable(size, (0, 10)))

    # Instances

    def read_instance(self, frame: Frame, field: Field) -> Value:
        """Read an integer instance at its position, at its first use."""
        if field.pos is None or not isinstance(field.type, IntType) or field.repeat or field.condition:
            raise unsupported("what is read here, or used before it is read, is not supported", field.place)
        at = lower(field.pos, frame, field.place)
        if frame.io.start is None or at.value is None or at.value < 0:
            raise unsupported("such a pos is not supported", field.place)
        value = self._load(f"{frame.prefix}{field.id}", field.type, frame.io.start.plus(at.value))
        frame.values[field.id] = value
        return value

    def _remember(self, frame: Frame, instance: ValueInstance, term: Term) -> Term:
        if self._depth:
            raise unsupported(
                "it depends on the place and is first used under a condition: not supported", instance.place
            )
        name = self.names.new(f"{frame.prefix}{instance.id}")
        self.source.let(name, term.text)
        self.meanings[name] = term.text
        return flag(name) if term.opposite else variable(name, (term.low, term.high))

    def _refuse_list(self, _frame: Frame, field: Field) -> None:
        raise unsupported("a repeated field is not supported here", field.place)
