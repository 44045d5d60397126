"""What the front end does not support it refuses, with file, YAML path, line and what is supported."""

from __future__ import annotations

import textwrap
import tomllib
from pathlib import Path
from typing import Any

import pytest
from compiler.errors import SchemaError
from compiler.frontend import load

SCHEMAS = Path(__file__).resolve().parents[2] / "schemas"
CASES: dict[str, list[dict[str, Any]]] = tomllib.loads(
    Path(__file__).with_name("refusals.toml").read_text(encoding="utf-8")
)
META = "meta:\n  id: a\n  endian: be\n"
BODY = """\
seq:
  - id: len
    type: s4
  - id: flags
    type: u1
    enum: colour
  - id: data
    size: len
  - id: pairs
    type: pair
    repeat: expr
    repeat-expr: 2
types:
  pair:
    seq:
      - id: x
        type: u1
      - id: y
        type: u1
enums:
  colour:
    0: red
    1: green
  codec:
    0: none
    1: gzip
"""


def refused(folder: Path, text: str, name: str = "a") -> SchemaError:
    """The error with which a schema is refused."""
    path = folder / f"{name}.ksy"
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    with pytest.raises(SchemaError) as caught:
        load([path], [SCHEMAS])
    return caught.value


def check(error: SchemaError, folder: Path, text: str, place: str, marked: str, case: dict[str, Any]) -> None:
    """The error names the file, the path, the line on which `marked` stands, a column, and says the words."""
    assert case["words"] in error.detail, str(error)
    assert str(error).startswith(f"{folder.name}/a.ksy:{error.line}:{error.column}: ")
    assert error.column == case.get("column", error.column)
    assert error.schema == f"{folder.name}/a.ksy"
    assert error.yaml_path == place, str(error)
    lines = [number for number, line in enumerate(text.splitlines(), 1) if marked in line]
    assert error.line in lines, f"{error}\nexpected on line {lines}"


EXTRA = """\
  taker:
    params:
      - id: count
        type: s4
    seq:
      - id: many
        size: count
  nibble:
    seq:
      - id: half
        type: b4
  coding:
    seq:
      - id: codec
        type: u1
        enum: codec
"""


def cases(kind: str) -> Any:
    """The cases of a kind as parameters of a test."""
    names = [case["case"] for case in CASES[kind]]
    assert len(names) == len(set(names))
    return pytest.mark.parametrize("case", CASES[kind], ids=names)


@cases("attribute")
def test_an_attribute_is_refused(tmp_path: Path, case: dict[str, Any]) -> None:
    key = case["at"]
    before, after = BODY.split("types:\n")
    last = "  - id: coded\n    type: coding\n  - id: last\n" + textwrap.indent(
        case["text"].rstrip() + "\n", "    "
    )
    text = META + before + last + "types:\n" + EXTRA + after
    place = "/seq/5" + (f"/{key}" if key else "")
    marked = {"": "- id: last"}.get(key, key.rpartition("/")[2])
    check(refused(tmp_path, text), tmp_path, text, place, marked, case)


@cases("schema")
def test_a_schema_is_refused(tmp_path: Path, case: dict[str, Any]) -> None:
    error = refused(tmp_path, case["text"])
    check(error, tmp_path, case["text"], case["at"], case["line"], case)


@cases("no_yaml")
def test_what_is_no_yaml_is_refused(tmp_path: Path, case: dict[str, Any]) -> None:
    error = refused(tmp_path, case["text"])
    assert case["words"] in error.detail
    assert (error.schema, error.line) == (f"{tmp_path.name}/a.ksy", case["line"])


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.ksy"
    path.write_bytes(b"meta:\n  id: \xff\n")
    with pytest.raises(SchemaError, match="cannot be read"):
        load([path])
    with pytest.raises(SchemaError, match="cannot be read"):
        load([tmp_path / "missing.ksy"])


def test_nesting_without_end_is_refused(tmp_path: Path) -> None:
    deep = META + f"instances:\n  x:\n    value: {'(' * 5000}1{')' * 5000}\n"
    deeper = META + f"instances:\n  x:\n    value: {'-' * 5000}1\n"
    load([_written(tmp_path, deep)])
    assert "nested too deeply" in refused(tmp_path, deeper).detail


def _written(folder: Path, text: str) -> Path:
    path = folder / "a.ksy"
    path.write_text(text, encoding="utf-8")
    return path


def test_circles_of_imports_are_refused(tmp_path: Path) -> None:
    for name, imported in (("a", "b"), ("b", "c"), ("c", "a")):
        (tmp_path / f"{name}.ksy").write_text(f"meta:\n  id: {name}\n  imports:\n    - {imported}\n")
    with pytest.raises(SchemaError, match="imports go in a circle: a -> b -> c -> a") as caught:
        load([tmp_path / "a.ksy"])
    assert (caught.value.schema, caught.value.line) == (f"{tmp_path.name}/c.ksy", 4)


@pytest.mark.parametrize(
    ("style", "line", "column"),
    [
        ("value: 1 + nothing", 6, 16),
        ("value: '1 + nothing'", 6, 17),
        ("value: >-\n      1\n      +\n      nothing", 9, 7),
        ("value: |\n      1\n\n      + nothing", 9, 9),
        ("value: 1 +\n      2 + nothing", 7, 11),
    ],
)
def test_the_column_is_right_in_every_style(tmp_path: Path, style: str, line: int, column: int) -> None:
    error = refused(tmp_path, META + f"instances:\n  x:\n    {style}\n")
    assert error.detail.startswith("a has no 'nothing'"), error
    assert (error.line, error.column) == (line, column)


@pytest.mark.parametrize("key", ["-anything", "-batch-colum", "-deflaut"])
@pytest.mark.parametrize("where", ["meta", "field", "enum", "type"])
def test_unknown_dashed_keys_are_refused_everywhere(tmp_path: Path, key: str, where: str) -> None:
    lines = dict.fromkeys(["meta", "field", "enum", "type"], "") | {where: f"{key}: 1"}
    text = (
        f"{META}  {lines['meta']}\n{lines['type']}\nseq:\n  - id: x\n    type: u1\n    {lines['field']}\n"
        f"enums:\n  e:\n    0:\n      id: zero\n      {lines['enum']}\n"
    )
    error = refused(tmp_path, text)
    assert f"unknown key {key!r}" in error.detail
    (line,) = (number for number, line in enumerate(text.splitlines(), 1) if key in line)
    assert (error.line, error.column) == (line, text.splitlines()[line - 1].index(key) + 1)


def test_a_misspelt_key_is_told_before_what_it_makes_of_others(tmp_path: Path) -> None:
    text = META + "seq:\n  - id: data\n    size: len + 1\n  - id: len\n    tpye: s4\n    size: 4\n"
    error = refused(tmp_path, text)
    assert (error.yaml_path, error.line, error.column) == ("/seq/1/tpye", 8, 5)


def test_dashed_keys_of_kaitai_are_left_alone(tmp_path: Path) -> None:
    dashed = "    -orig-id: [x, y]\n    -webide-parse-mode: eager\n    type: u1\n"
    enum = "enums:\n  e:\n    0:\n      id: zero\n      -orig-id: ZERO\n"
    text = META + "-affected-by: 9\nseq:\n  - id: x\n" + dashed + enum
    model = load([_written(tmp_path, text)])
    assert model.struct(("a",)).fields[0].orig_id == ("x", "y")
    assert model.enum(("a", "e")).label(0) == "zero"
