"""A schema's YAML as a tree whose nodes know their places.

Strategy: PyYAML composes the nodes (with positions), but what a plain scalar means is decided here, by the
core schema of YAML 1.2 as js-yaml has it, which the Kaitai compiler reads schemas with: `on` and `yes` are
texts, `0x1f` and `1_000` are numbers. What no schema needs (anchors, tags, keys that are lists) is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import yaml

from compiler.errors import Problems, SchemaError, did_you_mean
from compiler.frontend.nodes import Place

EXACT_IN_JAVASCRIPT = 2**53
_NULL = re.compile(r"~|null|Null|NULL|")
_BOOL = re.compile(r"true|True|TRUE|false|False|FALSE")
_INT = re.compile(r"[-+]?(0b[01_]+|0o[0-7_]+|0x[0-9a-fA-F_]+|[0-9][0-9_]*)")
_PLAIN_TAGS = ("tag:yaml.org,2002:str", "tag:yaml.org,2002:seq", "tag:yaml.org,2002:map", "!", None)


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """YAML loader that leaves every plain scalar a text."""

    yaml_implicit_resolvers: dict[str, object] = {}  # noqa: RUF012 (PyYAML's own attribute)


@dataclass(frozen=True, slots=True)
class Scalar:
    """One value: its text, its meaning, and how it is written (`source`, from `line` and `column`)."""

    text: str
    value: str | int | bool | None
    source: str
    line: int
    column: int

    def locate(self, offset: int) -> tuple[int, int]:
        """Line and column, both from 1, of a character of `text`.

        Folding and indentation change nothing but white space, so the characters that are none are counted.
        """
        wanted = len(re.sub(r"\s", "", self.text[:offset]))
        start = self._start_of_text()
        line, column = self.line, self.column
        for at, character in enumerate(self.source):
            if at >= start and not character.isspace():
                if wanted == 0:
                    break
                wanted -= 1
            line, column = (line + 1, 1) if character == "\n" else (line, column + 1)
        return line, column

    def _start_of_text(self) -> int:
        """Where the text begins in the source: after a quote, or after the line of `|` or `>`."""
        if self.source[:1] in ("|", ">"):
            return self.source.find("\n") + 1
        return 1 if self.source[:1] in ("'", '"') else 0


Content: TypeAlias = "Scalar | list[Node] | dict[str, Node]"


@dataclass(frozen=True, slots=True)
class Node:
    """A value with its place."""

    place: Place
    content: Content

    def error(self, detail: str, offset: int | None = None) -> SchemaError:
        """An error at this place, or at a character of the text that stands here."""
        line, column = self.place.line, self.place.column
        if offset is not None and isinstance(self.content, Scalar):
            line, column = self.content.locate(offset)
        place = self.place
        return SchemaError(detail, schema=place.schema, yaml_path=place.yaml_path, line=line, column=column)

    def mapping(self) -> dict[str, Node]:
        """The entries, in the order in which they are written.

        Raises:
            SchemaError: there is no mapping here; so it is for the other methods and their types.
        """
        if not isinstance(self.content, dict):
            raise self.error("a mapping is expected here")
        return self.content

    def sequence(self) -> list[Node]:
        """The items of a list."""
        if not isinstance(self.content, list):
            raise self.error("a list is expected here")
        return self.content

    def scalar(self) -> Scalar:
        """A single value that is not null."""
        if not isinstance(self.content, Scalar) or self.content.value is None:
            raise self.error("a single value is expected here")
        return self.content

    def text(self) -> str:
        """A text."""
        value = self.scalar().value
        if not isinstance(value, str):
            raise self.error(f"a text is expected here, and {self.scalar().text} is none")
        return value

    def integer(self) -> int:
        """An integer."""
        value = self.scalar().value
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.error(f"an integer is expected here, and {self.scalar().text!r} is none")
        return value

    def boolean(self) -> bool:
        """`true` or `false`."""
        value = self.scalar().value
        if not isinstance(value, bool):
            raise self.error(f"true or false is expected here, not {self.scalar().text!r}")
        return value

    def texts(self) -> tuple[str, ...]:
        """A text, or a list of texts."""
        if isinstance(self.content, list):
            return tuple(item.text() for item in self.content)
        return (self.text(),)

    def find(self, yaml_path: str) -> Node:
        """The node at a path such as `/seq/0/size`, or the last one on the way to it."""
        found = self
        for part in yaml_path.strip("/").split("/"):
            below = found.content
            if isinstance(below, list):
                below = {str(index): item for index, item in enumerate(below)}
            if not isinstance(below, dict) or part not in below:
                break
            found = below[part]
        return found

    def as_key(self, text: str) -> Node:
        """The key under which this stands, as a node of its own, for the errors in it."""
        return Node(self.place, Scalar(text, text, text, self.place.line, self.place.column))

    def check_keys(self, known: tuple[str, ...], what: str) -> dict[str, Node]:
        """The mapping's entries, after a check that all are known; `dashed` checks those with a dash.

        Raises:
            SchemaError: no mapping, or a key that is not `known`.
        """
        entries, problems = self.mapping(), Problems()
        for key, node in entries.items():
            if key not in known and not key.startswith("-"):
                hint = did_you_mean(key, known)
                problems.add(
                    node.error(f"unknown key {key!r} of {what}; supported are {', '.join(known)}{hint}")
                )
        problems.check()
        return entries

    def entries(self, known: tuple[str, ...], what: str, problems: Problems) -> dict[str, Node]:
        """The mapping's entries, with keys that are not `known` among the problems; empty if it is none."""
        with problems.noted():
            self.check_keys(known, what)
        return self.content if isinstance(self.content, dict) else {}

    def all_of(self, keys: tuple[str, ...], what: str) -> dict[str, Node]:
        """The mapping's entries, which must be these.

        Raises:
            SchemaError: no mapping, one of them is missing, or there is another.
        """
        entries = self.check_keys(keys, what)
        if any(key not in entries for key in keys):
            raise self.error(f"{what} needs {' and '.join(keys)}")
        return entries


