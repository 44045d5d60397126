"""The columns of rows: which are asked for, what they are made of, keys as text, what is not copied."""

from __future__ import annotations

import itertools
import os
import subprocess
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from kafka_segments.core.formats import java_text
from kafka_segments.core.segment.columnar.arrow_schema import schema_of as schema_of_columns
from kafka_segments.errors import OptionError, TimestampRangeError
from kafka_segments.log.findings import Finding, Kind
from kafka_segments.spark.columns import RowColumns, damage_rows
from kafka_segments.spark.read_options import ReadOptions
from kafka_segments.spark.schema import HEADERS, VIEW_SCHEMAS, arrow_schema, check_schema, schema_of

LATEST = (2**63 - 1) // 1000
USUAL = ["key", "value", "topic", "partition", "offset", "timestamp", "timestampType"]


def options(**given: str) -> ReadOptions:
    return ReadOptions.parse({"path": "/a", **given})


def records(*timestamps: int, keys: tuple[bytes, ...] = ()) -> pa.RecordBatch:
    """A record for each time; the first has a header for each of the keys."""
    count = len(timestamps)
    headers: list[list[dict[str, Any]]] = [[] for _ in timestamps]
    headers[0] = [{"key": key, "value": None} for key in keys]
    columns = {
        "offset": list(range(7, 7 + count)),
        "timestamp_ms": timestamps,
        "timestamp_type": [1] * count,
        "key": [None] * count,
        "value": [b"v"] * count,
        "headers": headers,
    }
    schema = schema_of_columns(list(columns))
    arrays = [pa.array(columns[field.name], field.type) for field in schema]
    return pa.RecordBatch.from_arrays(arrays, names=list(columns))


def columns_of(given: ReadOptions) -> RowColumns:
    columns = RowColumns(arrow_schema(schema_of(given)), given.timestamp_overflow)
    columns.begin("t", 3, "/a/t-3/0.log")
    return columns


def rows_of(batch: pa.RecordBatch, **given: str) -> list[dict[str, Any]]:
    made = columns_of(options(**given)).rows(batch)
    made.validate(full=True)
    return [dict(row) for row in made.to_pylist()]


def test_usual_columns() -> None:
    assert schema_of(options()).names == USUAL
    assert schema_of(options(includeHeaders="true")).names == [*USUAL, "headers"]
    assert all(field.nullable for schema in VIEW_SCHEMAS.values() for field in schema)


def test_columns_asked_for() -> None:
    schema = schema_of(
        options(columns="OFFSET,timestampMs,leaderEpoch,producerId,producerEpoch,sequence,headers")
    )
    assert schema.simpleString() == (
        "struct<offset:bigint,timestampMs:bigint,leaderEpoch:int,producerId:bigint,producerEpoch:int,"
        "sequence:int,headers:array<struct<key:string,value:binary>>>"
    )
    with pytest.raises(
        OptionError, match=r"view records has no column timestampms2; did you mean timestampMs\?"
    ):
        schema_of(options(columns="timestampms2"))
    with pytest.raises(OptionError, match="view batches has no column key"):
        schema_of(options(view="batches", columns="key"))


def test_only_what_is_needed_is_decoded() -> None:
    assert columns_of(options(columns="topic")).sources == ["offset"]
    assert columns_of(options(columns="timestampMs,value,timestamp")).sources == [
        "offset",
        "timestamp_ms",
        "value",
    ]


def test_rows() -> None:
    assert rows_of(
        records(1000, -1), columns="topic,partition,offset,timestampMs,timestampType,key,value,damage"
    ) == [
        {
            "topic": "t",
            "partition": 3,
            "offset": offset,
            "timestampMs": time,
            "timestampType": 1,
            "key": None,
            "value": b"v",
            "damage": None,
        }
        for offset, time in ((7, 1000), (8, -1))
    ]
    assert rows_of(records(5), columns="sourceFile") == [{"sourceFile": "/a/t-3/0.log"}]


def test_types_of_timestamps_that_change_between_batches_and_inside_one() -> None:
    columns = columns_of(options(columns="timestampType"))

    def types(*stored: int) -> list[int]:
        batch = records(*[5] * len(stored))
        at = batch.schema.get_field_index("timestamp_type")
        made = columns.rows(batch.set_column(at, batch.schema.field(at), pa.array(stored, pa.int8())))
        made.validate(full=True)
        return made.column(0).to_pylist()

    for stored in ((0, 0), (1, 1, 1), (0, 1), (-1,), (1, 0, 1), (1,)):
        assert types(*stored) == list(stored)


