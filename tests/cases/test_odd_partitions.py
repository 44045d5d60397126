"""What is odd in one partition is named, and does not stop the rest: `ingest`, `scan`, and listings."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from tests.ingest.ingested import Run, data_files, parquet_rows
from tests.made import directories

import kafka_segments
from kafka_segments.cli.main import main
from kafka_segments.errors import DataLossError, DecompressionError

CASES = Path(__file__).parents[1] / "vectors" / "cases"
SARAMA = CASES / "sarama-last-offset-0"
NAME = "00000000000000000000.log"
CONTRADICTION = "batch headers contradict their records"


def offsets(table: Path) -> list[int]:
    return [row.offset for row in parquet_rows(table)]


@pytest.fixture
def sarama(tmp_path: Path) -> Path:
    """A log that grows: its first three batches."""
    partition = tmp_path / "logs" / "s-0"
    partition.mkdir(parents=True)
    shutil.copy(SARAMA / "first-338-bytes.log", partition / NAME)
    return partition


@pytest.mark.parametrize("layout", [(), ("--layout", "connector")])
def test_batches_of_old_sarama_are_taken_once(
    sarama: Path, tmp_path: Path, ingest: Run, audit: Run, layout: tuple[str, ...]
) -> None:
    """Kafka's reader gives offsets 4 to 28. By its header, each batch ends with the offset it begins with."""
    table = tmp_path / "table"
    status, found, err = ingest(sarama, table, *layout)
    assert (status, found["s", 0]["records"], found["s", 0]["end offset"]) == (1, "15", "19")
    assert CONTRADICTION in err
    assert ingest(sarama, table, *layout)[0] == 0, "nothing new"
    shutil.copy(SARAMA / "s-0" / NAME, sarama)
    status, found, err = ingest(sarama, table, *layout)
    assert (status, found["s", 0]["records"], found["s", 0]["end offset"]) == (1, "10", "29")
    assert audit(table, sarama)[0] == 0
    if not layout:
        assert [(row.offset, row.key) for row in parquet_rows(table)] == [
            (offset, b"s%d" % (offset - 4)) for offset in range(4, 29)
        ]


def test_a_column_of_their_batches(sarama: Path, tmp_path: Path, ingest: Run) -> None:
    shutil.copy(SARAMA / "s-0" / NAME, sarama)
    assert ingest(sarama, tmp_path / "table", "--layout", "aiven")[0] == 1
    (file,) = data_files(tmp_path / "table")
    (column,) = pyarrow.parquet.ParquetFile(tmp_path / "table" / file).read(["kafka"]).columns
    positions = [row["batch_byte_offset"] for row in column.to_pylist()]
    assert positions == [at for at in (0, 111, 222, 338, 454) for _ in range(5)]


@pytest.mark.parametrize("second", [None, 10, 14])
def test_ranges_of_their_offsets(tmp_path: Path, second: int | None) -> None:
    """Also with a second segment, named by the log end that a broker believed in, or by its first batch."""
    data, folder = (SARAMA / "s-0" / NAME).read_bytes(), tmp_path / "logs" / "s-0"
    folder.mkdir(parents=True)
    (folder / NAME).write_bytes(data if second is None else data[:222])
    if second is not None:
        (folder / f"{second:020}.log").write_bytes(data[222:])
    for start in range(29):
        for end in range(start + 1, 30):
            rows = kafka_segments.scan(
                folder, offsets={("s", 0): (start, end)}, columns=["offset"]
            ).read_all()
            assert rows["offset"].to_pylist() == list(range(max(4, start), min(29, end)))


