"""Files of rows: a root that repeats a struct with record columns, after a header of its own."""

from __future__ import annotations

from dataclasses import dataclass

from compiler.frontend.model import DataType, Expr, Field, Model, Schema, Struct, SwitchType, UserType
from compiler.targets.columns.model.segment_layout import Content, has_columns, struct_of, unsupported

__all__ = ["Alternative", "alternatives", "rows_of", "structs_in"]


@dataclass(frozen=True, slots=True)
class Alternative:
    """One of the types that a switched field may have.

    Attributes:
        key: what its value is called beside the field's, which is no name of a member.
        values: those of the switch that lead here; None stands for all that no other case has.
        type: the type.
    """

    key: str
    values: tuple[Expr | None, ...]
    type: DataType


def alternatives(field: Field, kind: SwitchType) -> list[Alternative]:
    """The types of a switched field, each once, in the order of the cases."""
    values: dict[DataType, list[Expr | None]] = {}
    for value, found in kind.cases:
        values.setdefault(found, []).append(value)
    return [
        Alternative(f"{field.id}#{number}", tuple(each), found)
        for number, (found, each) in enumerate(values.items())
    ]


def rows_of(schema: Schema, model: Model) -> Content | None:
    """The rows of a file, None if its schema has none.

    Raises:
        SchemaError: it has them in a way that is not supported.
    """
    found = [field for field in schema.root.fields if _is_rows(field, model)]
    if not found:
        return None
    if len(found) > 1:
        raise unsupported("a file can have one sort of rows only", found[1].place)
    (rows,) = found
    if rows.repeat is None or rows.repeat.kind == "until":
        raise unsupported("rows are supported to the end or counted, not until a condition holds", rows.place)
    if rows.size is not None or rows.size_eos or rows.terminator is not None or rows.condition is not None:
        raise unsupported("rows with a size, a terminator or a condition are not supported", rows.place)
    if schema.root.params:
        raise unsupported("a file of rows has no parameters", schema.root.params[0].place)
    return Content(schema.root, [], struct_of(rows, model), rows)


def _is_rows(field: Field, model: Model) -> bool:
    is_repeated = field.repeat is not None and isinstance(field.type, UserType)
    return is_repeated and has_columns(struct_of(field, model), model)


def structs_in(field: Field, model: Model) -> list[tuple[str, Struct]]:
    """The structs among the types of a switched field, with their keys."""
    if not isinstance(field.type, SwitchType) or field.repeat is not None or field.pos is not None:
        return []
    found = alternatives(field, field.type)
    return [(each.key, model.struct(each.type.path)) for each in found if isinstance(each.type, UserType)]
