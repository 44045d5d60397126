"""Which structs are a segment, its entries, their contents and records; and the table of entries' headers.

Strategy: by shape alone. A segment is a root that repeats one struct, the entry, to the end. An entry has a
body of a given size, and somewhere in it a switch between contents. A content repeats a struct that has
record columns, or has some itself and is one record. The table has the same columns whatever the segment, so
that each decoder works with all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from compiler.errors import SchemaError
from compiler.frontend.model import (
    BytesType,
    Column,
    Enum,
    EnumType,
    Expr,
    Field,
    Model,
    Place,
    Schema,
    Struct,
    SwitchType,
    UserType,
    ValueInstance,
)
from compiler.targets.columns.terms import LONG, Term, error, flag, variable
from compiler.targets.columns.values import Failure, Frame, Io, Position, Value, VarintValue, lower

__all__ = [
    "FRAMEWORK",
    "Content",
    "Routes",
    "Segment",
    "batch_columns",
    "codecs",
    "find_routes",
    "is_part",
    "table_frame",
]

# Columns of the table that no schema has.
FRAMEWORK = ("position", "end_position", "content", "payload", "end_payload", "codec")
_BOUNDS = {
    "bool": (0, 1),
    "int8": (-128, 127),
    "int16": (-(1 << 15), (1 << 15) - 1),
    "uint32": (0, (1 << 32) - 1),
}
_BOUNDS["int32"] = (-(1 << 31), (1 << 31) - 1)


@dataclass(slots=True)
class Content:
    """What an entry may hold.

    Attributes:
        struct: of the content.
        cases: values of the switch that lead here, each with the arguments for the struct.
        record: the struct of a record.
        records: the field that repeats it; None if the content is one record itself.
    """

    struct: Struct
    cases: list[tuple[Expr, tuple[Expr, ...]]]
    record: Struct
    records: Field | None

    @property
    def stem(self) -> str:
        """Of the schema that the content is in."""
        return self.struct.path[0]

    @property
    def function(self) -> str:
        """What the scanner's function for it is called."""
        return "_".join(["scan", *self.struct.path])


@dataclass(slots=True)
class Segment:
    """A schema whose root is entries to the end.

    Attributes:
        schema: which one.
        entry: the struct of an entry.
        body: the field of it that holds a content.
        inner: the body's own struct, None if the body is the switch itself.
        switch: the field (of `inner`) that is a content.
    """

    schema: Schema
    entry: Struct
    body: Field
    inner: Struct | None
    switch: Field
    contents: list[Content]


@dataclass(slots=True)
class Routes:
    """All segments, and the table's columns: names to Arrow types, in order, and what stands for none."""

    model: Model
    segments: list[Segment] = field(default_factory=list)
    columns: dict[str, str] = field(default_factory=dict)
    nones: dict[str, int] = field(default_factory=dict)

    @property
    def width(self) -> int:
        """Numbers in a row of the table."""
        return len(self.columns)

    def place(self, name: str) -> int:
        """The place of a column in a row."""
        return list(self.columns).index(name)

    def decoders(self) -> dict[str, list[tuple[Segment, Content]]]:
        """By schema: the contents whose records it has.

        Raises:
            SchemaError: a schema has two sorts of records.
        """
        found: dict[str, list[tuple[Segment, Content]]] = {}
        for segment in self.segments:
            for content in segment.contents:
                uses = found.setdefault(content.record.path[0], [])
                if uses and uses[0][1].record is not content.record:
                    raise error("a schema can have one sort of records only", content.record.place)
                uses.append((segment, content))
        return found


def find_routes(model: Model) -> Routes:
    """What there is to be decoded.

    Raises:
        SchemaError: something is a segment, but not like what is supported.
    """
    routes = Routes(model)
    routes.columns = dict.fromkeys(FRAMEWORK, "int64")
    for _stem, schema in sorted(model.schemas.items()):
        segment = _segment(schema, model)
        if segment is not None:
            routes.segments.append(segment)
            for struct in (segment.entry, *(content.struct for content in segment.contents)):
                for column, member in batch_columns(struct, model):
                    _add_column(routes, column, member.place)
    return routes


def _add_column(routes: Routes, column: Column, place: Place) -> None:
    if column.name in FRAMEWORK:
        raise error(f"every table has a column {column.name} already: name it otherwise", place)
    if routes.columns.setdefault(column.name, column.type) != column.type:
        raise error(f"the table has a column {column.name} of another type", place)
    if column.none is not None and routes.nones.setdefault(column.name, column.none) != column.none:
        raise error(f"the table has a column {column.name} with another number for none", place)


def batch_columns(struct: Struct, model: Model) -> Iterator[tuple[Column, Field | ValueInstance]]:
    """The `-batch-column`s of a struct, with those of what is nested in it."""
    for member in (*struct.fields, *struct.instances):
        if member.extensions.batch_column is not None:
            yield member.extensions.batch_column, member
        elif isinstance(member, Field) and is_part(member):
            yield from batch_columns(_struct_of(member, model), model)


