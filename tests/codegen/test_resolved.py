"""What our front end resolves is what the Kaitai compiler resolves, for every schema there is."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from compiler.frontend import load
from compiler.frontend.model import Model
from tests.codegen.resolved import Tree, compiler_model, differences, our_schema
from tests.codegen.resolved_by_kaitai import TheirSchema

TESTS = Path(__file__).resolve().parents[1]
SCHEMAS = TESTS.parent / "schemas"
# Ours, and the fixtures, which may import ours.
FOLDERS = sorted(
    {SCHEMAS, *(path.parent for path in TESTS.rglob("*.ksy") if "node_modules" not in path.parts)}
)

pytestmark = pytest.mark.node


def name_of(folder: Path) -> str:
    return folder.relative_to(TESTS.parent).as_posix()


@cache
def resolved(folder: Path) -> tuple[list[str], Model, dict[str, Tree]]:
    """The stems of a folder, our model of it, and the compiler's."""
    paths = sorted(folder.glob("*.ksy"))
    stems = [path.stem for path in paths]
    model = load(paths, [SCHEMAS])
    imported = [SCHEMAS / f"{stem}.ksy" for stem in model.schemas if stem not in stems]
    return stems, model, compiler_model([*paths, *imported])


@pytest.fixture(scope="module")
def ours() -> tuple[list[str], Model, dict[str, Tree]]:
    return resolved(SCHEMAS)


@pytest.mark.parametrize("folder", FOLDERS, ids=name_of)
def test_ours_is_the_compilers(folder: Path) -> None:
    stems, model, dump = resolved(folder)
    found: list[str] = []
    for stem in stems:
        found += differences(our_schema(model, stem), TheirSchema(dump, stem).tree(), stem)
    assert found == []


def leaves(tree: Tree) -> Iterator[Tree]:
    """What is compared as a whole."""
    if isinstance(tree, dict):
        for part in tree.values():
            yield from leaves(part)
    else:
        yield tree


def test_the_comparison_sees_every_leaf(ours: tuple[list[str], Model, dict[str, Tree]]) -> None:
    """The same comparison between two schemas finds much, and hundreds of things are compared."""
    _, model, dump = ours
    theirs = TheirSchema(dump, "kafka_record").tree()
    assert len(list(differences(our_schema(model, "kafka_record_header"), theirs))) >= 5
    assert sum(len(list(leaves(our_schema(model, stem)))) for stem in model.schemas) > 900


# What is changed in one schema, and what then differs, and nothing else.
CHANGES = {
    "type": ("type: s2", "type: s1", "/seq/producer_epoch/type"),
    "size": ("size: 2\n    type: batch_", "size: 3\n    type: batch_", "/seq/attributes/type"),
    "valid": ("valid: 2", "valid: 3", "/seq/magic/valid"),
    "condition": ("== compression::none", "== compression::gzip", "/instances/records/if"),
    "argument": ("is_control, 0x7fff_ffff", "is_control, 0x7fff_fffe", "/instances/records/type"),
    "value": ("magic._sizeof + crc", "crc._sizeof + crc", "/instances/ofs_crc_region/value"),
    "enum": ("1:\n      id: gzip", "7:\n      id: gzip", "/enums/compression/1"),
    "repeat": ("repeat-expr: num_records", "repeat-expr: num_records + 1", "/instances/records/repeat"),
    "position": ("pos: ofs_crc_region", "pos: len_header", "/instances/crc_region/pos"),
    "doc": ("0 is valid", "0 is invalid", "/seq/num_records/doc"),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_the_comparison_sees_a_change(
    ours: tuple[list[str], Model, dict[str, Tree]], tmp_path: Path, change: str
) -> None:
    old, new, place = CHANGES[change]
    text = (SCHEMAS / "kafka_record_batch_v2.ksy").read_text(encoding="utf-8")
    assert text.count(old) == 1
    changed = tmp_path / "kafka_record_batch_v2.ksy"
    changed.write_text(text.replace(old, new), encoding="utf-8")
    model = load([changed], [SCHEMAS])
    theirs = TheirSchema(ours[2], "kafka_record_batch_v2").tree()
    found = list(differences(our_schema(model, "kafka_record_batch_v2"), theirs))
    assert any(line.startswith(place) for line in found), found
    assert all(
        line.startswith((place, "/size", "/enums", "/instances/len_header", "/instances/ofs"))
        for line in found
    ), found
