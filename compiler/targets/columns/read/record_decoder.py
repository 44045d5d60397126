"""The decoder of a record: a function that reads records and appends to the arrays of columns.

Strategy: a record is read and checked as a whole, then it is written; what is written before (items of lists)
counts only when the record is sound. Whatever there may be no room for is asked beforehand, so that decoding
can go on after the last record that was taken, in the middle of a batch.

A column whose value follows from the batch's header is written after the batch's records, if its array has
elements. All others are options of the factory: a decoder does nothing for a column that is not wanted.
"""

from __future__ import annotations

from compiler.errors import SchemaError
from compiler.frontend.model import Field, UserType
from compiler.targets.columns.lower.constraints import min_size
from compiler.targets.columns.lower.python_source import Function, Names, bracketed
from compiler.targets.columns.lower.struct_values import (
    Failure,
    Frame,
    Io,
    ListValue,
    Position,
    Value,
    integer,
    lower,
)
from compiler.targets.columns.lower.table_values import table_frame
from compiler.targets.columns.lower.terms import Term, compare, constant
from compiler.targets.columns.model.record_columns import RecordColumn, described, nones, record_columns
from compiler.targets.columns.model.segment_layout import (
    Content,
    Segment,
    SegmentLayout,
    struct_of,
    unsupported,
)
from compiler.targets.columns.read.column_writer import ColumnWriter, owner_of
from compiler.targets.columns.read.value_reader import ValueReader

__all__ = ["RecordDecoder", "decoder", "factory"]

_STATE = {
    "batch": "BATCH",
    "record": "RECORD",
    "at": "PLACE",
    "row": "RECORD_ROW",
    "num_bytes": "NUM_BYTES",
    "max_rows": "RECORD_MAX_ROWS",
    "max_bytes": "MAX_BYTES",
    "max_items": "MAX_ITEMS",
    "num_batches": "NUM_BATCHES",
}
_LOCALS = (
    "data", "spans", "batches", "state", "status", "end", "head", "first_row", "start_row",
    "end_row", "filled", "views", "buffer", "has_bytes",
)  # fmt: skip
_CHANGING = ("batch", "record", "at", "row", "num_bytes")