def is_part(member: Field) -> bool:
    """Whether a field is a struct that is read as part of the one around."""
    return isinstance(member.type, UserType) and member.repeat is None and member.pos is None


def _struct_of(member: Field, model: Model) -> Struct:
    assert isinstance(member.type, UserType)
    return model.struct(member.type.path)


def _segment(schema: Schema, model: Model) -> Segment | None:
    root = schema.root
    if len(root.fields) != 1 or root.fields[0].repeat is None or root.fields[0].repeat.kind != "eos":
        return None
    if not isinstance(root.fields[0].type, UserType):
        return None
    entry = _struct_of(root.fields[0], model)
    for body in entry.fields:
        if body.size is None or isinstance(body.type, BytesType):
            continue
        inner = _struct_of(body, model) if isinstance(body.type, UserType) else None
        members = (body,) if inner is None else (*inner.fields, *inner.instances)
        for switch in members:
            if isinstance(switch, Field) and isinstance(switch.type, SwitchType):
                contents = _contents(switch, switch.type, model)
                return Segment(schema, entry, body, inner, switch, contents)
    return None


def _contents(member: Field, switch: SwitchType, model: Model) -> list[Content]:
    contents: dict[tuple[str, ...], Content] = {}
    for value, found in switch.cases:
        if value is None:
            raise error("a case for all other values is not supported", member.place)
        struct = model.struct(found.path)
        if found.path not in contents:
            contents[found.path] = _content(struct, model)
        contents[found.path].cases.append((value, found.args))
    return list(contents.values())


def _content(struct: Struct, model: Model) -> Content:
    for member in (*struct.fields, *struct.instances):
        if isinstance(member, Field) and member.repeat and isinstance(member.type, UserType):
            record = _struct_of(member, model)
            if has_columns(record, model):
                if member.repeat.kind != "expr":
                    raise error("records are supported that are counted (repeat: expr)", member.place)
                return Content(struct, [], record, member)
    if not has_columns(struct, model):
        raise error(
            "what an entry holds needs fields with -record-column, or records that have some", struct.place
        )
    return Content(struct, [], struct, None)


def has_columns(struct: Struct, model: Model) -> bool:
    """Whether a struct, with what is nested in it, has record columns."""
    for member in (*struct.fields, *struct.instances):
        if member.extensions.record_column is not None:
            return True
        if isinstance(member, Field) and is_part(member) and has_columns(_struct_of(member, model), model):
            return True
    return False


def codecs(content: Content, model: Model) -> dict[int, str]:
    """What the numbers in the column `codec` are called; empty if nothing is compressed."""
    for member in (*content.struct.fields, *content.struct.instances):
        if isinstance(member, Field) and member.extensions.codec is not None:
            found = member.extensions.codec.algorithm.type
            if not isinstance(found, EnumType):
                raise error("the algorithm of a codec has to be of an enum", member.place)
            enum: Enum = model.enum(found.path)
            return {each.number: each.id for each in enum.members}
    return {}


# --- The table as a source of values


def table_frame(segment: Segment, content: Content, routes: Routes, load: Callable[[str], str]) -> Frame:
    """The content as its row of the table tells it.

    Args:
        segment: where it is.
        content: which one.
        routes: the table's columns.
        load: makes a variable that holds a column.
    """
    entry = _from_table(segment.entry, None, routes, load)
    outer = entry if segment.inner is None else _from_table(segment.inner, entry, routes, load)
    frame = _from_table(content.struct, outer, routes, load)
    for number, param in enumerate(content.struct.params):
        given = []
        for _value, arguments in content.cases:
            try:
                given.append(lower(arguments[number], outer, segment.switch.place))
            except SchemaError as failure:
                frame.values[param.id] = Failure(failure)
        if given and param.id not in frame.values:
            frame.values[param.id] = given[0]
            if any(term.text != given[0].text for term in given):
                detail = f"cases that give {param.id} differently are not supported, since records need it"
                frame.values[param.id] = Failure(error(detail, segment.switch.place))
    return frame


def _from_table(struct: Struct, parent: Frame | None, routes: Routes, load: Callable[[str], str]) -> Frame:
    def here() -> Position:
        raise error("a place in a stream is not known in the table", struct.place)

    def missing(_frame: Frame, member: Field) -> Value:
        raise error(f"{member.id} has to be a batch column, since records need it", member.place)

    def remember(_frame: Frame, _instance: ValueInstance, term: Term) -> Term:
        return term

    frame = Frame(struct, Io(None, ""), parent, "", "", here, missing, remember)
    for member in (*struct.fields, *struct.instances):
        column = member.extensions.batch_column
        if column is not None:
            bounds = _BOUNDS.get(column.type, LONG)
            term = flag(load(column.name)) if bounds == (0, 1) else variable(load(column.name), bounds)
            is_varint = isinstance(member, Field) and isinstance(member.type, UserType)
            frame.values[member.id] = VarintValue(term, variable("0")) if is_varint else term
        elif isinstance(member, Field) and is_part(member):
            nested = _struct_of(member, routes.model)
            if nested.varint is None:
                frame.values[member.id] = _from_table(nested, frame, routes, load)
    return frame
