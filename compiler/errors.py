"""Errors of the generator; nothing that users import raises them."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class SchemaError(Exception):
    """A schema cannot be compiled, or the compiler warns of its style.

    Args:
        detail: what is wrong, in the compiler's own words.
        schema: path of the schema, relative to the project.
        yaml_path: where in the schema, e.g. ``/types/entry/seq/0/size``; empty where unknown.
        line: line number in the schema, from 1; ``None`` where unknown.
        column: place in the line, from 1; ``None`` where unknown.
    """

    def __init__(
        self,
        detail: str,
        *,
        schema: str = "",
        yaml_path: str = "",
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        self.schema = schema
        self.yaml_path = yaml_path
        self.line = line
        self.column = column

    def __str__(self) -> str:
        numbers = (number for number in (self.line, self.column) if number is not None)
        place = ":".join([self.schema, *map(str, numbers)])
        return ": ".join(part for part in (place, self.yaml_path, self.detail) if part)


class ToolchainError(Exception):
    """Node, npm or the npm packages are missing; the message says how to get them."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """An addition to a message about an unknown name: the most similar known one, if any."""
    close = get_close_matches(name, sorted(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""
