"""A schema and those that it imports as one file: the imported ones become types of it."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from compiler.errors import SchemaError
from compiler.frontend.model import Model
from compiler.targets.gallery.keys import KeyPath, key_paths, remove_keys, sections

__all__ = ["Folded", "fold"]


@dataclass(frozen=True)
class Folded:
    """A file that needs no import.

    Attributes:
        name: of the file, without `.ksy`, and its id.
        root: the schema that it is made of.
        meta: values of `meta` that differ from those of `root`; the id does.
        doc: what stands for the doc of `root`, ready for the file.
        left_out: by schema, what is not taken over of it; nothing named: all of it.
    """

    name: str
    root: str
    meta: Mapping[str, str]
    doc: str
    left_out: Mapping[str, tuple[KeyPath, ...]] = field(default_factory=dict)


def fold(folded: Folded, texts: Mapping[str, str], model: Model) -> str:
    """Make the file.

    Args:
        folded: what it is made of.
        texts: the schemas' texts, as they should stand in it.
        model: says what imports what.

    Raises:
        SchemaError: what should be left out is missing.
    """
    texts = {
        stem: _without(folded, stem, text).replace(f"`{folded.root}`", f"`{folded.name}`")
        for stem, text in texts.items()
    }
    parts = sections(texts[folded.root])
    stems = _imported(folded, model)
    types = parts.get("types", "types:\n") + "".join(_as_type(stem, texts[stem]) for stem in stems)
    others = [text for name, text in parts.items() if name not in ("meta", "doc", "types", "enums")]
    meta = _meta(folded, parts["meta"], [sections(texts[stem])["meta"] for stem in stems])
    return "".join([meta, folded.doc, *others, types, parts.get("enums", "")])


def _without(folded: Folded, stem: str, text: str) -> str:
    paths = folded.left_out.get(stem, ())
    there = set(key_paths(text))
    for path in paths:
        if path not in there:
            raise SchemaError(
                f"{'/'.join(path)} should be left out of {folded.name}.ksy, and is missing: "
                "change compiler/targets/gallery",
                schema=f"schemas/{stem}.ksy",
            )
    return remove_keys(text, lambda path: path in paths)


def _imported(folded: Folded, model: Model) -> list[str]:
    """What the root imports, directly or not, imports first."""
    wanted = [folded.root]
    for stem in wanted:
        imports = model.schemas[stem].imports
        wanted += [one for one in imports if one not in wanted and folded.left_out.get(one) != ()]
    return [stem for stem in model.schemas if stem in wanted[1:]]


def _as_type(stem: str, text: str) -> str:
    parts = sections(text)
    if "imports" in parts:
        raise SchemaError("imports belong into meta", schema=f"schemas/{stem}.ksy")
    inner = "".join(part for name, part in parts.items() if name != "meta")
    return f"  {stem}:\n{textwrap.indent(inner, ' ' * 4)}"


def _meta(folded: Folded, text: str, imported: list[str]) -> str:
    """The meta of the root, without imports, and with the byte and bit orders of all."""
    text = remove_keys(text, lambda path: path == ("meta", "imports"))
    for key, value in {"id": folded.name, **folded.meta}.items():
        text = re.sub(rf"^  {key}: .*$", f"  {key}: {value}", text, flags=re.MULTILINE)
    for key in ("endian", "bit-endian"):
        orders = set(_values([text, *imported], key))
        if len(orders) > 1:
            raise SchemaError(f"schemas with different {key} cannot be folded", schema=f"{folded.name}.ksy")
        if orders and not list(_values([text], key)):
            text += f"  {key}: {orders.pop()}\n"
    return text


def _values(metas: list[str], key: str) -> Iterator[str]:
    for meta in metas:
        yield from re.findall(rf"^  {key}: (\S+)$", meta, re.MULTILINE)
