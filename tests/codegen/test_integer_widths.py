"""No computed number is wider than the type that the Kaitai compiler declares for it in other languages.

Python's integers have no width, those of Java, C++, C#, Go and Nim have the one that the compiler infers: 32
bits unless a cast says otherwise (kaitai_struct#1333). What does not fit is cut there without a word.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from kaitaistruct import KaitaiStream, KaitaiStruct, KaitaiStructError
from tests.codegen.resolved import Tree, compiler_model
from tests.codegen.trees import python_class
from tests.codegen.vectors import SCHEMAS, STEMS, VECTORS, Vector, all_vectors

pytestmark = pytest.mark.node
RECORDED = VECTORS / "recorded" / "kafka-4.3" / "clean" / "append-time-0" / f"{0:020}.log"


@cache
def widths() -> dict[str, tuple[int, bool]]:
    """Bits and sign of each value instance that has a number, by `Class.Inner/instance`."""
    dump = compiler_model([SCHEMAS / f"{stem}.ksy" for stem in STEMS])
    return {name: width for stem in STEMS for name, width in _widths(dump[stem], _camel(stem))}


def _widths(struct: Tree, path: str) -> Iterator[tuple[str, tuple[int, bool]]]:
    for name, found in struct["instances"]:
        width = _width(found.get("dataTypeOpt") or found.get("dataType"))
        if width is not None:
            yield f"{path}/{name['name']}", width
    for name, nested in struct["types"]:
        yield from _widths(nested, f"{path}.{_camel(name)}")


def _width(kind: Tree) -> tuple[int, bool] | None:
    name = "" if kind is None else kind["$"].rpartition("$")[2]
    if name.endswith("CalcIntType"):
        return 32, True
    if name.endswith("Int1Type"):
        return 8, kind["signed"]
    return (8 * kind["width"]["width"], kind["signed"]) if name.endswith("IntMultiType") else None


def _camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


def numbers(value: Any) -> Iterator[tuple[str, int]]:
    """The computed numbers of an object, and of all below it."""
    for part in value if isinstance(value, list) else ():
        yield from numbers(part)
    if not isinstance(value, KaitaiStruct):
        return
    for name, part in vars(value).items():
        yield from numbers(part if not name.startswith("_") else None)
    for name in (name for name, one in vars(type(value)).items() if isinstance(one, property)):
        try:
            found = getattr(value, name)
        except (KaitaiStructError, EOFError, ValueError):
            continue
        if isinstance(found, int) and not isinstance(found, bool | enum.Enum):
            yield f"{type(value).__qualname__}/{name}", found
        yield from numbers(found)


def wide(found: Any) -> set[str]:
    """Names of the numbers that do not fit."""
    exceeding = set()
    for name, number in numbers(found):
        bits, signed = widths()[name]
        least, end = (-(1 << bits - 1), 1 << bits - 1) if signed else (0, 1 << bits)
        # 64 bits are the most that a cast can ask for: what exceeds them wraps, and the schemas say so.
        if bits < 64 and not least <= number < end:
            exceeding.add(name)
    return exceeding


@pytest.mark.parametrize("vector", [one for one in all_vectors() if one.error is None], ids=str)
def test_computed_numbers_fit(vector: Vector) -> None:
    with vector.file.open("rb") as file:
        assert wide(python_class(vector.schema)(*vector.params, KaitaiStream(file))) == set()


def test_numbers_of_a_recorded_segment_fit_and_need_more_than_32_bits() -> None:
    found = python_class("kafka_log_segment").from_file(RECORDED)
    assert wide(found) == set()
    assert "KafkaRecord.RecordBody/timestamp" in {
        name for name, number in numbers(found) if number >= 1 << 31
    }


def test_a_number_that_is_cut_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    cut = "KafkaRecord.RecordBody/timestamp"
    monkeypatch.setitem(widths(), cut, (32, True))
    assert wide(python_class("kafka_log_segment").from_file(RECORDED)) == {cut}
