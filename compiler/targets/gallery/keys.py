"""Removal of keys from a schema's text; all that stays is as it is written, comments too."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import yaml

from compiler.errors import SchemaError

__all__ = ["KeyPath", "key_paths", "remove_keys", "sections"]

# Keys from the outermost to the innermost; an item of a list goes by its id, one without an id by its number.
KeyPath: TypeAlias = tuple[str, ...]


def key_paths(text: str) -> Iterator[KeyPath]:
    """Yield the path of every key of a schema."""
    for path, _, _ in _entries(_compose(text), ()):
        yield path


def remove_keys(text: str, is_removed: Callable[[KeyPath], bool]) -> str:
    """Remove keys with their values; of a list's items, those by their ids.

    Args:
        text: a schema, in YAML's block style.
        is_removed: is asked for each path, outer ones first.

    Raises:
        SchemaError: a key to be removed is the first of a list's item, so that no line is its own.
    """
    lines = text.splitlines(keepends=True)
    spans = []
    for path, start, value in _entries(_compose(text), ()):
        if is_removed(path):
            first = start.start_mark.line
            if lines[first].lstrip().startswith("- ") and start is not value:
                raise SchemaError(f"{'/'.join(path)} is not on a line of its own, and cannot be removed")
            spans.append((first, _end(lines, first, value)))
    removed = {line for first, end in spans for line in range(first, end)}
    return "".join(line for number, line in enumerate(lines) if number not in removed)


def _compose(text: str) -> yaml.Node:
    node = yaml.compose(text, Loader=yaml.SafeLoader)
    if node is None:
        raise SchemaError("the file is empty")
    return node


def _entries(node: yaml.Node, path: KeyPath) -> Iterator[tuple[KeyPath, yaml.Node, yaml.Node]]:
    """Path, where it begins and value of every key and of every item of a list with an id."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            below = (*path, str(key.value))
            yield below, key, value
            yield from _entries(value, below)
    elif isinstance(node, yaml.SequenceNode):
        for number, item in enumerate(node.value):
            name = _id_of(item)
            below = (*path, str(number) if name is None else name)
            if name is not None:
                yield below, item, item
            yield from _entries(item, below)


def _id_of(item: yaml.Node) -> str | None:
    if isinstance(item, yaml.MappingNode):
        for key, value in item.value:
            if key.value == "id":
                return str(value.value)
    return None


def _end(lines: list[str], first: int, value: yaml.Node) -> int:
    """The line after a value. A comment that is not deeper than the key belongs to what follows."""
    end: int = value.end_mark.line
    if isinstance(value, yaml.ScalarNode):
        is_block = value.style in ("|", ">")
    else:
        is_block = isinstance(value, yaml.CollectionNode) and not value.flow_style
    if not is_block:
        return end + 1
    indentation = len(lines[first]) - len(lines[first].lstrip())
    while end > first + 1:
        line = lines[end - 1]
        if line.strip() and not (
            line.lstrip().startswith("#") and len(line) - len(line.lstrip()) <= indentation
        ):
            break
        end -= 1
    return end


def sections(text: str) -> dict[str, str]:
    """Divide a schema into the texts of its outermost keys, in their order."""
    found: dict[str, str] = {}
    name = ""
    for line in text.splitlines(keepends=True):
        if line[:1] not in ("", " ", "\n", "#"):
            name = line.partition(":")[0]
        found[name] = found.get(name, "") + line
    return found
