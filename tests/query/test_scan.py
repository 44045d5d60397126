"""`scan` and `list_partitions`: what `open_partition` reads of each partition, chosen and filtered."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import kafka_segments
from kafka_segments.core.formats.entries import Damage
from kafka_segments.errors import KafkaFormatError, OptionError

RECORDED = Path(__file__).resolve().parents[1] / "vectors" / "recorded"
CLEAN = RECORDED / "kafka-4.3" / "clean"
ISOLATIONS = ("read_uncommitted", "read_committed")


def test_topics_partitions_and_columns_are_chosen() -> None:
    table = kafka_segments.scan(CLEAN, columns=["topic", "partition", "offset"], on_damage="skip").read_all()
    assert table.schema == pa.schema(
        [
            pa.field("topic", pa.string(), nullable=False),
            pa.field("partition", pa.int32(), nullable=False),
            pa.field("offset", pa.int64(), nullable=False),
        ]
    )
    topics = set(table["topic"].to_pylist())
    assert "codec-zstd" in topics and not any(topic.startswith("__") for topic in topics)
    internal = kafka_segments.scan(CLEAN, topics="__consumer_offsets", partitions=[1], columns=["partition"])
    assert set(internal.read_all()["partition"].to_pylist()) == {1}


def test_offsets_and_times_are_exact() -> None:
    whole = kafka_segments.scan(CLEAN, topics="codec-zstd").read_all()
    part = kafka_segments.scan(CLEAN, topics="codec-zstd", offsets=(2, 5)).read_all()
    assert part == whole.filter(pc.and_(pc.greater_equal(whole["offset"], 2), pc.less(whole["offset"], 5)))
    by_partition = kafka_segments.scan(CLEAN, offsets={("codec-zstd", 0): (2, 5)}).read_all()
    assert by_partition == part
    first: datetime = whole["timestamp"][1].as_py()
    milliseconds = int(first.timestamp() * 1000)
    times = (first, milliseconds, first - timedelta(microseconds=1), str(milliseconds), str(first)[:-6])
    for since in times:
        timed = kafka_segments.scan(
            CLEAN, topics="codec-zstd", since=since, until=first + timedelta(milliseconds=1)
        )
        assert timed.read_all() == whole.filter(pc.equal(whole["timestamp"], first))
    assert not len(
        kafka_segments.scan(CLEAN, topics="codec-zstd", until=datetime(1970, 1, 2, tzinfo=UTC)).read_all()
    )


def test_what_is_damaged_is_told(tmp_path: Path) -> None:
    shutil.copytree(CLEAN / "multi-0", tmp_path / "multi-0")
    segment = tmp_path / "multi-0" / "00000000000000000000.log"
    data = bytearray(segment.read_bytes())
    data[len(data) // 2] ^= 1
    segment.write_bytes(data)
    told: list[Damage] = []
    found = kafka_segments.scan(tmp_path, on_damage=told.append, columns=["offset"]).read_all()["offset"]
    (damage,) = told
    first, last = damage.first_lost_offset, damage.last_lost_offset
    assert first is not None and last is not None
    assert found.to_pylist() == [*range(first), *range(last + 1, 206)]


def test_a_number_alone_does_not_lead_to_an_internal_topic(tmp_path: Path) -> None:
    for name in ("codec-zstd-0", "__consumer_offsets-1"):
        shutil.copytree(CLEAN / name, tmp_path / name)
    with pytest.raises(OptionError, match="no partition 1 of the topics"):
        kafka_segments.scan(tmp_path, partitions=[1])
    found = kafka_segments.scan(tmp_path, partitions=[0], columns=["topic"]).read_all()
    assert set(found["topic"].to_pylist()) == {"codec-zstd"}
    found = kafka_segments.scan(tmp_path, topics="__consumer_offsets", partitions=[1]).read_all()
    assert found.num_rows
    alone = kafka_segments.scan(tmp_path / "__consumer_offsets-1", partitions=[1])
    assert alone.read_all() == found


def differing_replicas(folder: Path) -> list[Path]:
    """Log directories of two brokers, of which the internal topic's copies contradict each other."""
    for disk, number in (("one", 0), ("two", 1)):
        shutil.copytree(CLEAN / "codec-zstd-0", folder / disk / "codec-zstd-0")
        shutil.copytree(CLEAN / f"__consumer_offsets-{number}", folder / disk / "__consumer_offsets-1")
    return sorted(folder.iterdir())


