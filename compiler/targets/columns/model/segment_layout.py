"""The structs of a segment, its entries, their contents and records; the table of entry headers.

Strategy: by shape alone. A segment is a root that repeats one struct, the entry, to the end. An entry has a
body of a given size, and somewhere in it a switch between contents. A content repeats a struct that has
record columns, or has some itself and is one record. The table has the same columns whatever the segment, so
that each decoder works with all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from compiler.errors import Problems, SchemaError
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

__all__ = [
    "FRAMEWORK",
    "Content",
    "Segment",
    "SegmentLayout",
    "batch_columns",
    "codecs",
    "find_layout",
    "header_fields",
    "is_part",
    "struct_of",
    "unsupported",
]

# Columns that every table has, beside those of the schemas.
FRAMEWORK = ("position", "end_position", "content", "payload", "end_payload", "codec")


def unsupported(detail: str, place: Place) -> SchemaError:
    """The error for a schema that this target does not support."""
    return SchemaError(
        f"columns: {detail}",
        schema=place.schema,
        yaml_path=place.yaml_path,
        line=place.line,
        column=place.column,
    )


@dataclass(slots=True)
class Content:
    """A kind of content that an entry may have.

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
        """The stem of the content's schema."""
        return self.struct.path[0]

    @property
    def function(self) -> str:
        """The name of the scanner's function for it."""
        return "_".join(["scan", *self.struct.path])


@dataclass(slots=True)
class Segment:
    """A schema whose root repeats entries to the end.

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
class SegmentLayout:
    """All segments, the table's columns (names to Arrow types, in order), and numbers that stand for null."""

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

    def contents(self) -> set[str]:
        """The schemas of contents, which are no files."""
        return {content.stem for segment in self.segments for content in segment.contents}

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
                    raise unsupported("a schema can have one sort of records only", content.record.place)
                uses.append((segment, content))
        return found


def find_layout(model: Model, problems: Problems) -> SegmentLayout:
    """Find the segments of a model and the columns of their table.

    Args:
        model: all schemas.
        problems: what is a segment, but not like what is supported.
    """
    layout = SegmentLayout(model)
    layout.columns = dict.fromkeys(FRAMEWORK, "int64")
    for _stem, schema in sorted(model.schemas.items()):
        with problems.noted():
            segment = _segment(schema, model)
            if segment is not None:
                layout.segments.append(segment)
                for struct in (segment.entry, *(content.struct for content in segment.contents)):
                    for column, member in batch_columns(struct, model):
                        _add_column(layout, column, member.place)
    return layout


def _add_column(layout: SegmentLayout, column: Column, place: Place) -> None:
    if column.name in FRAMEWORK:
        raise unsupported(f"every table has a column {column.name} already: name it otherwise", place)
    if layout.columns.setdefault(column.name, column.type) != column.type:
        raise unsupported(f"the table has a column {column.name} of another type", place)
    if column.none is not None and layout.nones.setdefault(column.name, column.none) != column.none:
        raise unsupported(f"the table has a column {column.name} with another number for none", place)


def batch_columns(struct: Struct, model: Model) -> Iterator[tuple[Column, Field | ValueInstance]]:
    """The `-batch-column`s of a struct, with those of what is nested in it."""
    for member in (*struct.fields, *struct.instances):
        if member.extensions.batch_column is not None:
            yield member.extensions.batch_column, member
        elif isinstance(member, Field) and is_part(member):
            yield from batch_columns(struct_of(member, model), model)


def is_part(member: Field) -> bool:
    """Whether a field is a struct that is read as part of the one around."""
    return isinstance(member.type, UserType) and member.repeat is None and member.pos is None


def struct_of(member: Field, model: Model) -> Struct:
    assert isinstance(member.type, UserType)
    return model.struct(member.type.path)


