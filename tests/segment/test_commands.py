"""`kafka-segments aborted`, and `dump --isolation read_committed`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.in_process import run_main
from tests.recording.sets import ORACLE, RECORDED
from tests.segment import logs
from tests.segment.logs import Log, indexed
from tests.segment.test_cases import broken

from kafka_segments.cli.main import main

CLEAN = "kafka-4.3/clean"


Run = Callable[..., tuple[int, list[dict[str, Any]], str]]


def ran(*arguments: str | Path) -> tuple[int, list[dict[str, Any]], str]:
    """Exit status, lines as objects, and what was said on standard error."""
    status, out, said = run_main([str(argument) for argument in arguments])
    return status, [json.loads(line) for line in out.splitlines() if line.startswith("{")], said


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(RECORDED)
    return ran


def test_aborted_lists_each_partition(run: Run) -> None:
    status, lines, said = run("aborted", "--format", "jsonl", f"{CLEAN}/transactions-0")
    assert (status, said) == (0, "")
    assert lines[0] == {
        "type": "partition",
        "path": f"{CLEAN}/transactions-0",
        "topic": "transactions",
        "partition": 0,
        "log_start_offset": None,
        "end_offset": 113,
        "last_stable_offset": 113,
        "num_aborted": 8,
        "num_doubtful": 0,
        "num_open": 0,
    }
    assert lines[1] == {
        "type": "aborted",
        "topic": "transactions",
        "partition": 0,
        "producer_id": 1,
        "first_offset": 9,
        "last_offset": 16,
        "last_stable_offset": 12,
    }
    assert len(lines) == 9


def test_aborted_of_a_whole_log_directory(run: Run) -> None:
    status, lines, _said = run("aborted", "--format", "jsonl", CLEAN)
    assert status == 0
    kinds = [line["type"] for line in lines]
    assert kinds.count("partition") > 40
    assert (kinds.count("aborted"), kinds.count("open")) == (16, 1)
    (still,) = [line for line in lines if line["type"] == "open"]
    assert (still["topic"], still["first_offset"], still["is_doubtful"]) == ("open-transaction", 0, False)


def test_aborted_of_a_file_is_what_reaches_into_it(run: Run) -> None:
    _status, lines, _said = run("aborted", "--format", "jsonl", f"{CLEAN}/transactions-0/{88:020d}.log")
    assert [line["first_offset"] for line in lines[1:]] == [90, 93, 109]


def test_aborted_for_people(run: Run, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["aborted", str(RECORDED / CLEAN / "transactions-0")]) == 0
    first, second = capsysbinary.readouterr().out.decode().splitlines()[:2]
    assert (
        first
        == "transactions-0: last stable offset 113 of 113; transactions aborted: 8, open: 0, in doubt: 0"
    )
    assert second == "    aborted: producer 1, offsets 9 to 16 (the marker)"


def test_aborted_tells_damage_doubt_and_lying_indexes(run: Run, tmp_path: Path) -> None:
    log, folder = indexed(tmp_path)
    (folder / f"{0:020d}.txnindex").write_bytes(b"")
    status, lines, _said = run("aborted", "--format", "jsonl", folder)
    (finding,) = [line for line in lines if line["type"] == "finding"]
    assert status == 1 and finding["error"] == "CorruptIndexError" and "not listed" in finding["detail"]
    broken(log.segments[0][1][2])
    folder = log.write(tmp_path / "damaged")
    status, lines, _said = run("aborted", "--format", "jsonl", folder)
    kinds = [line["type"] for line in lines]
    assert status == 1
    assert kinds.count("doubtful") == 2 and kinds.count("error") == 1


def test_aborted_of_what_cannot_be_opened(run: Run, tmp_path: Path) -> None:
    status, lines, said = run("aborted", tmp_path / "missing")
    assert (status, lines) == (2, []) and "missing" in said


def test_dump_prints_committed_batches_with_the_same_lines(run: Run) -> None:
    files = [
        path.relative_to(RECORDED) for path in sorted((RECORDED / CLEAN / "transactions-0").glob("*.log"))
    ]
    status, lines, said = run("dump", "--format", "jsonl", "--isolation", "read_committed", *files)
    assert (status, said) == (0, "")
    oracle = "".join((ORACLE / f"{file}.jsonl").read_text(encoding="utf-8") for file in files)
    every = [json.loads(line) for line in oracle.splitlines()]
    assert all(line in every for line in lines)
    assert sum(line["type"] == "record" for line in lines) == 61
    assert not any(line["type"] == "batch" and line["is_control"] for line in lines)


def test_dump_as_it_was_without_the_option(run: Run) -> None:
    file = f"{CLEAN}/transactions-0/{7:020d}.log"
    status, lines, _said = run("dump", "--format", "jsonl", file)
    oracle = (ORACLE / f"{file}.jsonl").read_text(encoding="utf-8").splitlines()
    assert (status, lines) == (0, [json.loads(line) for line in oracle])
    assert run("dump", "--format", "jsonl", "--isolation", "read_uncommitted", file)[1] == lines


def test_dump_of_an_open_transaction_prints_nothing(run: Run) -> None:
    assert run("dump", "--isolation", "read_committed", f"{CLEAN}/open-transaction-0/{0:020d}.log") == (
        0,
        [],
        "",
    )


def test_dump_with_other_options(run: Run) -> None:
    file = f"{CLEAN}/transactions-0/{7:020d}.log"
    options = ("dump", "--format", "jsonl", "--isolation", "read_committed")
    _status, lines, _said = run(*options, "--headers-only", file)
    assert {line["type"] for line in lines} == {"batch"}
    assert not any(line["is_control"] or 9 <= line["base_offset"] < 12 for line in lines)
    _status, lines, _said = run(*options, "--offsets", "12:20", "--no-crc", file)
    records = [line["offset"] for line in lines if line["type"] == "record"]
    assert records and all(12 <= offset < 20 for offset in records)


def test_dump_of_a_file_without_its_neighbours_says_so(run: Run, tmp_path: Path) -> None:
    log = Log()
    log.data(1)
    log.data(2)
    log.abort(1)
    log.commit(2)
    copy = tmp_path / "some.log"
    copy.write_bytes(b"".join(piece.data for piece in log.pieces))
    status, lines, said = run("dump", "--format", "jsonl", "--isolation", "read_committed", copy)
    assert status == 0 and "by this file alone" in said
    assert [line["offset"] for line in lines if line["type"] == "record"] == logs.committed(log)


def test_dump_tells_doubts_as_errors(run: Run, tmp_path: Path) -> None:
    log = Log()
    log.data(1)
    broken(log.abort(1))
    log.data(1)
    log.commit(1)
    folder = log.write(tmp_path)
    file = folder / f"{0:020d}.log"
    status, lines, said = run("dump", "--format", "jsonl", "--isolation", "read_committed", file)
    assert (
        status == 1 and "the transaction of producer 1 from offset 0 on may have ended in the damage" in said
    )
    errors = [line for line in lines if line["type"] == "error"]
    assert [line["error"] for line in errors] == ["ChecksumMismatchError", "TransactionInDoubtError"]
    assert (errors[1]["first_lost_offset"], errors[1]["last_lost_offset"]) == (0, 0)


def without_one(tmp_path: Path) -> list[Path]:
    """A partition of four segments, the third a link that leads nowhere, with a transaction open there."""
    log = Log()
    for _ in range(4):
        log.data(-1, 2, transactional=False)
        log.commit(2)
        log.data(1)
        log.data(2)
        log.commit(1)
        log.roll()
    log.segments.pop()
    log.commit(2)
    folder = log.write(tmp_path)
    files = sorted(folder.glob("*.log"))
    files[2].unlink()
    files[2].symlink_to("nowhere")
    return files


def test_dump_of_the_others_where_one_segment_cannot_be_opened(run: Run, tmp_path: Path) -> None:
    files = without_one(tmp_path)
    options = ("dump", "--format", "jsonl", "--isolation", "read_committed")
    status, lines, said = run(*options, *files)
    assert status == 2
    assert said.count("cannot open") == 1 and str(files[2]) in said
    # Producer 2 had a transaction open where the gap begins.
    assert [line["offset"] for line in lines if line["type"] == "record"] == [
        *(0, 1, 3, 4, 6, 7, 9),
        *(18, 19, 21, 22),
    ]
    errors = [line for line in lines if line["type"] == "error"]
    assert [(line["error"], line["path"]) for line in errors] == [("TransactionInDoubtError", str(files[2]))]
    assert (errors[0]["first_lost_offset"], errors[0]["last_lost_offset"]) == (10, 10)
    assert run(*options, *files[:2], files[3])[1] == lines


def test_aborted_where_one_segment_cannot_be_opened(run: Run, tmp_path: Path) -> None:
    files = without_one(tmp_path)
    status, lines, said = run("aborted", "--format", "jsonl", files[0].parent)
    assert (status, said) == (2, "")
    assert [line["type"] for line in lines] == ["partition", "doubtful", "error"]
    assert (lines[2]["error"], lines[2]["path"]) == ("ReadError", str(files[2]))
    assert (lines[2]["first_lost_offset"], lines[2]["last_lost_offset"]) == (12, 17)
    assert [run("aborted", file)[0] for file in files] == [0, 1, 2, 0], "what is asked for decides"


def test_aborted_says_in_which_file_the_damage_is(
    tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    files = without_one(tmp_path)
    files[1].write_bytes(files[1].read_bytes()[:-1])
    assert main(["aborted", str(files[0].parent)]) == 2
    words = capsysbinary.readouterr().out.decode()
    assert f"    {files[1]}: DAMAGE at " in words
    assert (
        f"    {files[2]}: DAMAGE at 0 to 0: the disk or store cannot read these bytes: cannot open" in words
    )
    assert f"in doubt: producer 2, offsets 10 to 10: {files[1]}, position " in words


def test_a_name_that_is_no_segments_is_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    log = Log()
    log.data(1)
    folder = log.write(tmp_path)
    (folder / "other.log").touch()
    for source in (folder, folder / f"{0:020d}.log"):
        caplog.clear()
        assert main(["aborted", str(source)]) == 0
        assert [message for message in caplog.messages if "other.log" in message] == [
            f"kafka-segments: {folder / 'other.log'}: not the name of a segment; left out"
        ]


def test_a_directory_that_cannot_be_listed_is_told_once(run: Run, tmp_path: Path) -> None:
    files = [tmp_path / "missing" / f"{number}.log" for number in range(3)]
    status, lines, said = run("dump", "--isolation", "read_committed", *files)
    assert (status, lines, said.count("\n")) == (2, [], 1)


def test_dump_of_what_cannot_be_opened(run: Run, tmp_path: Path) -> None:
    status, lines, said = run("dump", "--isolation", "read_committed", tmp_path / "missing.log")
    assert (status, lines) == (2, []) and "missing.log" in said
