"""Names in expressions, and circles of instances that need each other, which Kaitai does not refuse."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

from compiler.errors import SchemaError
from compiler.frontend.model import Field, Struct, ValueInstance
from compiler.frontend.nodes import Expr, Name

__all__ = ["check_circles", "names"]


def check_circles(struct: Struct) -> None:
    """Check that no instance of a struct depends on itself.

    Raises:
        SchemaError: one does.
    """
    needs = {found.id: _needs(found) for found in struct.instances}
    places = {found.id: found.place for found in struct.instances}
    done: set[str] = set()

    def visit(name: str, above: tuple[str, ...]) -> None:
        if name in above:
            circle = " -> ".join([*above[above.index(name) :], name])
            place = places[name]
            detail = f"{name!r} depends on itself: {circle}"
            raise SchemaError(
                detail, schema=place.schema, yaml_path=place.yaml_path, line=place.line, column=place.column
            )
        if name not in done:
            for needed in needs.get(name, ()):
                visit(needed, (*above, name))
            done.add(name)

    for name in needs:
        visit(name, ())


def names(expr: Expr) -> Iterator[Name]:
    """All names in an expression."""
    if isinstance(expr, Name):
        yield expr
    for field in fields(expr):
        found = getattr(expr, field.name)
        for part in found if isinstance(found, tuple) else (found,):
            if isinstance(part, Expr):
                yield from names(part)


def _needs(found: Field | ValueInstance) -> list[str]:
    """The instances that this one needs. A check (`valid`) comes after it."""
    exprs = [found.condition]
    if isinstance(found, ValueInstance):
        exprs.append(found.value)
    else:
        exprs += [found.pos, found.size, found.repeat.expr if found.repeat else None]
    found_names = (name for expr in exprs if expr is not None for name in names(expr))
    return [name.id for name in found_names if name.kind == "instance"]
