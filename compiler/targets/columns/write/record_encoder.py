"""The encoder of a record: a function that appends rows of columns to the bytes of a batch.

Strategy: a row is measured and checked as a whole, then it is written; so encoding can go on at any row. What
the head derives from records is kept in the state on the way.
"""

from __future__ import annotations

from compiler.frontend.model import UserType
from compiler.targets.columns.lower.python_source import Function, Names, bracketed
from compiler.targets.columns.lower.struct_values import Frame, Io, Position, lower
from compiler.targets.columns.lower.table_values import table_frame
from compiler.targets.columns.lower.terms import LONG, arithmetic, stored
from compiler.targets.columns.model.derived_fields import Derived, derived_fields
from compiler.targets.columns.model.record_columns import RecordColumn, described, record_columns
from compiler.targets.columns.model.segment_layout import (
    Content,
    Segment,
    SegmentLayout,
    unsupported,
)
from compiler.targets.columns.write.encoder_arguments import Columns, Scope, Table, depth_first, used_columns
from compiler.targets.columns.write.entry_writer import EntryWriter

__all__ = ["encoder"]

_STATE = {
    "row": "ENC_ROW",
    "at": "ENC_AT",
    "end_row": "ENC_END_ROW",
    "limit": "ENC_LIMIT",
    "count": "ENC_COUNT",
}
_LOCALS = ("batches", "state", "out", "status", "head", "end", "writes", "size", "start")


class _Encoder:
    """Emitter of the function `encode` for one record struct."""

    def __init__(
        self, layout: SegmentLayout, uses: list[tuple[Segment, Content]], columns: tuple[RecordColumn, ...]
    ) -> None:
        self._layout, (self._segment, self._content) = layout, uses[0]
        self.columns = columns
        names = Names(
            *(column.path for column in depth_first(columns)),
            *(name for column in columns for name, _ in column.arrays()),
            *_STATE,
            *_LOCALS,
        )
        self._function = Function(layout.model, names)
        self._source = self._function.source
        self._derived = derived_fields(self._content)
        self._targets = [names.new(each.field.id) for each in self._derived]

    def lines(self) -> list[str]:
        """The body of `encode`."""
        source = self._source
        self._begin()
        table = Table(self._function, self._layout.place)
        columns = Columns(self._function, self.columns)
        columns.begin(lambda: source.add("return REFUSED"))
        source.add("status = DONE")
        with source.block("while row < end_row:"):
            scope = Scope("row", source.reserve(), self._refuse, True, {})
            if self._content.records is None:
                self._entry(EntryWriter(self._function, columns, table, self._refuse), scope)
            else:
                self._record(EntryWriter(self._function, columns, table, self._refuse), table, scope)
            source.add("at = end", "row += 1", "count += 1")
        for name in ("row", "at", "count"):
            source.add(f"store(state, {_STATE[name]}, {name})")
        for target, derived in zip(self._targets, self._derived, strict=True):
            source.add(f"store(state, {derived.place}, {target})")
        source.add("return status")
        return source.lines(2)

    def uses(self, name: str) -> bool:
        """Whether an array is used by more than the checks of its length."""
        return sum(f"({name}, " in line or f", {name}, " in line for line in self._source.lines(0)) > 0

    def _refuse(self) -> None:
        self._source.add("status = REFUSED", "break")

    def _begin(self) -> None:
        source = self._source
        for name, slot in _STATE.items():
            source.add(f"{name} = load(state, {slot})")
        source.add(f"head = load(state, ENC_BATCH) * {self._layout.width}")
        with source.rarely(f"head < 0 or head + {self._layout.width} > length(batches) or row < 0 or at < 0"):
            source.add("return REFUSED")
        with source.block("if writes:"):
            source.add("limit = min(limit, length(out))")
        for target, derived in zip(self._targets, self._derived, strict=True):
            source.add(f"{target} = load(state, {derived.place})")
            if derived.aggregate.function == "max":
                with source.block("if count == 0:"):
                    source.add(f"{target} = {LONG[0]}")

    def _room(self, size: str) -> None:
        source = self._source
        source.add(f"end = at + {size}")
        with source.rarely("end > limit"):
            source.add("status = FULL", "break")

    def _entry(self, writer: EntryWriter, scope: Scope) -> None:
        """A record that is an entry by itself."""
        writer.scope = scope
        writer.open(self._segment, self._content)
        size = writer.measure_entry(None)
        self._room(size.within(9))
        with self._source.block("if writes:"):
            writer.write_entry("at", "end")

    def _record(self, writer: EntryWriter, table: Table, scope: Scope) -> None:
        """A record of many."""
        records = self._content.records
        assert records is not None and isinstance(records.type, UserType)
        batch = table_frame(self._segment, self._content, self._layout, table.load)
        writer.scope = scope
        record = writer.frame(self._content.record, Io(Position("at"), "end"))
        for param, argument in zip(self._content.record.params, records.type.args, strict=True):
            record.values[param.id] = lower(argument, batch, records.place)
        fields = self._content.record.fields
        size = writer.measure_all(record, fields)
        values = [self._value(each, record, batch) for each in self._derived]
        self._room(size.within(9))
        with self._source.block("if writes:"):
            writer.here = Position("at")
            writer.write_all(record, fields)
        for derived, target, value in zip(self._derived, self._targets, values, strict=True):
            self._pick(derived, target, value)

    def _value(self, derived: Derived, record: Frame, batch: Frame) -> str:
        aggregate, place = derived.aggregate, derived.field.place
        batch.element = record
        value = lower(aggregate.value, batch, place)
        batch.element = None
        if aggregate.plus is not None:
            value = arithmetic("+", lower(aggregate.plus, batch, place), value, place)
        return stored(value)

    def _pick(self, derived: Derived, target: str, value: str) -> None:
        function = derived.aggregate.function
        if function == "max":
            self._source.add(f"{target} = max({target}, {value})")
        elif function == "last":
            self._source.add(f"{target} = {value}")
        else:
            with self._source.block("if count == 0:"):
                self._source.add(f"{target} = {value}")


