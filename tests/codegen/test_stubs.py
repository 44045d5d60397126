"""The stubs of the generated classes: names as in their source, types as in what is read."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cache
from pathlib import Path
from types import GenericAlias, UnionType
from typing import Any

import pytest
from kaitaistruct import KaitaiStream, KaitaiStruct, KaitaiStructError
from tests.codegen.trees import python_class
from tests.codegen.vectors import STEMS, VECTORS, Vector, all_vectors

FOLDER = Path(__file__).resolve().parents[2] / "generated" / "kafka_segments_generated" / "kaitai"
SEGMENTS = sorted((VECTORS / "recorded").glob("kafka-[42]*/clean/*/*.log"))


@dataclass
class Class:
    """What the source of a class, or its stub, says of it."""

    arguments: list[str] = field(default_factory=list)
    fields: set[str] = field(default_factory=set)
    properties: set[str] = field(default_factory=set)
    labels: dict[str, int] = field(default_factory=dict)


def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def classes(body: list[ast.stmt], outer: str = "") -> Iterator[tuple[str, ast.ClassDef]]:
    """All classes in a module by their qualified names."""
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield outer + node.name, node
            yield from classes(node.body, f"{outer}{node.name}.")


def describe(node: ast.ClassDef) -> Class:
    """A class as its source has it; what is set while reading, or annotated in a stub, is a field."""
    found = Class()
    for part in node.body:
        if isinstance(part, ast.AnnAssign):
            found.fields.add(ast.unparse(part.target))
        elif isinstance(part, ast.Assign):
            found.labels[ast.unparse(part.targets[0])] = ast.literal_eval(part.value)
        elif isinstance(part, ast.FunctionDef) and part.decorator_list:
            found.properties.add(part.name)
        elif isinstance(part, ast.FunctionDef):
            if part.name == "__init__":
                found.arguments = [argument.arg for argument in part.args.args]
            found.fields |= {
                target.attr
                for step in ast.walk(part)
                if isinstance(step, ast.Assign)
                for target in step.targets
                if isinstance(target, ast.Attribute) and not target.attr.startswith("_")
            }
    return found


@pytest.mark.parametrize("stem", STEMS)
def test_a_stub_has_every_class_and_member_and_no_other(stem: str) -> None:
    said = {name: describe(node) for name, node in classes(parse(FOLDER / f"{stem}.pyi").body)}
    there = {name: describe(node) for name, node in classes(parse(FOLDER / f"{stem}.py").body)}
    assert said == there
    assert said


@cache
def stub_types(stem: str) -> dict[str, dict[str, Any]]:
    """Class name to its members' types, as a stub has them, with the real classes in them."""
    names = {
        cls.__name__: cls
        for other in STEMS
        for cls in vars(importlib.import_module(f"kafka_segments_generated.kaitai.{other}")).values()
        if isinstance(cls, type) and issubclass(cls, KaitaiStruct)
    }
    found: dict[str, dict[str, Any]] = {}
    for name, node in classes(parse(FOLDER / f"{stem}.pyi").body):
        annotations = {
            ast.unparse(part.target): part.annotation for part in node.body if isinstance(part, ast.AnnAssign)
        } | {
            part.name: part.returns
            for part in node.body
            if isinstance(part, ast.FunctionDef) and part.returns
        }
        annotations.pop("__init__", None)
        found[name] = {
            member: eval(ast.unparse(annotation), names)
            for member, annotation in annotations.items()
            if annotation
        }
    return found


def fits(value: Any, kind: Any) -> bool:
    """Whether a value is of an annotation's type."""
    if isinstance(kind, UnionType):
        return any(fits(value, each) for each in kind.__args__)
    if isinstance(kind, GenericAlias):
        return isinstance(value, list) and all(fits(element, kind.__args__[0]) for element in value)
    if kind is int:  # a flag is no number, and where a label is known the stub has to say so
        return isinstance(value, int) and not isinstance(value, bool | IntEnum)
    return value is None if kind is None else isinstance(value, kind)


def misfits(value: Any) -> Iterator[str]:
    """Every member in an object, and in those below it, that is not of the type that the stub has."""
    if isinstance(value, list):
        for element in value:
            yield from misfits(element)
    if not isinstance(value, KaitaiStruct):
        return
    cls = type(value)
    for name, kind in stub_types(cls.__module__.rpartition(".")[2])[cls.__qualname__].items():
        try:
            member = getattr(value, name)
        except (AttributeError, KaitaiStructError, EOFError, ValueError):
            continue  # a condition did not hold, or the bytes are wrong
        if not fits(member, kind):
            yield f"{cls.__qualname__}.{name}: {member!r:.60} is no {kind}"
        yield from misfits(member)


@pytest.mark.parametrize("vector", all_vectors(), ids=str)
def test_what_is_read_from_a_vector_is_of_the_stubs_types(vector: Vector) -> None:
    with vector.file.open("rb") as stream:
        try:
            parsed = python_class(vector.schema)(*vector.params, KaitaiStream(stream))
        except (KaitaiStructError, EOFError):
            return  # there is nothing to be read
        assert list(misfits(parsed)) == []


def test_what_is_read_from_recorded_segments_is_of_the_stubs_types() -> None:
    assert len(SEGMENTS) > 50
    for path in SEGMENTS[::5]:
        with path.open("rb") as stream:
            assert list(misfits(python_class("kafka_log_segment")(KaitaiStream(stream)))) == []


def test_a_misfit_would_be_seen() -> None:
    assert fits(1, int)
    assert not fits(True, int)
    assert not fits(None, bytes)
    assert fits([b"", b"x"], list[bytes])
    assert not fits([b"", 1], list[bytes])
    assert fits(None, int | None)
