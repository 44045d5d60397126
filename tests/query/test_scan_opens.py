"""How little `scan` opens: of a day out of many segments, and of a reader that is closed early."""

from __future__ import annotations

import shutil
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import kafka_segments
from kafka_segments.core.io.local_files import LocalFiles
from kafka_segments.errors import OptionError
from kafka_segments.log import segment_extents

T0 = 1_700_000_000_000
HOUR = 3_600_000
NUM_HOURS = 24 * 10
DAY_ = 24 * HOUR
DAY = T0 + 4 * DAY_, T0 + 5 * DAY_


@pytest.fixture(scope="module")
def hours(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A partition with a segment of three records for each hour of ten days."""
    log = tmp_path_factory.mktemp("hours") / "events-0"
    log.mkdir()
    for hour in range(NUM_HOURS):
        times = [T0 + hour * HOUR + minutes * 60_000 for minutes in (0, 20, 40)]
        rows = [{"key": b"k", "value": bytes(2000), "timestamp": time} for time in times]
        path = log / f"{3 * hour:020}.log"
        kafka_segments.write_segment(path, rows, base_offset=3 * hour)
    return log


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Names of the files that are opened, and how often."""
    found: Counter[str] = Counter()
    plain = LocalFiles.open

    def counted(self: LocalFiles, path: str, *arguments: Any) -> Any:
        found[path.rpartition("/")[2]] += 1
        return plain(self, path, *arguments)

    monkeypatch.setattr(LocalFiles, "open", counted)
    segment_extents._kept.clear()
    return found


def offsets_of(log: Path, **more: Any) -> list[int]:
    reader = kafka_segments.scan(log, columns=["offset"], since=DAY[0], until=DAY[1], **more)
    return list(reader.read_all()["offset"].to_pylist())


def test_a_day_of_many_segments(hours: Path, opened: Counter[str]) -> None:
    assert offsets_of(hours) == list(range(3 * 96, 3 * 120))
    before = [name for name in opened if int(name[:20]) < 3 * 95]
    assert max(opened[name] for name in before if name.endswith(".log")) == 2


@pytest.mark.parametrize("compression", ["none", "gzip"])
def test_records_out_of_order_are_found(hours: Path, tmp_path: Path, compression: str) -> None:
    log = tmp_path / "events-0"
    shutil.copytree(hours, log)
    strays = {3 * 7 + 1: DAY[0], 3 * 150: DAY[1] - 1, 3 * 200 + 2: DAY[0] + HOUR}
    for offset, time in strays.items():
        base = offset - offset % 3
        times = [T0 + base // 3 * HOUR] * 3
        times[offset - base] = time
        path = log / f"{base:020}.log"
        for file in (path, path.with_suffix(".index"), path.with_suffix(".timeindex")):
            file.unlink()
        rows = [{"value": b"v", "timestamp": one} for one in times]
        kafka_segments.write_segment(path, rows, base_offset=base, compression=compression)
    assert offsets_of(log) == sorted([*range(3 * 96, 3 * 120), *strays])


def test_with_a_skew_what_follows_is_not_read(hours: Path, opened: Counter[str]) -> None:
    expected = offsets_of(hours)
    opened.clear()
    assert offsets_of(hours, max_timestamp_skew=timedelta(minutes=30)) == expected
    read = sum(opened.values())
    opened.clear()
    assert offsets_of(hours, max_timestamp_skew=1_800_000) == expected
    behind = [name for name in opened if int(name[:20]) > 3 * 122]
    assert not [name for name in behind if opened[name] > 3]
    assert read < 5 * NUM_HOURS


def test_what_is_left_out_by_any_time(hours: Path) -> None:
    for since, expected in {
        T0 - 1: range(6),
        T0: range(6),
        T0 + 1: range(1, 7),
        T0 + 24 * HOUR + 1: range(73, 79),
        T0 + 25 * HOUR + 20 * 60_000: range(76, 82),
        T0 + NUM_HOURS * HOUR: range(0),
    }.items():
        reader = kafka_segments.scan(hours, columns=["offset"], since=since, until=since + 2 * HOUR)
        assert reader.read_all()["offset"].to_pylist() == list(expected)


def test_a_reader_that_is_closed_reads_no_more(hours: Path, opened: Counter[str]) -> None:
    reader = kafka_segments.scan(hours, columns=["offset"])
    assert reader.read_next_batch().num_rows
    reader.close()
    num_read = sum(opened.values())
    assert num_read < NUM_HOURS / 3
    del reader
    assert sum(opened.values()) == num_read


@pytest.mark.parametrize(
    "wrong",
    [
        {"storage_options": {"endpoint": "http://127.0.0.1:1"}},
        {"max_timestamp_skew": "1 h"},
        {"max_timestamp_skew": -1},
    ],
    ids=str,
)
def test_wrong_options_are_refused_at_once(hours: Path, wrong: dict[str, Any]) -> None:
    with pytest.raises(OptionError):
        kafka_segments.scan(hours, **wrong)
