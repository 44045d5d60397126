"""`scan_segments`: frames have the rows of `scan`, and read no more than a query needs."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from tests.house.commands import ROOT, python_blocks
from tests.query.hourly_logs import (
    HOUR,
    NUM_HOURS,
    PER_HOUR,
    T0,
    count_opened,
    note_read,
    segments_of,
    write_hours,
)
from tests.query.predicate_trees import COLUMNS, Tree, polars_of, trees, values_of

import kafka_segments
from kafka_segments.core.formats.entries import Damage
from kafka_segments.errors import KafkaFormatError, MissingExtraError, OptionError
from kafka_segments.polars import scan_segments
from kafka_segments.query.read import split_reader

RECORDED = Path(__file__).resolve().parents[1] / "vectors" / "recorded"
CLEAN = RECORDED / "kafka-4.3" / "clean"
FOLDERS = [RECORDED / version / "clean" for version in ("kafka-0.9", "kafka-4.3")]
TABLES = {folder: kafka_segments.scan(folder, columns=COLUMNS).read_all() for folder in FOLDERS}
VALUES = {folder: values_of(table) for folder, table in TABLES.items()}


def whole(path: Path, **asked: Any) -> pl.DataFrame:
    return pl.DataFrame(kafka_segments.scan(path, **asked).read_all())


@pytest.fixture(scope="module")
def hours(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("polars-hours")
    write_hours(folder)
    return folder


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    return count_opened(monkeypatch)


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
@pytest.mark.parametrize("folder", sorted(RECORDED.glob("*/clean")), ids=lambda path: path.parent.name)
def test_a_frame_has_the_rows_of_a_scan(folder: Path, engine: Any) -> None:
    for isolation in ("read_uncommitted", "read_committed"):
        found = scan_segments(folder, isolation=isolation).collect(engine=engine)  # type: ignore[arg-type]
        assert found.equals(whole(folder, isolation=isolation))


def test_arguments_are_those_of_scan() -> None:
    asked: dict[str, Any] = {
        "topics": "codec-zstd",
        "offsets": (2, 50),
        "columns": ["leader_epoch", "offset"],
    }
    asked |= {"since": T0, "until": datetime(2030, 1, 1, tzinfo=UTC), "max_timestamp_skew": HOUR}
    found = scan_segments(CLEAN, **asked)
    assert found.collect_schema() == {"leader_epoch": pl.Int32, "offset": pl.Int64}
    assert found.collect().equals(whole(CLEAN, **asked))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.parent.name)
def test_any_predicate_gives_the_rows_that_it_holds_for(folder: Path) -> None:
    frame, expected = scan_segments(folder, columns=COLUMNS), pl.DataFrame(TABLES[folder])

    @settings(max_examples=15)
    @given(trees(VALUES[folder]))
    def check(tree: Tree) -> None:
        predicate = polars_of(tree)
        assert frame.filter(predicate).collect().equals(expected.filter(predicate)), tree

    check()


def test_rows_are_limited() -> None:
    expected = whole(CLEAN, columns=COLUMNS)
    frame = scan_segments(CLEAN, columns=COLUMNS)
    for num_rows in (0, 1, 100, 10_000):
        assert frame.head(num_rows).collect().equals(expected.head(num_rows))
        some = frame.filter(pl.col("offset") > 5).head(num_rows).collect()
        assert some.equals(expected.filter(pl.col("offset") > 5).head(num_rows))
    assert frame.tail(3).collect().equals(expected.tail(3))
    assert frame.slice(700, 5).collect().equals(expected.slice(700, 5))


def test_only_columns_that_are_used_are_read(hours: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[list[str]] = []
    plain = split_reader.Reading

    def noted(columns: Any, **options: Any) -> Any:
        read.append(list(columns))
        return plain(columns, **options)

    monkeypatch.setattr(split_reader, "Reading", noted)
    frame = scan_segments(hours)
    found = frame.filter(pl.col("offset") > 1).select("key").collect()
    assert found.columns == ["key"]
    assert read and all(sorted(columns) == ["key", "offset"] for columns in read)


@pytest.mark.parametrize(
    ("predicate", "hours_read", "partitions"),
    [
        (pl.col("partition") == 1, range(NUM_HOURS), {1}),
        (pl.col("offset").is_between(PER_HOUR * 20, PER_HOUR * 22 - 1), range(20, 22), {0, 1}),
        (pl.col("timestamp") >= datetime.fromtimestamp((T0 + 38 * HOUR) / 1000, UTC), range(38, 40), {0, 1}),
        ((pl.col("offset") == 6) & ~(pl.col("partition") != 0), range(1, 2), {0}),
        ((pl.col("offset") < 2) | pl.col("offset").is_in([3, 7]), range(2), {0, 1}),
        (pl.col("topic") == "other", range(0), set()),
    ],
    ids=str,
)
def test_a_predicate_leaves_out_segments(
    hours: Path, monkeypatch: pytest.MonkeyPatch, predicate: pl.Expr, hours_read: range, partitions: set[int]
) -> None:
    expected = whole(hours, columns=COLUMNS)
    opened, read = count_opened(monkeypatch), note_read(monkeypatch)
    assert (
        scan_segments(hours, columns=COLUMNS).filter(predicate).collect().equals(expected.filter(predicate))
    )
    wanted = segments_of(partitions, hours_read)
    assert read == wanted
    if "timestamp" not in predicate.meta.root_names():  # an entry of each time index is verified
        assert len(opened.keys() - wanted) <= 2  # the end of a log is looked for in its last segment


def test_head_ends_the_reading(hours: Path, opened: Counter[str]) -> None:
    frame = scan_segments(hours, columns=COLUMNS)
    assert frame.head(3).collect().height == 3
    assert len(opened) <= 5


def test_rows_are_counted_by_headers(hours: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = whole(CLEAN)
    monkeypatch.setattr(split_reader, "read_split", None)
    frame = scan_segments(hours)
    assert frame.select(pl.len()).collect().item() == 2 * NUM_HOURS * PER_HOUR
    assert frame.filter(pl.col("partition") == 1).select(pl.len()).collect().item() == NUM_HOURS * PER_HOUR
    by_topic = scan_segments(CLEAN).group_by("topic", maintain_order=True).len().collect()
    assert by_topic.equals(expected.group_by("topic", maintain_order=True).len())


def test_an_empty_directory_of_a_partition_has_no_rows(tmp_path: Path) -> None:
    log = tmp_path / "empty-0"
    log.mkdir()
    (log / "00000000000000000000.log").touch()
    frame = scan_segments(tmp_path)
    assert frame.collect().equals(whole(tmp_path))
    assert frame.select(pl.len()).collect().item() == 0
    assert frame.filter(pl.col("topic") == "empty").select("key").collect().schema == {"key": pl.Binary}


def damaged(folder: Path) -> Path:
    """A copy of a partition with a wrong byte in the middle of its first segment."""
    log = folder / "multi-0"
    log.mkdir()
    for path in (CLEAN / "multi-0").iterdir():
        (log / path.name).write_bytes(path.read_bytes())
    segment = log / "00000000000000000000.log"
    data = bytearray(segment.read_bytes())
    data[len(data) // 2] ^= 1
    segment.write_bytes(data)
    return folder


def test_damage_is_raised_skipped_or_given_to_a_function(tmp_path: Path) -> None:
    path = damaged(tmp_path)
    for engine in ("in-memory", "streaming"):
        with pytest.raises(KafkaFormatError, match="stored") as caught:
            scan_segments(path).collect(engine=engine)  # type: ignore[arg-type]
        assert caught.value.path is not None
    found: list[Damage] = []
    frame = scan_segments(path, on_damage=found.append)
    assert frame.collect().equals(whole(path, on_damage="skip"))
    assert len(found) == 1
    skipping = scan_segments(path, on_damage="skip")
    assert skipping.select(pl.len()).collect().item() == whole(path, on_damage="skip").height


def test_what_is_wrong_or_absent_is_our_error(tmp_path: Path) -> None:
    for wrong in (
        {"columns": ["nothing"]},
        {"columns": []},
        {"on_damage": "ignore"},
        {"isolation": "none"},
        {"since": datetime(2020, 1, 1)},
        {"max_timestamp_skew": timedelta(hours=-1)},
        {"storage_options": {"endpoint": "x"}},
    ):
        with pytest.raises(OptionError):
            scan_segments(CLEAN, **wrong)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="no topic absent"):
        scan_segments(CLEAN, topics="absent").collect()
    with pytest.raises(KafkaFormatError):
        scan_segments(tmp_path / "nowhere").collect()


@pytest.mark.parametrize("package", ["polars", "pyarrow"])
def test_without_the_packages_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    for name in [one for one in sys.modules if one.startswith("kafka_segments.polars")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=r"pip install 'kafka-segments\[polars\]'") as caught:
        importlib.import_module("kafka_segments.polars")
    assert caught.value.extra == "polars"


MEMORY = """
import sys
import polars as pl
from kafka_segments.polars import scan_segments

