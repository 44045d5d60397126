"""Small pieces: functions and modules stay within the house's lengths, and raise the house's errors only."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from tests.house.test_room_budgets import BUDGETS

from kafka_segments import errors

ROOT = Path(__file__).resolve().parents[2]
PLACES = ("runtime", "compiler", "tools", "tests")
OURS = frozenset(errors.__all__)
# Protocol, not reports of bad data: what argparse, the shell, abstract methods, a module's getattr expect.
# `MemoryError` where memory is asked of the system, as any object of Python's would raise it.
LAWFUL = {"ArgumentTypeError", "AttributeError", "MemoryError", "NotImplementedError", "SystemExit"}


@cache
def texts() -> dict[str, str]:
    """Every hand-written Python file."""
    files = [ROOT / "codegen.py"]
    for place in PLACES:
        files += sorted((ROOT / place).rglob("*.py"))
    files = [file for file in files if "node_modules" not in file.parts]
    return {file.relative_to(ROOT).as_posix(): file.read_text(encoding="utf-8") for file in files}


def functions() -> Iterator[tuple[str, int]]:
    """Every function's name and length in lines, decorators left out."""
    for name, text in texts().items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                assert node.end_lineno is not None
                yield f"{name}:{node.lineno} {node.name}", node.end_lineno - node.lineno + 1


def test_functions_are_short() -> None:
    lengths = dict(functions())
    most = {"runtime": BUDGETS["longest-function"]}
    assert {
        name: length for name, length in lengths.items() if length > most.get(name.split("/")[0], 80)
    } == {}
    for place in ("", "runtime/"):
        ordered = sorted(length for name, length in lengths.items() if name.startswith(place))
        assert ordered[int(len(ordered) * 0.9)] <= 40
    assert sorted(lengths.values())[len(lengths) // 2] <= 12


def test_modules_are_short() -> None:
    lengths = {name: len(text.splitlines()) for name, text in texts().items()}
    assert {name: length for name, length in lengths.items() if length > 400} == {}


def raised(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and class name of every `raise Name` and `raise Name(...)`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and node.exc is not None:
            cause = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            yield node.lineno, getattr(cause, "id", getattr(cause, "attr", ""))


def test_the_runtime_raises_our_errors_only() -> None:
    found = []
    for name, text in texts().items():
        # Spark's shim speaks up when our package, errors and all, cannot be imported.
        if not name.startswith("runtime/") or name == "runtime/pyspark_kafka_segments.py":
            continue
        for line, cls in raised(ast.parse(text)):
            looks_like_class = cls[:1].isupper() or isinstance(getattr(builtins, cls, None), type)
            if looks_like_class and cls not in OURS | LAWFUL:
                found.append(f"{name}:{line} {cls}")
    assert found == []


@pytest.mark.parametrize("name", sorted(OURS))
def test_every_error_says_what_it_is_for(name: str) -> None:
    cls = getattr(errors, name)
    assert cls.__doc__
    assert "class" not in cls.__doc__.split("\n", 1)[0]
    assert issubclass(cls, errors.KafkaFormatError)
