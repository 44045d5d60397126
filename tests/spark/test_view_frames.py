"""The views that are no records, against Kafka's own reading of the recorded segments; without a JVM."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.made import build
from tests.spark import kafka_rows
from tests.spark.kafka_rows import RECORDED, TIMESTAMP_TYPES
from tests.spark.planned import batches_of, reader_of, source_of
from tests.spark.test_reader import FIRST, batches, flipped, segment

from kafka_segments.errors import ChecksumMismatchError, CorruptBatchError, DataLossError, TruncatedError

Row = dict[str, Any]
MARKS = ("kafka-4.3/clean", "kafka-2.8/clean", "kafka-0.10.2/clean", "kafka-0.9/clean")


def read(path: Path | str, **options: str) -> list[Row]:
    source = source_of(path=str(path), **options)
    wanted = source.schema()
    rows: list[Row] = []
    for batch in batches_of(source.reader(wanted)):
        batch.validate(full=True)
        assert batch.schema.names == wanted.names
        rows += batch.to_pylist()
    return rows


def kafkas(name: str, kind: str) -> list[Row]:
    """Lines of a kind with topic and partition, by Kafka's classes; from the log start offset on."""
    starts = kafka_rows.log_start_offsets(RECORDED / name)
    found = []
    for directory, files in sorted(
        kafka_rows.partitions(name).items(), key=lambda item: kafka_rows.split_name(item[0])
    ):
        where = kafka_rows.split_name(directory)
        for path in files:
            batch: Row = {}
            for line in map(json.loads, path.read_text().splitlines()):
                batch = line if line["type"] == "batch" else batch
                last = line.get("last_offset", line.get("offset"))
                if line["type"] == kind and (last is None or last >= starts.get(where, 0)):
                    found.append({"where": where, "batch": batch, **line})
    return found


def all_topics(name: str) -> str:
    """The value of `subscribe` for all topics of a set: internal ones are read only when they are named."""
    return ",".join({kafka_rows.split_name(directory)[0] for directory in kafka_rows.partitions(name)})


def of_headers(line: Row) -> Row:
    is_new = line["magic"] == 2
    return {
        "where": line["where"],
        "lastOffset": line["last_offset"],
        "maxTimestampMs": None if line["magic"] == 0 else line["max_timestamp"],
        "timestampType": TIMESTAMP_TYPES[line["timestamp_type"]],
        "magic": line["magic"],
        "compression": line["compression"],
        "crc": line["crc"],
        "position": line["position"],
        "size": line["size"],
        "baseOffset": line["base_offset"] if is_new or line["compression"] == "none" else None,
        "numRecords": line["num_records"] if is_new or line["compression"] == "none" else None,
        "baseTimestampMs": line["base_timestamp"] if is_new else None,
        "deleteHorizonMs": line["delete_horizon_ms"],
        "leaderEpoch": given(line["partition_leader_epoch"]) if is_new else None,
        "producerId": given(line["producer_id"]) if is_new else None,
        "producerEpoch": given(line["producer_epoch"]) if is_new else None,
        "baseSequence": given(line["base_sequence"]) if is_new else None,
        "isTransactional": is_new and line["is_transactional"],
        "isControl": is_new and line["is_control"],
    }


def given(value: int) -> int | None:
    """Kafka's -1 is none."""
    return None if value == -1 else value


def ours(row: Row) -> Row:
    row = {"where": (row.pop("topic"), row.pop("partition")), **row}
    path = Path(row.pop("sourceFile"))
    assert path.parent.name == "{}-{}".format(*row["where"])
    return row


@pytest.mark.parametrize("name", [*MARKS, kafka_rows.EXTREME])
@pytest.mark.parametrize("more", [{}, {"maxRecordsPerPartition": "3"}], ids=["whole", "cut"])
def test_batches(name: str, more: dict[str, str]) -> None:
    expected = [of_headers(line) for line in kafkas(name, "batch")]
    assert expected
    more = {"subscribe": all_topics(name), "failOnDataLoss": "false", **more}
    found = [ours(row) for row in read(RECORDED / name, view="batches", **more)]
    for mine, kafka in zip(found, expected, strict=True):
        assert mine == kafka


@pytest.mark.parametrize("name", MARKS[:2])
def test_control_records(name: str) -> None:
    expected = [
        {
            "where": line["where"],
            "offset": line["offset"],
            "timestampMs": line["timestamp"],
            "type": line["control"]["type"],
            "producerId": given(line["batch"]["producer_id"]),
            "producerEpoch": given(line["batch"]["producer_epoch"]),
            "leaderEpoch": given(line["batch"]["partition_leader_epoch"]),
        }
        for line in kafkas(name, "record")
        if line["control"] is not None
    ]
    assert expected
    found = [ours(row) for row in read(RECORDED / name, view="control", subscribe=all_topics(name))]
    for row in found:
        values = json.loads(row.pop("value"))
        assert row.pop("version") >= 0
        assert row.pop("typeId") >= 0
        assert (row["type"] in ("COMMIT", "ABORT")) == ("coordinator_epoch" in values)
    assert found == expected


