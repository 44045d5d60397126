"""Iceberg tables in catalogs of pyiceberg's configuration, which others have made and write to."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.ingest.ingested import Run
from tests.ingest.test_rewind import rewind
from tests.made.directories import append, run_of

from kafka_segments.cli.main import main

catalogs = pytest.importorskip("pyiceberg.catalog")
schemas = pytest.importorskip("pyiceberg.schema")
types = pytest.importorskip("pyiceberg.types")


NAMED = ("--table", "iceberg", "--catalog", "lake", "--identifier", "kafka.history")


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A catalog, and the name `lake` for it in the environment, as pyiceberg reads it."""
    settings = {
        "type": "sql", "uri": f"sqlite:///{tmp_path}/lake.db", "warehouse": f"file://{tmp_path}/warehouse",
    }  # fmt: skip
    catalog = catalogs.load_catalog("lake", **settings)
    known = catalogs._ENV_CONFIG.config.setdefault("catalog", {})  # read once, when it is imported
    monkeypatch.setitem(known, "lake", settings)
    return catalog


def offsets(lake: Any) -> list[int]:
    return sorted(lake.load_table("kafka.history").scan().to_arrow()["offset"].to_pylist())


def test_a_table_of_a_catalog(ingest: Run, audit: Run, lake: Any, logs: Path, tmp_path: Path) -> None:
    lake.create_namespace("kafka")
    for end in (9, 12):
        status, _, err = ingest(logs, tmp_path / "out", *NAMED)
        assert status == 0, err
        append(logs / "t-0", *run_of(end, end + 3))
    assert offsets(lake) == list(range(12))
    assert lake.load_table("kafka.history").location().startswith(f"file://{tmp_path}/warehouse")
    assert main(["compact", "--engine", "local", str(tmp_path / "out")]) == 0
    assert offsets(lake) == list(range(12))
    status, _, err = audit(tmp_path / "out", logs)
    assert status == 0, err
    status, _, err = ingest(logs, tmp_path / "out", "--table", "iceberg")
    assert (status, "--catalog and --identifier lake, kafka.history" in err) == (2, True)


def test_two_destinations_in_one_table(ingest: Run, lake: Any, logs: Path, tmp_path: Path) -> None:
    """Each has runs of its own."""
    lake.create_namespace("kafka")
    append(tmp_path / "more" / "u-0", *run_of(0, 3))
    assert ingest(logs, tmp_path / "out", *NAMED)[0] == 0
    assert ingest(tmp_path / "more", tmp_path / "other", *NAMED)[0] == 0
    assert offsets(lake) == sorted([*range(9), *range(3)])


def test_audits_of_two_destinations_in_one_table(
    ingest: Run, audit: Run, lake: Any, logs: Path, tmp_path: Path
) -> None:
    """Files of the other one are left out."""
    test_two_destinations_in_one_table(ingest, lake, logs, tmp_path)
    for name, source, key in (("out", "logs", ("t", 0)), ("other", "more", ("u", 0))):
        status, rows, err = audit(tmp_path / name, tmp_path / source)
        assert (status, err, rows.keys()) == (0, "", {key, ("total", -1)})