@pytest.mark.parametrize("case", ["v2-none-count-one-more-fix", "v2-none-lastoffsetdelta-40-fix"])
def test_a_header_that_contradicts_its_records(
    tmp_path: Path, ingest: Run, audit: Run, capsys: pytest.CaptureFixture[str], case: str
) -> None:
    """The partition beside it is written, and the next run goes on with both."""
    logs, table = tmp_path / "logs", tmp_path / "table"
    shutil.copytree(CASES / case / "logs", logs)
    shutil.copytree(CASES / "timestamp-beyond-microseconds" / "logs" / "idem-0", logs / "idem-0")
    status, found, err = ingest(logs, table)
    assert (status, found["x", 0]["records"], found["x", 0]["end offset"]) == (1, "81", "121")
    assert "x-0: " in err and "bug in kafka-segments" not in err
    assert offsets(table) == [*range(9), *range(40, 121)]
    assert ingest(logs, table)[0] == 0
    status, audited, err = audit(table, logs)
    assert {row["problems"] for row in audited.values()} == {"0"}, err


TIMES = CASES / "timestamp-beyond-microseconds" / "logs"
BEYOND = 5
"""The offset of the timestamp in neg-aiokafka-0 that no microseconds hold."""
LAST_MILLI = (2**63 - 1) // 1000


def times(table: Path, name: str = "timestamp") -> list[int | None]:
    """The times of neg-aiokafka-0 as numbers of their unit, by offset."""
    files = [table / one for one in data_files(table) if "topic=neg-aiokafka" in one]
    found = pyarrow.concat_tables([pyarrow.parquet.ParquetFile(one).read(["offset", name]) for one in files])
    return found.sort_by("offset")[name].cast("int64").to_pylist()


@pytest.mark.parametrize(("how", "expected"), [(None, None), ("null", None), ("clamp", LAST_MILLI)])
def test_a_timestamp_beyond_microseconds(
    tmp_path: Path, ingest: Run, how: str | None, expected: int | None
) -> None:
    table, report = tmp_path / "table", tmp_path / "report.json"
    words = () if how is None else ("-o", f"timestampOverflow={how}")
    status, found, err = ingest(TIMES, table, *words, "--report", report)
    assert (status, found["total", -1]["records"]) == (1, "16"), err
    assert "neg-aiokafka-0: timestamps that the table cannot hold: 1;" in err
    assert times(table)[BEYOND] == expected
    assert [at for at, time in enumerate(times(table)) if time is None] == [2, *[5] * (expected is None), 6]
    assert json.loads(report.read_bytes())["totals"]["timestamps_beyond"] == 1
    assert ingest(TIMES, table)[0] == 0


def test_the_way_out_of_an_error_works_for_a_table_that_exists(tmp_path: Path, ingest: Run) -> None:
    table = tmp_path / "table"
    assert ingest(TIMES / "idem-0", table)[0] == 0
    status, _, err = ingest(TIMES, table, "-o", "timestampOverflow=error")
    assert status == 3 and "nothing was written. Use -o timestampOverflow=null " in err
    assert ingest(TIMES, table, "-o", "timestampOverflow=null")[0] == 1
    assert len(parquet_rows(table)) == 16


def test_in_a_layout_with_the_number_that_is_stored(tmp_path: Path, ingest: Run) -> None:
    """-1, no timestamp, stays a time there, as in Spark's connector."""
    assert ingest(TIMES, tmp_path / "table", "--layout", "connector")[0] == 1
    found = times(tmp_path / "table")
    assert (found[2], found[BEYOND], found[6]) == (-1000, None, -1000)


@pytest.mark.parametrize("how", ["null", "clamp"])
def test_in_files_of_dates(tmp_path: Path, ingest: Run, how: str) -> None:
    words = ("--table", "iceberg", "--divide-by", "date", "-o", f"timestampOverflow={how}")
    status, found, err = ingest(TIMES, tmp_path / "table", *words)
    assert (status, found["total", -1]["records"]) == (1, "16"), err
    dates = {Path(one).parent.name for one in data_files(tmp_path / "table")}
    assert "date=__HIVE_DEFAULT_PARTITION__" in dates, "-1 has none"
    assert ("date=9999-12-31" in dates) == (how == "clamp")


def truncated(partition: Path) -> None:
    directories.segment_path(partition, 0).write_bytes(b"".join(directories.run_of(0, 6, b"other")))


def recreated(partition: Path) -> None:
    directories.topic_id(partition, "7nGr8hXvQSuYl0nV1pUj3w")


