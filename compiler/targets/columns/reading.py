"""Code that reads a struct: a variable for each member, and a check before each access.

Strategy: `Reader` goes through the fields in order and keeps in mind where it is: at a variable, so many bytes
on. Fields of fixed size that follow one another are checked at once. A varint that cannot be read is 0, and what
is behind it is beyond the end: every check fails there, so that there is one at the latest when all is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from compiler.frontend.model import (
    BitsType,
    BytesType,
    Compare,
    DataType,
    EnumType,
    Expr,
    Field,
    Int,
    IntType,
    Model,
    Place,
    Struct,
    UserType,
    Valid,
    ValueInstance,
)
from compiler.targets.columns.source import Names, Source
from compiler.targets.columns.terms import (
    LONG,
    TRUE,
    Term,
    compare,
    error,
    flag,
    logic,
    negate,
    variable,
)
from compiler.targets.columns.values import (
    BytesValue,
    Frame,
    Io,
    ListValue,
    Position,
    Value,
    VarintValue,
    integer,
    lower,
)

__all__ = ["Reader", "bounds_of", "varint_reader"]

_BYTE = 8


def varint_reader(struct: Struct) -> str:
    """What the function that reads a `-varint` schema is called where it is imported."""
    return f"read_{struct.path[0]}"


def bounds_of(found: DataType) -> tuple[int, int]:
    """The least and the most that a number of a type can be."""
    if isinstance(found, EnumType):
        found = found.base
    if isinstance(found, BitsType):
        return 0, (1 << found.width) - 1
    if isinstance(found, IntType) and not found.signed and found.width_bytes < _BYTE:
        return 0, (1 << 8 * found.width_bytes) - 1
    if isinstance(found, IntType):
        return -(1 << 8 * found.width_bytes - 1), (1 << 8 * found.width_bytes - 1) - 1
    return LONG


class Reader:
    """Emits into one function.

    Args:
        model: where structs are.
        source: the function's statements.
        names: its variables.
        here: the place of the first field.
        end: the variable that has the end of what may be read.
        fail: what is to be done if the bytes do not fit; it is told whether they may only end too early.
    """

    def __init__(
        self,
        model: Model,
        source: Source,
        names: Names,
        here: Position,
        end: str,
        fail: Callable[[bool], None],
    ) -> None:
        self.model = model
        self.source = source
        self.names = names
        self.here = here
        self.end = end
        self.fail = fail
        self.read_list: Callable[[Frame, Field], None] = self._refuse_list
        self.on_size: Callable[[Term], None] = lambda _size: None
        self.meanings: dict[str, str] = {}  # of variables that hold what a value instance is
        self._moving = "here"
        self._safe: dict[str, int] = {}  # by variable: bytes behind it that are known to be there
        self._doubtful = False  # whether a varint may have failed since the last check
        self._depth = 0  # of conditions around
        names.new("here")

    # Frames and places

    def frame(
        self, struct: Struct, io: Io, parent: Frame | None = None, name: str = "", prefix: str = ""
    ) -> Frame:
        """A struct that is about to be read: its stream, whose field it is, how that and variables are called."""
        return Frame(struct, io, parent, name, prefix, lambda: self.here, self.read_instance, self._remember)

    def settle(self) -> None:
        """Have the place in the one variable that moves."""
        if self.here.base != self._moving:
            self.source.let(self._moving, self.here.text)
        elif self.here.offset:
            self.source.move(self._moving, str(self.here.offset))
        self._moved()

    def _moved(self) -> None:
        self._safe.pop(self._moving, None)
        self.here = Position(self._moving)

    def require(self, condition: Term) -> None:
        """Fail unless a condition holds."""
        if condition.value == 1:
            return
        with self.source.block(f"if {negate(condition).text}:"):
            self.fail(self._doubtful)
        if condition.text == f"{self.here.text} == {self.end}":
            self._doubtful = False

    def require_bytes(self, size: int, at: Position | None = None) -> None:
        """Fail unless so many bytes are there."""
        at = at or self.here
        if not self._doubtful and at.offset + size <= self._safe.get(at.base, 0):
            return
        needed = at.offset + size
        with self.source.block(f"if {self.end} - {at.base} < {needed}:"):
            self.fail(True)
        self._safe[at.base] = needed
        self._doubtful = self._doubtful and at.base != self.here.base

    def is_known(self, place: Position) -> bool:
        """Whether a place is known not to be beyond the end."""
        return place.offset <= self._safe.get(place.base, 0)

    def finish(self) -> None:
        """Fail if a varint could not be read and no check behind it has told."""
        if self._doubtful:
            with self.source.block(f"if {self.here.text} > {self.end}:"):
                self.fail(True)
            self._doubtful = False

    def limit(self, end: str) -> None:
        """From here on read up to another end."""
        self.end, self._safe = end, {}

    @contextmanager
    def limited(self, end: str) -> Iterator[None]:
        """Read up to another end in between."""
        outer, self.end = self.end, end
        known, self._safe = self._safe, {}
        yield
        self.end, self._safe = outer, known

    # Structs

    def read_fields(self, frame: Frame, fields: tuple[Field, ...]) -> None:
        """Read fields that follow one another."""
        rest = list(fields)
        while rest:
            run = self._fixed_run(tuple(rest))
            if run:
                self.require_bytes(run)
            if _is_bits(rest[0].type) and rest[0].condition is None:
                group = self._bits_group(rest)
                self._read_bits(frame, group)
                del rest[: len(group)]
            else:
                self.read_field(frame, rest.pop(0))

    def _fixed_run(self, fields: tuple[Field, ...]) -> int:
        """How many bytes the next fields take whose size the schema tells."""
        bits = 0
        for field in fields:
            if field.condition is not None or field.repeat is not None:
                break
            found = field.type.base if isinstance(field.type, EnumType) else field.type
            if isinstance(found, IntType):
                bits += _BYTE * found.width_bytes
            elif isinstance(found, BitsType):
                bits += found.width
            elif isinstance(found, UserType) and self._struct(found).varint is None:
                struct = self._struct(found)
                if struct.fixed_size is None and field.size is None:
                    return bits // _BYTE + self._fixed_run(struct.fields)
                if struct.fixed_size is None or field.size not in (None, Int(struct.fixed_size)):
                    break
                bits += _BYTE * struct.fixed_size
            else:
                break
        return bits // _BYTE

    def _struct(self, found: UserType) -> Struct:
        return self.model.struct(found.path)

    def read_field(self, frame: Frame, field: Field) -> None:
        """Read one field, if its condition holds."""
        condition = TRUE if field.condition is None else lower(field.condition, frame, field.place)
        if condition.value == 0:
            return
        if condition.value == 1:
            self._read(frame, field)
        elif _is_size_test(field):
            frame.values[field.id] = self._read_bytes(frame, field, condition)
        else:
            self._read_if(frame, field, condition)

    def _read_if(self, frame: Frame, field: Field, condition: Term) -> None:
        """A field that need not be there: its variables are set before, to what stands for nothing."""
        self.settle()
        self.finish()
        mark, known = self.source.mark(), dict(self._safe)
        self._depth += 1
        with self.source.block(f"if {condition.text}:"):
            self._read(frame, field)
            self.finish()
            self.settle()
        self._depth -= 1
        self._safe = known
        for target, value in self._defaults(frame, field, condition):
            self.source.let_before(mark, target, value)

    def _defaults(self, frame: Frame, field: Field, condition: Term) -> list[tuple[str, str]]:
        """Widen what was read under a condition by what it is otherwise; variables and these values."""
        value = frame.values[field.id]
        if isinstance(value, BytesValue):
            is_there = logic("and", [condition, value.is_there])
            frame.values[field.id] = replace(value, is_there=is_there)
            return [(value.start, "0")]
        frame.values[field.id], targets = _widened(value, field.extensions.default or 0)
        return targets

    def _read(self, frame: Frame, field: Field) -> None:
        if field.repeat is not None:
            self.read_list(frame, field)
            return
        value = self._read_value(frame, field)
        frame.values[field.id] = value
        if field.valid is not None:
            frame.element = value
            condition = _validity(field.valid, value, frame, field.place)
            self.require(condition)
            frame.values[field.id] = _refined(value, condition)
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
        raise error("a field of this type is not supported", field.place)

    def _load(self, name: str, found: IntType, at: Position) -> Term:
        self.require_bytes(found.width_bytes, at)
        order = "" if found.width_bytes == 1 else "be" if found.big_endian else "le"
        loader = f"load_{'s' if found.signed else 'u'}{found.width_bytes}{order}"
        target = self.names.new(name)
        self.source.let(target, f"{loader}(data, {at.text})")
        return variable(target, bounds_of(found))

    # Bits

    def _bits_group(self, fields: list[Field]) -> list[Field]:
        """The fields of bits at the beginning, up to a whole byte and then to the last of them."""
        group = []
        for field in fields:
            if not _is_bits(field.type) or field.condition is not None or field.repeat is not None:
                break
            group.append(field)
        return group

    def _read_bits(self, frame: Frame, group: list[Field]) -> None:
        widths = [_bits(field.type).width for field in group]
        size, rest = divmod(sum(widths), _BYTE)
        big_endian = _bits(group[0].type).big_endian
        if rest or size not in (1, 2, 4):
            raise error("bits are supported that fill 1, 2 or 4 bytes together", group[0].place)
        name = frame.name if len(group) == len(frame.struct.fields) and frame.name else "bits"
        word = self._load(f"{frame.prefix}{name}", IntType(size, False, big_endian), self.here)
        self.here = self.here.plus(size)
        done = 0
        for field, width in zip(group, widths, strict=True):
            shift = _BYTE * size - done - width if big_endian else done
            done += width
            target = self.names.new(f"{frame.prefix}{field.id}")
            shifted = f"({word.text} >> {shift})" if shift else word.text
            mask = (1 << width) - 1
            self.source.let(target, f"{shifted} & {mask if mask < 10 else hex(mask)}")
            frame.values[field.id] = flag(target) if width == 1 else variable(target, (0, mask))
            if field.valid is not None:
                raise error("valid is not supported of bits", field.place)

    # Bytes and structs

    def _read_bytes(self, frame: Frame, field: Field, condition: Term) -> BytesValue:
        """Bytes; with a condition those that are there if their size is not negative."""
        if field.terminator is not None:
            raise error("a terminator is not supported", field.place)
        name = f"{frame.prefix}{field.id}"
        if field.size_eos:
            self.finish()
            return self._to_end(name)
        assert field.size is not None
        size = lower(field.size, frame, field.place)
        self._require_size(size, can_be_negative=condition.value is None)
        if size.value == 0:
            return BytesValue(self.here.text, size, TRUE)
        self.settle()
        start = self.names.new(f"{name}_start")
        self.source.let(start, self._moving)
        if condition.value is None:
            with self.source.block(f"if {condition.text}:"):
                self.source.move(self._moving, size.text)
        else:
            self.source.move(self._moving, size.text)
        return BytesValue(start, size, condition)

    def _to_end(self, name: str) -> BytesValue:
        start = self.names.new(f"{name}_start")
        self.source.let(start, self.here.text)
        size = Term(f"{self.end} - {start}", 10, 0, 1 << 40)
        self.here = Position(self.end)
        return BytesValue(start, size, TRUE)

    def _require_size(self, size: Term, *, can_be_negative: bool) -> None:
        """Fail if so many bytes are not there, or are negatively many."""
        if size.value is not None and size.value >= 0:
            if size.value:
                self.require_bytes(size.value)
            return
        if not can_be_negative and size.low < 0:
            with self.source.block(f"if {size.within(5)} < 0:"):
                self.fail(self._doubtful)
        with self.source.block(f"if {size.within(5)} > {self.end} - {self.here.operand}:"):
            self.fail(True)
        self._doubtful = False

    def _read_struct(self, frame: Frame, field: Field, struct: Struct) -> Value:
        if struct.varint is not None:
            return self._read_varint(f"{frame.prefix}{field.id}", struct)
        if field.terminator is not None:
            raise error("a terminator is not supported", field.place)
        if field.size is not None:
            return self._read_sized(frame, field, struct)
        if field.size_eos:
            raise error("a struct up to the end is not supported here", field.place)
        inner = self.frame(struct, frame.io, frame, field.id, frame.prefix)
        self._give_arguments(inner, field, frame)
        self.read_fields(inner, struct.fields)
        return inner

    def _read_sized(self, frame: Frame, field: Field, struct: Struct) -> Value:
        """A struct with a stream of its own."""
        assert field.size is not None
        size = lower(field.size, frame, field.place)
        if size.value is not None and size.value == struct.fixed_size:
            self.require_bytes(size.value)
            io = Io(self.here, self.here.plus(size.value).text)
            inner = self.frame(struct, io, frame, field.id, frame.prefix)
            self._give_arguments(inner, field, frame)
            self.read_fields(inner, struct.fields)
            return inner
        self._require_size(size, can_be_negative=False)
        self.settle()
        self.on_size(size)
        start, end = (self.names.new(f"{frame.prefix}{field.id}_{part}") for part in ("start", "end"))
        self.source.let(start, self._moving)
        self.source.add(f"{end} = {self._moving} + {size.within(10)}")
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

    def _read_varint(self, name: str, struct: Struct) -> VarintValue:
        assert struct.varint is not None
        target, size, at = (self.names.new(each) for each in (name, f"{name}_size", f"{name}_at"))
        self.source.let(at, self.here.text)
        self.source.add(
            f"{target}, {self._moving} = {varint_reader(struct)}(data, {self.here.text}, {self.end})"
        )
        self._moved()
        self.source.let(size, f"{self._moving} - {at}")
        self._doubtful = True
        bits, zigzag = struct.varint.bits, struct.varint.zigzag
        bounds = LONG if bits == 64 else (-(1 << 31), (1 << 31) - 1) if zigzag else (0, (1 << 32) - 1)
        return VarintValue(variable(target, bounds), variable(size, (0, 10)))

    # Instances

    def read_instance(self, frame: Frame, field: Field) -> Value:
        """An integer that is read where somebody asks for it, not where it stands."""
        if field.pos is None or not isinstance(field.type, IntType) or field.repeat or field.condition:
            raise error("what is read here, or used before it is read, is not supported", field.place)
        at = lower(field.pos, frame, field.place)
        if frame.io.start is None or at.value is None or at.value < 0:
            raise error("such a pos is not supported", field.place)
        value = self._load(f"{frame.prefix}{field.id}", field.type, frame.io.start.plus(at.value))
        frame.values[field.id] = value
        return value

    def _remember(self, frame: Frame, instance: ValueInstance, term: Term) -> Term:
        if self._depth:
            raise error(
                "it depends on the place and is first used under a condition: not supported", instance.place
            )
        name = self.names.new(f"{frame.prefix}{instance.id}")
        self.source.let(name, term.text)
        self.meanings[name] = term.text
        return flag(name) if term.opposite else variable(name, (term.low, term.high))

    def _refuse_list(self, frame: Frame, field: Field) -> None:
        raise error("a repeated field is not supported here", field.place)


def _bits(found: DataType) -> BitsType:
    base = found.base if isinstance(found, EnumType) else found
    assert isinstance(base, BitsType)
    return base


def _is_bits(found: DataType) -> bool:
    return isinstance(found.base if isinstance(found, EnumType) else found, BitsType)


def _is_size_test(field: Field) -> bool:
    """Whether a field is there if its size is not negative."""
    return (
        isinstance(field.type, BytesType)
        and field.repeat is None
        and field.valid is None
        and isinstance(field.condition, Compare)
        and field.condition.op == ">="
        and field.condition.left == field.size
        and field.condition.right == Int(0)
    )


def _validity(valid: Valid, value: Value, frame: Frame, place: Place) -> Term:
    """Whether a value is what the schema says that it has to be."""

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


def _refined(value: Value, condition: Term) -> Value:
    """A value of which it is known now that a condition holds: it may never be negative then."""
    if isinstance(value, VarintValue):
        refined = _refined(value.value, condition)
        assert isinstance(refined, Term)
        return replace(value, value=refined)
    if isinstance(value, Term) and " or " not in condition.text:
        if f"{value.text} >= 0" in condition.text.split(" and "):
            return replace(value, low=max(value.low, 0))
    return value


def _widened(value: Value, default: int) -> tuple[Value, list[tuple[str, str]]]:
    """A value that may also be `default`; and the variables to be set, to what."""
    if isinstance(value, Term):
        if not value.text.isidentifier():
            return value, []  # made of others, which are widened themselves
        wide = replace(value, low=min(value.low, default), high=max(value.high, default))
        return wide, [(value.text, str(default))]
    if isinstance(value, VarintValue):
        wide, targets = _widened(value.value, default)
        assert isinstance(wide, Term)
        return VarintValue(wide, value.size), [*targets, (value.size.text, "0")]
    if isinstance(value, BytesValue):
        return value, [(value.start, "0")]
    targets = []
    if isinstance(value, Frame):
        for name, each in value.values.items():
            member = value.struct.member(name)
            default = (member.extensions.default or 0) if isinstance(member, Field) else 0
            value.values[name], more = _widened(each, default)
            targets += more
    return value, targets