@pytest.mark.parametrize("asked", [{}, {"partitions": [0]}, {"topics": "codec-zstd"}], ids=str)
def test_replicas_of_internal_topics_are_not_compared(tmp_path: Path, asked: dict[str, Any]) -> None:
    paths = differing_replicas(tmp_path)
    whole = kafka_segments.scan(CLEAN, topics="codec-zstd").read_all()
    assert kafka_segments.scan(paths, **asked).read_all() == whole
    with pytest.raises(OptionError, match="no partition 1 of the topics"):
        kafka_segments.scan(paths, partitions=[1])


def test_replicas_of_internal_topics_are_compared_if_they_are_asked_for(tmp_path: Path) -> None:
    paths = differing_replicas(tmp_path)
    internal = [path / "__consumer_offsets-1" for path in paths]
    for asked in ({"topics": "__consumer_offsets"}, {"partitions": [("__consumer_offsets", 1)]}):
        with pytest.raises(OptionError, match="these are not copies of one log"):
            kafka_segments.scan(paths, **asked)
    with pytest.raises(OptionError, match="these are not copies of one log"):
        kafka_segments.scan(internal)
    with pytest.raises(OptionError, match="these are not copies of one log"):
        kafka_segments.list_partitions(paths)


def test_bounds_beyond_64_bits_and_before_1970_are_bounds() -> None:
    key = [("codec-zstd", 0)]
    whole = kafka_segments.scan(CLEAN, partitions=key).read_all()
    for everything in ({"offsets": (-1, 1 << 70)}, {"until": 1 << 70}, {"since": -(1 << 70)}):
        assert kafka_segments.scan(CLEAN, partitions=key, **everything).read_all() == whole
    for nothing in ({"offsets": (1 << 70, None)}, {"since": 1 << 70}, {"until": -(1 << 70)}, {"until": -1}):
        assert kafka_segments.scan(CLEAN, partitions=key, **nothing).read_all() == whole[:0]


@pytest.mark.parametrize("since", [-5, -1, 0, datetime(1969, 1, 1, tzinfo=UTC)], ids=str)
def test_records_without_a_timestamp_are_before_no_time_and_after_none(since: Any) -> None:
    folder = RECORDED / "kafka-0.9" / "clean"
    whole = kafka_segments.scan(folder, columns=["timestamp_ms"])
    assert set(whole.read_all()["timestamp_ms"].to_pylist()) == {-1}
    assert kafka_segments.scan(folder, since=since).read_all().num_rows == 0


@pytest.mark.parametrize("paths", [5, None, b"/", [5], [b"/"]], ids=str)
def test_paths_that_are_none_are_refused(paths: Any) -> None:
    for read in (kafka_segments.scan, kafka_segments.list_partitions):
        with pytest.raises(OptionError, match="give a str or a path"):
            read(paths)


def test_no_path_is_refused() -> None:
    for read in (kafka_segments.scan, kafka_segments.list_partitions):
        with pytest.raises(OptionError, match="no path in paths"):
            read([])


