"""Changes to a schema for the Kaitai Web IDE, merged over it as YAML.

An overlay (`schemas/webide/*.yaml`) has the name and the shape of a schema, with only what differs.
Mappings are merged key by key, the members of `seq` by their `id`; any other value takes the place of the
schema's, and null removes it. A mapping with the tag `!schema`, which stands for a type, is merged over
the schema of the type's name: that schema becomes a type inside this one, and can look at what is around
it. Scalars keep their style, so that what comes out reads as the schemas do.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import yaml

from compiler.errors import SchemaError

__all__ = ["merged"]

_MAX_LINE = 80
_NULL, _SCHEMA = "tag:yaml.org,2002:null", "!schema"


class _Dumper(yaml.SafeDumper):
    """Dumper that indents the elements of lists, as the style guide of Kaitai's schemas has it."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002
        """Begin a level."""
        return super().increase_indent(flow, False)


def merged(schema: Path, overlay: Path) -> bytes:
    """Merge an overlay over a schema.

    Args:
        schema: its file; those of `!schema` are beside it.
        overlay: its file.

    Raises:
        SchemaError: one of them is no mapping, or the overlay removes a missing key.
    """
    node = _composed(schema)
    _Merge(schema.parent, overlay).mappings(node, _composed(overlay))
    text: str = yaml.serialize(node, Dumper=_Dumper, width=_MAX_LINE, allow_unicode=True)
    return text.encode()


def _composed(path: Path) -> yaml.MappingNode:
    try:
        node = yaml.compose(path.read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        raise SchemaError(f"no YAML: {error}", schema=str(path)) from error
    if not isinstance(node, yaml.MappingNode):
        raise SchemaError("a schema and its overlay are mappings", schema=str(path))
    return node


class _Merge:
    """One overlay.

    Args:
        schemas: the folder of the schemas.
        overlay: its file, for errors.
    """

    def __init__(self, schemas: Path, overlay: Path) -> None:
        self._schemas = schemas
        self._overlay = overlay

    def mappings(self, below: yaml.MappingNode, above: yaml.MappingNode) -> None:
        """Merge a mapping over another, in place."""
        for key, value in above.value:
            places = [at for at, (name, _) in enumerate(below.value) if name.value == key.value]
            found = below.value[places[0]][1] if places else None
            if value.tag == _NULL:
                if found is None:
                    line = key.start_mark.line + 1
                    detail = f"line {line} removes {key.value}, which the schema does not have"
                    raise SchemaError(detail, schema=str(self._overlay))
                del below.value[places[0]]
                continue
            content = self._content(key.value, found, value)
            if found is None:
                below.value.append((key, content))
            else:
                below.value[places[0]] = (below.value[places[0]][0], content)

    def _content(self, key: str, found: yaml.Node | None, value: yaml.Node) -> yaml.Node:
        """What stands under a key of both, or of the overlay alone."""
        if value.tag == _SCHEMA:
            found = _composed(self._schemas / f"{key}.ksy")
            found.value = [pair for pair in found.value if pair[0].value != "meta"]
        if isinstance(value, yaml.MappingNode) and isinstance(found, yaml.MappingNode):
            self.mappings(found, value)
            return found
        if key == "seq" and isinstance(found, yaml.SequenceNode):
            self._members(found, value)
            return found
        return value

    def _members(self, below: yaml.SequenceNode, above: yaml.Node) -> None:
        by_id = dict(_with_ids(below))
        for identity, member in _with_ids(above):
            if identity in by_id:
                self.mappings(by_id[identity], member)
            else:
                below.value.append(member)


def _with_ids(node: yaml.Node) -> Iterator[tuple[str, yaml.MappingNode]]:
    """The members of a `seq`, with their ids."""
    for member in node.value:
        yield next(value.value for key, value in member.value if key.value == "id"), member
