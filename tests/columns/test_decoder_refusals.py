"""What the columns target cannot do it refuses, and says where; what cannot be written, still decodes."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from compiler.errors import SchemaError
from compiler.frontend import load
from compiler.targets import columns
from tests.fixtures.package import PROJECT, SCHEMAS

from kafka_segments_generated.columns import kafka_log_segment, support

Case = dict[str, str]
CASES = tomllib.loads(Path(__file__).with_name("refusals.toml").read_text(encoding="utf-8"))


def cases(kind: str) -> Any:
    """The cases of a kind as parameters of a test."""
    return pytest.mark.parametrize("case", CASES[kind], ids=lambda case: str(case["case"]))


def generated(folder: Path, case: Case, *, is_changed: bool = True) -> dict[str, str]:
    """The target's files, of the fixture schemas, in one of which a text is changed."""
    paths = []
    for path in SCHEMAS:
        text = path.read_text(encoding="utf-8")
        if path.stem == case["schema"] and is_changed:
            assert text.count(case["old"]) == 1
            text = text.replace(case["old"], case["new"])
            text = text.replace("record(first_number,", "record(number,") if "at" in case else text
        paths.append(folder / path.name)
        paths[-1].write_text(text, encoding="utf-8")
    return columns.generate([], load(paths, [PROJECT]))


@cases("refused")
def test_refusals(case: Case, tmp_path: Path) -> None:
    with pytest.raises(SchemaError) as caught:
        generated(tmp_path, case)
    found = caught.value
    assert found.detail.startswith(f"columns: {case['words']}"), found
    assert (Path(found.schema).stem, found.yaml_path) == (case["schema"], case["at"])
    assert found.line is not None


@cases("not_encoded")
def test_what_is_missing(case: Case, tmp_path: Path) -> None:
    text, before = (
        generated(tmp_path, case, is_changed=changed)[f"{case['module']}.py"] for changed in (True, False)
    )
    (line,) = [line for line in text.splitlines() if line.startswith("# Not encoded: ")]
    assert line.startswith(f"# Not encoded: {case['words']}")
    for function in ("def decoder(", "def scanner("):
        assert (function in text) == (function in before)
    assert text.count("def encode") < before.count("def encode")


def test_everything_else_is_encoded() -> None:
    """All that has a decoder or a scanner has an encoder: in the project, and of the invented formats."""
    for model in (load(sorted(PROJECT.glob("*.ksy"))), load(SCHEMAS, [PROJECT])):
        for name, text in columns.generate([], model).items():
            assert "# Not encoded" not in text
            assert ("def decoder(" in text) == ("def encoder(" in text), name
            assert ("def scanner(" in text) == ("def head_encoder(" in text), name


def test_schemas_without_anything_for_columns_get_no_module() -> None:
    names = columns.generate([], load(sorted(PROJECT.glob("*.ksy")))).keys()
    assert {name.removesuffix(".py") for name in names} == {
        "__init__",
        "support",
        "kafka_log_segment",
        "kafka_log_segment_experimental",
        "kafka_message_legacy",
        "kafka_offset_index",
        "kafka_record",
        "kafka_record_v3",
        "kafka_time_index",
        "kafka_transaction_index",
        "kafka_unsigned_varint",
        "kafka_varint",
        "kafka_varlong",
    }


def test_no_schema_takes_the_place_of_the_building_blocks(tmp_path: Path) -> None:
    path = tmp_path / "support.ksy"
    text = (PROJECT / "kafka_varint.ksy").read_text(encoding="utf-8")
    path.write_text(text.replace("id: kafka_varint", "id: support"), encoding="utf-8")
    with pytest.raises(SchemaError, match="the package has a module support already"):
        columns.generate([], load([path], [PROJECT]))


def test_positions_of_columns_are_those_of_their_names() -> None:
    names = kafka_log_segment.BATCH_COLUMNS
    assert [getattr(kafka_log_segment, f"COL_{name.upper()}") for name in names] == [*range(len(names))]
    assert [names[at] for at in (support.POSITION, support.CODEC)] == ["position", "codec"]
