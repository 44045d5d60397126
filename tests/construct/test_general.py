"""The emitter knows no format: a batch that nobody writes is parsed and built from its schema alone."""

from __future__ import annotations

import importlib
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import crc32c
import pytest
from compiler.frontend import load
from compiler.targets.construct import generate
from construct import ConstructError

HERE = Path(__file__).resolve().parent
SCHEMAS = HERE.parents[1] / "schemas"


class Deflate:
    """A codec hook."""

    compress = staticmethod(zlib.compress)
    decompress = staticmethod(zlib.decompress)


@pytest.fixture(scope="module")
def invented(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    folder = tmp_path_factory.mktemp("invented")
    package = folder / "invented_generated"
    package.mkdir()
    schema = HERE / "invented_batch.ksy"
    for name, text in generate([schema], load([schema], [SCHEMAS])).items():
        (package / name).write_text(text, encoding="utf-8")
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    try:
        yield importlib.import_module("invented_generated.invented_batch")
    finally:
        sys.path.remove(str(folder))
        for name in [name for name in sys.modules if name.startswith("invented_generated")]:
            del sys.modules[name]


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
    assert opaque.records is None
    assert invented.InventedBatch.build(plain(invented)(opaque), base=3) == built


def test_every_prefix_and_every_flipped_byte(invented: ModuleType) -> None:
    """Nothing but a ConstructError, when it is parsed or when a part is asked for."""
    damaged = [BYTES[:size] for size in range(len(BYTES))]
    damaged += [bytes([*BYTES[:at], BYTES[at] ^ 0xFF, *BYTES[at + 1 :]]) for at in range(len(BYTES))]
    for data in damaged:
        try:
            tree = invented.InventedBatch.parse(data, base=3)
            for name in tree:
                _ = tree[name]
        except ConstructError:
            continue