@pytest.mark.parametrize("how", ["text", "binary"])
def test_headers_of_a_part_of_a_batch(how: str) -> None:
    keys = tuple(b"%d" % number for number in range(3))
    whole = pa.concat_batches([records(1, 2, keys=keys), records(3, 4, 5, keys=keys[:1]), records(6)])
    rows = rows_of(whole, includeHeaders="true", headerKeys=how)
    assert [len(row["headers"] or ()) for row in rows] == [3, 0, 1, 0, 0, 0]
    for start in range(7):
        for end in range(start, 7):
            part = whole.slice(start, end - start)
            assert rows_of(part, includeHeaders="true", headerKeys=how) == rows[start:end]


def test_keys_of_headers() -> None:
    good, bad = records(1, 2, keys=(b"a", "\u00e9".encode())), records(1, 2, keys=(b"a", b"\xed\xa0\x80"))
    assert [row["headers"] for row in rows_of(good, columns="headers")] == [
        [{"key": "a", "value": None}, {"key": "\u00e9", "value": None}],
        None,
    ]
    assert rows_of(bad, columns="headers")[0]["headers"][1]["key"] == "\ufffd"
    binary = rows_of(bad, columns="headers", headerKeys="binary")
    assert [row["headers"] for row in binary] == [
        [{"key": b"a", "value": None}, {"key": b"\xed\xa0\x80", "value": None}],
        None,
    ]


@pytest.mark.parametrize("time", [LATEST + 1, -LATEST - 1, 2**63 - 1, -(2**63)])
def test_timestamps_beyond_microseconds(time: int) -> None:
    batch = records(LATEST, time, -LATEST)
    with pytest.raises(TimestampRangeError, match=f"offset 8: the timestamp {time} .*timestampOverflow"):
        rows_of(batch)

    def micros(overflow: str) -> list[int | None]:
        made = columns_of(options(timestampOverflow=overflow)).rows(batch)
        return list(made.column("timestamp").view(pa.int64()).to_pylist())

    assert micros("null") == [LATEST * 1000, None, -LATEST * 1000]
    assert micros("clamp") == [LATEST * 1000, LATEST * 1000 if time > 0 else -LATEST * 1000, -LATEST * 1000]
    assert [row["timestampMs"] for row in rows_of(batch, columns="timestampMs")] == [LATEST, time, -LATEST]


def test_no_timestamp_is_the_connectors() -> None:
    """-1 is a millisecond before 1970 there, and not null."""
    made = columns_of(options(columns="timestamp")).rows(records(5, -1))
    assert made.column("timestamp").view(pa.int64()).to_pylist() == [5000, -1000]


def test_what_is_the_same_in_all_rows_is_built_once() -> None:
    columns = columns_of(options(includeHeaders="true"))
    one, two = columns.rows(records(1, 2)), columns.rows(records(3))
    for name in ("topic", "partition"):
        addresses = {batch.column(name).buffers()[-1].address for batch in (one, two)}
        assert len(addresses) == 1, name
    batch = records(1, 2)
    rows = columns.rows(batch)
    for name in ("key", "value", "offset"):
        assert rows.column(name).buffers()[-1] == batch.column(name).buffers()[-1] or (
            rows.column(name).buffers()[-1].address == batch.column(name).buffers()[-1].address
        ), name
    columns.begin("other", 4)
    assert columns.rows(batch).column("topic").to_pylist() == ["other"] * 2
    many = pa.concat_batches([batch] * 70_000)
    assert set(columns.rows(many).column("partition").to_pylist()) == {4}, "more rows than one array has"


def test_row_of_damage() -> None:
    given = options(columns="topic,partition,offset,value,damage", mode="PERMISSIVE")
    found = [Finding(Kind.LOST, "t", 3, "gone"), Finding(Kind.LOST, "u", 0, "gone", 7, 8)]
    texts = [one.message for one in found]
    (batch,) = damage_rows(found, arrow_schema(schema_of(given)), "offset")
    assert batch.to_pylist() == [
        {"topic": "t", "partition": 3, "offset": None, "value": None, "damage": texts[0]},
        {"topic": "u", "partition": 0, "offset": 7, "value": None, "damage": texts[1]},
    ]
    assert found == []
    found = [Finding(Kind.LOST, "t", 3, "gone")]
    assert [*damage_rows(found, arrow_schema(schema_of(options())), "offset"), *found] == []


