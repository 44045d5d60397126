"""The emitter knows no format: a batch that nobody writes is parsed and built from its schema alone."""

from __future__ import annotations

import importlib
import shutil
import sys
import zlib
from collections.abc import Iterator, Mapping
from io import BytesIO
from pathlib import Path
from types import ModuleType
from typing import Any

import crc32c
import pytest
from compiler.frontend import load
from compiler.targets import kaitai
from compiler.targets.construct import generate
from construct import ConstructError
from kaitaistruct import KaitaiStream, KaitaiStructError
from tests.codegen.trees import _tree as kaitai_tree
from tests.codegen.trees import differences
from tests.construct.trees import tree_of

HERE = Path(__file__).resolve().parent
SCHEMAS = HERE.parents[1] / "schemas"


class Deflate:
    """A codec hook."""

    compress = staticmethod(zlib.compress)
    decompress = staticmethod(zlib.decompress)


def imported(folder: Path, name: str, files: Mapping[str, str], module: str) -> ModuleType:
    """A module of a package that is made of files."""
    (folder / name).mkdir()
    for file, text in files.items():
        (folder / name / file).write_text(text, encoding="utf-8")
    importlib.invalidate_caches()
    return importlib.import_module(f"{name}.{module}")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder to import from."""
    found = tmp_path_factory.mktemp("invented")
    sys.path.insert(0, str(found))
    try:
        yield found
    finally:
        sys.path.remove(str(found))
        for name in [name for name in sys.modules if name.startswith("invented_generated")]:
            del sys.modules[name]


@pytest.fixture(scope="module")
def invented(folder: Path) -> ModuleType:
    schemas = [HERE / "invented_batch.ksy", HERE / "invented_parts.ksy"]
    files = generate(schemas, load(schemas, [SCHEMAS]))
    return imported(folder, "invented_generated", files, "invented_batch")


@pytest.fixture(scope="module")
def parts(invented: ModuleType) -> ModuleType:
    return importlib.import_module(f"{invented.__package__}.invented_parts")


VALUES: dict[str, Any] = {
    "name": b"abc",
    "records": [
        {"value": b"x"},
        {"bits": {"has_trace": True}, "trace": b"12345678"},
        {"offset": 10, "time_delta": 7, "value": b""},
    ],
}
BYTES = bytes.fromhex(
    "0300 00 0c00000000000000 36000000 77 6208b5bf 0500000000000000"
    "01 06 616263"
    "00 00 00 02 78"
    "01 00 02 3132333435363738 01"
    "00 0e 0e 00"
)


def test_the_bytes_are_as_the_schema_says(invented: ModuleType) -> None:
    built = invented.InventedBatch.build(VALUES, base=3)
    assert built == BYTES
    assert int.from_bytes(BYTES[16:20], "big") == crc32c.crc32c(BYTES[24:])


def test_what_was_built_is_parsed(invented: ModuleType) -> None:
    tree = invented.InventedBatch.parse(BYTES, base=3)
    assert (tree.num_records, tree.len_batch, tree.name, tree.max_time) == (3, len(BYTES), b"abc", 12)
    assert [record.offset for record in tree.records] == [3, 4, 10]
    assert [record.trace for record in tree.records] == [None, b"12345678", None]
    assert [record.value for record in tree.records] == [b"x", None, b""]
    assert invented.InventedBatch.build(tree, base=3) == BYTES
    assert invented.InventedBatch.build(plain(invented)(tree), base=3) == BYTES


def plain(invented: ModuleType) -> Any:
    return importlib.import_module(f"{invented.__package__}._support").plain


@pytest.mark.parametrize("owner", [-1, 0, 63, 64, 1 << 40, -(1 << 63)])
def test_fields_of_any_length_between_header_and_records(invented: ModuleType, owner: int) -> None:
    built = invented.InventedBatch.build(VALUES | {"owner": owner}, base=3)
    tree = invented.InventedBatch.parse(built, base=3)
    assert (tree.owner, tree.len_batch) == (owner, len(built))
    assert len(tree.records) == 3
    assert tree.crc == crc32c.crc32c(tree.region)


def test_every_record_has_more_if_a_bit_says_so(invented: ModuleType) -> None:
    wide = {"flags": {"wide": True}, "name": b"", "records": [{"extra": 1}, {"extra": 2}]}
    tree = invented.InventedBatch.parse(invented.InventedBatch.build(wide, base=0), base=0)
    assert [record.extra for record in tree.records] == [1, 2]
    with pytest.raises(ConstructError, match="extra is given, but its condition"):
        invented.InventedBatch.build({"name": b"", "records": [{"extra": 1}]}, base=0)


def test_compressed(invented: ModuleType) -> None:
    values = VALUES | {"flags": {"codec": "gzip"}}
    context = {"base": 3, "codecs": {"gzip": Deflate}}
    built = invented.InventedBatch.build(values, **context)
    tree = invented.InventedBatch.parse(built, **context)
    assert tree.payload == zlib.compress(BYTES[33:])
    assert [record.offset for record in tree.records] == [3, 4, 10]
    assert invented.InventedBatch.build(plain(invented)(tree), **context) == built
    opaque = invented.InventedBatch.parse(built, base=3)
    with pytest.raises(ConstructError, match="payload is compressed with gzip: to see it, parse with codecs"):
        _ = opaque.records
    assert "records" not in opaque
    assert invented.InventedBatch.build(plain(invented)(opaque), base=3) == built


def test_every_prefix_and_every_flipped_byte(invented: ModuleType) -> None:
    """Nothing but a ConstructError, when it is parsed or when a part is asked for."""
    for data in damaged(BYTES):
        try:
            tree = invented.InventedBatch.parse(data, base=3)
            for name in tree:
                _ = tree[name]
        except ConstructError:
            continue


PARTS: dict[str, Any] = {
    "bits": {"a": 5, "b": True, "c": 9},
    "low": 0xABC,
    "high": 0xD,
    "name": b"abc",
    "kind": "pair",
    "thing": {"left": 1, "right": 2},
    "places": [{"x": 5}, {"x": 6}],
    "steps": [{"code": 7}, {"code": 0}],
    "tail": {"words": [1, 2]},
}
PARTS_BYTES = bytes.fromhex("9d bcda 61626300 02 0000 0001 0200 04 0506 0700 05 0001 0002")


def test_parts_of_the_language_that_no_schema_uses_yet(parts: ModuleType) -> None:
    assert parts.InventedParts.build(PARTS) == PARTS_BYTES
    tree = parts.InventedParts.parse(PARTS_BYTES)
    assert (tree.bits.a, tree.bits.b, tree.bits.c, tree.low, tree.high) == (5, True, 9, 0xABC, 0xD)
    assert (tree.name, tree.kind, tree.num_places.value, tree.len_tail) == (b"abc", "pair", 2, 5)
    assert [place.sum for place in tree.places] == [5, 7]
    assert [step.code for step in tree.steps] == [7, 0]
    assert (tree.first_byte, tree.last_level) == (0x9D, 2)
    assert parts.InventedParts.build(plain(parts)(tree)) == PARTS_BYTES
    without = {name: value for name, value in PARTS.items() if name != "tail"}
    assert parts.InventedParts.build(without) == PARTS_BYTES[:-5] + b"\0"


def test_numbers_may_be_written_over_what_is_there(parts: ModuleType) -> None:
    assert parts.InventedParts.build(PARTS | {"first_byte": 0}) == b"\0" + PARTS_BYTES[1:]


@pytest.mark.parametrize("place", [7, 8])
def test_what_is_not_valid_is_refused(parts: ModuleType, place: int) -> None:
    with pytest.raises(ConstructError, match="no valid value"):
        parts.InventedParts.parse(PARTS_BYTES[:place] + b"\x77" + PARTS_BYTES[place + 1 :])


@pytest.mark.node
def test_kaitai_sees_the_same(invented: ModuleType, parts: ModuleType, folder: Path) -> None:
    """The real compiler's classes for the same schemas, on sound and on damaged bytes."""
    schemas = folder / "schemas"
    shutil.copytree(SCHEMAS, schemas)
    for path in HERE.glob("*.ksy"):
        shutil.copy(path, schemas)
    paths = sorted(schemas.glob("*.ksy"))
    files = kaitai.generate(paths, load(paths))
    batches = imported(folder, "invented_generated_kaitai", files, "invented_batch")
    others = importlib.import_module("invented_generated_kaitai.invented_parts")
    num_sound = 0
    for data in damaged(BYTES):
        num_sound += same(data, invented.InventedBatch, batches.InventedBatch, 3)
    for data in damaged(PARTS_BYTES):
        num_sound += same(data, parts.InventedParts, others.InventedParts)
    assert num_sound > 50


def damaged(data: bytes) -> Iterator[bytes]:
    """Bytes as they are, each prefix, and with each byte turned round."""
    yield data
    yield from (data[:size] for size in range(len(data)))
    yield from (bytes([*data[:at], data[at] ^ 0xFF, *data[at + 1 :]]) for at in range(len(data)))


def same(data: bytes, declared: Any, cls: Any, *params: int) -> bool:
    """Check that two targets make the same of bytes; whether they take them."""
    try:
        theirs = kaitai_tree(cls(*params, KaitaiStream(BytesIO(data))))
    except (KaitaiStructError, EOFError, ValueError):
        theirs = {"error": ""}
    try:
        tree = declared.parse(data, **dict(zip(declared.params, params, strict=True)))
        ours = tree_of(tree)
    except ConstructError:
        ours = {"error": ""}
    assert list(differences(theirs, ours)) == [], data.hex()
    return "error" not in ours
