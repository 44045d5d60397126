"""Formats that are not Kafka's: any bytes come to the same tree, or to an error, in every target.

The Kaitai classes are the oracle. Their compiler is Kaitai's own, and so is the library that they run on.
"""

from __future__ import annotations

import enum
import importlib
import random
import struct
import sys
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from compiler.own import make
from construct import ConstructError, EnumInteger, EnumIntegerString
from kaitaistruct import KaitaiStream, KaitaiStruct, KaitaiStructError
from tests.made.edits import edited

from kafka_segments.errors import DecodeError

HERE = Path(__file__).resolve().parent
SCHEMAS = sorted((HERE / "own").glob("*.ksy"))
PROJECT = HERE.parents[1] / "schemas"
PACKAGE = "formats_of_our_own"
STEMS = [path.stem for path in SCHEMAS]
pytestmark = pytest.mark.node  # the Kaitai classes are compiled here
ERROR = "an error"

VALUES: dict[str, list[dict[str, Any]]] = {
    "sensor_log": [
        {
            "station": "Zürich",
            "readings": [
                {
                    "time": 1714000000000,
                    "quantity": "temperature",
                    "value": 21.5,
                    "sensor": "t1",
                    "note": "ok",
                },
                {
                    "time": -1,
                    "quantity": "position",
                    "value": 0,
                    "exact": 8.5,
                    "sensor": "gps-left",
                    "note": "",
                },
                {"time": 1, "quantity": 9, "value": 1e-3, "sensor": "", "note": "é"},
            ],
        },
        {"station": "", "readings": []},
    ],
    "bus_trace": [
        {
            "entries": [
                {"time": 1, "tag": "frame", "body": {"address": 0x123, "data": b"\1\2\3"}},
                {"time": 2, "tag": "position", "body": {"latitude": 47.5, "longitude": -8.25}},
                {"time": 3, "tag": "text", "body": {"text": "grüezi"}},
                {"time": 4, "tag": 77, "body": b"??"},
            ]
        }
    ],
    "texts": [
        {
            "head": {"num_rows": 3, "kind": kind},
            "rows": [{**row, "number": number} for row in rows],
            "rest": "\xe9nd",
        }
        for kind, number in [("small", 7), ("wide", -70000), ("real", 0.25), ("text", "täxt"), (4, None)]
        for rows in [
            [
                {
                    "line": "a\n",
                    "word": "w",
                    "padded": "né",
                    "both": b"",
                    "inner": {"x": 1, "y": 2.5},
                    "last": 1,
                },
                {"line": "\n", "word": "", "padded": "12345", "both": b"b", "inner": {"flag": 3}, "last": 0},
                {"line": "\xfc\n", "word": "x", "padded": "", "both": b"b\0", "inner": None, "last": 128},
            ]
        ]
    ],
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimpleNamespace]:
    """The package of these schemas: modules by target, then by schema."""
    folder = tmp_path_factory.mktemp("own")
    package = make(SCHEMAS, PROJECT)
    assert package.notes == []
    for name, text in package.files.items():
        path = folder / PACKAGE / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (folder / PACKAGE / "__init__.py").touch()
    sys.path.insert(0, str(folder))
    try:
        yield SimpleNamespace(
            **{
                target: {stem: importlib.import_module(f"{PACKAGE}.{target}.{stem}") for stem in STEMS}
                for target in ("kaitai", "construct", "columns")
            }
        )
    finally:
        sys.path.remove(str(folder))
        for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
            del sys.modules[name]


def declaration(made: SimpleNamespace, stem: str) -> Any:
    return getattr(made.construct[stem], _class_name(stem))


def _class_name(stem: str) -> str:
    return "".join(part.capitalize() for part in stem.split("_"))


def leaf(value: Any) -> Any:
    """A value that compares as its bits: floats, NaN too, and numbers of enums."""
    if isinstance(value, float):
        return struct.pack(">d", value) if value == value else "NaN"
    if isinstance(value, enum.Enum):
        return value.value
    return int(value) if isinstance(value, EnumInteger | EnumIntegerString) else value


def tree(value: Any) -> Any:
    """What Kaitai or Construct read, as dictionaries, lists and leaves."""
    if isinstance(value, list):
        return [tree(part) for part in value]
    if isinstance(value, KaitaiStruct):
        names = [name for name in vars(value) if not name.startswith("_")]
        names += [name for name, part in vars(type(value)).items() if isinstance(part, property)]
    elif hasattr(type(value), "_struct_of_schema"):
        names = [*value._struct.params, *value._struct.by_name, *value._struct.lazy]
    else:
        return leaf(value)
    parts = {name: tree(getattr(value, name)) for name in names}
    return {name: part for name, part in parts.items() if part is not None}


def by_kaitai(made: SimpleNamespace, stem: str, data: bytes) -> Any:
    try:
        return tree(getattr(made.kaitai[stem], _class_name(stem))(KaitaiStream(BytesIO(data))))
    except (KaitaiStructError, EOFError, UnicodeDecodeError):
        return ERROR


def by_construct(made: SimpleNamespace, stem: str, data: bytes) -> Any:
    """The tree; what was read is built again, byte for byte but for what follows the last field."""
    try:
        found = declaration(made, stem).parse(data)
        read = tree(found)
    except ConstructError:
        return ERROR
    assert declaration(made, stem).build(found) == data
    return read


