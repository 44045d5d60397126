"""The source of each value that is written into a struct.

Strategy: a value is what the schema says: the length or count of something else, `-encode`, a column, a
constant (`valid`, `-default`). It is found when it is first asked for.
"""

from __future__ import annotations

from collections.abc import Callable

from compiler.frontend.model import BytesType, Field, Int, Struct, UserType, ValueInstance
from compiler.targets.columns.lower.constraints import is_size_test
from compiler.targets.columns.lower.python_source import Function
from compiler.targets.columns.lower.struct_values import (
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
from compiler.targets.columns.lower.terms import LONG, Term, arithmetic, constant, stored, variable
from compiler.targets.columns.model.implied_lengths import Implied, implied_fields
from compiler.targets.columns.model.segment_layout import unsupported
from compiler.targets.columns.write.encoder_arguments import Columns, Scope, Table

__all__ = ["ValueFinder"]


class ValueFinder:
    """Finds the values of structs that are written by one function.

    Args:
        function: what is being written.
        columns: arrays that there are.
        table: the row of the table.
        refuse: writes what is to be done with values that cannot be written.

    Attributes:
        measure: the size of a field that is a struct.
        special: finds the value of a field in another way than the schema's general ones, or is None.
        lengths: of structs, by the frame around them and their field.
    """

    def __init__(
        self, function: Function, columns: Columns, table: Table, refuse: Callable[[], None]
    ) -> None:
        self.function, self.source, self.names = function, function.source, function.names
        self.model = function.model
        self.columns, self.table, self.refuse = columns, table, refuse
        self.measure: Callable[[Frame, Field], Term]
        self.special: Callable[[Frame, Field], Term | None] = lambda _frame, _field: None
        self.lengths: dict[tuple[int, str], Term] = {}
        self.scope: Scope | None = None
        self._implied: dict[int, dict[tuple[str, ...], tuple[Frame, Implied]]] = {}
        self._frames: list[Frame] = []  # so that no other frame gets the `id` of one of them

    # Structs

    def frame(
        self, struct: Struct, io: Io, parent: Frame | None = None, name: str = "", prefix: str = ""
    ) -> Frame:
        """A new struct to write."""

        def here() -> Position:
            raise unsupported("a place in a stream is not known while writing", struct.place)

        def remember(_frame: Frame, instance: ValueInstance, _term: Term) -> Term:
            raise unsupported("a place in a stream is not known while writing", instance.place)

        frame = Frame(struct, io, parent, name, prefix, here, self._missing, remember)
        self._frames.append(frame)
        inherited = self._implied.get(id(parent), {}) if parent is not None else {}
        self._implied[id(frame)] = {
            **{path: (frame, implied) for path, implied in implied_fields(struct).items()},
            **{path[1:]: found for path, found in inherited.items() if path[0] == name and len(path) > 1},
        }
        for instance in struct.instances:
            if isinstance(instance, ValueInstance):
                given = self._column(instance)
                if given is not None:
                    frame.values[instance.id] = given
        return frame

    def _column(self, member: Field | ValueInstance) -> Value | None:
        """The value of a member's column, of records or of the table."""
        column = self.columns.by_member.get(id(member))
        if column is not None and self.scope is not None:
            return self.columns.value(column, self.scope)
        if member.extensions.batch_column is not None:
            return self.table.value(member.extensions.batch_column)
        return None

    # Values

    def _missing(self, frame: Frame, field: Field) -> Value:
        """The value of a field at its first use."""
        value = self._find(frame, field)
        frame.values[field.id] = value
        return value

    def _find(self, frame: Frame, field: Field) -> Value:
        if field.pos is not None:
            raise unsupported("what is read at a position has no value while writing", field.place)
        if field.repeat is not None or isinstance(field.type, BytesType):
            given = self._column(field)
            if not isinstance(given, BytesValue | ListValue):
                raise unsupported("it needs a record column to be written from", field.place)
            return given
        if isinstance(field.type, UserType):
            struct = self.model.struct(field.type.path)
            if struct.varint is None:
                return self._struct(frame, field, struct)
            value = self.number(frame, field)
            return VarintValue(value, variable(self._size_of_varint(frame, field, struct, value), (1, 10)))
        return self.number(frame, field)

    def _struct(self, frame: Frame, field: Field, struct: Struct) -> Frame:
        assert isinstance(field.type, UserType)
        io = Io(None, "") if field.size is not None else frame.io
        inner = self.frame(struct, io, frame, field.id, f"{frame.prefix}")
        for param, argument in zip(struct.params, field.type.args, strict=True):
            inner.values[param.id] = lower(argument, frame, field.place)
        return inner

    def _size_of_varint(self, frame: Frame, field: Field, struct: Struct, value: Term) -> str:
        name = self.names.new(f"{frame.prefix}{field.id}_size")
        self.source.let(name, f"size_{struct.path[0]}({value.text})")
        return name

    def number(self, frame: Frame, field: Field) -> Term:
        """The value to write into a number field."""
        special = self.special(frame, field)
        if special is not None:
            return special
        implied = self._implied[id(frame)].get((field.id,))
        if implied is not None:
            return self._length(f"{frame.prefix}{field.id}", field, *implied)
        if field.extensions.encode is not None:
            return self.kept(f"{frame.prefix}{field.id}", lower(field.extensions.encode, frame, field.place))
        given = self._column(field)
        if given is not None:
            return integer(given, field.place)
        if field.valid is not None and field.valid.kind == "eq" and isinstance(field.valid.exprs[0], Int):
            return constant(field.valid.exprs[0].value)
        if field.extensions.default is not None:
            return constant(field.extensions.default)
        raise unsupported("nothing says what to write: no column, -encode or -default", field.place)

    def kept(self, wanted: str, term: Term) -> Term:
        """A term in a variable, so that it is computed once; what is beyond 64 bits is wrapped."""
        if term.value is not None or term.text.isidentifier():
            return term
        name = self.names.new(wanted)
        self.source.let(name, stored(term))
        is_long = term.low < LONG[0] or term.high > LONG[1]
        return variable(name, LONG if is_long else (term.low, term.high))

    def _length(self, name: str, field: Field, owner: Frame, implied: Implied) -> Term:
        """The length or count of a field, for the field that stores it."""
        target, plus = implied.target, constant(implied.plus)
        known = self.lengths.get((id(owner), target.id))
        if known is not None:
            return self.kept(name, arithmetic("+", known, plus, field.place))
        value = owner.member(target.id, target.place)
        if isinstance(value, Frame):
            size = self.measure(owner, target)
        elif isinstance(value, ListValue):
            size = value.size
        elif isinstance(value, BytesValue):
            return self._length_or_null(name, field, target, value, plus)
        else:
            raise unsupported("a length of this is not supported", field.place)
        return self.kept(name, arithmetic("+", size, plus, field.place))

    def _length_or_null(
        self, wanted: str, field: Field, target: Field, value: BytesValue, plus: Term
    ) -> Term:
        size = arithmetic("+", value.size, plus, field.place)
        if target.condition is None:
            return self.kept(wanted, size)
        null, place = field.extensions.null, field.place
        if null is None or null >= 0 or not is_size_test(target) or plus.value:
            raise unsupported(
                "a length of bytes that may be null needs -null < 0, and `if: length >= 0`", place
            )
        name = self.names.new(wanted)
        self.source.let(name, f"{size.text} if {value.is_there.text} else {null}")
        return variable(name, (null, size.high))
