"""The dashed keys of the schemas, which Kaitai tools ignore.

Kaitai's own (`-orig-id`, `-webide-*`) are left alone; ours are checked as strictly as the rest. Any other is
refused, for it is most likely one of these misspelt.
`docs/decisions/0007-front-end.md` lists them.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import replace
from typing import Any, cast, get_args, get_type_hints

from compiler.errors import Problems, did_you_mean
from compiler.frontend.dashed import (
    NO_EXTENSIONS,
    Aggregate,
    Checksum,
    Codec,
    Column,
    Extensions,
    Varint,
)
from compiler.frontend.declare import Declared
from compiler.frontend.expressions import parse_element_path
from compiler.frontend.infer import Scope, describe, is_int
from compiler.frontend.nodes import (
    ArrayType,
    BitsType,
    BoolType,
    BytesType,
    CalcIntType,
    DataType,
    EnumType,
    Expr,
    FloatType,
    IntType,
    Name,
    StrType,
    UserType,
)
from compiler.frontend.nodes import Path as Names
from compiler.frontend.resolve import Resolver
from compiler.frontend.yaml_tree import Node, Scalar

ON_META = ("-file-name",)
ON_TYPES = ("-varint",)
ON_FIELDS = ("-checksum", "-codec", "-derive", "-default", "-encode", "-null")
ON_VALUES = ("-batch-column", "-record-column")
_OF_KAITAI = ("-orig-id", "-webide-representation", "-webide-parse-mode", "-affected-by")
_NUMBER = re.compile(r"-[0-9]+")  # a key of an enum
ALGORITHMS = ("crc32c", "crc32")
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
UTF_8 = ("utf-8", "ascii")  # encodings whose bytes are those of a column of utf8, as Python calls them
FUNCTIONS = ("first", "last", "max")
ARROW_TYPES: tuple[str, ...] = get_args(get_type_hints(Column)["type"])
# Bits of the integers that a column holds, sign included.
_WIDTHS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64, "timestamp[ms, UTC]": 64, "uint32": 33}


def check_dashed(node: Node, problems: Problems) -> None:
    """Check that no key below a node is an unknown dashed one; those that are get among the problems."""
    known = (*ON_META, *ON_TYPES, *ON_FIELDS, *ON_VALUES, *_OF_KAITAI)
    if isinstance(node.content, dict):
        for key, below in node.content.items():
            if key.startswith("-") and key not in known and not _NUMBER.fullmatch(key):
                hint = did_you_mean(key, known)
                problems.add(
                    below.error(f"unknown key {key!r}; known with a dash are {', '.join(known)}{hint}")
                )
    if isinstance(node.content, dict | list):
        for below in node.content.values() if isinstance(node.content, dict) else node.content:
            check_dashed(below, problems)


def codec_content(node: Node) -> str | None:
    """The name of what is inside compressed bytes, if `-codec` stands here; it may be a schema of its own."""
    codec = node.mapping().get("-codec")
    if codec is None or not isinstance(codec.content, dict) or "content" not in codec.content:
        return None
    return codec.content["content"].text().partition("::")[0]


def read_varint(declared: Declared, resolver: Resolver) -> Varint | None:
    """The value of `-varint` of a schema.

    Raises:
        SchemaError: it says something else than `bits` and `zigzag`, or the schema has no `value`.
    """
    node = declared.node.mapping().get("-varint")
    if node is None:
        return None
    parts = node.all_of(("bits", "zigzag"), "-varint")
    bits = parts["bits"].integer()
    if bits not in (32, 64):
        raise parts["bits"].error("supported are 32 and 64")
    value = resolver.member(declared.path, "value")
    if declared.outer is not None or declared.params or value is None or not is_int(value[1]):
        raise node.error("-varint is for a schema without parameters that has an integer called value")
    return Varint(cast(Any, bits), parts["zigzag"].boolean())


class ExtensionReader:
    """Reads the dashed keys of members.

    Args:
        resolver: knows what names mean.
    """

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver

    def check_none(self, node: Node, what: str) -> None:
        """Raise `SchemaError` for a dashed key where it has no meaning."""
        for key, found in node.mapping().items():
            if key in (*ON_TYPES, *ON_FIELDS, *ON_VALUES):
                raise found.error(f"{key} means nothing on {what}")

    def check_type(self, declared: Declared) -> None:
        """Apply `check_none` to a type, which may have `-varint`."""
        for key, found in declared.node.mapping().items():
            if key in (*ON_FIELDS, *ON_VALUES):
                raise found.error(f"{key} means nothing on a type")

    def read(self, declared: Declared, name: str, node: Node, found: DataType) -> Extensions:
        """The dashed keys of a field or an instance, whose value is of type `found`.

        Raises:
            SchemaError: one of ours has no meaning here, or another content than it has to have.
        """
        entries = node.mapping()
        ours = {key: entries[key] for key in (*ON_TYPES, *ON_FIELDS, *ON_VALUES) if key in entries}
        if not ours:
            return NO_EXTENSIONS
        for key, place in ours.items():
            if key in ON_TYPES or ("value" in entries and key in ON_FIELDS):
                raise place.error(f"{key} means nothing here")
        extensions = Extensions()
        if "-checksum" in ours:
            extensions = replace(extensions, checksum=self._checksum(declared, ours["-checksum"], found))
        if "-codec" in ours:
            extensions = replace(extensions, codec=self._codec(declared, ours["-codec"], found))
        if "-derive" in ours:
            extensions = replace(extensions, derive=self._derive(declared, ours["-derive"], found))
        if "-default" in ours:
            extensions = replace(extensions, default=self._number("-default", ours["-default"], found))
        if "-encode" in ours:
            extensions = replace(extensions, encode=self._encode(declared, ours["-encode"], found))
        if "-null" in ours:
            extensions = replace(extensions, null=self._number("-null", ours["-null"], found))
        return replace(
            extensions,
            batch_column=self._column(name, ours.get("-batch-column"), found),
            record_column=self._column(name, ours.get("-record-column"), found),
        )

    def _checksum(self, declared: Declared, node: Node, found: DataType) -> Checksum:
        parts = node.all_of(("algorithm", "region"), "-checksum")
        algorithm = parts["algorithm"].text()
        if algorithm not in ALGORITHMS:
            raise parts["algorithm"].error(f"supported are {', '.join(ALGORITHMS)}")
        if not isinstance(found, IntType) or found.width_bytes != 4:
            raise node.error("a checksum is an integer of four bytes")
        region = self._resolver.expression(parts["region"], Scope(declared, parts["region"]))
        if not isinstance(region.type, BytesType):
            raise parts["region"].error(f"the region has to be bytes, not {describe(region.type)}")
        return Checksum(cast(Any, algorithm), region)

    def _codec(self, declared: Declared, node: Node, found: DataType) -> Codec:
        parts = node.all_of(("algorithm", "content"), "-codec")
        if not isinstance(found, BytesType):
            raise node.error("what may be compressed are bytes")
        algorithm = self._resolver.expression(parts["algorithm"], Scope(declared, parts["algorithm"]))
        if not isinstance(algorithm.type, EnumType):
            raise parts["algorithm"].error("the algorithm has to be an enum, whose labels name codecs")
        labels = self._labels(algorithm.type)
        if "none" not in labels or not labels <= set(CODECS):
            raise parts["algorithm"].error(
                f"the enum's labels have to be none and others of {', '.join(CODECS)}"
            )
        name = parts["content"].text()
        if name in declared.instances:
            return Codec(algorithm, content_instance=name)
        return Codec(algorithm, content_type=self._content_type(declared, parts["content"], name))

    def _content_type(self, declared: Declared, node: Node, name: str) -> Names:
        schemas = self._resolver.declarations.schemas
        head, *rest = name.split("::")
        if head not in schemas:
            return self._resolver.declarations.find_type((head, *rest), declared, node).path
        # Not imported, perhaps because it imports this schema: that would go in a circle.
        return self._resolver.declarations.find_type((head, *rest), schemas[head].root, node).path

    def _labels(self, found: EnumType) -> set[str]:
        *scope, name = found.path
        enum = self._resolver.declarations.types[tuple(scope)].enums[name]
        return {member.id for member in enum.members}

    def _derive(self, declared: Declared, node: Node, found: DataType) -> Expr | Aggregate:
        if not self._is_number(found):
            raise node.error(f"a number is derived, not {describe(found)}")
        if isinstance(node.content, Scalar):
            return self._resolver.integer(node, Scope(declared, node, has_index=True))
        parts = node.check_keys((*FUNCTIONS, "plus", "default", "unless"), "-derive")
        functions = [key for key in parts if key in FUNCTIONS]
        if len(functions) != 1 or "default" not in parts:
            raise node.error(f"-derive needs an expression, or one of {', '.join(FUNCTIONS)}, and default")
        place = parts[functions[0]]
        over, tree = parse_element_path(place)
        member = self._resolver.member(declared.path, over)
        if member is None or not isinstance(member[1], ArrayType):
            raise place.error(f"{over!r} is no repeated member of this type")
        scope = Scope(declared, place, element=member[1].element)
        value = self._resolver.expression(place, scope, tree)
        if not is_int(value.type):
            raise place.error(f"type mismatch: {describe(value.type)} stands where integer is expected")
        plus, unless = parts.get("plus"), parts.get("unless")
        return Aggregate(
            function=cast(Any, functions[0]),
            over=Name(over, *member),
            value=value,
            default=parts["default"].integer(),
            plus=None if plus is None else self._resolver.integer(plus, Scope(declared, plus)),
            unless=None if unless is None else self._resolver.condition(unless, Scope(declared, unless)),
        )

    def _number(self, key: str, node: Node, found: DataType) -> int:
        if not self._is_number(found):
            raise node.error(f"{key} is a number, for numbers, not for {describe(found)}")
        return node.integer()

    def _encode(self, declared: Declared, node: Node, found: DataType) -> Expr:
        if not self._is_number(found):
            raise node.error(f"a number is encoded, not {describe(found)}")
        return self._resolver.integer(node, Scope(declared, node))

    def _is_number(self, found: DataType) -> bool:
        return self._width(found) is not None

    def _column(self, name: str, node: Node | None, found: DataType) -> Column | None:
        if node is None:
            return None
        place, none = node, None
        if isinstance(node.content, dict):
            parts = node.check_keys(("name", "type", "none"), "a column")
            if "type" not in parts:
                raise node.error("a column needs type")
            name, place = parts["name"].text() if "name" in parts else name, parts["type"]
            none = parts["none"].integer() if "none" in parts else None
        arrow = place.text()
        if arrow not in ARROW_TYPES:
            raise place.error(f"no type of a column: {arrow!r}; supported are {', '.join(ARROW_TYPES)}")
        if not self._fits(arrow, found):
            raise place.error(f"type mismatch: {describe(found)} does not fit into a column of {arrow}")
        if none is not None and arrow not in _WIDTHS:
            raise node.error(f"none is a number, for numbers, not for {arrow}")
        return Column(name, cast(Any, arrow), none)

    def _fits(self, arrow: str, found: DataType) -> bool:
        if arrow in ("binary", "utf8"):
            is_text = isinstance(found, StrType) and codecs.lookup(found.encoding).name in UTF_8
            return is_text if arrow == "utf8" else isinstance(found, BytesType | StrType)
        if arrow in ("float32", "float64"):
            return isinstance(found, FloatType) and arrow == f"float{8 * found.width_bytes}"
        if arrow == "bool":
            return isinstance(found, BoolType)
        if arrow == "list<struct>":
            return isinstance(found, ArrayType) and self._has_record_columns(found.element)
        width = self._width(found)
        if width is None or isinstance(found, BoolType):
            return False
        negative = width < 0 and arrow == "uint32"
        return not negative and abs(width) <= _WIDTHS[arrow]

    def _width(self, found: DataType) -> int | None:
        """Bits that a number needs in two's complement, below zero if it may be; None if no number."""
        if isinstance(found, EnumType):
            found = found.base
        if isinstance(found, IntType):
            return -8 * found.width_bytes if found.signed else 8 * found.width_bytes + 1
        if isinstance(found, BitsType):
            return found.width + 1
        if isinstance(found, BoolType):
            return 2
        if isinstance(found, UserType):
            varint = read_varint(self._resolver.declarations.types[found.path], self._resolver)
            if varint is None:
                return None
            return -varint.bits if varint.zigzag else varint.bits + 1
        # What was computed is as wide as its column: the schema's author knows.
        return 8 if isinstance(found, CalcIntType) else None

    def _has_record_columns(self, element: DataType) -> bool:
        if not isinstance(element, UserType):
            return False
        declared = self._resolver.declarations.types[element.path]
        members = (*declared.fields.values(), *declared.instances.values())
        return any("-record-column" in node.mapping() for node in members)
