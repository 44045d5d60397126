"""Trees of what the Construct target parses, in the shape of `tests.codegen.trees`."""

from __future__ import annotations

import importlib
from io import BytesIO
from typing import Any

from construct import ConstructError, EnumInteger, EnumIntegerString
from kaitaistruct import KaitaiStream, KaitaiStructError
from tests.codegen.trees import Job, _camel, _tree, python_class

from kafka_segments_generated.construct._support import Tree


def construct_of(schema: str) -> Any:
    """The declaration of a schema."""
    module = importlib.import_module(f"kafka_segments_generated.construct.{schema}")
    return getattr(module, "".join(part.capitalize() for part in schema.split("_")))


def parse(schema: str, params: tuple[Any, ...], data: bytes, **more: Any) -> Any:
    """Parse with parameters by position, as the Kaitai classes take them."""
    return _parsed(construct_of(schema), params, data, **more)


def _parsed(declared: Any, params: tuple[Any, ...], data: bytes, **more: Any) -> Any:
    names = getattr(declared, "params", ())
    return declared.parse(data, **dict(zip(names, params, strict=True)), **more)


def construct_tree(job: Job) -> Any:
    """The tree of a file by the Construct declarations."""
    try:
        return tree_of(parse(job.schema, job.params, job.file.read_bytes()))
    except ConstructError as error:
        return {"error": type(error).__name__, "message": str(error)}


def tree_of(value: Any) -> Any:
    """Something parsed as dictionaries, lists and leaves."""
    if hasattr(type(value), "_encoding"):
        members = {name: getattr(value, name) for name in value._encoding.members}
        return {_camel(name): tree_of(part) for name, part in members.items() if part is not None}
    if isinstance(value, EnumInteger | EnumIntegerString):
        return int(value)
    if isinstance(value, list):
        return [tree_of(part) for part in value]
    if not hasattr(type(value), "_struct_of_schema"):
        return _tree(value)
    names = [*value._struct.params, *value._struct.by_name, *value._struct.lazy]
    fields = {_camel(name): _member(value, name) for name in names}
    return {name: part for name, part in fields.items() if part is not None}


def _member(value: Tree, name: str) -> Any:
    try:
        return tree_of(getattr(value, name))
    except ConstructError as error:
        if type(error).__name__ == "NoCodecError":  # Kaitai's classes leave out what is compressed
            return None
        cause = error.__cause__
        if isinstance(cause, UnicodeDecodeError):
            return cause.object.decode("utf-8", "replace")
        return {"error": type(error).__name__}


def assert_same_trees(data: bytes, schema: str = "kafka_log_segment", params: tuple[Any, ...] = ()) -> None:
    """The two targets of a schema make the same of any bytes, or both refuse a part."""
    same_trees(data, python_class(schema), construct_of(schema), *params)


def same_trees(data: bytes, cls: Any, declared: Any, *params: Any) -> bool:
    """Check that a Kaitai class and a declaration make the same of bytes; return whether they take them."""
    try:
        expected = _tree(cls(*params, KaitaiStream(BytesIO(data))))
    except (KaitaiStructError, EOFError, UnicodeDecodeError) as error:
        expected = {"error": str(error)}
    try:
        found = tree_of(_parsed(declared, params, data))
    except ConstructError as error:
        found = {"error": str(error)}
    assert found == expected or _without_words(found) == _without_words(expected), data.hex()
    return "error" not in found


def _without_words(tree: Any) -> Any:
    """The tree with all errors alike: each target has words of its own."""
    if isinstance(tree, list):
        return [_without_words(part) for part in tree]
    if not isinstance(tree, dict):
        return tree
    return "an error" if "error" in tree else {name: _without_words(part) for name, part in tree.items()}
