"""The lines of pages that show how verbs are called, run in their order on small logs."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.house.commands import ROOT, blocks, calls
from tests.made.directories import append, run_of

from kafka_segments.cli.main import main

# What these write, at DEST, is no table.
NO_TABLE = {"convert": "converted.log", "salvage": "salvaged", "slice": "orders-3"}
WITH_ENGINE = ("ingest", "compact", "rewind")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, with a log directory `logs` and a segment `file.log`."""
    append(tmp_path / "logs" / "orders-3", *run_of(0, 9))
    (tmp_path / "file.log").write_bytes(b"".join(run_of(0, 9)))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(words: list[str]) -> None:
    """Run one call. Tasks run here: starting Spark would take seconds, and its tests have the rest."""
    more = ["--engine", "local"] if words[0] in WITH_ENGINE else []
    assert main([*words, *more]) == 0, words


def lines(page: str, start: str) -> list[list[str]]:
    (found,) = [code for code in blocks(ROOT / page) if code.startswith(start)]
    return list(calls(found))


ALL_VERBS = ("docs/command-line.md", "kafka-segments ls PATH...")


def test_the_lines_of_all_verbs_run(here: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    found = [words for words in lines(*ALL_VERBS) if "--language" not in words]
    assert len(found) >= 10
    for number, words in enumerate(found):
        # What is not a table is written to a file or directory of its own; offset 512 is beyond this log.
        own = {"directory": f"directory-{number}"}
        if words[0] in NO_TABLE:
            own["table"] = NO_TABLE[words[0]]
        run([own.get(word, word) for word in words])
    said = capsysbinary.readouterr()
    assert said.out.count(b'"type":"record"') == 9 and b'value="v8"' in said.out
    assert (here / "converted.log").stat().st_size > 0
    assert list((here / "table").rglob("*.parquet"))
    kept = (here / "logs" / "orders-3" / f"{0:020}.log").read_bytes()
    assert (here / "salvaged" / "log" / "orders-3" / f"{0:020}.log").read_bytes() == kept
    assert (here / "orders-3" / f"{3:020}.log").read_bytes() == kept[91:]


@pytest.mark.node
def test_the_line_on_other_languages_runs(here: Path) -> None:
    (words,) = [words for words in lines(*ALL_VERBS) if "--language" in words]
    run(words)
    assert list((here / "directory").rglob("*.go"))


def test_the_lines_of_the_ingest_page_run(here: Path) -> None:
    found = lines("docs/ingest.md", "kafka-segments ingest SRC...")
    assert [words[0] for words in found] == ["ingest", "audit", "compact", "rewind"]
    for words in found:
        run(words)
    assert (here / "table").is_dir()


def test_the_lines_of_the_page_on_kafka_dump_log_run(
    here: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    (here / "logs" / "orders-3" / "00000000000000000000.index").touch()
    found = lines("docs/dump-like-kafka.md", "kafka-segments dump --like-kafka")
    for words in found:
        run(words)
    out = capsysbinary.readouterr().out
    assert len(found) == 2
    assert out.count(b"\n| offset: ") == 9 and b" payload: v8\n" in out
    assert out.endswith(b"00000000000000000000.index is empty.\n")


def test_the_line_of_the_json_lines_page_runs(
    monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.chdir(ROOT / "tests" / "vectors" / "recorded" / "kafka-4.3")
    (words,) = lines("docs/jsonl.md", "$ kafka-segments dump")
    run(words)
    out = capsysbinary.readouterr().out
    assert [line[:15] for line in out.splitlines()] == [b'{"type":"batch"', b'{"type":"record']
    assert out.decode() in (ROOT / "docs" / "jsonl.md").read_text(encoding="utf-8")


def test_the_lines_of_the_conversions_page_run(
    here: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    found = lines("docs/conversions.md", "kafka-segments convert")
    assert [words[-1] for words in found] == ["zstd:19", "uncompressed"]
    segment = here / "logs" / "orders-3" / f"{0:020}.log"
    for words in found:
        run([str(segment) if word == f"orders-3/{0:020}.log" else word for word in words])
    assert (here / "small.log").exists() and (here / "plain.log").read_bytes() == segment.read_bytes()


def test_the_lines_about_ls_run(here: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    found = lines("docs/command-line.md", "kafka-segments ls /var")
    assert len(found) == 4
    places = {
        "/var/lib/kafka/data": "logs",
        "/data1": "logs",
        "/data2": "logs",
        "/data1/orders-3": "logs/orders-3",
    }
    for words in found:
        run([places.get(word, word) for word in words])
        assert b"orders" in capsysbinary.readouterr().out