def name_of(path: Path) -> str:
    """How messages name a schema: by its path if that is relative, else with its folder alone."""
    return f"{path.parent.name}/{path.name}" if path.is_absolute() else path.as_posix()


def read(path: Path) -> Node:
    """The tree of a file; see `name_of` for how places name it.

    Raises:
        SchemaError: the file cannot be read, or is not the YAML that schemas are written in.
    """
    name = name_of(path)
    try:
        text = path.read_bytes().decode("utf-8")
        root = yaml.compose(text, Loader=_Loader)
    except (OSError, UnicodeDecodeError) as error:
        raise SchemaError(f"cannot be read: {error}", schema=name) from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (None, None) if mark is None else (mark.line + 1, mark.column + 1)
        raise SchemaError(f"no YAML: {error.problem}", schema=name, line=line, column=column) from error
    except yaml.YAMLError as error:
        raise SchemaError(f"no YAML: {' '.join(str(error).split())}", schema=name) from error
    if root is None:
        raise SchemaError("the file is empty", schema=name, line=1, column=1)
    return _Builder(name, text).build(root, Place(name, "/", 1))


class _Builder:
    """Makes `Node`s of PyYAML's."""

    def __init__(self, schema: str, text: str) -> None:
        self._schema = schema
        self._text = text
        self._seen: set[int] = set()

    def build(self, node: yaml.Node, place: Place) -> Node:
        """The node, and all below it."""
        if id(node) in self._seen:
            raise self._refuse(place, "anchors and aliases are not supported")
        self._seen.add(id(node))
        if node.tag not in _PLAIN_TAGS:
            raise self._refuse(place, f"tags are not supported ({node.tag})")
        if isinstance(node, yaml.MappingNode):
            return Node(place, dict(self._entries(node, place)))
        if isinstance(node, yaml.SequenceNode):
            items = [
                self.build(item, self._below(place, str(index), item.start_mark))
                for index, item in enumerate(node.value)
            ]
            return Node(place, items)
        assert isinstance(node, yaml.ScalarNode)
        scalar = self._scalar(node)
        if isinstance(scalar.value, int) and abs(scalar.value) > EXACT_IN_JAVASCRIPT:
            raise self._refuse(
                place, f"{scalar.text} has to be in quotes: the Kaitai compiler would round it"
            )
        return Node(place, scalar)

    def _entries(self, node: yaml.MappingNode, place: Place) -> Iterator[tuple[str, Node]]:
        seen = set()
        for key_node, value_node in node.value:
            mark = key_node.start_mark
            if not isinstance(key_node, yaml.ScalarNode) or key_node.tag not in _PLAIN_TAGS:
                raise self._refuse(self._below(place, "", mark), "a key has to be a single value")
            key = _key(self._scalar(key_node))
            below = self._below(place, key, mark)
            if key in seen:
                raise self._refuse(below, f"the key {key!r} stands here twice")
            seen.add(key)
            yield key, self.build(value_node, below)

    def _below(self, place: Place, part: str, mark: yaml.Mark) -> Place:
        path = f"{place.yaml_path.rstrip('/')}/{part}"
        return Place(self._schema, path, mark.line + 1, mark.column + 1)

    def _scalar(self, node: yaml.ScalarNode) -> Scalar:
        start, end = node.start_mark, node.end_mark
        value = _core_value(node.value) if node.style in (None, "") else node.value
        source = self._text[start.index : end.index]
        return Scalar(node.value, value, source, start.line + 1, start.column + 1)

    def _refuse(self, place: Place, detail: str) -> SchemaError:
        return Node(place, []).error(detail)


def _core_value(text: str) -> str | int | bool | None:
    """The meaning of a plain scalar. Other numbers than integers stay texts: no key of ours takes one."""
    if _NULL.fullmatch(text):
        return None
    if _BOOL.fullmatch(text):
        return text.lower() == "true"
    if _INT.fullmatch(text) and not text.endswith("_"):
        digits = text.replace("_", "")
        sign, body = (-1, digits[1:]) if digits[0] == "-" else (1, digits.lstrip("+"))
        bases = {"0b": 2, "0o": 8, "0x": 16}
        return sign * (int(body[2:], bases[body[:2]]) if body[:2] in bases else int(body))
    return text


def _key(scalar: Scalar) -> str:
    """A key as JavaScript's objects have it: numbers in decimal."""
    if isinstance(scalar.value, bool):
        return str(scalar.value).lower()
    return "null" if scalar.value is None else str(scalar.value)