def schema(name: str, kind: Any, nullable: bool = True) -> StructType:
    return StructType([StructField(name, kind, nullable)])


def test_schemas_of_users() -> None:
    check_schema(schema("OffSet", LongType(), nullable=False), options())
    check_schema(schema("timestampMs", LongType()), options())
    binary = schema_of(options(columns="headers", headerKeys="binary"))
    check_schema(binary, options())
    whole = ArrayType(HEADERS.dataType.elementType, containsNull=False)
    wrong = [
        (schema("offset", IntegerType()), {}, "column offset is bigint, not int; read it as it is"),
        (schema("key", StringType()), {}, "column key is binary, not string"),
        (schema("nothing", BinaryType()), {}, "view records has no column nothing; there are key, value"),
        (schema("value", BinaryType(), nullable=False), {}, "column value can be null; leave out NOT NULL"),
        (
            binary,
            {"headerKeys": "text"},
            "headers is array<struct<key:string,value:binary>>, not array<struct<key:bi",
        ),
        (schema("offset", LongType()), {"columns": "key"}, "give a schema or the option columns, not both"),
        (schema("key", BinaryType()), {"view": "segments"}, "view segments has no column key"),
        (StructType(), {}, "the schema has no column; name one"),
        (schema("headers", whole), {}, "column headers can have nulls inside; leave out NOT NULL"),
    ]
    for wanted, more, words in wrong:
        with pytest.raises(OptionError) as caught:
            check_schema(wanted, options(**more))
        assert words in str(caught.value)


def test_what_is_never_null_but_for_options() -> None:
    time = StructType(
        [StructField("timestamp", VIEW_SCHEMAS["records"]["timestamp"].dataType, nullable=False)]
    )
    check_schema(time, options())
    with pytest.raises(OptionError, match="timestamp can be null"):
        check_schema(time, options(timestampOverflow="null"))
    both = StructType([*schema("offset", LongType(), nullable=False), StructField("damage", StringType())])
    check_schema(both, options())
    with pytest.raises(OptionError, match="offset can be null"):
        check_schema(both, options(mode="PERMISSIVE"))


# The ends of every range in which UTF-8 treats bytes differently, and one byte beyond each.
EDGES = bytes.fromhex("00417f808f909fa0bfc0c1c2dfe0e1ecedeeeff0f1f3f4f5f8ff")


@pytest.mark.parametrize(
    ("key", "text"),
    [
        (b"", ""),
        (b"\x80", "\ufffd"),
        (b"caf\xc3", "caf\ufffd"),
        (b"\xed\xa0\x80", "\ufffd"),
        (b"\xed\xa0\x80\xed\xb0\x80", "\ufffd\ufffd"),
        (b"\xc0\xaf", "\ufffd\ufffd"),
        (b"\xff\xfe", "\ufffd\ufffd"),
        (b"a\x00b", "a\x00b"),
        ("\ufeff\U0001f600".encode(), "\ufeff\U0001f600"),
    ],
)
def test_known_keys(key: bytes, text: str) -> None:
    assert java_text(key) == text


@given(st.text())
def test_good_utf8_is_kept(text: str) -> None:
    assert java_text(text.encode()) == text


@pytest.mark.oracle
def test_replacement_is_the_jdks() -> None:
    keys = [bytes(key) for length in range(1, 5) for key in itertools.product(EDGES, repeat=length)]
    # A sequence is also cut off by what follows, not only by the end: five bytes, the last a letter.
    keys += [key + b"A" for key in keys if len(key) == 4]
    program = Path(__file__).with_name("java") / "HeaderText.java"
    java = os.path.join(os.environ["JAVA_HOME"], "bin", "java") if "JAVA_HOME" in os.environ else "java"
    lines = "".join(key.hex() + "\n" for key in keys)
    done = subprocess.run([java, str(program)], input=lines, capture_output=True, text=True, check=True)
    expected = done.stdout.splitlines()
    assert len(expected) == len(keys)
    wrong = [
        (key, text)
        for key, text in zip(keys, expected, strict=True)
        if java_text(key).encode("utf-16-be").hex() != text
    ]
    assert wrong == []
