"""Emitter of code that writes an entry: the fields before its body, and the content or its header.

Strategy: the records that follow the header are a size from outside. Checksums are left
out, and stored when all other bytes are there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from compiler.frontend.model import (
    Attribute,
    Expr,
    Field,
    Int,
    IntType,
    Name,
    SwitchType,
    ValueInstance,
)
from compiler.targets.columns.lower.constraints import region_of
from compiler.targets.columns.lower.struct_values import Failure, Frame, Io, Position, lower
from compiler.targets.columns.lower.terms import Term, arithmetic, variable
from compiler.targets.columns.model.segment_layout import Content, Segment, header_fields, unsupported
from compiler.targets.columns.write.struct_writer import StructWriter

__all__ = ["EntryWriter"]


class EntryWriter(StructWriter):
    """Emits code that writes entries.

    Attributes:
        content: what the entry holds.
        outer: the structs around it, the entry first.
        find_derived: returns the value of a field that is derived from records, else None.
    """

    content: Frame
    outer: tuple[Frame, ...]

    def open(self, segment: Segment, content: Content) -> None:
        """Begin an entry with a content."""
        self._segment, self._content = segment, content
        self._start = self.names.new("content_start")
        self._end = "end"
        self._entry = self.frame(segment.entry, Io(None, ""))
        inner = self._entry
        if segment.inner is not None:
            inner = self.frame(segment.inner, Io(None, ""), self._entry, segment.body.id)
        self._inner = inner
        self.outer = (self._entry, inner)
        self.find_derived: Callable[[Frame, Field], Term | None] = lambda _frame, _field: None
        self.content = self.frame(content.struct, Io(Position(self._start), self._end), inner)
        self._give_arguments()
        self._prefix = _before(segment.entry.fields, segment.body)
        self._between = self._fields_between()
        self._fields = (
            content.struct.fields if content.records is None else header_fields(content, self.model)
        )
        self.special = self._special
        self._checksums: list[tuple[Frame, Field, str]] = []
        self.on_checksum = self._leave_checksum
        self._kind = _switched_on(segment)
        if content.records is None:
            self._invert()

    def _give_arguments(self) -> None:
        """Set the content's parameters, if all its cases pass the same."""
        for number, param in enumerate(self._content.struct.params):
            given = {args[number] for _, args in self._content.cases}
            if len(given) > 1:
                failure = unsupported(
                    f"cases that give {param.id} differently are not supported", param.place
                )
                self.content.values[param.id] = Failure(failure)
            else:
                self.content.values[param.id] = lower(given.pop(), self._inner, self._segment.switch.place)

    def _fields_between(self) -> tuple[Field, ...]:
        segment = self._segment
        if segment.inner is None:
            return ()
        if segment.switch in segment.inner.fields:
            return _before(segment.inner.fields, segment.switch)
        if segment.inner.fields or segment.switch.pos != Int(0):
            raise unsupported(
                "a content at another place than the body's first is not supported", segment.switch.place
            )
        return ()

    def _invert(self) -> None:
        """Write fields that are a record column, by way of parameters, from that column."""
        for instance in self._content.struct.instances:
            if isinstance(instance, ValueInstance) and instance.extensions.record_column is not None:
                origin = self._origin(instance.value, self.content)
                if origin is not None:
                    owner, name = origin
                    owner.values[name] = self.content.values[instance.id]

    def _origin(self, expr: Expr, frame: Frame) -> tuple[Frame, str] | None:
        """The field before the content that an expression stands for."""
        if frame is self.content:
            if not isinstance(expr, Name) or expr.kind != "param":
                return None
            number = next(n for n, each in enumerate(frame.struct.params) if each.id == expr.id)
            given = [args[number] for _, args in self._content.cases]
            return self._origin(given[0], self._inner)
        if isinstance(expr, Name) and expr.kind == "field":
            return frame, expr.id
        if isinstance(expr, Attribute) and expr.kind == "field" and frame.parent is not None:
            is_outer = isinstance(expr.object, Name) and expr.object.kind == "parent"
            return (frame.parent, expr.id) if is_outer else None
        return None

    # Sizes

    def measure_entry(self, payload: Term | None) -> Term:
        """The size of what is written, without the payload that follows it, if one is given."""
        place = self._segment.body.place
        content = self.measure_all(self.content, self._fields)
        between = self.measure_all(self._inner, self._between)
        body = arithmetic("+", between, content, place)
        whole = body if payload is None else arithmetic("+", body, payload, place)
        whole = self.lengths[id(self._entry), self._segment.body.id] = self.kept("size_body", whole)
        prefix = self.measure_all(self._entry, self._prefix)
        return arithmetic("+", prefix, whole if payload is None else body, place)

    def _special(self, frame: Frame, field: Field) -> Term | None:
        """The value of a derived field, or of the field that selects the content if it has no column."""
        derived = self.find_derived(frame, field)
        if derived is not None:
            return derived
        if self._kind is None or field.place != self._kind.place or field.extensions.batch_column is not None:
            return None
        if len(self._content.cases) != 1:
            raise unsupported("it needs a column: more than one value leads to the same content", field.place)
        return lower(self._content.cases[0][0], frame, field.place)

    # Bytes

    def write_entry(self, start: str, end: str) -> None:
        """Write the entry between two positions; the payload is already there."""
        self.here = Position(start)
        self.write_all(self._entry, self._prefix)
        self.write_all(self._inner, self._between)
        self.source.let(self._start, self.here.text)
        self.write_all(self.content, self._fields)
        for frame, field, at in self._checksums:
            self._store_checksum(frame, field, at, end)

    def _leave_checksum(self, frame: Frame, field: Field) -> None:
        at = self.names.new(f"{field.id}_at")
        self.source.let(at, self.here.text)
        self._checksums.append((frame, field, at))

    def _store_checksum(self, frame: Frame, field: Field, at: str, end: str) -> None:
        checksum = field.extensions.checksum
        assert checksum is not None
        owner, region = region_of(frame, checksum, field.place)
        if owner is not self.content or region.pos is None or not region.size_eos:
            raise unsupported("a region is supported that goes on to the end of the content", field.place)
        pos = lower(region.pos, owner, region.place)
        start = arithmetic("+", variable(self._start, (0, 1 << 62)), pos, region.place)
        name = self.names.new(field.id)
        self.source.add(f"{name} = {checksum.algorithm}(out, {start.text}, {end})")
        frame.values[field.id] = variable(name)
        self.here = Position(at)
        assert isinstance(field.type, IntType)
        self._store(field.type.width_bytes, field.type.big_endian, name)


def _before(fields: tuple[Field, ...], last: Field) -> tuple[Field, ...]:
    """Fields before another one, without conditions: a whole entry has all of them."""
    return tuple(replace(field, condition=None) for field in fields[: fields.index(last)])


def _switched_on(segment: Segment) -> Field | None:
    """The field that selects the content, if it is one before it."""
    assert isinstance(segment.switch.type, SwitchType)
    on = segment.switch.type.on
    owner = segment.entry if segment.inner is None else segment.inner
    member = owner.member(on.id) if isinstance(on, Name) and on.kind == "field" else None
    return member if isinstance(member, Field) else None
