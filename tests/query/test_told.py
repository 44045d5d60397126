"""What is amiss and costs no record of the range is told: by the command, by the source, by `view=damage`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.log.test_copies import scenario
from tests.query import logs
from tests.query.logs import Entry
from tests.segment.logs import indexed

from kafka_segments.cli.main import main


def command(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[dict[str, Any]], str]:
    """Exit status, lines as values, and what people get."""
    status = main(["plan", "--format", "jsonl", *arguments])
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert main(["plan", *arguments]) == status
    return status, found, capsys.readouterr().out


def source(*paths: Path, **options: str) -> list[dict[str, Any]]:
    from tests.spark.planned import reader_of, rows_of

    return rows_of(reader_of(paths=json.dumps([str(path) for path in paths]), **options))


def partition(folder: Path) -> Path:
    return logs.write(folder, [Entry("create2", (at,)) for at in range(40)], segment_bytes=1000)


def replicas(folder: Path) -> list[Path]:
    """The log directories of three brokers; the first one's was cut off when another became the leader."""
    for path, data in scenario().files().items():
        file = folder / path.removeprefix("m:/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    return sorted(folder.iterdir())


def test_a_diverged_tail(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    paths = replicas(tmp_path)
    status, found, words = command(capsys, *map(str, paths))
    (one,) = [line for line in found if line["type"] == "left_out" and "history diverges from" in line["why"]]
    assert (status, one["first_offset"], one["last_offset"]) == (0, 20, 39)
    assert "not read: offsets 20 to 39" in words
    source(*paths)
    assert (
        f"t-0: offsets 20 to 39 are not read in {paths[0]}/t-0: this copy's history diverges from"
        in caplog.text
    )
    rows = source(*paths, view="damage")
    assert [(row["kind"], row["firstOffset"], row["lastOffset"]) for row in rows] == [("note", 20, 39)]
    assert rows[0]["sourceFile"] == one["paths"][0]


def test_a_file_of_notes_that_is_damaged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    path = partition(tmp_path)
    wrong = path / "leader-epoch-checkpoint"
    wrong.write_bytes(b"rubbish\n")
    status, found, words = command(capsys, str(path))
    (one,) = [line for line in found if line["type"] == "finding"]
    assert (status, one["path"]) == (1, str(wrong)) and str(wrong) in words
    caplog.clear()
    assert len(source(path)) == 40
    assert f"kafka-segments: t-0: {wrong}" in caplog.text
    (row,) = source(path, view="damage")
    assert (row["kind"], row["sourceFile"]) == ("note", str(wrong))
    pinned = tmp_path / "pinned"
    assert main(["plan", str(path), "--take-snapshot", str(pinned)]) == 1
    capsys.readouterr()
    assert command(capsys, "--snapshot", str(pinned))[1][-2] == one


def test_segments_below_the_log_start(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = partition(tmp_path)
    (tmp_path / "log-start-offset-checkpoint").write_text("0\n1\nt 0 30\n")
    status, found, _words = command(capsys, str(tmp_path))
    (one,) = [line for line in found if line["type"] == "left_out"]
    assert (status, one["first_offset"]) == (0, 0) and "the log starts at offset 30" in one["why"]
    below = [file for file in sorted(path.glob("*.log"))[1:] if int(file.stem) <= 30]
    assert one["last_offset"] == int(below[-1].stem) - 1


@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
def test_a_log_that_starts_behind_all_there_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture, isolation: str
) -> None:
    partition(tmp_path)
    note = tmp_path / "log-start-offset-checkpoint"
    note.write_text("0\n1\nt 0 5000\n")
    asked = {"kafka.isolation.level": isolation}
    status, found, words = command(capsys, str(tmp_path), "-o", f"kafka.isolation.level={isolation}")
    (one,) = [line for line in found if line["type"] == "remark"]
    why = "the log starts at offset 5000 (log-start-offset-checkpoint), and its segments end"
    assert status == 0 and f"{why} at offset 40" in one["why"] and why in words
    assert source(tmp_path, **asked) == []
    assert why in caplog.text
    (row,) = source(tmp_path, view="damage", **asked)
    assert row["kind"] == "note" and why in row["message"]
    note.write_text("0\n1\nt 0 40\n")
    caplog.clear()
    assert source(tmp_path, **asked) == [] and caplog.text == "", "so it is when all was deleted"


def test_indexes_that_are_believed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    _log, folder = indexed(tmp_path)
    newest = sorted(folder.glob("*.log"))[-1].stat().st_size
    asked = {"kafka.isolation.level": "read_committed", "maxWalkBytes": str(newest)}
    given = [word for name, value in asked.items() for word in ("-o", f"{name}={value}")]
    status, found, _words = command(capsys, str(folder), *given)
    unread = ".txnindex files decided which transactions were committed"
    (one,) = [line for line in found if line["type"] == "remark" and unread in line["why"]]
    assert status == 0
    source(folder, **asked)
    assert one["why"] in caplog.text
    assert one["why"] in source(folder, view="damage", **asked)[0]["message"]
