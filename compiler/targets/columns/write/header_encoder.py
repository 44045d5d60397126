"""The encoder of headers, which are written when the records after them are complete.

Strategy: values come from the row of the table, or from the state of the records' encoder if they are derived
from records. Lengths and the checksum follow. In the end the row is as if the entry had been scanned.
"""

from __future__ import annotations

from compiler.frontend.model import Field, ValueInstance
from compiler.targets.columns.lower.python_source import Function, Names
from compiler.targets.columns.lower.struct_values import Frame, Value, integer, lower
from compiler.targets.columns.lower.terms import Term, arithmetic, constant, negate, stored, variable
from compiler.targets.columns.model.derived_fields import count_path, derived_fields
from compiler.targets.columns.model.segment_layout import (
    Content,
    Segment,
    SegmentLayout,
    header_fields,
    unsupported,
)
from compiler.targets.columns.write.encoder_arguments import Columns, Table
from compiler.targets.columns.write.entry_writer import EntryWriter

__all__ = ["head_encoder"]

_STATE = {
    "start": "ENC_HEAD",
    "payload": "ENC_PAYLOAD",
    "end": "ENC_AT",
    "given": "ENC_GIVEN",
    "count": "ENC_COUNT",
}
HEAD = '''\
def head_encoder(*, writes: bool) -> Encode:
    """A function that writes the head of an entry, between `state[ENC_HEAD]` and its payload.

    Values come from the row `state[ENC_BATCH]` of `batches`; those derived from records come from the state
    that their encoder left. The row is completed with what was written.

    Args:
        writes: else the payload is only moved to where the head would end.
    """

    def encode_head(batches: Longs, state: Longs, out: Bytes) -> int:
        head = load(state, ENC_BATCH) * WIDTH
        if rare(head < 0 or head + WIDTH > length(batches)):
            return REFUSED
        content = load(batches, head + CONTENT)
'''