def _segment(schema: Schema, model: Model) -> Segment | None:
    root = schema.root
    if len(root.fields) != 1 or root.fields[0].repeat is None or root.fields[0].repeat.kind != "eos":
        return None
    if not isinstance(root.fields[0].type, UserType):
        return None
    entry = struct_of(root.fields[0], model)
    if has_columns(entry, model):
        return None  # its entries are rows: see `row_files`
    for body in entry.fields:
        if body.size is None or isinstance(body.type, BytesType):
            continue
        inner = struct_of(body, model) if isinstance(body.type, UserType) else None
        members = (body,) if inner is None else (*inner.fields, *inner.instances)
        for switch in members:
            if isinstance(switch, Field) and isinstance(switch.type, SwitchType):
                contents = _contents(switch, switch.type, model)
                return Segment(schema, entry, body, inner, switch, contents)
    return None


def _contents(member: Field, switch: SwitchType, model: Model) -> list[Content]:
    contents: dict[tuple[str, ...], Content] = {}
    for value, found in switch.cases:
        if not isinstance(found, UserType):
            raise unsupported("what an entry holds has to be a struct in all cases", member.place)
        struct = model.struct(found.path)
        if value is None and _has_any_columns(struct, model):
            raise unsupported("a case for all other values may have no columns", member.place)
        if value is None or not _is_for_columns(struct, model):
            continue  # a scanner says DAMAGED of it, and other targets read it
        if found.path not in contents:
            contents[found.path] = _content(struct, model)
        contents[found.path].cases.append((value, found.args))
    return list(contents.values())


def _is_for_columns(struct: Struct, model: Model) -> bool:
    """Whether a content of a schema of its own has columns at all: without, it is left to other targets."""
    return len(struct.path) > 1 or has_columns(struct, model) or any(batch_columns(struct, model))


def _has_any_columns(struct: Struct, model: Model) -> bool:
    """Whether a content, or what it repeats, has columns."""
    parts = (each for each in struct.fields + struct.instances if isinstance(each, Field) and each.repeat)
    structs = [struct_of(each, model) for each in parts if isinstance(each.type, UserType)]
    return any(has_columns(one, model) for one in (struct, *structs)) or any(batch_columns(struct, model))


def _content(struct: Struct, model: Model) -> Content:
    for member in (*struct.fields, *struct.instances):
        if isinstance(member, Field) and member.repeat and isinstance(member.type, UserType):
            record = struct_of(member, model)
            if has_columns(record, model):
                if member.repeat.kind != "expr":
                    raise unsupported("records are supported that are counted (repeat: expr)", member.place)
                return Content(struct, [], record, member)
    if not has_columns(struct, model):
        raise unsupported(
            "what an entry holds needs fields with -record-column, or records that have some", struct.place
        )
    return Content(struct, [], struct, None)


def has_columns(struct: Struct, model: Model) -> bool:
    """Whether a struct, with what is nested in it, has record columns."""
    for member in (*struct.fields, *struct.instances):
        if member.extensions.record_column is not None:
            return True
        if isinstance(member, Field) and is_part(member) and has_columns(struct_of(member, model), model):
            return True
    return False


def header_fields(content: Content, model: Model) -> tuple[Field, ...]:
    """Fields before the records; of a content that is one record, up to the last batch column."""
    fields = content.struct.fields
    if content.records is not None:
        ends = [at for at, each in enumerate(fields) if each is content.records or each.extensions.codec]
        return fields[: min(ends, default=len(fields))]
    wanted = [at for at, each in enumerate(fields) if _is_of_batch(each, model)]
    return fields[: max(wanted, default=-1) + 1]


def _is_of_batch(member: Field, model: Model) -> bool:
    if member.extensions.batch_column or member.extensions.checksum:
        return True
    if not isinstance(member.type, UserType) or member.repeat or member.pos:
        return False
    return any(_is_of_batch(each, model) for each in model.struct(member.type.path).fields)


def codecs(content: Content, model: Model) -> dict[int, str]:
    """Names of the numbers in the column `codec`; empty if nothing is compressed."""
    for member in (*content.struct.fields, *content.struct.instances):
        if isinstance(member, Field) and member.extensions.codec is not None:
            found = member.extensions.codec.algorithm.type
            if not isinstance(found, EnumType):
                raise unsupported("the algorithm of a codec has to be of an enum", member.place)
            enum: Enum = model.enum(found.path)
            return {each.number: each.id for each in enum.members}
    return {}