class RecordDecoder:
    """Emitter of the function `decode` for one record struct."""

    # Whether numbers may be null, and bytes views; what names of options and arrays begin with.
    has_nulls = False
    has_views = True
    prefix = ""

    def __init__(self, layout: SegmentLayout, content: Content, uses: list[tuple[Segment, Content]]) -> None:
        self._layout = layout
        self._uses = uses
        self._content = content
        self._record = self._content.record
        self.columns = record_columns(
            self._record, layout.model, has_nulls=self.has_nulls, prefix=self.prefix, has_views=self.has_views
        )
        self.has_views = self.has_views and any(column.is_binary for column in self.columns)
        self.arrays = [each for column in self.columns for each in column.arrays()]
        self._lists = {id(column.member): column for column in self.columns if column.members}
        self.of_batch: dict[str, Term] = {}  # values of columns that follow from the batch's header
        names = Names(
            *(column.path for column in self.columns),
            *(name for name, _ in self.arrays),
            *(name for column in self.columns for name, _ in column.counters()),
            *_STATE,
            *_LOCALS,
        )
        self._function = Function(layout.model, names)
        self._source = self._function.source
        self._columns = ColumnWriter(self._function)
        self.reader = ValueReader(self._function, "at", "end", lambda _is_missing: self._stop("DAMAGED"))
        self.reader.has_nulls = self.has_nulls
        self.reader.read_list = self._read_list
        self.reader.on_size = self._on_size
        self._is_bounded = self._content.records is None
        self._size = "end - at"

    def lines(self) -> list[str]:
        """The body of `decode`."""
        source = self._source
        for name, slot in _STATE.items():
            source.let(name, f"load(state, {slot})")
        counters = [each for column in self.columns if not column.members for each in column.counters()]
        for name, number in counters:
            source.add(f"{name} = load(state, {_slot(number)})")
        if self.has_views:
            source.add("buffer = load(state, BUFFER)")
        source.add("status = DONE")
        with source.block("while batch < num_batches:"):
            self._batch()
        for name in _CHANGING:
            if name != "record" or self._content.records is not None:
                source.add(f"store(state, {_STATE[name]}, {name})")
        for name, number in counters:
            source.add(f"store(state, {_slot(number)}, {name})")
        source.add("return status")
        return source.lines(2)

    def _stop(self, status: str) -> None:
        self._source.add(f"status = {status}", "break")

    def _batch(self) -> None:
        source = self._source
        source.add("end = load(spans, 3 * batch + 1)")
        source.let("head", f"load(spans, 3 * batch + 2) * {self._layout.width}")
        table = self._table()
        if self._content.records is None:
            source.add("at = load(spans, 3 * batch)")
            self._one_record(table)
        else:
            self._all_records(table, self._content.records)
        source.add("batch += 1")

    def _table(self) -> Frame:
        """The batch's header, which must have the same columns wherever these records occur."""
        known: dict[str, str] = {}

        def load(name: str) -> str:
            if name not in known:
                known[name] = self._function.names.new(f"batch_{name}")
                self._source.let(known[name], f"load(batches, head + {self._layout.place(name)})")
            return known[name]

        frames = [table_frame(segment, content, self._layout, load) for segment, content in self._uses]
        texts = {self._needs(frame, content) for frame, (_, content) in zip(frames, self._uses, strict=True)}
        if len(texts) > 1:
            raise unsupported("formats give these records different things", self._record.place)
        return frames[0]

    def _needs(self, table: Frame, content: Content) -> tuple[str, ...]:
        """The record's arguments, as text."""
        values = self._params(table, content).values()
        return tuple(str(value.error) if isinstance(value, Failure) else str(value) for value in values)

    def _params(self, table: Frame, content: Content) -> dict[str, Value]:
        """The record's arguments by parameter; a missing one is an error only where it is used."""
        if content.records is None:
            return {param.id: table.values[param.id] for param in content.struct.params}
        assert isinstance(content.records.type, UserType)
        found: dict[str, Value] = {}
        for param, argument in zip(content.record.params, content.records.type.args, strict=True):
            try:
                found[param.id] = lower(argument, table, content.records.place)
            except SchemaError as failure:
                found[param.id] = Failure(failure)
        return found

    # Records

    def _all_records(self, table: Frame, records: Field) -> None:
        source = self._source
        assert records.repeat is not None and records.repeat.expr is not None
        if not min_size(self._record, self._layout.model):
            raise unsupported("records that may be empty are not supported", self._record.place)
        count = lower(records.repeat.expr, table, records.place)
        num_records = count.text
        if not num_records.isidentifier():
            num_records = self._function.names.new("num_records")
            source.add(f"{num_records} = {count.text}")
        with source.block("if record == 0:"):
            source.add("at = load(spans, 3 * batch)")
        source.add("first_row = row - record", f"end_row = min(first_row + {num_records}, max_rows)")
        self.of_batch = self._values_of_batch(table)
        if self.of_batch:
            source.add("start_row = row")
        with source.block("while row < end_row:"):
            frame = self._read(table)
            self._write(frame)
            source.add(f"at = {self.reader.here.text}", "row += 1")
        self._write_of_batch()
        source.add("record = row - first_row")
        with source.rarely("status != DONE"):
            source.add("break")
        self._no_room(f"record < {num_records}")
        negative = f"{num_records} < 0 or " if count.low < 0 else ""
        with source.rarely(f"{negative}at != end"):
            self._stop("DAMAGED")
        source.add("record = 0")

    def _one_record(self, table: Frame) -> None:
        self._no_room("row >= max_rows")
        self._bound("end - at")
        self._write(self._read(table))
        self._source.add("row += 1")

    def _no_room(self, condition: str) -> None:
        with self._source.rarely(condition):
            self._stop("FULL")

    def _bound(self, size: str) -> None:
        """Stop before a record whose bytes might not fit into a column."""
        if any(column.is_binary for column in self.columns):
            views = f" or views and at + {size} > MOST_VIEWED" if self.has_views else ""
            self._no_room(f"has_bytes and num_bytes + {size} > max_bytes{views}")
        self._size = size

    def _read(self, table: Frame) -> Frame:
        reader = self.reader
        frame = reader.frame(self._record, Io(Position("at"), "end"), self._around(table))
        frame.values.update(self._params(table, self._content))
        reader.read_fields(frame, self._record.fields)
        reader.finish()
        if not self._is_bounded:
            if self._lists:
                raise unsupported(
                    "records that have a list need a field with the size of the rest", self._record.place
                )
            self._bound(f"{reader.here.text} - at")
        return frame

    def _around(self, _table: Frame) -> Frame | None:
        """What `_parent` is in a record; in a batch it has parameters instead."""
        return None

    def _on_size(self, size: Term) -> None:
        """Note the size of a record, that of its first struct with a size."""
        if not self._is_bounded:
            self._is_bounded = True
            self._bound(size.text)

    # Lists

    def _read_list(self, frame: Frame, field: Field) -> None:
        reader = self.reader
        if (
            field.repeat is None
            or field.repeat.kind != "expr"
            or field.size is not None
            or field.valid is not None
        ):
            raise unsupported("such a repeated field is not supported in a record", field.place)
        assert isinstance(field.type, UserType) and field.repeat.expr is not None
        count = lower(field.repeat.expr, frame, field.place)
        reader.settle()
        self._count(count, field)
        with reader.under(compare(">", count, constant(0), field.place)):
            self._read_items(frame, field, field.type, count)
        frame.values[field.id] = ListValue(count)

    def _read_items(self, frame: Frame, field: Field, kind: UserType, count: Term) -> None:
        """Read the items of a list; columns' usage is counted in the state, as most records have no items."""
        source, reader = self._source, self.reader
        column = self._lists.get(id(field))
        counters = [*column.counters()] if column is not None else []
        for name, number in counters:
            source.let(name, f"load(state, {_slot(number)})")
        if column is not None:
            self._no_room(f"{column.path} and {column.path}_items + {count.text} > max_items")
        struct = self._layout.model.struct(kind.path)
        with source.block(f"for _ in range({count.text}):"):
            name = f"{frame.prefix}{field.id}_"
            element = reader.frame(struct, frame.io, frame, "", name)
            for param, argument in zip(struct.params, kind.args, strict=True):
                element.values[param.id] = lower(argument, frame, field.place)
            reader.read_fields(element, struct.fields)
            reader.finish()
            reader.settle()
            if column is not None:
                with source.block(f"if {column.path}:"):
                    self._write_item(column, element)
        with source.rarely("status != DONE"):
            source.add("break")
        if column is not None:
            with source.block(f"if {column.path}:"):
                source.add(*(f"store(state, {_slot(number)}, {name})" for name, number in counters))

    def _count(self, count: Term, field: Field) -> None:
        """Refuse more items than bytes that are left: that is damage, not a lack of room."""
        reader = self.reader
        assert isinstance(field.type, UserType)
        if not min_size(self._layout.model.struct(field.type.path), self._layout.model):
            raise unsupported("a repeated struct that may be empty is not supported in a record", field.place)
        left = Term(f"{reader.end} - {reader.here.operand}", 10, -(1 << 62), 1 << 62)
        fits = compare("<=", count, left, field.place)
        if fits.text not in reader.facts:
            reader.require(fits)
        is_count = compare(">=", count, constant(0), field.place)
        if is_count.value == 1 or is_count.text in reader.facts:
            reader.doubtful = False  # or nothing would be left, and that is not enough

    def _write_item(self, column: RecordColumn, element: Frame) -> None:
        row = f"{column.path}_items"
        for member in column.members:
            self._columns.write(member, owner_of(member, element), row)
        self._source.add(f"{row} += 1")

    # Columns

    def _values_of_batch(self, table: Frame) -> dict[str, Term]:
        """The values of columns that follow from the batch's header, by column."""
        found: dict[str, Term] = {}
        for column in self.columns:
            if isinstance(column.member, Field):
                continue
            try:
                value = self._unread(table, column.inside).member(column.member.id, column.member.place)
                found[column.name] = integer(value, column.member.place)
            except SchemaError:  # it takes a field of the record
                continue
        return found

    def _unread(self, table: Frame, inside: tuple[str, ...]) -> Frame:
        """A record of which nothing is read, or the struct in it that some fields lead to."""
        frame = self.reader.frame(self._record, Io(None, "end"))
        frame.values.update(self._params(table, self._content))
        for name in inside:
            member = frame.struct.member(name)
            assert isinstance(member, Field)
            struct = struct_of(member, self._layout.model)
            frame = self.reader.frame(struct, Io(None, "end"), frame, name)
        return frame

    def _write_of_batch(self) -> None:
        for column in self.columns:
            if column.name in self.of_batch:
                array = f"{column.path}_values"
                with self._source.block(f"if length({array}) > 0:"):
                    number = self._columns.number(column, self.of_batch[column.name])
                    with self._source.block("for filled in range(start_row, row):"):
                        self._source.add(f"store({array}, filled, {number})")

    def _write(self, record: Frame) -> None:
        for column in self.columns:
            if column.name in self.of_batch:
                continue
            with self._source.block(f"if {column.path}:"):
                if column.members:
                    items = f"load(state, {_slot(column.slot)})"
                    self._source.add(f"store({column.path}_offsets, row + 1, {items})")
                else:
                    self._columns.write(column, owner_of(column, record), "row")
        self._source.add(f"num_bytes += {self._size}")


