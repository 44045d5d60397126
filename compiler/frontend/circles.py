"""Instances that need each other: the Kaitai compiler takes them, and whatever asks for one never ends."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

from compiler.errors import SchemaError
from compiler.frontend.model import Field, Struct, ValueInstance
from compiler.frontend.nodes import Expr, Name


def check_circles(struct: Struct) -> None:
    """Follow what each instance of a struct needs of the others.

    Raises:
        SchemaError: that leads back to the instance itself.
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
            for needed in needs[name]:
                visit(needed, (*above, name))
            done.add(name)

    for name in needs:
        visit(name, ())


def parts(expr: Expr) -> Iterator[Expr]:
    """An expression and all expressions in it."""
    yield expr
    for field in fields(expr):
        found = getattr(expr, field.name)
        for part in found if isinstance(found, tuple) else (found,):
            if isinstance(part, Expr):
                yield from parts(part)


def _needs(found: Field | ValueInstance) -> list[str]:
    """The instances without which this one cannot be had. A check (`valid`) comes after it."""
    exprs = [found.condition]
    if isinstance(found, ValueInstance):
        exprs.append(found.value)
    else:
        exprs += [found.pos, found.size, found.repeat.expr if found.repeat else None]
    names = (part for expr in exprs if expr is not None for part in parts(expr))
    return [part.id for part in names if isinstance(part, Name) and part.kind == "instance"]