def peak():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM:"))

frame = scan_segments(sys.argv[1], columns=["offset", "value"])
size = pl.col("value").bin.size().cast(pl.Int64).sum()
frame.filter(pl.col("offset") < 1000).select(size).collect(engine="streaming")
before = peak()
print(frame.select(size).collect(engine="streaming").item(), (peak() - before) // 1024)
"""


def test_memory_does_not_grow_with_the_log(tmp_path: Path) -> None:
    num_rows, size = 60_000, 4_000
    log = tmp_path / "large-0"
    log.mkdir()
    with kafka_segments.open_writer(log / f"{0:020}.log") as writer:
        for _part in range(60):
            writer.write([{"value": bytes(size)}] * (num_rows // 60))
    done = subprocess.run(
        [sys.executable, "-c", MEMORY, tmp_path], capture_output=True, text=True, check=True
    )
    total, grown = map(int, done.stdout.split())
    assert total == num_rows * size
    assert grown < total / (1 << 20) / 2, f"{grown} MiB"


def test_the_code_of_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = [one for one in python_blocks(ROOT / "docs" / "polars-duckdb.md") if "import polars" in one]
    exec(code.replace("/var/lib/kafka", str(CLEAN)).replace("orders", "multi"), {})
    assert "shape: (0, 2)" in capsys.readouterr().out