def _slot(number: int) -> str:
    return f"COLUMNS + {number}" if number else "COLUMNS"


def decoder(layout: SegmentLayout, uses: list[tuple[Segment, Content]]) -> tuple[list[str], list[str]]:
    """The decoder of one record struct: what describes its columns, and the factory.

    Args:
        layout: all there is.
        uses: the contents that have these records.
    """
    return factory(RecordDecoder(layout, uses[0][1], uses), layout)


def factory(writer: RecordDecoder, layout: SegmentLayout) -> tuple[list[str], list[str]]:
    """What describes a decoder's columns, and its factory."""
    body = writer.lines()
    names = [column.path for column in writer.columns if column.name not in writer.of_batch]
    with_bytes = " or ".join(column.path for column in writer.columns if column.is_binary)
    options = [f"{name}: bool" for name in [*names, *(["views"] if writer.has_views else [])]]
    notes = (
        ["Columns without an option are filled where their array has elements."] if writer.of_batch else []
    )
    if writer.has_views:
        notes.append("With `views`, bytes are views into `data`, the buffer `state[BUFFER]`.")
    arrays = [("data", "Bytes"), ("spans", "Longs"), ("batches", "Longs"), ("state", "Longs"), *writer.arrays]
    head = ["RECORD_COLUMNS = (", *(f"    {line}," for line in described(writer.columns)), ")"]
    head.append(nones(writer.columns))
    text = [
        *bracketed("def decoder(", ["*", *options], ") -> Decode:"),
        '    """A function that appends the records of batches to the arrays of columns that are wanted.',
        "",
        "    `spans` has three numbers for each batch: start and end of its records in `data`, and its row",
        f"    in `batches`, which has {layout.width} numbers a row. `state` has where to begin, what there",
        "    is room for and, in the end, where it stopped: see `_support`.",
        *(f"    {note}" for note in notes),
        '    """',
        *([f"    has_bytes = {with_bytes}"] if with_bytes else []),
        "",
        *bracketed("def decode(", [f"{name}: {kind}" for name, kind in arrays], ") -> int:", 1),
        *body,
        "",
        "    return decode",
    ]
    return head, text
