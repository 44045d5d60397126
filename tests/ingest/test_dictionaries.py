"""Which columns of a Parquet file get a dictionary: those whose values repeat, by Parquet's own paths."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kafka_segments.core.segment.columnar.arrow_schema import SCHEMA
from kafka_segments.ingest.files.layouts import LAYOUTS
from kafka_segments.ingest.files.parquet import ParquetFile, _leaves, repeating_columns

SCHEMAS = {None: SCHEMA} | {name: pa.schema([one.field for one in own]) for name, own in LAYOUTS.items()}


@pytest.mark.parametrize("layout", SCHEMAS)
def test_paths_are_those_of_parquet(layout: str | None, tmp_path: Path) -> None:
    schema = SCHEMAS[layout]
    pq.write_table(schema.empty_table(), tmp_path / "x.parquet")
    found = pq.ParquetFile(tmp_path / "x.parquet").schema
    columns = zip(schema.names, schema.empty_table().columns, strict=True)
    paths = [path for name, column in columns for path, _ in _leaves(name, column.combine_chunks())]
    assert paths == [found.column(at).path for at in range(len(found))]


def test_values_that_repeat() -> None:
    rows = pa.table(
        {
            "different": pa.array(range(100)),
            "half": pa.array([number // 2 for number in range(100)]),
            "null": pa.array([None] * 100, pa.binary()),
            "headers": pa.array(
                [[{"key": b"trace", "value": b"%d" % number}] for number in range(100)],
                pa.list_(pa.struct([("key", pa.binary()), ("value", pa.binary())])),
            ),
            "map": pa.array([[("trace", number)] for number in range(100)], pa.map_(pa.string(), pa.int64())),
            "struct": [{"one": 1, "all": number} for number in range(100)],
        }
    )
    repeating = ["half", "null", "headers.list.element.key", "map.key_value.key", "struct.one"]
    assert repeating_columns(rows) == repeating
    assert repeating_columns(rows.slice(4)) == repeating
    assert repeating_columns(rows.slice(0, 1)) == ["null"]


def test_files_have_dictionaries_just_there(tmp_path: Path) -> None:
    dice = random.Random(1)
    schema = pa.schema([("offset", pa.int64()), ("key", pa.binary()), ("value", pa.binary())])
    keys = [b"key-%d" % (number % 50) for number in range(5000)]
    values = [dice.randbytes(40) for _ in keys]
    with ParquetFile(str(tmp_path / "x.parquet"), schema) as file:
        file.write(pa.record_batch([range(5000), keys, values], schema=schema))
    group = pq.read_metadata(tmp_path / "x.parquet").row_group(0)
    has = {group.column(at).path_in_schema: group.column(at).has_dictionary_page for at in range(3)}
    assert has == {"offset": False, "key": True, "value": False}
    assert pq.read_table(tmp_path / "x.parquet")["value"].to_pylist() == values