def test_transactions_that_nobody_is_given() -> None:
    path = RECORDED / "kafka-4.3/clean/transactions-0"
    rows = read(path, view="aborted")
    assert {row["state"] for row in rows} == {"aborted"}
    assert all(row["firstOffset"] <= row["lastOffset"] for row in rows)
    everything = [row["offset"] for row in read(path, columns="offset")]
    committed = [row["offset"] for row in read(path, columns="offset", isolationLevel="read_committed")]
    void = {
        offset
        for batch in read(path, view="batches")
        for row in rows
        if batch["producerId"] == row["producerId"]
        and row["firstOffset"] <= batch["baseOffset"] <= row["lastOffset"]
        for offset in range(batch["baseOffset"], batch["lastOffset"] + 1)
    }
    assert void.intersection(everything)
    assert committed == [offset for offset in everything if offset not in void]


def test_open_transaction_is_told(tmp_path: Path) -> None:
    begun = build.batch(1, [build.record()], attributes=16, producer_id=7, producer_epoch=0, base_sequence=0)
    path = segment(tmp_path / "t-0", 0, *batches(0), begun, *batches(2))
    (row,) = read(path, view="aborted")
    assert (row["producerId"], row["firstOffset"], row["state"]) == (7, 1, "open")


def test_segments() -> None:
    path = RECORDED / "kafka-4.3/clean/multi-0"
    files = sorted(path.glob("*.log"))
    rows = read(path, view="segments")
    assert [row["sourceFile"] for row in rows] == list(map(str, files))
    assert [row["baseOffset"] for row in rows] == [int(file.stem) for file in files]
    assert [row["size"] for row in rows] == [file.stat().st_size for file in files]
    assert [row["isNewest"] for row in rows] == [False, True]
    assert [row["endOffset"] for row in rows] == [int(files[1].stem), None]
    assert [row["modified"].timestamp() for row in rows] == pytest.approx(
        [file.stat().st_mtime for file in files]
    )
    assert all(row["beside"].startswith("index,") and row["form"] == "plain" for row in rows)
    late = json.dumps({"multi": {"0": int(files[1].stem) + 1}})
    (only,) = read(path, view="segments", startingOffsets=late)
    assert (only["startOffset"], only["sourceFile"]) == (int(files[1].stem) + 1, str(files[1]))


def test_damage(tmp_path: Path) -> None:
    one, two, three = batches(0, 1, 2)
    path = segment(tmp_path / "t-4", 0, one, flipped(two), three)
    segment(path, 5, batches(5)[0], batches(6)[0][:-3])
    found = read(path, view="damage")
    assert [(row["kind"], row["firstOffset"]) for row in found] == [
        ("damage", 1),
        ("lost", 3),
        ("pending", 6),
    ]
    damage = next(row for row in found if row["kind"] == "damage")
    assert (damage["topic"], damage["partition"], damage["error"]) == ("t", 4, "ChecksumMismatchError")
    assert (damage["position"], damage["endPosition"]) == (len(one), len(one + two))
    assert damage["sourceFile"] == str(path / FIRST)
    assert "offsets lost: 1 to 1" in damage["message"]
    assert read(segment(tmp_path / "u-0", 0, one), view="damage") == []


def test_damage_of_headers(tmp_path: Path) -> None:
    """The view `batches` looks at no checksum; what has no sound header is damage by the same table."""
    one, two, three = batches(0, 1, 2)
    path = segment(tmp_path / "t-4", 0, one, build.patched(two, 16, b"\x09"), three)
    segment(path, 3, batches(3)[0], batches(4)[0][:-3])
    with pytest.raises((CorruptBatchError, ChecksumMismatchError, TruncatedError, ValueError)):
        read(path, view="batches")
    assert [row["baseOffset"] for row in read(path, view="batches", mode="DROPMALFORMED")] == [0, 2, 3]
    told = read(path, view="batches", mode="PERMISSIVE", columns="baseOffset,damage")
    assert [(row["baseOffset"], row["damage"] is None) for row in told] == [
        (0, True),
        (1, False),
        (2, True),
        (3, True),
    ]


def test_batches_of_a_file_that_went_away(tmp_path: Path) -> None:
    path = segment(tmp_path / "t-4", 0, *batches(0))
    reader = reader_of(path=str(path), view="batches")
    (task,) = reader.partitions()
    (path / FIRST).unlink()
    with pytest.raises(DataLossError, match="no segment has them now"):
        list(reader.read(task))
