"""What Kaitai's format gallery would take: its checks pass, and nothing that the schemas say is lost."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from compiler.errors import SchemaError
from compiler.frontend import load
from compiler.targets import gallery
from compiler.targets.gallery.folding import Folded, fold
from compiler.targets.gallery.keys import key_paths, remove_keys
from compiler.targets.gallery.wrapping import WIDTH, wrap
from compiler.toolchain import FOLDER, ensure_packages, find_toolchain, run_node
from tests.codegen.trees import Job, count_leaves, differences, javascript_trees, python_tree
from tests.codegen.vectors import SCHEMAS
from tests.codegen.vectors import STEMS as ALL_STEMS
from tests.forms import pick

ROOT = Path(__file__).resolve().parents[2]
GALLERY = ROOT / "generated" / "kafka_segments_generated" / "gallery"
SET = GALLERY / gallery.FOLDER
FIRST = GALLERY / gallery.CATEGORY / f"{gallery.RECORD_BATCHES.name}.ksy"
FILES = [*sorted(SET.glob("*.ksy")), FIRST]
IMPORTED = {
    name for path in FILES for name in re.findall(r"^    - (kafka_\w+)$", path.read_text(), re.MULTILINE)
}
# With each, the compiler compiles what it imports.
ROOTS = [path for path in FILES if path.stem not in IMPORTED]
STEMS = [
    stem for stem in ALL_STEMS if not gallery.is_experimental((SCHEMAS / f"{stem}.ksy").read_text("utf-8"))
]
# Of kaitai-io/ksy_schema at 959e6f7, under the licence beside it.
KSY_SCHEMA = Path(__file__).with_name("gallery") / "ksy_schema.json"
# `ksc -t all` of the gallery's build, without html and construct, which the gallery does not show.
LANGUAGES = "cpp_stl,csharp,go,graphviz,java,javascript,lua,nim,perl,php,python,ruby,rust"
# `VALID_LICENSES` of the gallery's `_build/build-html`.
LICENSES = {"CC0-1.0", "MIT", "Unlicense", "WTFPL"}
# The folders of kaitai_struct_formats at c6ea87c, which its schema wants tags to be of.
CATEGORIES = {"log", "serialization"}


@cache
def read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return found


def without_own_keys(node: Any) -> Any:
    if isinstance(node, dict):
        return {key: without_own_keys(part) for key, part in node.items() if not gallery.is_own((str(key),))}
    return [without_own_keys(part) for part in node] if isinstance(node, list) else node


def squeezed(node: Any) -> Any:
    """A tree whose texts have single blanks, since what is too long is wrapped anew."""
    if isinstance(node, dict):
        return {key: squeezed(part) for key, part in node.items()}
    if isinstance(node, list):
        return [squeezed(part) for part in node]
    return " ".join(node.split()) if isinstance(node, str) else node


def test_every_schema_is_there_and_one_file_that_needs_no_import() -> None:
    assert [path.stem for path in FILES] == [*STEMS, gallery.RECORD_BATCHES.name]
    assert "imports" not in read(FIRST)["meta"]
    assert len(FIRST.read_bytes()) < 32 << 10


@pytest.mark.parametrize("stem", STEMS)
def test_nothing_but_our_own_keys_is_lost(stem: str) -> None:
    expected = without_own_keys(read(SCHEMAS / f"{stem}.ksy"))
    if expected["meta"].get("tags") == [gallery.CATEGORY]:
        del expected["meta"]["tags"]
    assert squeezed(read(SET / f"{stem}.ksy")) == squeezed(expected)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_passes_the_official_json_schema(path: Path) -> None:
    validator = jsonschema.Draft7Validator(json.loads(KSY_SCHEMA.read_text(encoding="utf-8")))
    # JSON has no numbers as keys.
    found = json.loads(json.dumps(read(path)))
    assert [f"{error.json_path}: {error.message}" for error in validator.iter_errors(found)] == []
    found["meta"]["license"] = ["CC0-1.0"]
    assert list(validator.iter_errors(found)), "the schema refuses nothing"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_has_what_the_gallery_asks_for(path: Path) -> None:
    meta = read(path)["meta"]
    assert meta["id"] == path.stem
    assert meta["title"] and meta["application"] and read(path)["doc"] and read(path)["doc-ref"]
    assert meta["license"] in LICENSES
    assert set(meta.get("tags", [])) <= CATEGORIES - {gallery.CATEGORY}
    assert "xref" in meta or not path.stem.startswith("kafka")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_is_of_80_columns_and_without_private_keys(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()[1:]
    for line in lines:
        assert len(line) <= WIDTH or "://" in line or re.match(r" +\S+::\S+: \S+$", line), line
        assert line == line.rstrip() and "\t" not in line
    assert not [key for key in key_paths("\n".join(lines)) if gallery.is_own(key)]


@cache
def compiled() -> dict[str, dict[str, list[str]]]:
    tools = find_toolchain()
    ensure_packages(tools)
    script = Path(__file__).with_name("compile_all.js")
    said: dict[str, dict[str, list[str]]] = json.loads(
        run_node(tools, script, str(FOLDER), LANGUAGES, *map(str, ROOTS))
    )
    return said


@pytest.mark.node
@pytest.mark.long
@pytest.mark.parametrize("language", pick(["javascript", "python"], LANGUAGES.split(",")))
def test_every_file_compiles_without_error_or_warning(language: str) -> None:
    said = {name: found[language] for name, found in compiled().items()}
    assert said.keys() == {path.name for path in ROOTS}
    assert len(ROOTS) > 8 and {path.stem for path in FILES} == IMPORTED | {path.stem for path in ROOTS}
    assert {name: problems for name, problems in said.items() if problems} == {}


@pytest.mark.node
@pytest.mark.parametrize("sample", gallery.SAMPLES, ids=lambda sample: sample.name)
def test_a_sample_opens_and_gives_what_our_classes_give(sample: gallery.Sample) -> None:
    file = GALLERY / "samples" / sample.name
    is_first = sample.schema == gallery.RECORD_BATCHES.name
    ours = python_tree(Job("kafka_log_segment" if is_first else sample.schema, file))
    (theirs,) = javascript_trees([Job(sample.schema, file)], GALLERY / "log" if is_first else SET)
    if is_first:
        leave_out(ours, {"controlValue"})
    assert list(differences(ours, theirs)) == []
    assert count_leaves(ours) > 1 and "error" not in ours
    assert "partial" not in json.dumps(ours)


def leave_out(tree: Any, names: set[str]) -> None:
    """Remove what the file for record batches does not have."""
    for part in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        leave_out(part, names)
    for name in names & tree.keys() if isinstance(tree, dict) else ():
        del tree[name]


def test_a_schema_of_an_experiment_is_left_out() -> None:
    text = "meta:\n  id: x\n  application: Apache Kafka (a discarded proposal, in no release)\n"
    assert gallery.is_experimental(text)
    assert not gallery.is_experimental(text.replace("in no release", "0.11.0 and later"))


COMMENTED = """\
# above
meta:
  id: a  # beside
  # of -own
  -own:
    deep: 1
    # deeper
  # of next
  next: 1