@pytest.mark.parametrize("offsets", [(90, None), {("transactions", 0): (90, None)}], ids=["pair", "mapping"])
def test_a_doubt_about_other_offsets_is_no_error(tmp_path: Path, offsets: Any) -> None:
    directory = tmp_path / "transactions-0"
    shutil.copytree(CLEAN / "transactions-0", directory)
    segment = directory / f"{7:020}.log"
    data = bytearray(segment.read_bytes())
    data[70] ^= 1
    segment.write_bytes(data)
    whole = kafka_segments.scan(
        CLEAN, partitions=[("transactions", 0)], isolation="read_committed"
    ).read_all()
    found = kafka_segments.scan(directory, offsets=offsets, isolation="read_committed").read_all()
    assert found == whole.filter(pc.greater_equal(whole["offset"], 90)) and found.num_rows
    with pytest.raises(KafkaFormatError, match="may have ended"):
        kafka_segments.scan(directory, offsets=(0, 3), isolation="read_committed").read_all()


@pytest.mark.parametrize(
    "wrong",
    [
        {"topics": "nope"},
        {"columns": ["nope"]},
        {"columns": []},
        {"columns": ["topic", "topic"]},
        {"columns": "topic"},
        {"columns": 5},
        {"offsets": 5},
        {"offsets": {}},
        {"offsets": {("codec-zstd", 0): 5}},
        {"offsets": {("codec-zstd", 0): None}},
        {"offsets": {("codec-zstd", 0): ("1", None)}},
        {"offsets": {("codec-zstd", 0): (0, -1)}},
        {"offsets": {"codec-zstd": (0, 1)}},
        {"topics": 5},
        {"topics": [5]},
        {"topics": []},
        {"partitions": 0},
        {"partitions": [(0, "codec-zstd")]},
        {"partitions": ["a"]},
        {"partitions": [99]},
        {"partitions": [0, 99], "topics": "codec-zstd"},
        {"partitions": [("codec-zstd", 0)], "topics": "codec-zstd"},
        {"offsets": {("codec-zstd", 0): (0, 1)}, "topics": "codec-zstd"},
        {"isolation": "none"},
        {"since": "today"},
        {"until": datetime(2024, 1, 1)},
        {"on_damage": 1},
    ],
    ids=str,
)
def test_wrong_arguments_are_refused_at_once(wrong: dict[str, Any]) -> None:
    with pytest.raises(OptionError):
        kafka_segments.scan(CLEAN, **wrong)


@pytest.mark.parametrize(("noted", "first"), [(0, 125), (7, 125), (130, 130)])
def test_a_partition_starts_where_its_first_record_may_be(tmp_path: Path, noted: int, first: int) -> None:
    shutil.copytree(CLEAN / "multi-0", tmp_path / "multi-0")
    (tmp_path / "multi-0" / f"{0:020}.log").unlink()
    (tmp_path / "log-start-offset-checkpoint").write_text(f"0\n1\nmulti 0 {noted}\n")
    (summary,) = kafka_segments.list_partitions(tmp_path)
    assert (summary.start_offset, summary.end_offset) == (first, 206)
    assert kafka_segments.scan(tmp_path, columns=["offset"]).read_all()["offset"][0].as_py() == first


@pytest.mark.parametrize("noted", [206, 207, 5000])
def test_a_log_whose_records_are_all_deleted_is_empty(tmp_path: Path, noted: int) -> None:
    shutil.copytree(CLEAN / "multi-0", tmp_path / "multi-0")
    (tmp_path / "log-start-offset-checkpoint").write_text(f"0\n1\nmulti 0 {noted}\n")
    (summary,) = kafka_segments.list_partitions(tmp_path)
    assert (summary.start_offset, summary.end_offset, summary.num_segments) == (noted, noted, 1)
    assert kafka_segments.scan(tmp_path).read_all().num_rows == 0


def test_a_path_that_exists_is_no_pattern(tmp_path: Path) -> None:
    shutil.copytree(CLEAN / "multi-0", tmp_path / "a[1]" / "multi-0")
    (summary,) = kafka_segments.list_partitions(tmp_path / "a[1]")
    assert kafka_segments.scan(summary.paths).read_all().num_rows == 206
    assert kafka_segments.scan(tmp_path / "a*" / "mul[s-u]i-0").read_all().num_rows == 206