def encoder(layout: SegmentLayout, uses: list[tuple[Segment, Content]]) -> tuple[list[str], list[str]]:
    """The encoder of one record struct: what describes its columns, and the factory.

    Args:
        layout: all there is.
        uses: the contents that have these records.

    Raises:
        SchemaError: the schemas do not say all that is to be written, or something is not supported.
    """
    content = uses[0][1]
    if any(other.struct is not content.struct for _, other in uses):
        raise unsupported("records of more than one format are not supported", content.record.place)
    first = _Encoder(layout, uses, record_columns(content.record, layout.model))
    text = first.lines()
    for use in uses[1:] if content.records is None else ():
        if _Encoder(layout, [use], first.columns).lines() != text:
            raise unsupported("segments whose entries differ are not supported", content.record.place)
    columns = used_columns(first.columns, first.uses)
    writer = _Encoder(layout, uses, columns)
    body = writer.lines()
    arrays = [("batches", "Longs"), ("state", "Longs")]
    arrays += [each for column in columns for each in column.arrays()]
    arrays += [("out", "Bytes")]
    head = ["ENCODED_COLUMNS = (", *(f"    {line}," for line in described(columns)), ")"]
    what = "rows as records" if content.records is not None else "each row as an entry"
    return head, [
        "def encoder(*, writes: bool) -> Encode:",
        f'    """A function that appends {what} to `out`, or only counts unless it `writes`.',
        "",
        f"    Of `batches`, which has {layout.width} numbers a row, it takes the row `state[ENC_BATCH]`.",
        "    `state` has where to begin, what there is room for and, in the end, where it stopped: see",
        "    `_support`.",
        '    """',
        "",
        *bracketed("def encode(", [f"{name}: {kind}" for name, kind in arrays], ") -> int:", 1),
        *body,
        "",
        "    return encode",
    ]
