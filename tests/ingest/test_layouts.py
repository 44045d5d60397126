"""Layouts: columns are those that each system publishes, rows are those of Kafka, in each kind of table."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset
import pytest
from tests.ingest import lakes
from tests.ingest.ingested import PARTITIONS, Run, not_internal
from tests.made import build
from tests.made.directories import append, run_of
from tests.spark import kafka_rows

from kafka_segments.cli.main import main

CLEAN = kafka_rows.RECORDED / "kafka-4.3/clean"
HEADERS = (
    "headers list optional, headers.element struct optional, headers.element.key string optional, "
    "headers.element.value binary optional"
)
PUBLISHED = {
    # apache/spark at 14b307e5434f, connector/kafka-0-10-sql, KafkaRecordToRowConverter: schemaWithoutHeaders
    "connector": "key binary optional, value binary optional, topic string optional, partition int optional, "
    "offset long optional, timestamp timestamptz optional, timestampType int optional",
    # redpanda-data/redpanda, src/v/datalake/table_definition.h at 3a5ea3a06f50 (all fields are optional:
    # schema_descriptor.h), and key_value_translator::build_type in record_translator.cc at 2b814f55b958
    "redpanda": "redpanda struct optional, redpanda.partition int optional, redpanda.offset long optional, "
    "redpanda.timestamp timestamptz optional, redpanda.headers list optional, "
    "redpanda.headers.element struct optional, redpanda.headers.element.key string optional, "
    "redpanda.headers.element.value binary optional, redpanda.key binary optional, "
    "redpanda.timestamp_type int optional, value binary optional",
    # AutoMQ/automq at f1ce98ec8981, core/src/main/java/kafka/automq/table/process/RecordAssembler.java and
    # DefaultRecordProcessor.java; Avro's map has required values (AvroSchemaUtil.toIceberg)
    "automq": "_kafka_value binary optional, _kafka_header map optional, _kafka_header.key string required, "
    "_kafka_header.value binary required, _kafka_key string optional, _kafka_metadata struct optional, "
    "_kafka_metadata.partition int required, _kafka_metadata.offset long required, "
    "_kafka_metadata.timestamp long required",
}
PUBLISHED["aiven"] = (
    # Aiven-Open/tiered-storage-for-apache-kafka at 8fb15816df2d, iceberg/data/RowSchema.java, with what
    # IcebergRemoteStorageManager.getSchema has for a topic without one
    "kafka struct required, kafka.partition int required, kafka.offset long required, "
    "kafka.timestamp long required, kafka.batch_byte_offset int required, "
    "kafka.batch_base_offset long required, kafka.batch_partition_leader_epoch int required, "
    "kafka.batch_magic int required, kafka.batch_timestamp_type int required, "
    "kafka.batch_compression_type int required, kafka.batch_max_timestamp long required, "
    "kafka.batch_producer_id long required, kafka.batch_producer_epoch int required, "
    "kafka.batch_base_sequence int required, headers list required, headers.element struct required, "
    "headers.element.key string required, headers.element.value binary required, "
    "key binary optional, key_raw binary optional, value binary optional, value_raw binary optional"
)
PUBLISHED["connector-headers"] = f"{PUBLISHED['connector']}, {HEADERS}"  # schemaWithHeaders


def flat(schema: Any) -> str:
    """The columns of an Iceberg schema, each struct, list and map before what is in it."""
    found = []

    def walk(above: str, fields: Any) -> None:
        for field in fields:
            name, kind = f"{above}{field.name}", field.field_type
            word = str(kind) if kind.is_primitive else type(kind).__name__.removesuffix("Type").lower()
            found.append(f"{name} {word} {'required' if field.required else 'optional'}")
            parts = ("element_field", "key_field", "value_field")
            inner = [getattr(kind, part) for part in parts if hasattr(kind, part)]
            walk(f"{name}.", inner or getattr(kind, "fields", ()))

    walk("", schema.fields)
    return ", ".join(found)


def of_iceberg(out: Path) -> pa.Table:
    """By polars: pyiceberg 0.12 makes empty lists of null ones when it reads."""
    polars = pytest.importorskip("polars", "2.1")  # 2.0 finds no field ids with pyarrow 18
    return polars.scan_iceberg(lakes.iceberg(out)).collect().to_arrow()


def of_delta(out: Path) -> pa.Table:
    return lakes.delta(out).to_pyarrow_table()


def of_parquet(out: Path) -> pa.Table:
    partitioning = pyarrow.dataset.partitioning(PARTITIONS, flavor="hive")
    return pyarrow.dataset.dataset(out, partitioning=partitioning).to_table()


@pytest.fixture(autouse=True)
def planner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLARS_ICEBERG_PLANNER", "pyiceberg")  # polars' own one is a package of its own


READERS: dict[str, Callable[[Path], pa.Table]] = {
    "parquet": of_parquet, "delta": of_delta, "iceberg": of_iceberg,
}  # fmt: skip


@pytest.mark.parametrize("layout", PUBLISHED)
def test_columns_are_those_that_are_published(ingest: Run, tmp_path: Path, layout: str) -> None:
    pytest.importorskip("pyiceberg")
    logs = append(tmp_path / "logs" / "t-0", *run_of(0, 3)).parent
    status, _, err = ingest(logs, tmp_path / "out", "--table", "iceberg", "--layout", layout)
    assert status == 0, err
    assert flat(lakes.iceberg(tmp_path / "out").schema()) == PUBLISHED[layout]


@pytest.mark.parametrize("kind", READERS)
def test_rows_of_the_connector(ingest: Run, audit: Run, tmp_path: Path, kind: str) -> None:
    out = tmp_path / "out"
    status, _, err = ingest(CLEAN, out, "--table", kind, "--layout", "connector-headers")
    assert status == 0, err
    rows = kafka_rows.of_arrow(READERS[kind](out))
    rows.sort(key=lambda row: (row.topic, row.partition, row.offset))
    assert rows == not_internal(kafka_rows.rows("kafka-4.3/clean"))
    status, _, err = audit(out, CLEAN)
    assert status == 0, err


def of_redpanda(topic: str, row: dict[str, Any]) -> kafka_rows.Row:
    own = row["redpanda"]
    headers = own["headers"]
    micros = round(own["timestamp"].timestamp() * 1000) * 1000
    return kafka_rows.Row(
        own["key"], row["value"], topic, own["partition"], own["offset"], micros, own["timestamp_type"],
        None if headers is None else tuple((one["key"], one["value"]) for one in headers),
    )  # fmt: skip


@pytest.mark.parametrize("kind", READERS)
@pytest.mark.parametrize("topic", ["shapes", "multi", "bad-utf8"])
def test_rows_of_redpanda(ingest: Run, audit: Run, tmp_path: Path, kind: str, topic: str) -> None:
    out = tmp_path / "out"
    words = ("--table", kind, "--layout", "redpanda", "--subscribe", topic, "--divide-by", "hour")
    status, _, err = ingest(CLEAN, out, *words)
    assert status == 0, err
    rows = [of_redpanda(topic, row) for row in READERS[kind](out).to_pylist()]
    expected = [row for row in kafka_rows.rows("kafka-4.3/clean") if row.topic == topic]
    assert sorted(rows, key=lambda row: (row.partition, row.offset)) == expected
    status, _, err = audit(out, CLEAN)
    assert status == 0, err
    assert main(["compact", "--engine", "local", str(out)]) == 0
    assert len(READERS[kind](out)) == len(rows)


@pytest.mark.parametrize("kind", READERS)
def test_rows_of_automq(ingest: Run, audit: Run, tmp_path: Path, kind: str) -> None:
    """A map has the last of several values; without key and value there is an empty one."""
    headers = ((b"a", b"1"), (b"b", b"2"), (b"a", b"3"))
    records = [
        build.record(0, b"k", b"v", headers),
        build.record(1, None, None),
        build.record(2, b"caf\xc3", b"", ((b"c", b""),)),
    ]
    logs = append(tmp_path / "logs" / "t-3", build.batch(0, records, base_timestamp=7)).parent
    out = tmp_path / "out"
    status, _, err = ingest(logs, out, "--table", kind, "--layout", "automq")
    assert status == 0, err
    table = lakes.iceberg(out).scan().to_arrow() if kind == "iceberg" else READERS[kind](out)
    rows = table.select(["_kafka_value", "_kafka_header", "_kafka_key", "_kafka_metadata"])
    assert [tuple(row.values()) for row in rows.to_pylist()] == [
        (b"v", [("b", b"2"), ("a", b"3")], "k", {"partition": 3, "offset": 0, "timestamp": 7}),
        (b"", [], "", {"partition": 3, "offset": 1, "timestamp": 7}),
        (b"", [("c", b"")], "caf\ufffd", {"partition": 3, "offset": 2, "timestamp": 7}),
    ]
    status, _, err = audit(out, logs)
    assert status == 0, err


OF_AIVEN = ("codec-zstd", "transactions", "compact-multi", "multi", "idempotent")


@pytest.mark.parametrize(
    ("kind", "topic"), [*(("parquet", topic) for topic in OF_AIVEN), ("delta", "multi"), ("iceberg", "multi")]
)
def test_rows_of_aiven(ingest: Run, audit: Run, tmp_path: Path, kind: str, topic: str) -> None:
    """Each record has the header of its batch, as Kafka's own reader gives both."""
    out = tmp_path / "out"
    status, _, err = ingest(CLEAN, out, "--table", kind, "--layout", "aiven", "--subscribe", topic)
    assert status == 0, err
    found = READERS[kind](out).to_pylist()
    found.sort(key=lambda row: (row["kafka"]["partition"], row["kafka"]["offset"]))
    expected = list(of_aiven(topic))
    assert [row["kafka"] for row in found] == [own for own, _ in expected]
    raw = [(row["key_raw"], row["value_raw"], row["key"], row["value"]) for row in found]
    assert raw == [(record.key, record.value, None, None) for _, record in expected]
    headers = [tuple((one["key"], one["value"]) for one in row["headers"]) for row in found]
    assert headers == [record.headers or () for _, record in expected]
    assert audit(out, CLEAN)[0] == 0