seq:
  - id: b
    -own: |
      text

    size: 1
  - id: c
    size: 2
"""


def test_comments_and_layout_stay() -> None:
    kept = remove_keys(COMMENTED, gallery.is_own)
    expected = COMMENTED.replace("  -own:\n    deep: 1\n    # deeper\n", "")
    assert kept == expected.replace("    -own: |\n      text\n", "")
    without_item = remove_keys(kept, lambda path: path == ("seq", "b"))
    assert without_item == kept.replace("  - id: b\n\n    size: 1\n", "")


def test_a_key_that_shares_its_line_with_an_item_is_refused() -> None:
    with pytest.raises(SchemaError, match="seq/b/-own is not on a line of its own"):
        remove_keys("seq:\n  - -own: 1\n    id: b\n", gallery.is_own)


def test_what_is_left_out_has_to_be_there() -> None:
    schemas = sorted(SCHEMAS.glob("*.ksy"))
    texts = {path.stem: path.read_text(encoding="utf-8") for path in schemas}
    gone = Folded("x", "kafka_offset_index", {}, "", {"kafka_offset_index": (("types", "gone"),)})
    with pytest.raises(SchemaError, match=r"types/gone should be left out of x\.ksy"):
        fold(gone, texts, load(schemas))


def test_long_lines_are_wrapped_and_short_ones_stay() -> None:
    words = "word " * 20
    text = f"doc: {words}\nvalue: 'a + {'b + ' * 20}c'\nx:\n  doc: |\n    short\n\n    * {words}\n    end\n"
    wrapped = wrap(text)
    assert all(len(line) <= WIDTH for line in wrapped.splitlines())
    assert squeezed(yaml.safe_load(wrapped)) == squeezed(yaml.safe_load(text))
    assert "    short\n\n    * word" in wrapped and "\n      word" in wrapped
    assert wrap(wrapped) == wrapped
