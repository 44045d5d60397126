"""The files of a table: order, statistics, dictionaries, bloom filters, dates, merged by `compact`."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.ingest.ingested import Run, data_files, parquet_rows
from tests.made import build, directories
from tests.made.directories import append, run_of

from kafka_segments.cli.main import main
from kafka_segments.core.segment.columnar.arrow_schema import SCHEMA
from kafka_segments.ingest.destination import partition_path
from kafka_segments.ingest.files.layouts import LAYOUTS
from kafka_segments.ingest.files.parquet import ParquetFile, _leaves, repeating_columns

HOUR = 3_600_000
NOON = 1_700_049_600_000  # 2023-11-15, 12:00 in UTC


def at(offset: int, *times: int) -> bytes:
    """A batch of one record a time."""
    base = times[0]
    records = [build.record(at, b"k", b"v", (), time - base) for at, time in enumerate(times)]
    return build.batch(offset, records, base_timestamp=base, max_timestamp=max(times))


def test_a_file_is_sorted_compressed_and_has_statistics(ingest: Run, tmp_path: Path) -> None:
    append(tmp_path / "logs" / "t-0", *run_of(0, 9))
    ingest(tmp_path / "logs", tmp_path / "out")
    (path,) = (tmp_path / "out").glob("topic=t/partition=0/*.parquet")
    group = pq.read_metadata(path).row_group(0)
    column = group.column(0)
    assert (column.path_in_schema, column.compression) == ("offset", "ZSTD")
    assert (column.statistics.min, column.statistics.max) == (0, 8)
    assert [(one.column_index, one.descending) for one in group.sorting_columns] == [(0, False)]
    assert path.name.startswith(f"{0:020}-")


def test_bloom_filters_find_keys(ingest: Run, tmp_path: Path) -> None:
    append(tmp_path / "logs" / "t-0", *run_of(0, 9))
    status, _, err = ingest(tmp_path / "logs", tmp_path / "out", "--bloom-filter")
    if status == 2 and "does not write bloom filters" in err:
        pytest.skip(err)
    assert status == 0, err
    (path,) = (tmp_path / "out").glob("topic=t/partition=0/*.parquet")
    duckdb = pytest.importorskip("duckdb")
    names = "bloom_filter_offset, path_in_schema"
    found = duckdb.sql(f"select {names} from parquet_metadata('{path}')").fetchall()
    rows = {name: offset for offset, name in found}
    assert rows["key"] is not None
    assert rows["value"] is None


@pytest.mark.parametrize("division", ["date", "hour"])
def test_files_by_the_time_of_their_records(ingest: Run, audit: Run, tmp_path: Path, division: str) -> None:
    times = [NOON, NOON + HOUR, NOON + 24 * HOUR, -1, NOON + 1]
    append(tmp_path / "logs" / "t-0", at(0, *times), build.message(5, magic=0), at(6, NOON + 2, NOON + HOUR))
    status, _, err = ingest(tmp_path / "logs", tmp_path / "out", "--divide-by", division)
    assert status == 0, err
    places: dict[str, list[int]] = {}
    for path in (tmp_path / "out").rglob("*.parquet"):
        place = path.parent.relative_to(tmp_path / "out" / "topic=t" / "partition=0").as_posix()
        places.setdefault(place, []).extend(pq.ParquetFile(path).read()["offset"].to_pylist())
    none = "date=__HIVE_DEFAULT_PARTITION__"
    if division == "date":
        assert places == {"date=2023-11-15": [0, 1, 4, 6, 7], "date=2023-11-16": [2], none: [3, 5]}
    else:
        assert places == {
            "date=2023-11-15/hour=12": [0, 4, 6],
            "date=2023-11-15/hour=13": [1, 7],
            "date=2023-11-16/hour=12": [2],
            f"{none}/hour=__HIVE_DEFAULT_PARTITION__": [3, 5],
        }
    assert audit(tmp_path / "out", tmp_path / "logs")[0] == 0
    assert len(parquet_rows(tmp_path / "out")) == 8


def test_many_dates_need_few_open_files(ingest: Run, audit: Run, tmp_path: Path) -> None:
    days = [NOON + day * 24 * HOUR for day in range(40)] * 3
    append(tmp_path / "logs" / "t-0", *(at(offset, time) for offset, time in enumerate(days)))
    status, table, err = ingest(tmp_path / "logs", tmp_path / "out", "--divide-by", "date")
    assert (status, table["t", 0]["records"]) == (0, "120"), err
    found = {path.parent.name for path in (tmp_path / "out").rglob("*.parquet")}
    expected = {f"date={datetime.fromtimestamp(time / 1000, UTC):%Y-%m-%d}" for time in days}
    assert found == expected
    assert audit(tmp_path / "out", tmp_path / "logs")[0] == 0


def test_compact_merges_what_is_small(
    ingest: Run, audit: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    logs, out = tmp_path / "logs", tmp_path / "out"
    for start in range(0, 30, 3):
        append(logs / "t-0", *run_of(start, start + 3))
        append(logs / "u-0", *run_of(start, start + 3))
        ingest(logs, out, "--subscribe", "t" if start else "t,u")
    rows, before = parquet_rows(out), data_files(out)
    size = max((out / name).stat().st_size for name in before)
    assert main(["compact", "--engine", "local", "--target-size", str(3 * size), str(out)]) == 0
    said = capsys.readouterr().err
    assert "9 files were merged into 3" in said, "the tenth has no neighbour left, u-0 has only one"
    assert (len(before), len(data_files(out))) == (11, 5)
    assert parquet_rows(out) == rows
    status, table, err = audit(out, logs)
    assert (status, table["t", 0]["records"]) == (0, "30"), err
    assert main(["compact", "--engine", "local", "--target-size", "1k", str(out)]) == 0
    assert "no files to merge" in capsys.readouterr().err
    append(logs / "t-0", *run_of(30, 33))
    assert ingest(logs, out, "--subscribe", "t")[1]["t", 0]["records"] == "3"
    assert audit(out)[0] == 0


def test_compact_fills_columns_that_were_added_later(ingest: Run, audit: Run, tmp_path: Path) -> None:
    logs, out = tmp_path / "logs", tmp_path / "out"
    append(logs / "t-0", *run_of(0, 3))
    ingest(logs, out, "-o", "columns=offset")
    append(logs / "t-0", *run_of(3, 6))
    ingest(logs, out, "-o", "columns=offset,key")
    assert main(["compact", "--engine", "local", str(out)]) == 0
    (path,) = out.rglob("*.parquet")
    assert pq.ParquetFile(path).read().to_pydict() == {
        "offset": list(range(6)),
        "key": [None] * 3 + [b"k"] * 3,
    }
    assert audit(out)[0] == 0


@pytest.mark.parametrize("words", [["--target-size", "0"], ["--target-size", "x"], ["--master", "local"]])
def test_compact_refuses(tmp_path: Path, ingest: Run, words: list[str]) -> None:
    append(tmp_path / "logs" / "t-0", *run_of(0, 3))
    ingest(tmp_path / "logs", tmp_path / "out")
    assert main(["compact", "--engine", "local", *words, str(tmp_path / "out")]) == 2
    assert main(["compact", "--engine", "local", str(tmp_path / "logs")]) == 2


def test_other_readers_see_text_and_numbers(ingest: Run, tmp_path: Path) -> None:
    for topic in ("007", "Foo", "foo"):
        append(tmp_path / "logs" / f"{topic}-3", *run_of(0, 3))
    append(tmp_path / "logs" / "foo-10", *run_of(0, 3))
    ingest(tmp_path / "logs", tmp_path / "out")
    expected = [("007", 3), ("Foo", 3), ("foo", 3), ("foo", 10)]
    assert sorted({(row.topic, row.partition) for row in parquet_rows(tmp_path / "out")}) == expected
    duckdb, polars = pytest.importorskip("duckdb"), pytest.importorskip("polars")
    glob = f"{tmp_path}/out/topic=*/**/*.parquet"
    query = f"select distinct topic, partition from read_parquet('{glob}', hive_partitioning=true)"
    assert sorted(duckdb.sql(query).fetchall()) == expected
    types = {"topic": polars.String, "partition": polars.Int32}
    rows = polars.scan_parquet(f"{tmp_path}/out/topic=*/**/*.parquet", hive_schema=types).collect()
    assert sorted(set(rows.select("topic", "partition").iter_rows())) == expected


def test_equal_rows_make_equal_bytes(ingest: Run, tmp_path: Path) -> None:
    append(tmp_path / "logs" / "t-0", *run_of(0, 900), directories.marker(900, 7, directories.COMMIT))
    found = []
    for name in ("a", "b"):
        ingest(tmp_path / "logs", tmp_path / name)
        (path,) = (tmp_path / name).rglob("*.parquet")
        found.append(path.read_bytes())
    assert found[0] == found[1]


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


@pytest.mark.parametrize("topic", ["x" * 249, "1" + "x" * 246], ids=["text", "encoded"])
def test_damage_of_the_longest_names_is_kept(ingest: Run, tmp_path: Path, topic: str) -> None:
    append(tmp_path / "logs" / f"{topic}-0", *run_of(0, 3), b"\xff" * 50, *run_of(3, 9))
    status, table, err = ingest(tmp_path / "logs", tmp_path / "out")
    assert (status, table[topic, 0]["damage"]) == (1, "1"), err
    assert [row.offset for row in parquet_rows(tmp_path / "out")] == list(range(9))
    (kept,) = (tmp_path / "out" / "_kafka_segments" / "quarantine").iterdir()
    assert kept.read_bytes() == b"\xff" * 50
    assert kept.name.startswith(topic[:100])


@pytest.mark.parametrize("topic", ["1" + "x" * 247, "1" + "x" * 248], ids=["248", "249"])
def test_a_name_too_long_for_a_directory_is_refused_first(ingest: Run, tmp_path: Path, topic: str) -> None:
    logs, out = append(tmp_path / "logs" / "t-0", *run_of(0, 3)).parent, tmp_path / "out"
    append(logs / f"{topic}-0", *run_of(0, 3))
    status, _, err = ingest(logs, out)
    assert (status, out.exists()) == (2, False)
    assert f"the topic {topic} has {len(topic)} characters" in err
    assert "--subscribe-pattern" in err
    assert ingest(logs, out, "--subscribe-pattern", "^[^1]")[0] == 0
    assert partition_path(topic, 0, is_typed=True) == f"topic={topic}/partition=0"
