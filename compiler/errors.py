"""Errors of the generator; nothing that users import raises them."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path


class SchemaError(Exception):
    """A schema cannot be compiled, or the compiler warns of its style.

    Args:
        detail: what is wrong, in the compiler's own words.
        schema: path of the schema, relative to the project.
        yaml_path: where in the schema, e.g. ``/types/entry/seq/0/size``; empty where unknown.
        line: line number in the schema, from 1; ``None`` where unknown.
        column: place in the line, from 1; ``None`` where unknown.

    Attributes:
        more: what else is wrong, found in the same run.
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
        self.more: tuple[SchemaError, ...] = ()

    def line_for(self, what: str = "") -> str:
        """The error in one line, with more words before its detail."""
        numbers = (number for number in (self.line, self.column) if number is not None)
        place = ":".join([self.schema, *map(str, numbers)])
        return ": ".join(part for part in (place, self.yaml_path, what, self.detail) if part)

    def __str__(self) -> str:
        return self.line_for()


class Problems:
    """Collects errors, so that all of them are reported, not the first alone.

    Attributes:
        found: the errors, each once, in the order in which they were found.
    """

    def __init__(self) -> None:
        self.found: list[SchemaError] = []

    def noted(self) -> Problems:
        """A context that notes a `SchemaError` of its block; what follows the block goes on."""
        return self

    def __enter__(self) -> None:
        """Begin a block."""

    def __exit__(self, _kind: object, error: object, _traceback: object) -> bool:
        """End a block; whether its error was noted."""
        if isinstance(error, SchemaError):
            self.add(error)
        return isinstance(error, SchemaError)

    def add(self, error: SchemaError) -> None:
        """Note an error, unless the same one is known."""
        known = {str(each) for each in self.found}
        self.found += [each for each in (error, *error.more) if str(each) not in known]
        error.more = ()

    def stems(self) -> set[str]:
        """The schemas in which something is wrong."""
        return {Path(error.schema).stem for error in self.found}

    def check(self) -> None:
        """Raise the first error if there is one, with the others as its `more`.

        Raises:
            SchemaError: something is wrong.
        """
        if self.found:
            first, *others = self.found
            first.more = tuple(others)
            raise first


class ToolchainError(Exception):
    """Node, npm or the npm packages are missing; the message says how to get them."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """An addition to a message about an unknown name: the most similar known one, if any."""
    close = get_close_matches(name, sorted(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""