class _HeaderEncoder:
    """Emitter of the function for one kind of content."""

    def __init__(self, segment: Segment, content: Content, layout: SegmentLayout) -> None:
        self._segment, self._content, self._layout = segment, content, layout
        locals_ = ("batches", "head", "state", "out", "writes", "size", "status", "size_payload")
        self._function = Function(layout.model, Names(*_STATE, *locals_))
        self._source = self._function.source
        self._derived = {each.field.place: each for each in derived_fields(content)}
        self._count = count_path(content)
        self._bits: dict[str, Term] = {}
        self.size: int | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the derived fields, in the order of their bits in `ENC_GIVEN`."""
        return tuple(self._bits)

    def lines(self, name: str) -> list[str]:
        """The function."""
        source = self._source
        for local, slot in _STATE.items():
            source.add(f"{local} = load(state, {slot})")
        with source.rarely("start < 0 or payload > end"):
            source.add("return REFUSED")
        source.add("size_payload = end - payload")
        table = Table(self._function, self._layout.place)
        writer = EntryWriter(self._function, Columns(self._function, ()), table, self._refuse)
        writer.open(self._segment, self._content)
        writer.find_derived = lambda frame, field: self._derive(writer, table, frame, field)
        size = writer.measure_entry(variable("size_payload", (0, 1 << 62)))
        self.size = size.value
        with source.block("if not writes:"):
            source.add(
                f"store(state, ENC_PAYLOAD, start + {size.within(9)})",
                f"store(state, ENC_AT, start + {size.within(9)} + size_payload)",
                "return DONE",
            )
        with source.rarely(f"start + {size.within(9)} != payload or end > length(out)"):
            source.add("return REFUSED")
        writer.write_entry("start", "end")
        self._complete(writer, table)
        source.add("return DONE")
        doc = f'    """`{self._content.struct.path[-1]}`: all that stands in front of its records."""'
        return [
            f"def {name}(batches: Longs, head: int, state: Longs, out: Bytes, writes: bool) -> int:",
            doc,
            *source.lines(1),
        ]

    def _refuse(self) -> None:
        self._source.add("return REFUSED")

    # Fields derived from records

    def _derive(self, writer: EntryWriter, table: Table, frame: Frame, field: Field) -> Term | None:
        """The value of a derived field, unless the row is to give it."""
        condition, value = f"given & {1 << len(self._bits)} == 0", "count"
        derived = self._derived.get(field.place) if frame is writer.content else None
        if derived is not None:
            value = f"load(state, {derived.place}) if count != 0 else {derived.aggregate.default}"
            if derived.aggregate.unless is not None:
                unless = lower(derived.aggregate.unless, frame, field.place)
                condition += f" and {negate(unless).within(3)}"
        elif self._count is None or _path(writer, frame, field) != self._count[0]:
            return None
        elif self._count[1]:
            value = arithmetic("+", variable("count"), constant(self._count[1]), field.place).text
        own = self._own(table, frame, field)
        name = self._function.names.new(field.id)
        self._source.add(f"{name} = {own}")
        with self._source.block(f"if {condition}:"):
            self._source.add(f"{name} = {value}")
        self._bits[field.id] = variable(name)
        return variable(name)

    def _own(self, table: Table, frame: Frame, field: Field) -> str:
        """The value of such a field in the row."""
        if field.extensions.batch_column is not None:
            return table.value(field.extensions.batch_column).text
        if field.extensions.encode is not None:
            return stored(lower(field.extensions.encode, frame, field.place))
        raise unsupported("what is derived needs a column or -encode too, for what is given", field.place)

    # The row afterwards

    def _complete(self, writer: EntryWriter, table: Table) -> None:
        fields = header_fields(self._content, self._layout.model)
        for frame in dict.fromkeys(map(id, (*writer.outer, writer.content))):
            owner = next(each for each in (*writer.outer, writer.content) if id(each) == frame)
            self._complete_struct(owner, table, fields if owner is writer.content else owner.struct.fields)

    def _complete_struct(self, frame: Frame, table: Table, fields: tuple[Field, ...]) -> None:
        for field in fields:
            value = frame.values.get(field.id)
            if isinstance(value, Frame):
                self._complete_struct(value, table, value.struct.fields)
            elif field.extensions.batch_column is not None and value is not None:
                self._put(table, field.extensions.batch_column.name, value, field)
        for instance in frame.struct.instances:
            if isinstance(instance, ValueInstance) and instance.extensions.batch_column is not None:
                value = lower(instance.value, frame, instance.place)
                self._put(table, instance.extensions.batch_column.name, value, instance)

    def _put(self, table: Table, name: str, value: Value, member: Field | ValueInstance) -> None:
        """Set a column, if its value changes."""
        text = stored(integer(value, member.place))
        if text != f"batch_{name}":
            self._source.add(f"store(batches, {table.at(name)}, {text})")


def _path(writer: EntryWriter, frame: Frame, field: Field) -> tuple[str, ...]:
    """The path from the content to a field, empty if it is not in the content."""
    path: tuple[str, ...] = (field.id,)
    inner: Frame | None = frame
    while inner is not None and inner is not writer.content:
        path = (inner.name, *path)
        inner = inner.parent
    return path if inner is not None else ()


def head_encoder(segment: Segment, layout: SegmentLayout) -> tuple[list[str], list[list[str]]]:
    """The encoder of a segment's headers: constants, and functions.

    Raises:
        SchemaError: the schemas do not say all that is to be written, or something is not supported.
    """
    sizes, derived, calls = [], [], []
    functions: list[list[str]] = []
    for number, content in enumerate(segment.contents):
        if content.records is None:
            sizes.append("0")
            derived.append("()")
            continue
        name = content.function.replace("scan", "encode", 1)
        writer = _HeaderEncoder(segment, content, layout)
        functions.append(writer.lines(name))
        sizes.append(str(writer.size))
        names = ", ".join(f'"{each}"' for each in writer.names)
        derived.append(f"({names},)" if len(writer.names) == 1 else f"({names})")
        calls += [f"        if content == {number}:"]
        calls += [f"            return {name}(batches, head, state, out, writes)"]
    head = [
        "# By the number in the column `content`: bytes of the head (None if they vary, 0 if a record is an",
        "# entry by itself), and what it derives from the records.",
        f"LEN_HEADS = ({sizes[0]},)" if len(sizes) == 1 else f"LEN_HEADS = ({', '.join(sizes)})",
        "DERIVED = (",
        *(f"    {each}," for each in derived),
        ")",
    ]
    factory = [*HEAD.splitlines(), *calls, "        return REFUSED", "", "    return encode_head"]
    return head, [factory, *functions]