def expired(partition: Path) -> None:
    directories.append(partition, *directories.run_of(12, 15), base_offset=12)
    directories.segment_path(partition, 0).unlink()


@pytest.mark.parametrize("happens", [truncated, recreated, expired])
def test_a_partition_that_does_not_go_on_is_left_out(
    tmp_path: Path, ingest: Run, audit: Run, happens: Callable[[Path], None]
) -> None:
    logs, table = tmp_path / "logs", tmp_path / "table"
    for name in ("t-0", "u-0"):
        directories.append(logs / name, *directories.run_of(0, 9))
        directories.topic_id(logs / name, "1oQZnfFqTVWOHr1q3zBQ6A")
    assert ingest(logs, table)[0] == 0
    happens(logs / "t-0")
    directories.append(logs / "u-0", *directories.run_of(9, 12))
    assert ingest(logs, table)[0] == 2, "as before, if nothing else is asked for"
    for records in ("3", "0"):  # it is said in each run
        status, found, err = ingest(logs, table, "--on-error", "skip")
        assert (status, found["total", -1]["records"]) == (1, records), err
        assert f"t-0: it is not read in {logs / 't-0'}: t-0 was read up to offset 8, but " in err
    assert [(row.topic, row.offset) for row in parquet_rows(table)] == [
        *(("t", offset) for offset in range(9)),
        *(("u", offset) for offset in range(12)),
    ]
    assert audit(table)[0] == 0


@pytest.mark.parametrize("how", ["ids", "epochs", "batches"])
def test_a_partition_whose_copies_contradict_each_other_is_left_out(
    tmp_path: Path, ingest: Run, how: str
) -> None:
    """It is taken by a later run, of one of them."""
    r0, r1, table = tmp_path / "r0", tmp_path / "r1", tmp_path / "table"
    for number, logs in enumerate((r0, r1)):
        directories.append(
            logs / "t-0", *directories.run_of(90, 99, b"other" if how == "batches" and number else b"v")
        )
        directories.segment_path(logs / "t-0", 0).rename(directories.segment_path(logs / "t-0", 90))
        if how == "ids":
            directories.topic_id(logs / "t-0", ("1oQZnfFqTVWOHr1q3zBQ6A", "7nGr8hXvQSuYl0nV1pUj3w")[number])
        if how == "epochs":
            directories.leader_epochs(logs / "t-0", (0, 90), (1, 93 + number))
    directories.append(r0 / "u-0", *directories.run_of(0, 9))
    assert ingest(r0, r1, table)[0] == 2
    for records in ("9", "0"):
        status, found, err = ingest(r0, r1, table, "--on-error", "skip")
        assert (status, found["total", -1]["records"]) == (1, records), err
        assert "t-0: it is not read in " in err and str(r0 / "t-0") in err and str(r1 / "t-0") in err
    assert ingest(r0, table)[0] == 0
    assert {row.offset for row in parquet_rows(table) if row.topic == "t"} == set(range(90, 99))


def refusing(directory: Path, number: int = errno.EIO) -> Callable[[Any], Any]:
    """What lists all directories but one."""
    real = os.scandir

    def scandir(path: Any) -> Any:
        if not isinstance(path, int) and os.path.abspath(path) == str(directory):
            raise OSError(number, os.strerror(number), path)
        return real(path)

    return scandir