def of_aiven(topic: str) -> Iterator[tuple[dict[str, int], kafka_rows.Row]]:
    """The records of a topic with the batches that hold them, of Kafka's own lines."""
    records = {
        (row.partition, row.offset): row for row in kafka_rows.rows("kafka-4.3/clean") if row.topic == topic
    }
    codecs = ["none", "gzip", "snappy", "lz4", "zstd"]
    for directory, files in kafka_rows.partitions("kafka-4.3/clean").items():
        name, partition = kafka_rows.split_name(directory)
        batches = [line for path in files for line in map(json.loads, path.read_text().splitlines())]
        batches = [line for line in batches if line["type"] == "batch"] if name == topic else []
        for line in batches:
            for offset in range(line["base_offset"], line["last_offset"] + 1):
                if (partition, offset) not in records:
                    continue
                own = records[partition, offset]
                head = {
                    "partition": partition, "offset": offset, "timestamp": own.timestamp // 1000,
                    "batch_byte_offset": line["position"], "batch_base_offset": line["base_offset"],
                    "batch_partition_leader_epoch": line["partition_leader_epoch"], "batch_magic": 2,
                    "batch_timestamp_type": own.timestamp_type,
                    "batch_compression_type": codecs.index(line["compression"]),
                    "batch_max_timestamp": line["max_timestamp"], "batch_producer_id": line["producer_id"],
                    "batch_producer_epoch": line["producer_epoch"],
                    "batch_base_sequence": line["base_sequence"],
                }  # fmt: skip
                yield head, own


