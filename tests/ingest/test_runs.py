"""Runs into the same table: each takes what is new, each offset comes once, and changed logs are refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow.dataset
import pytest
from tests.ingest.ingested import Run, data_files, parquet_rows
from tests.made import build, directories
from tests.made.directories import append, run_of

from kafka_segments.core.io.filesystems import Places
from kafka_segments.ingest.runs.run_log import RunLog
from kafka_segments.ingest.runs.run_state import RunState

ID, OTHER = "1oQZnfFqTVWOHr1q3zBQ6A", "7nGr8hXvQSuYl0nV1pUj3w"


def offsets(destination: Path, topic: str = "t") -> list[int]:
    return [row.offset for row in parquet_rows(destination) if row.topic == topic]


def state(destination: Path) -> RunState:
    found = RunLog(str(destination)).newest()
    assert found is not None
    return found


def test_a_second_run_takes_what_is_new(ingest: Run, audit: Run, logs: Path, out: Path) -> None:
    status, table, _ = ingest(logs, out)
    assert (status, table["t", 0]["records"], table["t", 0]["end offset"]) == (0, "9", "9")
    append(logs / "t-0", *run_of(9, 12))
    append(logs / "t-0", *run_of(12, 20), base_offset=12)
    append(logs / "t-1", *run_of(0, 3))
    append(logs / "u-0", *run_of(0, 4))
    status, table, _ = ingest(logs, out)
    assert status == 0
    found = {
        key: (row["first offset"], row["end offset"], row["records"])
        for key, row in table.items()
        if key[1] >= 0
    }
    assert found == {("t", 0): ("9", "20", "11"), ("t", 1): ("0", "3", "3"), ("u", 0): ("0", "4", "4")}
    assert [(row.topic, row.partition, row.offset) for row in parquet_rows(out)] == [
        *(("t", 0, offset) for offset in range(20)),
        *(("t", 1, offset) for offset in range(3)),
        *(("u", 0, offset) for offset in range(4)),
    ]
    status, table, err = audit(out, logs)
    assert (status, table["t", 0]["runs"], table["t", 0]["records"]) == (0, "2", "20"), err


def test_a_run_without_anything_new_leaves_the_table_alone(
    ingest: Run, logs: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest(logs, out)
    files, number = data_files(out), state(out).number
    status, table, _ = ingest(logs, out)
    assert (status, list(table)) == (0, [("total", -1)]), "only partitions with something new are shown"
    assert (data_files(out), state(out).number) == (files, number)
    # Nor does one that is killed before it could remove anything.
    monkeypatch.setattr(RunLog, "discard", lambda *_arguments: None)
    assert ingest(logs, out)[0] == 0
    assert not (out / "_kafka_segments" / "staging").exists()


def test_a_damaged_end_does_not_make_a_segment_another_file(ingest: Run, logs: Path, out: Path) -> None:
    ingest(logs, out)
    with open(directories.segment_path(logs / "t-0", 0), "ab") as file:
        file.write(b"\xff" * 50)
    status, table, err = ingest(logs, out)
    assert (status, table["t", 0]["damage"]) == (1, "1"), err
    assert "does not look like" not in err


def test_the_known_partitions_are_not_gone_through_for_each_log(
    ingest: Run, logs: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(1, 20):
        append(logs / f"t-{number}", *run_of(0, 3))
    ingest(logs, out)
    append(logs / "t-0", *run_of(9, 12))
    calls, real = [], RunState.by_partition
    monkeypatch.setattr(RunState, "by_partition", lambda self: calls.append(0) or real(self))
    assert ingest(logs, out)[0] == 0
    assert len(calls) < 10


def test_a_partition_that_was_empty_is_taken_when_it_grows(ingest: Run, out: Path, tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    append(logs / "t-0")
    assert ingest(logs, out)[0] == 0
    assert data_files(out) == ["no-rows.parquet"]
    append(logs / "t-0", *run_of(0, 3))
    assert ingest(logs, out)[0] == 0
    assert offsets(out) == [0, 1, 2]
    assert "no-rows.parquet" not in data_files(out)


def test_a_transaction_that_is_open_over_three_runs(
    ingest: Run, audit: Run, out: Path, tmp_path: Path
) -> None:
    logs, part = tmp_path / "logs", tmp_path / "logs" / "t-0"
    committed = "--isolation", "read_committed"
    append(part, *run_of(0, 3), directories.transactional(3, 7, b"a", b"b"), *run_of(5, 8))
    status, table, _ = ingest(logs, out, *committed)
    assert (status, table["t", 0]["end offset"], offsets(out)) == (0, "3", [0, 1, 2])
    append(part, directories.transactional(8, 9, b"c"), directories.marker(9, 9, directories.ABORT))
    assert ingest(logs, out, *committed)[1]["total", -1]["records"] == "0"
    append(part, directories.transactional(10, 7, b"d"), directories.marker(11, 7, directories.COMMIT))
    append(part, *run_of(12, 13))
    status, table, _ = ingest(logs, out, *committed)
    row = table["t", 0]
    assert (status, row["records"], row["aborted"], row["control"]) == (0, "7", "1", "2")
    assert offsets(out) == [0, 1, 2, 3, 4, 5, 6, 7, 10, 12]
    assert audit(out, logs)[0] == 0


def test_an_aborted_transaction_whose_marker_comes_later(ingest: Run, out: Path, tmp_path: Path) -> None:
    logs, part = tmp_path / "logs", tmp_path / "logs" / "t-0"
    append(part, directories.transactional(0, 7, b"a"), *run_of(1, 4))
    assert list(ingest(logs, out, "--isolation", "read_committed")[1]) == [("total", -1)]
    assert state(out).by_partition()["t", 0].next_offset == 0
    append(part, directories.marker(4, 7, directories.ABORT))
    append(part, *run_of(5, 6), base_offset=5)
    row = ingest(logs, out, "--isolation", "read_committed")[1]["t", 0]
    assert (row["records"], row["aborted"], row["control"], row["absent"]) == ("4", "1", "1", "0")
    assert offsets(out) == [1, 2, 3, 5]


def test_where_a_run_ends_and_begins_is_chosen_as_in_the_source(ingest: Run, logs: Path, out: Path) -> None:
    choose = json.dumps({"t": {"0": 4}})
    assert ingest(logs, out, "-o", f"endingOffsets={choose}")[1]["t", 0]["records"] == "4"
    append(logs / "u-0", *run_of(0, 6))
    start = json.dumps({"u": {"0": 2}})
    status, table, err = ingest(logs, out, "-o", "subscribe=u", "-o", f"startingOffsets={start}")
    assert (status, table["u", 0]["first offset"], table["u", 0]["records"]) == (0, "2", "4"), err
    assert ingest(logs, out)[0] == 0
    assert (offsets(out), offsets(out, "u")) == (list(range(9)), [2, 3, 4, 5])


def test_columns_can_be_added_and_not_left_out(ingest: Run, audit: Run, logs: Path, out: Path) -> None:
    assert ingest(logs, out, "-o", "columns=offset,value")[0] == 0
    append(logs / "t-0", *run_of(9, 12))
    status, _, err = ingest(logs, out, "-o", "columns=offset")
    assert (status, "this run lacks value" in err) == (2, True)
    assert ingest(logs, out, "-o", "columns=offset,value,key,producer_id")[0] == 0
    files = sorted(out.glob("topic=*/*/*.parquet"))
    whole = pyarrow.dataset.dataset(files[-1]).schema
    rows = pyarrow.dataset.dataset([str(one) for one in files], schema=whole).to_table().sort_by("offset")
    assert rows["offset"].to_pylist() == list(range(12))
    assert rows["key"].to_pylist() == [None] * 9 + [b"k"] * 3
    assert audit(out)[0] == 0
    status, _, err = ingest(logs, out, "-o", "columns=key")
    assert (status, "lacks offset" in err) == (2, True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--isolation", "read_committed"], "--isolation read_uncommitted, but this run has --isolation"),
        (["--divide-by", "date"], "--divide-by left out, but this run has --divide-by date"),
    ],
)
def test_a_run_with_other_settings_is_refused(
    ingest: Run, logs: Path, out: Path, words: list[str], said: str
) -> None:
    ingest(logs, out)
    append(logs / "t-0", *run_of(9, 12))
    status, _, err = ingest(logs, out, *words)
    assert (status, said in err) == (2, True), err
    assert offsets(out) == list(range(9))


def test_partitions_that_are_in_the_logs_no_more_are_named_in_a_line(
    ingest: Run, logs: Path, out: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(5):
        append(logs / f"u-{number}", *run_of(0, 3))
    ingest(logs, out)
    caplog.clear()
    for number in range(5):
        shutil.rmtree(logs / f"u-{number}")
        (logs / f"backup {number}").mkdir()
        (logs / f"v-{number}").mkdir()
    status, table, err = ingest(logs, out)
    assert (status, table["total", -1]["records"]) == (0, "0")
    assert "the table has partitions that these logs lack: u-0, u-1, u-2 and 2 more\n" in err
    (line,) = [one for one in caplog.messages if "left out" in one]
    assert (
        "backup 2 and 2 more: its name is not TOPIC-PARTITION" in line
        and "v-2 and 2 more: it has no segment" in line
    )


# --- logs that do not go on ---------------------------------------------------------------------------------


def refused(ingest: Run, logs: Path, out: Path) -> str:
    """The message of a run that has to be refused and to change nothing."""
    before = (offsets(out), state(out))
    status, table, err = ingest(logs, out)
    assert (status, table) == (2, {}), err
    assert (offsets(out), state(out)) == before
    return err


def test_a_truncated_log(ingest: Run, logs: Path, out: Path) -> None:
    ingest(logs, out)
    path = directories.segment_path(logs / "t-0", 0)
    path.write_bytes(b"".join(run_of(0, 6)))
    assert "t-0 was read up to offset 8, but it now ends at offset 6" in refused(ingest, logs, out)
    path.write_bytes(b"".join(run_of(0, 12, b"other")))
    assert "offset 8 was in a batch with checksum" in refused(ingest, logs, out)
    path.write_bytes(b"".join([*run_of(0, 6), directories.data(6, *[b"x"] * 9, leader_epoch=1)]))
    assert "is now in another one" in refused(ingest, logs, out)


def test_a_log_that_was_written_again_under_another_leader_epoch(ingest: Run, logs: Path, out: Path) -> None:
    directories.leader_epochs(logs / "t-0", (0, 0), (3, 5))
    ingest(logs, out)
    append(logs / "t-0", *run_of(9, 12))
    directories.leader_epochs(logs / "t-0", (0, 0), (3, 5), (4, 9))
    assert ingest(logs, out)[0] == 0, "epochs that follow are no contradiction"
    directories.leader_epochs(logs / "t-0", (0, 0), (3, 5), (5, 7))
    assert "offset 11 was of leader epoch 4, and is now of epoch 5" in refused(ingest, logs, out)


def test_a_topic_that_was_created_again(ingest: Run, logs: Path, out: Path) -> None:
    directories.topic_id(logs / "t-0", ID)
    ingest(logs, out)
    shutil.rmtree(logs / "t-0")
    append(logs / "t-0", *run_of(0, 30))
    directories.topic_id(logs / "t-0", OTHER)
    err = refused(ingest, logs, out)
    assert f"its id was {ID}, and is {OTHER}" in err
    assert "rewind DEST t:0 --to-offset 0" in err


def test_offsets_that_expired_before_a_run_took_them(ingest: Run, audit: Run, logs: Path, out: Path) -> None:
    ingest(logs, out)
    append(logs / "t-0", *run_of(15, 18), base_offset=15)
    directories.segment_path(logs / "t-0", 0).unlink()
    directories.log_start(logs, "t", 0, 15)
    err = refused(ingest, logs, out)
    assert "offsets 9 to 14 were deleted" in err
    assert "failOnDataLoss=false" in err
    status, table, err = ingest(logs, out, "-o", "failOnDataLoss=false")
    row = table["t", 0]
    assert (status, row["first offset"], row["lost"], row["records"]) == (1, "9", "6", "3"), err
    assert offsets(out) == [*range(9), 15, 16, 17]
    status, _, err = audit(out, logs)
    assert (status, "t-0: 6 offsets were lost" in err) == (1, True)


@pytest.mark.parametrize("starting", ["earliest", '{"t": {"1": 0}}'])
def test_a_partition_that_was_empty_and_begins_later_now(
    ingest: Run, audit: Run, out: Path, tmp_path: Path, starting: str
) -> None:
    """Nothing of it was read: what lies below its start is absent, as in a partition that is new."""
    logs, words = append(tmp_path / "logs" / "t-1").parent, ("-o", f"startingOffsets={starting}")
    ingest(logs, out, *words)
    directories.segment_path(logs / "t-1", 0).unlink()
    append(logs / "t-1", *run_of(30, 39), base_offset=30)
    status, table, err = ingest(logs, out, *words)
    row = table["t", 1]
    assert status == 0, err
    assert [row[name] for name in ("first offset", "absent", "lost", "records")] == ["0", "30", "0", "9"]
    assert audit(out, logs)[0] == 0


@pytest.mark.parametrize("left", [(), (0,), (0, 1)])
def test_what_the_cleaner_removes_is_no_contradiction(
    ingest: Run, audit: Run, logs: Path, out: Path, left: tuple[int, ...]
) -> None:
    ingest(logs, out)
    kept = [build.record(delta, b"k", b"v%d" % (6 + delta)) for delta in left]
    last = [build.batch(6, kept, last_offset_delta=2, count=len(kept))] if kept else []
    path = directories.segment_path(logs / "t-0", 0)
    path.write_bytes(b"".join([*run_of(0, 6), *last, *run_of(9, 12)]))
    status, table, err = ingest(logs, out)
    assert (status, table["t", 0]["records"]) == (0, "3"), err
    assert offsets(out) == list(range(12))
    status, _, err = audit(out, logs)
    assert status == 0
    assert f"t-0: the log no longer has {3 - len(left)} of its 12 records" in err


def test_a_run_opens_no_segment_that_was_read_before(
    ingest: Run, out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = tmp_path / "logs" / "t-0"
    for base in range(0, 600, 3):
        append(part, *run_of(base, base + 3), base_offset=base)
    ingest(tmp_path / "logs", out)
    append(part, *run_of(600, 603), base_offset=600)
    opened: list[str] = []
    real = Places.open

    def noting(self: Places, path: str, *arguments: Any, **more: Any) -> Any:
        opened.append(path)
        return real(self, path, *arguments, **more)

    monkeypatch.setattr(Places, "open", noting)
    assert ingest(tmp_path / "logs", out)[1]["t", 0]["records"] == "3"
    names = {Path(path).name for path in opened if path.endswith(".log")}
    assert names <= {f"{597:020}.log", f"{600:020}.log"}
