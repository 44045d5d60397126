"""What the columns target cannot do it refuses, and says where."""

from __future__ import annotations

from pathlib import Path

import pytest
from compiler.errors import SchemaError
from compiler.frontend import load
from compiler.targets import columns
from tests.fixtures.package import PROJECT, SCHEMAS

from kafka_segments_generated.columns import kafka_log_segment, support

# Of a fixture schema: a text in it, what to put there instead, where the error is and what it says.
REFUSALS = {
    "a record column of another type": (
        "compact_record",
        "-record-column: int8",
        "-record-column: int16",
        "/types/record_body/seq/0",
        "a record column of type int16 is not supported; supported are int64, timestamp",
    ),
    "records need what the table has not": (
        "compact_record_batch",
        "    -default: -1\n    -batch-column: timestamp[ms, UTC]\n    type: kafka_varlong",
        "    -default: -1\n    type: kafka_varlong",
        "/seq/9",
        "base_timestamp has to be a batch column, since records need it",
    ),
    "a count that the table has not": (
        "compact_record_batch",
        "    -orig-id: recordsCount\n    -batch-column: int32\n",
        "",
        "/seq/7",
        "num_records has to be a batch column",
    ),
    "a column of every table": (
        "compact_record_batch",
        "    -orig-id: producerId\n    -default: -1\n    -batch-column: int64",
        "    -batch-column: {name: payload, type: int64}",
        "/seq/4",
        "every table has a column payload already",
    ),
    "a column with two types": (
        "compact_record_batch",
        "-orig-id: baseSequence\n    -default: -1\n    -batch-column: int32",
        "-batch-column: int64",
        "/seq/6",
        "the table has a column base_sequence of another type",
    ),
    "two columns of one name": (
        "compact_record",
        "      timestamp:\n        -record-column:\n          type: timestamp[ms, UTC]\n          none: -1",
        "      timestamp:\n        -record-column: {name: offset, type: int64}",
        "/types/record_body/instances/offset",
        "two record columns are called offset",
    ),
    "a case for all others": (
        "compact_log_segment",
        "            3: compact_record_batch",
        "            _: compact_record_batch",
        "/types/entry_body/instances/content",
        "a case for all other values may have no columns",
    ),
    "a content without records": (
        "compact_log_segment",
        "            2: kafka_record_batch_v2(_parent.base_offset)",
        "            2: least",
        "/types/least",
        "what an entry holds needs fields with -record-column",
    ),
    "records that are not counted": (
        "compact_record_batch",
        "    repeat: expr\n    repeat-expr: num_records",
        "    repeat: eos",
        "/instances/records",
        "records are supported that are counted",
    ),
    "list items up to a condition": (
        "compact_record",
        "        repeat: expr\n        repeat-expr: num_headers.value",
        "        repeat: until\n        repeat-until: _io.eof",
        "/types/record_body/seq/8",
        "such a repeated field is not supported in a record",
    ),
    "compressed bytes in the middle": (
        "compact_record_batch",
        "    pos: ofs_records\n    size-eos: true\n    doc: The records, comp",
        "    pos: ofs_records\n    size: 7\n    doc: The records, comp",
        "/instances/payload",
        "what is compressed has to go on to the end",
    ),
    "arguments that depend on the case": (
        "odd_log_segment",
        "4: batch(number)",
        "4: batch(number % 2)",
        "/types/entry/seq/3",
        "cases that give number differently are not supported, since records need it",
    ),
    "bits that fill no whole byte": (
        "odd_log_segment",
        "      - id: reserved\n        -default: 0\n        type: b3\n",
        "      - id: reserved\n        -default: 0\n        type: b2\n",
        "/types/header/seq/1",
        "bits are supported that fill 1, 2 or 4 bytes together",
    ),
    "a list without a bound": (
        "odd_log_segment",
        "      - id: delta\n        -derive: _index\n",
        "      - id: points\n        type: point\n        repeat: expr\n        repeat-expr: 2\n"
        "        -record-column: list<struct>\n      - id: delta\n",
        "/types/record",
        "records that have a list need a field with the size of the rest",
    ),
}


def refuse(tmp_path: Path, stem: str, old: str, new: str) -> SchemaError:
    paths = []
    for path in SCHEMAS:
        text = path.read_text(encoding="utf-8")
        if path.stem == stem:
            assert old in text
            text = text.replace(old, new).replace("record(first_number,", "record(number,")
        paths.append(tmp_path / path.name)
        paths[-1].write_text(text, encoding="utf-8")
    with pytest.raises(SchemaError) as caught:
        columns.generate([], load(paths, [PROJECT]))
    return caught.value


@pytest.mark.parametrize("case", REFUSALS)
def test_refusals(case: str, tmp_path: Path) -> None:
    stem, old, new, yaml_path, detail = REFUSALS[case]
    found = refuse(tmp_path, stem, old, new)
    assert found.detail.startswith(f"columns: {detail}"), found
    assert (Path(found.schema).stem, found.yaml_path) == (stem, yaml_path)
    assert found.line is not None


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
