"""`dump` and `convert` of the discarded magic 3: only where asked for by name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.made.magic3 import MAGIC_2, MAGIC_3

from kafka_segments.cli.main import main
from kafka_segments.write.convert import convert_magic3

NAME = "00000000000000000000.log"
DUMP = ["dump", "--format", "jsonl", NAME]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path(NAME).write_bytes(MAGIC_2)
    Path("three.log").write_bytes(MAGIC_3)


def test_without_the_option_the_message_names_it(capfd: pytest.CaptureFixture[str]) -> None:
    Path(NAME).write_bytes(MAGIC_2 + MAGIC_3)
    assert main(DUMP) == 1
    out, err = capfd.readouterr()
    assert [json.loads(line)["type"] for line in out.splitlines()] == ["batch", "record", "record", "error"]
    assert "magic 3 is not 0, 1 or 2" in err
    assert "dump with --experimental-magic3" in err


def test_with_the_option_both_are_printed(capfd: pytest.CaptureFixture[str]) -> None:
    Path(NAME).write_bytes(MAGIC_2 + MAGIC_3)
    assert main([*DUMP, "--experimental-magic3"]) == 0
    lines = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert [line["type"] for line in lines] == ["batch", "record", "record"] * 2
    old, new = lines[0], lines[3]
    assert (old["magic"], new["magic"]) == (2, 3)
    assert list(new) == [*old, "ignores_message_attributes", "has_metadata_first"]
    assert (new["ignores_message_attributes"], new["has_metadata_first"]) == (True, False)
    assert new["max_timestamp"] == old["max_timestamp"]
    assert [(line["key"], line["value"]) for line in lines[1:3]] == [
        (line["key"], line["value"]) for line in lines[4:]
    ]


def test_text_says_what_is_experimental(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["dump", "--experimental-magic3", "--headers-only", "three.log"]) == 0
    assert "magic 3, none" in (out := capfd.readouterr().out)
    assert out.rstrip().endswith(", experimental")


def test_a_directory_is_read_too(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "topic-0"
    folder.mkdir()
    (folder / NAME).write_bytes(MAGIC_3)
    assert main(["dump", "--experimental-magic3", str(folder)]) == 0
    assert "magic 3" in capfd.readouterr().out


def test_committed_records_alone_are_another_way_of_reading(capfd: pytest.CaptureFixture[str]) -> None:
    assert main([*DUMP, "--experimental-magic3", "--isolation", "read_committed"]) == 2
    assert "--experimental-magic3 reads files one by one" in capfd.readouterr().err


@pytest.mark.parametrize("layout", [[], ["--metadata-first"]], ids=["as proposed", "metadata first"])
def test_converting_there_and_back(layout: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    option = "--experimental-magic3"
    assert main(["convert", "--to-magic", "3", option, *layout, NAME, "made.log", "--report", "jsonl"]) == 0
    expected = convert_magic3(MAGIC_2, 3, experimental_magic3=True, metadata_first=bool(layout))
    assert Path("made.log").read_bytes() == expected.to_bytes()
    assert capfd.readouterr().out == expected.report.to_jsonl()
    assert main(["convert", "--to-magic", "2", option, "made.log", "back.log"]) == 0
    assert Path("back.log").read_bytes() == MAGIC_2
    assert capfd.readouterr().out.startswith("1 entries read: 0 copied as they were, 1 rewritten")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--to-magic", "3"], "--to-magic 3 needs --experimental-magic3"),
        (["--to-magic", "2", "--metadata-first"], "--metadata-first is for --experimental-magic3"),
        (["--to-magic", "2", "--metadata-first", "--experimental-magic3"], "a layout of magic 3"),
        (["--to-magic", "1", "--experimental-magic3"], "to_magic is 1"),
        (["--to-magic", "3", "--experimental-magic3", "--batch-size", "9"], "--batch-size is for"),
    ],
)
def test_wrong_usage(arguments: list[str], message: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", *arguments, NAME, "made.log"]) == 2
    assert message in capfd.readouterr().err
    assert not Path("made.log").exists()