@pytest.fixture(params=[("lost+found", errno.EACCES), ("u-0", errno.EIO)], ids=lambda param: param[0])
def unlisted(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A log directory in which one directory cannot be listed: root's, or one on a bad sector."""
    name, number = request.param
    logs = tmp_path / "logs"
    directories.append(logs / "t-0", *directories.run_of(0, 9))
    (logs / name).mkdir()
    monkeypatch.setattr(os, "scandir", refusing(logs / name, number))
    monkeypatch.chdir(tmp_path)
    return logs / name


@pytest.mark.parametrize(
    ("words", "does"),
    [
        ("ls logs", "logs/t-0"),
        ("verify logs", "verified: 1 partition, 1 segment"),
        ("salvage logs out", r"t-0: "),
        ("plan logs", r"t-0"),
        ("report logs -o out.html", ""),
        ("find --key k logs", ""),
        ("find --text v logs", "value=.v8"),
        ("dump logs --format text", "batch at "),
        ("cat logs", "v"),
        ("aborted logs", ""),
        ("sizes logs", "records"),
        ("ls logs/*", "logs/t-0"),
        ("aborted logs/*", "t-0: last stable offset 9"),
        ("aborted DIR logs/t-0", "t-0: last stable offset 9"),
        ("salvage DIR logs/t-0 out", r"t-0: "),
        ("report DIR logs/t-0 -o out.html", ""),
        ("plan DIR logs/t-0", r"t-0"),
        ("ingest --engine local DIR logs/t-0 table", r"t +0 +0 +9 "),
        ("ingest --engine local logs table", r"t +0 +0 +9 "),
    ],
)
def test_a_directory_that_cannot_be_listed(
    unlisted: Path,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    words: str,
    does: str,
) -> None:
    """The rest is done, the directory is named, and the status is that of what cannot be opened."""
    status = main(words.replace("DIR", str(unlisted)).split())
    out, err = capsys.readouterr()
    page = Path("out.html").read_text() if "report" in words else ""
    assert (status, f"{unlisted.name}: " in out + err + caplog.text + page) == (2, True), err
    assert re.search(does, out + err), out + err


def test_scan_beside_it(unlisted: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A partition that cannot be read is damage, as any other; root's directory is none."""
    found = []
    reader = kafka_segments.scan(unlisted.parent, on_damage=found.append)
    assert reader.read_all().num_rows == 9
    assert f"{unlisted}: it cannot be listed: " in caplog.text
    assert [type(one.error) for one in found] == ([DataLossError] if unlisted.name == "u-0" else [])


def test_a_partition_of_the_table_that_cannot_be_listed(tmp_path: Path, ingest: Run) -> None:
    """It has not been cut back: the next run that can list it goes on with it."""
    logs, table = tmp_path / "logs", tmp_path / "table"
    directories.append(logs / "u-0", *directories.run_of(0, 3))
    assert ingest(logs, table)[0] == 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "scandir", refusing(logs / "u-0"))
        directories.append(logs / "t-0", *directories.run_of(0, 3))
        status, found, err = ingest(logs, table)
        assert (status, found["total", -1]["records"], "was read up to" in err) == (2, "3", False), err
    assert ingest(logs, table)[0] == 0


LARGE = 40 << 20
"""Bytes of a value of zeros: zstd makes less than a thousandth of them."""
GREATER = ("--max-decompressed-bytes", "300m")


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A partition with a sound batch above the bound."""
    partition = tmp_path_factory.mktemp("logs") / "l-0"
    partition.mkdir()
    (partition / NAME).write_bytes(
        kafka_segments.encode_records([{"value": bytes(LARGE)}], compression="zstd")
    )
    return partition


@pytest.mark.parametrize(
    "words",
    [
        "dump --format text FILE",
        "find --offsets 0:1 --count LOG",
        "verify LOG",
        "salvage LOG out",
        "sizes LOG",
        "cat LOG",
        "slice LOG out --offsets 0:1",
        "ingest --engine local LOG table",
    ],
)
def test_a_batch_above_the_bound(
    large: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: Any, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    given = words.replace("FILE", str(large / NAME)).replace("LOG", str(large)).split()
    assert main([given[0], *GREATER, *given[1:]]) == 0
    capsysbinary.readouterr()


def test_it_is_said_to_be_sound(large: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dump", "--format", "text", str(large / NAME)]) == 1
    said = "".join(capsys.readouterr())
    assert "not read: offsets 0 to " in said
    assert "the batch is sound, but larger than the limit: raise --max-decompressed-bytes to read it" in said
    assert "replica" not in said


def test_scan_of_it(large: Path) -> None:
    with pytest.raises(DecompressionError, match="raise the bound"):
        kafka_segments.scan(large).read_all()
    rows = kafka_segments.scan(large, max_decompressed=300 << 20).read_all()
    assert [len(value) for value in rows["value"].to_pylist()] == [LARGE]
