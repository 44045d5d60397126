"""`sizes`: what it prints in each form, of samples and losses too, and how each misuse is answered."""

from __future__ import annotations

import csv
import json
import re
import shlex
from io import StringIO
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.made.samples import RECORDED
from tests.sizes.sparse_logs import batches

from kafka_segments import encode_records
from kafka_segments.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
MULTI = str(RECORDED / "kafka-4.3" / "clean" / "multi-0")
TRANSACTIONS = str(RECORDED / "kafka-4.3" / "clean" / "transactions-0")
FEW = ("--compression", "none", "--compression", "zstd:1,3")


def answer(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = main(["sizes", *words])
    said = capsys.readouterr()
    return status, said.out, said.err


def objects(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    status, out, _err = answer(capsys, "--format", "jsonl", *words)
    assert status == 0
    return [json.loads(line) for line in out.splitlines()]


def test_a_segment_without_compression_takes_in_magic_2_what_it_took(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    log = tmp_path / "00000000000000000000.log"
    log.write_bytes(encode_records([{"value": b"hello"}, {"value": b"world"}]))
    source, *others = objects(capsys, str(log), "--compression", "none", "--experimental-magic3")
    assert (source["num_bytes"], source["num_batches"], source["num_records"]) == (85, 1, 2)
    sizes = {one["magic"]: one["num_bytes"] for one in others if one["type"] == "size"}
    # The chapter's example, corrected, and that of magic 3 (docs/sizes-reference.md); timestamps are -1.
    assert (sizes[0], sizes[1], sizes[2]) == (62, 78, 85)
    assert sizes[3] < 71


def test_text_has_the_source_the_table_and_the_losses(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _err = answer(capsys, TRANSACTIONS, *FEW)
    assert status == 0
    lines = out.splitlines()
    assert lines[0].startswith("4 segments of ") and "records a batch" in lines[0]
    assert "everything was read: numbers of bytes are exact" in lines
    table = [line.split("  ")[0] for line in lines if line.startswith("magic ") and "lose" not in line]
    assert table == ["magic 0, none", "magic 1, none", "magic 2, none", "magic 2, zstd:1", "magic 2, zstd"]
    lost = [line.split()[1:5:3] + line.split()[5:6] for line in lines if "would lose" in line]
    assert {("0", "control_batches:"), ("1", "transactional_batches:")} <= {(one[0], one[2]) for one in lost}


def test_counts_of_losses_are_those_of_convert(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    found = [one for one in objects(capsys, TRANSACTIONS, *FEW) if one["type"] == "loss"]
    ours: dict[str, int] = {one["what"]: one["num"] for one in found if one["magic"] == 0}
    theirs: dict[str, int] = {}
    for number, path in enumerate(sorted(Path(TRANSACTIONS).glob("*.log"))):
        words = ["convert", str(path), str(tmp_path / str(number)), "--to-magic", "0", "--report", "jsonl"]
        assert main(words) == 0
        for line in map(json.loads, capsys.readouterr().out.splitlines()):
            if line["type"] == "loss":
                theirs[line["what"]] = theirs.get(line["what"], 0) + line["num"]
    theirs.pop("offset_bounds", None)  # where an old format begins and ends takes no bytes
    assert ours == theirs


def test_csv_has_a_row_for_each_form(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _err = answer(capsys, MULTI, "--format", "csv", *FEW, "--batch-size", "16k")
    rows = list(csv.DictReader(StringIO(out)))
    assert status == 0
    forms = {(row["magic"], row["compression"], row["level"], row["batch_size"]) for row in rows}
    assert forms == {
        ("0", "none", "", ""),
        ("1", "none", "", ""),
        *(("2", codec, level, size) for size in ("", "16384") for codec, level in _CODECS),
    }
    assert {row["is_sample"] for row in rows} == {"0"}
    deep, shallow = (
        float(next(row for row in rows if row["magic"] == "2" and row["batch_size"] == size)["num_bytes"])
        for size in ("16384", "")
    )
    assert deep < shallow


_CODECS = (("none", ""), ("zstd", "1"), ("zstd", "3"))


def test_a_sample_is_said_to_be_one(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = tmp_path / "00000000000000000000.log"
    log.write_bytes(batches(Random(2), 1 << 20))
    words = (str(log), "--compression", "none", "--sample", "100k", "--seed", "5")
    status, out, _err = answer(capsys, *words)
    assert status == 0
    assert "a SAMPLE was read" in out and "seed 5" in out and "±" in out
    source, sample, *others = objects(capsys, *words)
    assert sample["type"] == "sample" and sample["seed"] == 5 and sample["num_bytes"] >= 100 << 10
    assert source["num_bytes"] == log.stat().st_size
    plain = next(one for one in others if one["magic"] == 2)
    assert (plain["num_bytes"], plain["num_bytes_half_width"]) == (log.stat().st_size, 0)
    whole = objects(capsys, str(log), "--compression", "none", "--whole")
    assert [one["type"] for one in whole[:2]] == ["source", "size"]


def test_damage_is_said_and_is_the_exit_status(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    data = bytearray(batches(Random(2), 20_000))
    data[9000] ^= 0xFF
    log = tmp_path / "00000000000000000000.log"
    log.write_bytes(data)
    status, out, err = answer(capsys, str(log), *FEW)
    assert status == 1
    assert f"{log}, position " in err and "magic 2, zstd" in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--compression", "brotli"), "give one of none, gzip, snappy, lz4, zstd"),
        (("--compression", "zstd:high"), "'high' is not a level"),
        (("--compression", "zstd:"), "a level is missing"),
        (("--compression", "gzip:10"), "gzip takes 1 to 9"),
        (("--compression", "snappy:1"), "snappy has no levels"),
        (("--compression", "none:1"), "give one of none"),
        (("--compression", "zstd", "--magic", "1"), "zstd needs magic 2"),
        (("--batch-size", "0"), "a number of bytes above 0"),
        (("--batch-size", "9g"), "must be an integer"),
        (("--sample", "much"), "a number of bytes above 0"),
        (("--seconds", "-1"), "give a time above 0"),
        (("--whole", "--seconds", "1"), "--whole reads everything"),
        (("--sample", "1m", "--seconds", "1"), "both limit the sample"),
        (("--magic", "3"), "invalid choice: 3"),
    ],
    ids=" ".join,
)
def test_misuse_is_answered(capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str) -> None:
    status, out, err = answer(capsys, MULTI, *words)
    assert (status, out) == (2, "")
    assert said in err


def test_what_cannot_be_opened_is_said_and_the_rest_is_measured(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    status, out, err = answer(capsys, MULTI, str(tmp_path / "absent.log"), *FEW)
    assert status == 2
    assert "absent.log" in err and "magic 2, zstd" in out
    assert answer(capsys, "-")[0] == 2
    status, _out, err = answer(capsys, str(tmp_path))
    assert status == 2 and "no segments here" in err
    index = next(Path(MULTI).glob("*.index"))
    status, _out, err = answer(capsys, str(index))
    assert status == 2 and "this is an offset index" in err


def commands() -> list[list[str]]:
    """The commands of docs/sizes.md, of which the directories are replaced by a recorded one."""
    page = (ROOT / "docs" / "sizes.md").read_text(encoding="utf-8")
    block = page.partition("```sh\n")[2].partition("```")[0]
    lines = [shlex.split(line, comments=True) for line in block.splitlines()]
    return [
        [MULTI if word == "LOGS" or word.startswith("/") else word for word in line[2:]] for line in lines
    ]


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_the_commands_of_the_page_run(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    status, out, _err = answer(capsys, *words)
    assert status == 0
    assert "magic" in out


def test_the_page_shows_what_the_command_prints(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """But for the times, and for bytes that depend on the version of a codec's library."""
    text = (ROOT / "docs" / "sizes.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```console\n\$ kafka-segments sizes (.+)\n((?:.*\n)+?)```$", text, re.MULTILINE)
    monkeypatch.chdir(ROOT)
    status, out, _err = answer(capsys, *shlex.split(block[0]))
    assert status == 0
    timed = re.compile(r"^((?:magic \d,|-----).*?)(?: +(?:[\d.e-]+|-+)){2}$", re.MULTILINE)
    coded = re.compile(r"^(magic \d, zstd\S*(?: batches of \d+)?) [\d.]+ [\d.]+ ", re.MULTILINE)
    shown, printed = (coded.sub(r"\1 ", re.sub(r" +", " ", timed.sub(r"\1", one))) for one in (block[1], out))
    assert len(coded.findall(re.sub(r" +", " ", out))) == 2
    assert shown == printed
    assert len(timed.findall(out)) == 6


@pytest.mark.parametrize("name", ["kafka-0.9", "kafka-0.10.2", "kafka-2.8"])
def test_the_command_that_the_reference_names_prints_a_row_of_its_table(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    text = (ROOT / "docs" / "sizes-reference.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"`kafka-segments sizes (tests/vectors/.+?)`", text)
    table = text.partition("### Recorded logs")[2].partition("###")[0]
    (row,) = re.findall(rf"^\| `{name}/clean` \| (\d.+) \|$", table, re.MULTILINE)
    monkeypatch.chdir(ROOT)
    source, *others = objects(capsys, *shlex.split(command.replace("kafka-2.8", name)))
    sizes = [one["num_bytes"] for one in others if one["type"] == "size"]
    assert [source["num_bytes"], *sizes] == [int(cell) for cell in row.split(" | ")[1:6]]


def test_batches_that_kafka_would_refuse_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    (directory,) = (RECORDED / "kafka-4.3" / "clean").glob("negative-aiokafka-0")
    _status, out, _err = answer(capsys, str(directory), "--compression", "none")
    (number,) = re.findall(r"^batches left out because .* again: (\d+)$", out, re.MULTILINE)
    assert int(number) > 1


def test_an_empty_segment_takes_nothing(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = tmp_path / "00000000000000000000.log"
    log.write_bytes(b"")
    source, *others = objects(capsys, str(log), *FEW)
    assert source["num_bytes"] == 0 and {one["num_bytes"] for one in others} == {0}
    assert answer(capsys, str(log))[0] == 0
