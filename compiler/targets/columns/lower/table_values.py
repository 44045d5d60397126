"""The row of an entry in the table of headers, as a source of values for its records."""

from __future__ import annotations

from collections.abc import Callable

from compiler.errors import SchemaError
from compiler.frontend.model import Field, Struct, UserType, ValueInstance
from compiler.targets.columns.lower.struct_values import (
    Failure,
    Frame,
    Io,
    Position,
    Value,
    VarintValue,
    lower,
)
from compiler.targets.columns.lower.terms import LONG, Term, flag, variable
from compiler.targets.columns.model.segment_layout import (
    Content,
    Segment,
    SegmentLayout,
    is_part,
    struct_of,
    unsupported,
)

__all__ = ["table_frame"]

_BOUNDS = {
    "bool": (0, 1),
    "int8": (-128, 127),
    "int16": (-(1 << 15), (1 << 15) - 1),
    "uint32": (0, (1 << 32) - 1),
}
_BOUNDS["int32"] = (-(1 << 31), (1 << 31) - 1)


def table_frame(
    segment: Segment, content: Content, layout: SegmentLayout, load: Callable[[str], str]
) -> Frame:
    """The content of an entry with the values of its row in the table.

    Args:
        segment: where it is.
        content: which one.
        layout: the table's columns.
        load: makes a variable that holds a column.
    """
    entry = _from_table(segment.entry, None, layout, load)
    outer = entry if segment.inner is None else _from_table(segment.inner, entry, layout, load)
    frame = _from_table(content.struct, outer, layout, load)
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
                frame.values[param.id] = Failure(unsupported(detail, segment.switch.place))
    return frame


def _from_table(
    struct: Struct, parent: Frame | None, layout: SegmentLayout, load: Callable[[str], str]
) -> Frame:
    def here() -> Position:
        raise unsupported("a place in a stream is not known in the table", struct.place)

    def missing(_frame: Frame, member: Field) -> Value:
        raise unsupported(f"{member.id} has to be a batch column, since records need it", member.place)

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
            nested = struct_of(member, layout.model)
            if nested.varint is None:
                frame.values[member.id] = _from_table(nested, frame, layout, load)
    return frame
