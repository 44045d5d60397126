"""Batches of a stream over logs that grow, end, or are replaced, by Spark's steps; without a JVM."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from tests.forms import pick
from tests.made.directories import (
    ABORT,
    COMMIT,
    append,
    data,
    leader_epochs,
    log_start,
    marker,
    run_of,
    segment_path,
    topic_id,
    transactional,
)
from tests.python import locked
from tests.spark import kafka_rows
from tests.spark.test_reader import flipped, read

from kafka_segments.errors import (
    DataLossError,
    ExpiredOffsetsError,
    KafkaFormatError,
    OptionError,
    RecreatedTopicError,
    TruncatedLogError,
)

pytest.importorskip("pyspark.sql.streaming.datasource", reason="streams need Spark 4.2 or newer")

from tests.spark.streamed import Streamed, offsets_of, span

ID, OTHER_ID = "hY6b3q0bTy2mQ7SJcWv4rA", "Zs1b3q0bTy2mQ7SJcWv4rA"
SOME_SETS = ("kafka-4.3/running", "kafka-2.8/before-cleaning", "kafka-0.10.2/clean")


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    for number in range(2):
        append(tmp_path / "logs" / f"t-{number}", *run_of(0, 9))
        topic_id(tmp_path / "logs" / f"t-{number}", ID)
    return tmp_path / "logs"


@pytest.mark.long
@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
@pytest.mark.parametrize("name", pick(SOME_SETS, kafka_rows.SETS))
def test_batches_are_what_one_read_has(name: str, isolation: str) -> None:
    root = kafka_rows.RECORDED / name
    topics = ",".join(sorted({row.topic for row in kafka_rows.source_rows(name)}))
    options = {"isolationLevel": isolation, "includeHeaders": "true", "subscribe": topics}
    streamed = Streamed(root, maxOffsetsPerTrigger="1500", **options)
    streamed.reader.prepareForTriggerAvailableNow()
    rows = streamed.rest()
    expected = read(root, **options)
    assert len(rows) == len(expected) > 0
    assert sorted(rows, key=_place) == sorted(expected, key=_place)
    assert len(streamed.offsets) > min(2, len(rows) // 1500)


def _place(row: dict[str, Any]) -> tuple[str, int, int]:
    return row["topic"], row["partition"], row["offset"]


def test_what_is_appended_comes_once(logs: Path) -> None:
    streamed = Streamed(logs)
    assert offsets_of(streamed.batch()) == span(0, 0, 9) + span(1, 0, 9)
    assert streamed.batch() is None
    append(logs / "t-0", *run_of(9, 12))
    assert offsets_of(streamed.batch()) == span(0, 9, 12)
    append(logs / "t-1", *run_of(9, 10), base_offset=9)
    append(logs / "t-0", *run_of(12, 15), base_offset=12)
    streamed.restart()
    assert offsets_of(streamed.batch()) == span(0, 12, 15) + span(1, 9, 10)
    assert streamed.position() == {"t": {"0": 15, "1": 10}}
    assert streamed.reader.reportLatestOffset() == streamed.position()


def test_a_batch_is_read_again_as_it_was_planned(logs: Path) -> None:
    streamed = Streamed(logs, maxOffsetsPerTrigger="7")
    assert streamed.plan()
    append(logs / "t-0", *run_of(9, 12))
    first = streamed.read()
    append(logs / "t-0", *run_of(12, 15), base_offset=12)
    streamed.restart(maxOffsetsPerTrigger="100")
    assert offsets_of(first) == offsets_of(streamed.read()) == span(0, 0, 3) + span(1, 0, 3)
    assert offsets_of(streamed.batch()) == span(0, 3, 15) + span(1, 3, 9)


def test_the_end_is_that_of_the_beginning_with_available_now(logs: Path) -> None:
    streamed = Streamed(logs, maxOffsetsPerTrigger="4")
    streamed.reader.prepareForTriggerAvailableNow()
    first = streamed.batch()
    append(logs / "t-0", *run_of(9, 12))
    append(logs / "t-2", *run_of(0, 3))
    assert offsets_of([*(first or []), *streamed.rest()]) == span(0, 0, 9) + span(1, 0, 9)


def test_a_new_partition_is_read_from_its_beginning(logs: Path) -> None:
    streamed = Streamed(logs, startingOffsets="latest")
    assert streamed.batch() is None
    append(logs / "t-2", *run_of(0, 3))
    append(logs / "u-0", *run_of(40, 43), base_offset=40)
    assert streamed.batch() == []
    assert streamed.position() == {"t": {"0": 9, "1": 9, "2": 0}, "u": {"0": 40}}
    assert offsets_of(streamed.batch()) == span(0, 40, 43) + span(2, 0, 3)


def test_a_partition_that_is_gone(logs: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    streamed = Streamed(logs, subscribe="t,u", failOnDataLoss="true")
    append(logs / "u-0", *run_of(0, 3))
    streamed.rest()
    (logs / "u-0").rename(tmp_path / "u-0")
    with pytest.raises(DataLossError, match="u-0, to be read from offset 3 on, is no longer at the paths"):
        streamed.batch()
    streamed.restart(failOnDataLoss="false")
    append(logs / "t-0", *run_of(9, 12))
    with caplog.at_level(logging.WARNING):
        assert offsets_of(streamed.batch()) == span(0, 9, 12)
        assert streamed.batch() is None
    assert [one.getMessage() for one in caplog.records if "u-0" in one.getMessage()] == [
        "kafka-segments: u-0, to be read from offset 3 on, is no longer at the paths: its topic was "
        "deleted, or its directory moved"
    ]
    streamed.restart()
    streamed.reader.prepareForTriggerAvailableNow()
    assert streamed.batch() is None
    (tmp_path / "u-0").rename(logs / "u-0")
    append(logs / "u-0", *run_of(3, 6))
    streamed.restart()
    assert [row["topic"] for row in streamed.batch() or []] == ["u"] * 3


def test_a_planned_batch_of_a_partition_that_is_gone(logs: Path, tmp_path: Path) -> None:
    streamed = Streamed(logs)
    streamed.plan()
    (logs / "t-1").rename(tmp_path / "t-1")
    with pytest.raises(DataLossError, match="t-1, to be read from offset 0 on"):
        streamed.read()
    streamed.restart(failOnDataLoss="false")
    assert offsets_of(streamed.read()) == span(0, 0, 9)


def _cut_short(directory: Path) -> None:
    segment_path(directory, 0).write_bytes(b"".join(run_of(0, 3)))


def _written_again(directory: Path) -> None:
    segment_path(directory, 0).write_bytes(b"".join(run_of(0, 12, value=b"other")))


def _made_anew(directory: Path) -> None:
    for one in directory.parent.glob("t-*"):
        topic_id(one, OTHER_ID)


def _of_another_epoch(directory: Path) -> None:
    leader_epochs(directory, (7, 0))


def _expired(directory: Path) -> None:
    append(directory, *run_of(30, 33), base_offset=30)
    segment_path(directory, 0).unlink()


CHANGES = {
    _cut_short: (TruncatedLogError, "it now ends at offset 3: .*Read it by a new query"),
    _written_again: (TruncatedLogError, "offset 8 was in a batch with checksum"),
    _made_anew: (RecreatedTopicError, "was deleted and created again"),
    _of_another_epoch: (TruncatedLogError, "offset 8 was of leader epoch 3, and is now of epoch 7"),
    _expired: (ExpiredOffsetsError, "offsets 9 to 29 were deleted"),
}


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_log_that_does_not_go_on(logs: Path, change: Any) -> None:
    kind, words = CHANGES[change]
    leader_epochs(logs / "t-0", (3, 0))
    streamed = Streamed(logs)
    streamed.rest()
    change(logs / "t-0")
    streamed.restart()
    with pytest.raises(kind, match=words) as caught:
        streamed.batch()
    assert (caught.value.topic, caught.value.partition) == ("t", 0)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_planned_batch_of_a_log_that_does_not_go_on(logs: Path, change: Any) -> None:
    leader_epochs(logs / "t-0", (3, 0))
    streamed = Streamed(logs, maxOffsetsPerTrigger="6")
    streamed.batch()
    streamed.restart(maxOffsetsPerTrigger="100")
    assert streamed.plan()
    change(logs / "t-0")
    streamed.restart()
    with pytest.raises(CHANGES[change][0]):
        streamed.read()


def test_expired_offsets_are_left_out_on_request(logs: Path) -> None:
    streamed = Streamed(
        logs, failOnDataLoss="false", mode="PERMISSIVE", columns="partition,offset,timestamp,damage"
    )
    streamed.rest()
    _expired(logs / "t-0")
    rows = streamed.batch() or []
    assert [row["offset"] for row in rows if row["damage"] is None] == [30, 31, 32]
    assert [row["offset"] for row in rows if row["damage"] is not None] == [9]


def test_compaction_before_a_batch_is_read_again(logs: Path) -> None:
    streamed = Streamed(logs)
    streamed.plan()
    segment_path(logs / "t-0", 0).write_bytes(b"".join([data(0, b"v0"), *run_of(6, 9)]))
    append(logs / "t-0", *run_of(9, 12), base_offset=9)
    (logs / "cleaner-offset-checkpoint").write_text("0\n1\nt 0 9\n")
    streamed.restart()
    assert offsets_of(streamed.read()) == span(0, 0, 1) + span(0, 6, 9) + span(1, 0, 9)
    assert offsets_of(streamed.batch()) == span(0, 9, 12)


def test_records_that_are_deleted_before_a_batch_is_read_again(logs: Path) -> None:
    streamed = Streamed(logs)
    streamed.plan()
    log_start(logs, "t", 0, 4)
    streamed.restart()
    with pytest.raises(KafkaFormatError, match="offsets 0 to 3"):
        streamed.read()
    streamed.restart(failOnDataLoss="false")
    assert offsets_of(streamed.read()) == span(0, 4, 9) + span(1, 0, 9)


def test_a_transaction_that_is_open_for_three_batches(tmp_path: Path) -> None:
    directory = append(tmp_path / "t-0", data(0, b"a"), transactional(1, 7, b"b"), data(2, b"c"))
    streamed = Streamed(tmp_path, isolationLevel="read_committed")
    assert offsets_of(streamed.batch()) == span(0, 0, 1)
    append(directory, transactional(3, 8, b"d"), marker(4, 8, COMMIT))
    streamed.restart()
    assert streamed.batch() is None
    append(directory, transactional(5, 7, b"e"), marker(6, 7, ABORT), data(7, b"f"))
    assert offsets_of(streamed.batch()) == [(0, 2), (0, 3), (0, 7)]


def test_a_batch_may_end_within_a_transaction(tmp_path: Path) -> None:
    for at in range(0, 8, 2):
        append(tmp_path / "t-0", transactional(at, 7, b"b", b"c"), base_offset=at)
    append(tmp_path / "t-0", marker(8, 7, ABORT), data(9, b"a", b"b", b"c"))
    streamed = Streamed(tmp_path, isolationLevel="read_committed", maxOffsetsPerTrigger="3")
    assert offsets_of(streamed.rest()) == span(0, 9, 12)
    assert len(streamed.offsets) == 5


def test_the_high_watermark_of_a_running_broker(logs: Path) -> None:
    checkpoint = logs / "replication-offset-checkpoint"
    checkpoint.write_text("0\n2\nt 0 6\nt 1 0\n")
    (logs / ".lock").touch()
    streamed = Streamed(logs)
    with locked(logs / ".lock"):
        assert offsets_of(streamed.batch()) == span(0, 0, 6)
        assert streamed.batch() is None
        checkpoint.write_text("0\n2\nt 0 9\nt 1 3\n")
        assert streamed.plan()
        # After a crash the broker begins with an older one.
        checkpoint.write_text("0\n2\nt 0 6\nt 1 0\n")
        assert offsets_of(streamed.read()) == span(0, 6, 9) + span(1, 0, 3)
        assert streamed.batch() is None


def test_a_last_batch_that_is_not_whole_comes_later(logs: Path) -> None:
    whole = run_of(9, 12)[0]
    append(logs / "t-0", whole[:-10])
    streamed = Streamed(logs)
    assert offsets_of(streamed.batch()) == span(0, 0, 9) + span(1, 0, 9)
    append(logs / "t-0", whole[-10:])
    assert offsets_of(streamed.batch()) == span(0, 9, 12)


def test_damage_is_met_by_the_batch_that_crosses_it(logs: Path, caplog: pytest.LogCaptureFixture) -> None:
    streamed = Streamed(logs)
    streamed.rest()
    append(logs / "t-0", flipped(run_of(9, 12)[0]))
    with caplog.at_level(logging.WARNING):
        assert streamed.batch() is None
    assert "t-0: there is damage where offset 9 is expected" in caplog.text
    append(logs / "t-0", *run_of(12, 15))
    with pytest.raises(KafkaFormatError, match="mode=PERMISSIVE"):
        streamed.batch()
    streamed.restart(mode="PERMISSIVE")
    assert offsets_of(streamed.read()) == span(0, 12, 15)


def test_a_batch_opens_no_segment_that_was_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from kafka_segments.core.io import filesystems

    directory = tmp_path / "t-0"
    for at in range(0, 300, 3):
        append(directory, *run_of(at, at + 3), base_offset=at)
    streamed = Streamed(tmp_path)
    streamed.rest()
    append(directory, *run_of(300, 303), base_offset=300)
    opened: list[str] = []
    original = filesystems.Places.open

    def noted(self: Any, path: str, *more: Any, **named: Any) -> Any:
        opened.append(path)
        return original(self, path, *more, **named)

    monkeypatch.setattr(filesystems.Places, "open", noted)
    streamed.restart()
    assert offsets_of(streamed.batch()) == span(0, 300, 303)
    names = {Path(path).name for path in opened if path.endswith(".log")}
    assert names == {segment_path(directory, at).name for at in (297, 300)}


@pytest.mark.parametrize(
    "offset", ["[1]", '{"t": 5}', '{"t": {"0": "x"}}', '{"t": {"0": 1}, "#logs": {"t": 1}}']
)
def test_offsets_of_other_sources(logs: Path, offset: str) -> None:
    streamed = Streamed(logs)
    streamed.offsets = [offset]
    with pytest.raises(OptionError, match="it is from another source, or was edited"):
        streamed.plan()


def test_offsets_without_what_identifies_the_logs(logs: Path) -> None:
    streamed = Streamed(logs)
    streamed.offsets = [json.dumps({"t": {"0": 3, "1": 9}})]
    assert offsets_of(streamed.batch()) == span(0, 3, 9)