def by_columns(made: SimpleNamespace, stem: str, data: bytes, compiled: bool) -> Any:
    try:
        table = made.columns[stem].read_table(data, compiled=compiled)
    except DecodeError as error:
        assert error.position is not None
        assert "it cannot be read" not in str(error), "Kaitai reads it"
        return ERROR
    table.validate(full=True)
    return [{name: leaf(value) for name, value in row.items() if value is not None} for row in rows_of(table)]


def rows_of(table: pa.Table) -> list[dict[str, Any]]:
    columns = {
        name: (column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column).to_pylist()
        for name, column in zip(table.column_names, table.columns, strict=True)
    }
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def flat(row: dict[str, Any], names: set[str]) -> dict[str, Any]:
    """The columns of a row of a tree: its fields, and those of structs in it."""
    found = {name: value for name, value in row.items() if name in names and not isinstance(value, dict)}
    for value in row.values():
        if isinstance(value, dict):
            found |= flat(value, names)
    return found


def expected_rows(made: SimpleNamespace, stem: str, read: Any) -> Any:
    if read == ERROR:
        return ERROR
    (rows,) = (value for value in read.values() if isinstance(value, list))
    names = {column[0] for column in made.columns[stem].RECORD_COLUMNS}
    return [flat(row, names) for row in rows]


def built(made: SimpleNamespace, stem: str) -> list[bytes]:
    return [declaration(made, stem).build(values) for values in VALUES[stem]]


@pytest.mark.parametrize("stem", STEMS)
def test_what_was_given_is_read_in_every_target(made: SimpleNamespace, stem: str) -> None:
    for data in built(made, stem):
        read = by_kaitai(made, stem, data)
        assert read != ERROR
        assert by_construct(made, stem, data) == read
        assert by_columns(made, stem, data, False) == expected_rows(made, stem, read)


@pytest.mark.parametrize("compiled", [False, True], ids=["plain", "compiled"])
@pytest.mark.parametrize("stem", STEMS)
def test_any_bytes_are_the_same_tree_or_an_error(made: SimpleNamespace, stem: str, compiled: bool) -> None:
    dice, parts = random.Random(5), built(made, stem)
    seen = {ERROR: 0, "read": 0}
    for number in range(600):
        data = bytes(edited(dice, dice.choice(parts)))
        if number % 10 == 0:
            data = data[: number // 40] + dice.randbytes(dice.randrange(40))
        read = by_kaitai(made, stem, data)
        assert by_construct(made, stem, data) == read, data.hex()
        assert by_columns(made, stem, data, compiled) == expected_rows(made, stem, read), data.hex()
        seen["read" if read != ERROR else ERROR] += 1
    assert min(seen.values()) > 50, seen


def test_plain_values_are_built_into_the_same_values(made: SimpleNamespace) -> None:
    plain = importlib.import_module(f"{PACKAGE}.construct").plain
    for stem in STEMS:
        for data in built(made, stem):
            assert declaration(made, stem).build(plain(declaration(made, stem).parse(data))) == data


def test_what_cannot_be_built_is_a_construct_error(made: SimpleNamespace) -> None:
    reading = {"time": 0, "quantity": 1, "value": 0, "sensor": "", "note": ""}
    for wrong in (
        {"sensor": "too long for eight"},
        {"sensor": "é"},
        {"note": "a\0b"},
        {"value": 1e300},
        {"value": "warm"},
        {"note": b"bytes"},
    ):
        with pytest.raises(ConstructError):
            declaration(made, "sensor_log").build({"station": "", "readings": [{**reading, **wrong}]})


def test_an_error_has_its_position_and_the_values(made: SimpleNamespace) -> None:
    (data,) = built(made, "bus_trace")
    with pytest.raises(DecodeError, match=r"row 3, which begins at 55: .*requested 2 bytes") as caught:
        made.columns["bus_trace"].read_table(data[:-1])
    assert caught.value.position == 55
    with pytest.raises(DecodeError, match=r"the header, .*expected b'BUST', but got b'BUSY'"):
        made.columns["bus_trace"].read_table(b"BUSY")


GROUPS = """\
meta: {id: groups, bit-endian: be}
seq:
  - id: groups
    type: 'group(_index, _index != 0 ? groups[_index - 1].total : 0)'
    repeat: until
    repeat-until: not _.more
instances:
  total:
    value: groups.last.total
  mark:
    pos: _io.size - 1
    type: u1
types:
  group:
    params:
      - {id: place, type: s4}
      - {id: before, type: s8}
    seq:
      - {id: more, type: b1, valid: 'place == 2 ? false : more'}
      - {id: number, type: b7}
    instances:
      total:
        value: before * 128 + number
"""


def test_elements_ask_for_the_one_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "groups.ksy").write_text(GROUPS)
    for name, text in make([tmp_path / "groups.ksy"], PROJECT).files.items():
        path = tmp_path / "made_groups" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    declared = importlib.import_module("made_groups.construct.groups").Groups
    kaitai = importlib.import_module("made_groups.kaitai.groups").Groups
    for data in (b"\x05", b"\x81\x82\x03", b"\x81\x82\x83\x04", b"\x81", b""):
        try:
            expected = tree(kaitai(KaitaiStream(BytesIO(data))))
        except (KaitaiStructError, EOFError):
            with pytest.raises(ConstructError):
                declared.parse(data)
        else:
            assert tree(declared.parse(data)) == expected
            assert declared.build(declared.parse(data)) == data
