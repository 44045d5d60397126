"""One schema of a record for `read_table`, `scan` and `ingest`; the Spark source has the connector's."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from tests.ingest.ingested import locally
from tests.spark import kafka_rows
from tools.tables import WORDS

from kafka_segments import read_table, scan
from kafka_segments.core.segment.columnar.arrow_schema import FURTHER, OF_PARTITION, SCHEMA, schema_of
from kafka_segments.spark.columns import SOURCES
from kafka_segments.spark.schema import VIEW_SCHEMAS, arrow_schema

OLD = kafka_rows.RECORDED / "kafka-0.9/clean"
NEW = kafka_rows.RECORDED / "kafka-4.3/clean"

# Our column, its type and null, then the Spark source's: all that differs is what Spark's connector has.
COLUMNS = [
    ("topic", "string not null", "topic", "string"),
    ("partition", "int32 not null", "partition", "int32"),
    ("offset", "int64 not null", "offset", "int64"),
    ("timestamp", "timestamp[ms, tz=UTC]", "timestamp", "timestamp[us, tz=UTC]"),
    ("timestamp_type", "int8 not null", "timestampType", "int32"),
    ("key", "binary", "key", "binary"),
    ("value", "binary", "value", "binary"),
    (
        "headers",
        "list<item: struct<key: binary not null, value: binary>> not null",
        "headers",
        "list<element: struct<key: string, value: binary>>",
    ),
    ("timestamp_ms", "int64 not null", "timestampMs", "int64"),
    ("leader_epoch", "int32", "leaderEpoch", "int32"),
    ("producer_id", "int64", "producerId", "int64"),
    ("producer_epoch", "int32", "producerEpoch", "int32"),
    ("sequence", "int32", "sequence", "int32"),
]


def described(field: pa.Field) -> str:
    return f"{field.type}{'' if field.nullable else ' not null'}"


def test_every_column_has_one_type_and_the_connectors_differ_as_listed() -> None:
    ours = pa.schema([*OF_PARTITION, *schema_of([*SCHEMA.names, "timestamp_ms", *FURTHER.names])])
    assert [(field.name, described(field)) for field in ours] == [row[:2] for row in COLUMNS]
    assert list(WORDS["columns"]) == ours.names
    sparks = arrow_schema(VIEW_SCHEMAS["records"])
    assert {name: described(sparks.field(name)) for _, _, name, _ in COLUMNS} == {
        name: kind for _, _, name, kind in COLUMNS
    }
    assert set(sparks.names) - {row[2] for row in COLUMNS} == {"sourceFile", "damage"}
    by_name = {name.lower(): ours for ours, _, name, _ in COLUMNS if ours not in OF_PARTITION.names}
    # The source's timestamp is made of the number, of which the connector makes 1969-12-31 where it is -1.
    assert by_name | {"timestamp": "timestamp_ms"} == SOURCES


@pytest.mark.parametrize("directory", [OLD / "codec-gzip-0", NEW / "shapes-0"], ids=lambda path: path.name)
def test_readers_and_files_have_the_schema(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, directory: Path
) -> None:
    (segment,) = directory.glob("*.log")
    assert locally(capsys)(directory, tmp_path / "out")[0] == 0
    (file,) = (tmp_path / "out").glob("topic=*/partition=0/*.parquet")
    assert read_table(segment).schema == pyarrow.parquet.ParquetFile(file).read().schema == SCHEMA
    assert scan(directory).read_all().schema == pa.schema([*OF_PARTITION, *SCHEMA])
