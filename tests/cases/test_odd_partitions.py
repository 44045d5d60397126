"""What is odd in one partition is named, and does not stop the rest: `ingest`, `scan`, and listings."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow.parquet
import pytest
from tests.ingest.ingested import Run, auditor, data_files, locally, parquet_rows

import kafka_segments
from kafka_segments.cli.main import main

CASES = Path(__file__).parents[1] / "vectors" / "cases"
SARAMA = CASES / "sarama-last-offset-0"
NAME = "00000000000000000000.log"
CONTRADICTION = "headers of batches contradict their records"


@pytest.fixture
def ingest(capsys: pytest.CaptureFixture[str]) -> Run:
    return locally(capsys)


@pytest.fixture
def audit(capsys: pytest.CaptureFixture[str]) -> Run:
    return auditor(capsys)


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


@pytest.mark.spark
def test_batches_of_old_sarama_on_spark(sarama: Path, tmp_path: Path) -> None:
    words = ["ingest", "--engine", "spark", "--master", "local[1]", str(sarama), str(tmp_path / "table")]
    assert main(words) == 1
    shutil.copy(SARAMA / "s-0" / NAME, sarama)
    assert main(words) == 1
    assert offsets(tmp_path / "table") == list(range(4, 29))


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
    assert "x-0: " in err and "error of kafka-segments" not in err
    assert offsets(table) == [*range(9), *range(40, 121)]
    assert ingest(logs, table)[0] == 0
    status, audited, err = audit(table, logs)
    assert {row["problems"] for row in audited.values()} == {"0"}, err