def test_rewinds_of_two_destinations_in_one_table(
    ingest: Run, lake: Any, logs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake.create_namespace("kafka")
    append(tmp_path / "more" / "t-0", *run_of(100, 103, b"other"), base_offset=100)
    out, other = tmp_path / "out", tmp_path / "other"
    assert ingest(logs, out, *NAMED)[0] == 0
    assert ingest(tmp_path / "more", other, *NAMED)[0] == 0

    status, err = rewind(capsys, out, "t-0", "--to-offset", "0")
    assert (status, offsets(lake)) == (0, [100, 101, 102]), err
    assert ingest(logs, out, *NAMED)[0] == 0
    table = lake.load_table("kafka.history")
    table.overwrite(table.scan().to_arrow())
    status, err = rewind(capsys, out, "t-0", "--to-offset", "0")
    assert (status, f"have 0, and others elsewhere, such as {tmp_path}/warehouse/" in err) == (2, True), err
    assert offsets(lake) == [*range(9), 100, 101, 102]


def test_files_that_others_have_written_elsewhere(
    ingest: Run, audit: Run, lake: Any, logs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """They are below the table's location, which is not that of the data files of runs."""
    test_a_table_of_a_catalog(ingest, audit, lake, logs, tmp_path)
    table = lake.load_table("kafka.history")
    table.overwrite(table.scan().to_arrow())
    status, rows, err = audit(tmp_path / "out", logs)
    assert (status, rows["t", 0]["records"]) == (0, "12"), err
    assert main(["compact", "--engine", "local", str(tmp_path / "out")]) == 0
    assert "1 files that others have written are left alone: they are not below" in capsys.readouterr().err
    assert offsets(lake) == list(range(12))


def test_a_rewind_that_others_have_overtaken_in_a_catalog(
    ingest: Run, audit: Run, lake: Any, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """Others may have rows of the same offsets there: the message says what to delete and to set."""
    test_a_table_of_a_catalog(ingest, audit, lake, logs, tmp_path)

    def overwrite() -> None:
        table = lake.load_table("kafka.history")
        table.overwrite(table.scan().to_arrow())

    others = pytest.importorskip("tests.ingest.test_overtaken")
    others.overtake(monkeypatch, others.ICEBERG, overwrite)
    assert main(["rewind", "--engine", "local", str(tmp_path / "out"), "t-0", "--to-offset", "9"]) == 3
    said = re.search(r"where \((.*)\), set the table's property (\S+) to (\d+)", capsys.readouterr().err)
    assert said is not None
    assert said[1] == "topic = 't' AND partition = 0 AND offset >= 9"
    assert ingest(logs, tmp_path / "out", *NAMED)[0] == 3, "until that is done"
    lake.load_table("kafka.history").delete(said[1])
    lake.load_table("kafka.history").transaction().set_properties({said[2]: said[3]}).commit_transaction()
    assert ingest(logs, tmp_path / "out", *NAMED)[0] == 0
    assert offsets(lake) == list(range(15))


def made(lake: Any, **more: Any) -> Any:
    """A table that another has made, with the columns of ours that are asked for."""
    lake.create_namespace("kafka")
    fields = {
        "topic": types.StringType(), "partition": types.IntegerType(), "offset": types.LongType(),
        "timestamp": types.TimestamptzType(), **more,
    }  # fmt: skip
    names = enumerate(fields.items(), 1)
    schema = schemas.Schema(*(types.NestedField(at, name, kind) for at, (name, kind) in names))
    return lake.create_table("kafka.history", schema)


COLUMNS = ("-o", "columns=offset,timestamp")


def test_a_table_of_others(ingest: Run, lake: Any, logs: Path, tmp_path: Path) -> None:
    made(lake, note=types.StringType())
    status, _, err = ingest(logs, tmp_path / "out", *NAMED, *COLUMNS)
    assert status == 0, err
    found = lake.load_table("kafka.history").scan().to_arrow()
    assert set(found["topic"].to_pylist()) == {"t"}
    assert found["note"].null_count == 9


def test_a_table_that_lacks_a_column(ingest: Run, lake: Any, logs: Path, tmp_path: Path) -> None:
    made(lake)
    status, _, err = ingest(logs, tmp_path / "out", *NAMED)
    assert (status, "more columns: headers" in err) == (2, True)
    assert not (tmp_path / "out").exists()


def test_a_table_with_another_type(ingest: Run, lake: Any, logs: Path, tmp_path: Path) -> None:
    made(lake, key=types.StringType())
    status, _, err = ingest(logs, tmp_path / "out", *NAMED, "-o", "columns=offset,timestamp,key")
    assert (status, "its column key is of type string, but this run writes binary" in err) == (2, True)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("transform", ["hour", "month"])
def test_a_table_divided_by_time(ingest: Run, lake: Any, logs: Path, tmp_path: Path, transform: str) -> None:
    with made(lake).update_spec() as update:
        update.add_field("timestamp", transform)
    status, _, err = ingest(logs, tmp_path / "out", *NAMED, *COLUMNS)
    assert (status, "give --divide-by" in err) == (2, True)
    assert ingest(logs, tmp_path / "out", *NAMED, *COLUMNS, "--divide-by", "hour")[0] == 0
    assert offsets(lake) == list(range(9))


def test_a_table_divided_by_what_files_do_not_follow(
    ingest: Run, lake: Any, logs: Path, tmp_path: Path
) -> None:
    with made(lake).update_spec() as update:
        update.add_field("offset", "bucket[16]")
    status, _, err = ingest(logs, tmp_path / "out", *NAMED, *COLUMNS)
    assert (status, "bucket[16](offset)" in err) == (2, True)


def test_a_table_that_redpanda_has_made(ingest: Run, lake: Any, logs: Path, tmp_path: Path) -> None:
    """One with its columns, divided by the hour of the time in its struct, as is its default."""
    redpanda = ("--table", "iceberg", "--layout", "redpanda", "--divide-by", "hour")
    assert ingest(logs, tmp_path / "model", *redpanda)[0] == 0
    uri = f"sqlite:///{tmp_path}/model/_kafka_segments/catalog.db"
    model = catalogs.load_catalog("kafka_segments", type="sql", uri=uri).load_table("kafka.records")
    lake.create_namespace("kafka")
    table = lake.create_table("kafka.history", model.schema())
    table.append(
        model.scan().to_arrow()
    )  # a live feed; before the division, which pyiceberg alone cannot write
    with table.update_spec() as update:
        update.add_field("redpanda.timestamp", "hour", "redpanda_timestamp_hour")
    status, _, err = ingest(logs, tmp_path / "out", *NAMED, *redpanda[2:])
    assert status == 0, err
    table = lake.load_table("kafka.history")
    found = table.scan().to_arrow()["redpanda"].combine_chunks().field("offset").to_pylist()
    assert sorted(found) == sorted([*range(9), *range(9)])
    assert table.scan("redpanda.timestamp < '2020-01-01T00:00:00+00:00'").count() == 0


def test_what_does_not_go_together(ingest: Run, lake: Any, logs: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    for words, message in (
        (NAMED[2:], "are for --table iceberg"),
        (NAMED[:4], "must be given together"),
        ((*NAMED[:4], "--identifier", "history"), "must be given together"),
        ((*NAMED[:3], "nowhere", *NAMED[4:]), "the Iceberg table cannot be used"),
    ):
        status, _, err = ingest(logs, out, *words)
        assert (status, message in err) == (2, True), err
    status, _, err = ingest(logs, out, *NAMED)
    assert (status, "the catalog has no namespace kafka: create it" in err) == (2, True)
    assert not out.exists()


def test_a_commit_removes_no_file_elsewhere_that_metadata_name(
    ingest: Run, lake: Any, logs: Path, tmp_path: Path
) -> None:
    lake.create_namespace("kafka")
    assert ingest(logs, tmp_path / "out", *NAMED)[0] == 0
    victim, table = tmp_path / "victim.json", lake.load_table("kafka.history")
    victim.touch()
    path = Path(table.metadata_location.removeprefix("file://"))
    content = json.loads(path.read_text())
    own = content["metadata-log"][0]["metadata-file"]
    content["properties"]["write.metadata.previous-versions-max"] = "1"
    log = content["metadata-log"]
    log += [{"metadata-file": f"{start}{victim}", "timestamp-ms": 1} for start in ("file://", "")]
    log.append({"metadata-file": f"{table.location()}/../../../victim.json", "timestamp-ms": 1})
    path.write_text(json.dumps(content))
    append(logs / "t-0", *run_of(9, 12))
    status, _, err = ingest(logs, tmp_path / "out", *NAMED)
    assert (status, victim.exists()) == (0, True), err
    assert not Path(own.removeprefix("file://")).exists(), "old metadata of the table itself go"


@pytest.mark.parametrize("verb", [["compact"], ["rewind", "t:all", "--to-offset", "0"]])
def test_a_table_of_a_catalog_that_a_run_names_alone(
    ingest: Run, lake: Any, logs: Path, tmp_path: Path, verb: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Who writes a run's file may name any table of the user's catalogs."""
    lake.create_namespace("kafka")
    assert ingest(logs, tmp_path / "mine", *NAMED)[0] == 0
    assert ingest(logs, tmp_path / "given", "--table", "iceberg")[0] == 0
    path = tmp_path / "given" / "_kafka_segments" / "runs" / f"{1:020}.json"
    content = json.loads(path.read_text())
    content["settings"]["catalog"] = {"catalog": "lake", "identifier": "kafka.history"}
    path.write_text(json.dumps(content))
    name, *more = verb
    assert main([name, "--engine", "local", str(tmp_path / "given"), *more]) == 2
    assert "but is not in it: run ingest" in capsys.readouterr().err
    assert offsets(lake) == list(range(9))
