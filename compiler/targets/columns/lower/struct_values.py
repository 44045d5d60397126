"""Values of a struct's members while code is emitted for it, and schema expressions over them.

Strategy: a `Frame` stands for one struct that is being read; it knows, by the names of its members, which
variable holds what. Value instances are put in where they are used. Those that depend on the position in a
stream are computed once, where they are first asked for, as Kaitai does it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from compiler.errors import SchemaError
from compiler.frontend.model import (
    Attribute,
    Binary,
    Bool,
    Compare,
    EnumLabel,
    Expr,
    Field,
    Int,
    Logic,
    Method,
    Name,
    Place,
    SizeOf,
    Struct,
    Ternary,
    Unary,
    UserType,
    ValueInstance,
)
from compiler.targets.columns.lower.terms import (
    FALSE,
    TRUE,
    Term,
    arithmetic,
    choice,
    compare,
    constant,
    logic,
    negate,
    negative,
)
from compiler.targets.columns.model.segment_layout import unsupported

__all__ = [
    "BytesValue",
    "Failure",
    "FloatValue",
    "Frame",
    "Io",
    "ListValue",
    "Position",
    "Value",
    "VarintValue",
    "depends_on_io",
    "integer",
    "lower",
]

_FAR = (-(1 << 40), 1 << 40)


@dataclass(frozen=True, slots=True)
class Position:
    """A position in `data`: a variable plus a number of bytes."""

    base: str
    offset: int = 0

    @property
    def text(self) -> str:
        """The Python expression."""
        return f"{self.base} + {self.offset}" if self.offset else self.base

    def plus(self, size: int) -> Position:
        """The position that many bytes further."""
        return Position(self.base, self.offset + size)

    @property
    def operand(self) -> str:
        """The text as the right operand of a minus."""
        return f"({self.text})" if self.offset else self.base


@dataclass(frozen=True, slots=True)
class Io:
    """A stream: its start (None if not known here) and end."""

    start: Position | None
    end: str


@dataclass(frozen=True, slots=True)
class VarintValue:
    """An integer of a `-varint` schema, and its size in bytes."""

    value: Term
    size: Term


@dataclass(frozen=True, slots=True)
class BytesValue:
    """Bytes: the variable with their position, their number, and whether they are present.

    `is_measured`: their number is in a variable that only reading them sets.
    """

    start: str
    size: Term
    is_there: Term
    is_measured: bool = False


@dataclass(frozen=True, slots=True)
class FloatValue:
    """A float: the variable with its bits."""

    bits: str


@dataclass(frozen=True, slots=True)
class ListValue:
    """A repeated field: the number of elements."""

    size: Term


@dataclass(frozen=True, slots=True)
class Failure:
    """A value that is not available: asking for it raises the error."""

    error: SchemaError


@dataclass(slots=True)
class Frame:
    """A struct that is being read.

    Attributes:
        struct: what it is.
        io: its stream.
        parent: the struct in which it is a field.
        name: of that field.
        prefix: what variables for its members begin with.
        here: returns the current position in the stream.
        missing: makes the value of a member that has none yet, or raises.
        remember: sets a variable to a value instance that depends on the place in a stream.
        there: by field, the condition under which it is there, where that is kept.
    """

    struct: Struct
    io: Io
    parent: Frame | None
    name: str
    prefix: str
    here: Callable[[], Position]
    missing: Callable[[Frame, Field], Value]
    remember: Callable[[Frame, ValueInstance, Term], Term]
    values: dict[str, Value] = field(default_factory=dict)
    element: Value | None = None
    there: dict[str, Term] = field(default_factory=dict)

    def member(self, name: str, place: Place) -> Value:
        """The value of a member."""
        if name in self.values:
            value = self.values[name]
            if isinstance(value, Failure):
                raise value.error
            return value
        member = self.struct.member(name)
        if isinstance(member, ValueInstance):
            if member.condition is not None:
                raise unsupported("a value instance with a condition is not supported", member.place)
            term = lower(member.value, self, member.place)
            if depends_on_io(member.value):
                term = self.values[name] = self.remember(self, member, term)
            return term
        if isinstance(member, Field):
            return self.missing(self, member)
        raise unsupported(f"{name} is not known here", place)


Value: TypeAlias = Term | VarintValue | BytesValue | FloatValue | ListValue | Frame | Failure


def lower(expr: Expr, frame: Frame, place: Place) -> Term:
    """Lower an expression in the struct of `frame` to Python.

    Raises:
        SchemaError: the target does not support it; the error is at `place`.
    """
    if isinstance(expr, Int | EnumLabel | SizeOf):
        return constant(expr.value)
    if isinstance(expr, Bool):
        return TRUE if expr.value else FALSE
    if isinstance(expr, Unary):
        return _unary(expr, lower(expr.operand, frame, place), place)
    if isinstance(expr, Binary):
        return _binary(expr, frame, place)
    if isinstance(expr, Compare):
        return compare(expr.op, lower(expr.left, frame, place), lower(expr.right, frame, place), place)
    if isinstance(expr, Logic):
        return _logic(expr, frame, place)
    if isinstance(expr, Ternary):
        return choice(*(lower(each, frame, place) for each in (expr.condition, expr.then, expr.otherwise)))
    if not isinstance(expr, Name | Attribute | Method):
        raise unsupported("texts and elements of arrays are not supported in expressions here", place)
    value = _evaluate(expr, frame, place)
    if not isinstance(value, Term):
        raise unsupported("this is not a number", place)
    return value


def integer(value: Value, place: Place) -> Term:
    """A value as a number; other kinds of values are refused."""
    if isinstance(value, VarintValue):
        return value.value
    if isinstance(value, Term):
        return value
    if isinstance(value, FloatValue):
        raise unsupported("floats are supported as columns, not in expressions", place)
    raise unsupported("a number is expected here", place)


def _logic(expr: Logic, frame: Frame, place: Place) -> Term:
    """Lower `and` and `or`; operands after a deciding one are skipped, so that their names may be unknown."""
    operands = []
    for each in expr.operands:
        operands.append(lower(each, frame, place))
        if operands[-1].value == int(expr.op == "or"):
            break
    return logic(expr.op, operands)


def _unary(expr: Unary, operand: Term, place: Place) -> Term:
    if expr.op == "not":
        return negate(operand)
    if expr.op == "-":
        return negative(operand)
    return arithmetic("-", constant(-1), operand, place)  # ~x


def _binary(expr: Binary, frame: Frame, place: Place) -> Term:
    left, right = _stream_of(expr.left, "size", frame, place), _stream_of(expr.right, "pos", frame, place)
    if expr.op == "-" and left is not None and left == right:
        return Term(f"{left.end} - {frame.here().operand}", 10, *_FAR)
    return arithmetic(expr.op, lower(expr.left, frame, place), lower(expr.right, frame, place), place)


def _stream_of(expr: Expr, method: str, frame: Frame, place: Place) -> Io | None:
    """The stream whose size or position an expression is."""
    if not isinstance(expr, Method) or expr.id != method:
        return None
    if isinstance(expr.object, Name) and expr.object.kind == "io":
        return frame.io
    if isinstance(expr.object, Attribute) and expr.object.kind == "io":
        owner = _evaluate(expr.object.object, frame, place)
        return owner.io if isinstance(owner, Frame) else None
    return None


def _evaluate(expr: Expr, frame: Frame, place: Place) -> Value:
    if isinstance(expr, Name):
        return _name(expr, frame, place)
    if isinstance(expr, Attribute):
        return _attribute(_evaluate(expr.object, frame, place), expr, place)
    if isinstance(expr, Method):
        return _method(expr, frame, place)
    return lower(expr, frame, place)


def _name(expr: Name, frame: Frame, place: Place) -> Value:
    if expr.kind == "parent" and frame.parent is not None:
        return frame.parent
    if expr.kind == "self" and frame.element is not None:
        return frame.element
    if expr.kind == "root":
        root: Frame | None = frame
        while root is not None and not _is_root(root, expr):
            root = root.parent
        if root is not None:
            return root
    if expr.kind in ("field", "instance", "param"):
        return frame.member(expr.id, place)
    raise unsupported(f"{expr.id} is not supported here", place)


def _is_root(frame: Frame, expr: Name) -> bool:
    return isinstance(expr.type, UserType) and frame.struct.path == expr.type.path


def _attribute(owner: Value, expr: Attribute, place: Place) -> Value:
    if isinstance(owner, Frame):
        if expr.kind == "parent" and owner.parent is not None:
            return owner.parent
        return owner.member(expr.id, place)
    if isinstance(owner, VarintValue) and expr.id in ("value", "len"):
        return owner.value if expr.id == "value" else owner.size
    raise unsupported(f"{expr.id} is not supported of this", place)


def _method(expr: Method, frame: Frame, place: Place) -> Value:
    for method in ("size", "pos", "eof"):
        io = _stream_of(expr, method, frame, place)
        if io is not None:
            return _of_stream(method, io, frame, place)
    value = _evaluate(expr.object, frame, place)
    if expr.id == "to_i" and isinstance(value, Term):
        return value
    if expr.id == "size" and isinstance(value, BytesValue | ListValue):
        return value.size
    raise unsupported(f"{expr.id} is not supported of this", place)


def _of_stream(method: str, io: Io, frame: Frame, place: Place) -> Term:
    if method == "eof":
        here = frame.here().text
        return Term(f"{here} == {io.end}", 5, 0, 1, (f"{here} != {io.end}", 5))
    if io.start is None:
        raise unsupported("of this stream only `_io.size - _io.pos` and `_io.eof` are supported", place)
    end = io.end if method == "size" else frame.here().text
    return Term(f"{end} - {io.start.operand}", 10, *_FAR)


def depends_on_io(expr: Expr) -> bool:
    """Whether an expression uses a stream's size or position."""
    if isinstance(expr, Name):
        return expr.kind == "io"
    if isinstance(expr, Attribute):
        return expr.kind == "io" or depends_on_io(expr.object)
    parts: tuple[Expr, ...] = ()
    if isinstance(expr, Method):
        parts = (expr.object,)
    elif isinstance(expr, Unary):
        parts = (expr.operand,)
    elif isinstance(expr, Binary | Compare):
        parts = (expr.left, expr.right)
    elif isinstance(expr, Logic):
        parts = expr.operands
    elif isinstance(expr, Ternary):
        parts = (expr.condition, expr.then, expr.otherwise)
    return any(map(depends_on_io, parts))