def test_batches_that_runs_and_files_divide(ingest: Run, tmp_path: Path) -> None:
    """A run that begins within a batch has its header, too; headers of many batches are joined in order."""
    logs = append(tmp_path / "logs" / "t-0", *run_of(0, 3000)).parent
    out, to = tmp_path / "out", ("--layout", "aiven")
    assert ingest(logs, out, *to, "-o", 'endingOffsets={"t":{"0":1000}}')[0] == 0
    assert ingest(logs, out, *to)[0] == 0
    found = sorted((row["offset"], row["batch_base_offset"]) for row in of_parquet(out)["kafka"].to_pylist())
    assert found == [(offset, offset // 3 * 3) for offset in range(3000)]


def test_messages_that_are_in_no_batch(ingest: Run, tmp_path: Path) -> None:
    status, _, err = ingest(kafka_rows.RECORDED / "kafka-0.9/clean", tmp_path / "out", "--layout", "aiven")
    assert (status, "a message of magic 0 or 1" in err) == (2, True)


@pytest.mark.parametrize("layout", ["aiven", "automq"])
def test_a_header_without_value(ingest: Run, tmp_path: Path, layout: str) -> None:
    records = [build.record(0), build.record(1, headers=((b"a", None),))]
    logs = append(tmp_path / "logs" / "t-0", build.batch(0, records)).parent
    status, _, err = ingest(logs, tmp_path / "out", "--layout", layout)
    assert (status, "offset 1: a header's value is null" in err) == (2, True)
    assert not (tmp_path / "out").exists()


def test_messages_without_a_timestamp(ingest: Run, tmp_path: Path) -> None:
    """Redpanda has no type for them, and Kafka's -1 is a time there."""
    out = tmp_path / "out"
    logs = kafka_rows.RECORDED / "kafka-0.9/clean"
    topic = next(row.topic for row in not_internal(kafka_rows.rows("kafka-0.9/clean")))
    assert ingest(logs, out, "--layout", "redpanda", "--subscribe", topic)[0] == 0
    own = of_parquet(out)["redpanda"].combine_chunks()
    assert own.field("timestamp_type").null_count == len(own) > 0
    assert set(own.field("timestamp").cast(pa.int64()).to_pylist()) == {-1000}


def test_a_table_of_one_topic(ingest: Run, tmp_path: Path) -> None:
    pytest.importorskip("pyiceberg")
    for name in ("a-0", "b-0"):
        append(tmp_path / "logs" / name, *run_of(0, 3))
    words = (tmp_path / "logs", tmp_path / "out", "--table", "iceberg", "--layout", "redpanda")
    status, _, err = ingest(*words)
    assert (status, "can hold only one, but there are a, b" in err) == (2, True)
    assert ingest(*words, "--subscribe", "a")[0] == 0
    status, _, err = ingest(*words, "--subscribe", "b")
    assert (status, "can hold only one, but there are a, b" in err) == (2, True)


def test_a_layout_is_kept(ingest: Run, tmp_path: Path) -> None:
    logs = append(tmp_path / "logs" / "t-0", *run_of(0, 3)).parent
    assert ingest(logs, tmp_path / "out", "--layout", "redpanda")[0] == 0
    for words in ((), ("--layout", "connector")):
        status, _, err = ingest(logs, tmp_path / "out", *words)
        assert (status, "it was written with --layout redpanda" in err) == (2, True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--layout", "tableflow"), "the topic's schema in a registry"),
        (("--layout", "avro"), "there is no layout avro; give connector, "),
        (("--layout", "connector", "-o", "columns=offset"), "use it without the option columns"),
    ],
)
def test_layouts_that_are_refused(ingest: Run, tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    logs = append(tmp_path / "logs" / "t-0", *run_of(0, 3)).parent
    status, _, err = ingest(logs, tmp_path / "out", *words)
    assert (status, message in err) == (2, True), err
