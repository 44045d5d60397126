"""The Java program still reads what is committed, and says where Kafka's reader stops."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.made.build import batch
from tests.oracle import jvm, run
from tests.recording.sets import ORACLE, RECORDED, segment_files

pytestmark = pytest.mark.oracle

SEGMENT = "kafka-4.3/clean/shapes-0/00000000000000000000.log"


def test_kafka_still_reads_the_recorded_files_as_committed(tmp_path: Path) -> None:
    files = segment_files(".")
    result = run.oracle(files, out=tmp_path, cwd=RECORDED)
    assert (result.returncode, result.stderr) == (0, "")
    assert len(files) > 250
    for file in files:
        fresh = (tmp_path / f"{file}.jsonl").read_bytes()
        assert fresh == (ORACLE / f"{file}.jsonl").read_bytes(), file


def test_lines_carry_the_path_as_given() -> None:
    result = run.oracle([f"./{SEGMENT}"], cwd=RECORDED)
    paths = {line["path"] for line in map(json.loads, result.stdout.splitlines())}
    assert paths == {f"./{SEGMENT}"}


def test_a_batch_with_a_wrong_checksum_gives_its_line_and_no_records(tmp_path: Path) -> None:
    lines = (ORACLE / f"{SEGMENT}.jsonl").read_text(encoding="utf-8").splitlines()
    batches = [line for line in map(json.loads, lines) if line["type"] == "batch"]
    damaged = tmp_path / "00000000000000000000.log"
    shutil.copyfile(RECORDED / SEGMENT, damaged)
    with damaged.open("r+b") as file:
        file.seek(batches[1]["position"] + batches[1]["size"] - 1)
        last = file.read(1)[0]
        file.seek(-1, 1)
        file.write(bytes([last ^ 1]))

    result = run.oracle([damaged.name], cwd=tmp_path)

    assert result.returncode == 1
    assert f"position {batches[1]['position']}: CorruptRecordException" in result.stderr
    found = [json.loads(line) for line in result.stdout.splitlines()]
    expected = [json.loads(line) for line in lines]
    for line in expected:
        line["path"] = damaged.name
        if line["type"] == "batch":
            line["crc_valid"] = line["position"] != batches[1]["position"]
    assert found == [
        line for line in expected if line["type"] == "batch" or line["position"] != batches[1]["position"]
    ]


def test_an_error_of_a_codec_ends_its_batch_only(tmp_path: Path) -> None:
    """snappy-java throws `SnappyError`, which is no exception, at a chunk of -1 bytes."""
    payload = b"\x82SNAPPY\0" + bytes([0, 0, 0, 1, 0, 0, 0, 1]) + b"\xff" * 4
    (tmp_path / "x.log").write_bytes(batch(0, attributes=2, payload=payload) + batch(1))
    result = run.oracle(["x.log"], cwd=tmp_path)
    assert result.returncode == 1
    assert "x.log, position 0: SnappyError" in result.stderr
    found = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(line["type"], line.get("base_offset")) for line in found] == [
        ("batch", 0),
        ("batch", 1),
        ("record", None),
    ]


def test_a_file_that_is_no_segment_is_a_complaint(tmp_path: Path) -> None:
    (tmp_path / "x.log").write_bytes(bytes(range(1, 101)))
    (tmp_path / "short.log").write_bytes(b"\0" * 11 + b"\5" + b"\0" * 20)
    result = run.oracle(["x.log", "short.log", "absent.log"], cwd=tmp_path)
    assert (result.returncode, result.stdout) == (1, "")
    assert "short.log, position 0: CorruptRecordException" in result.stderr
    assert "absent.log, position 0: NoSuchFileException" in result.stderr


def test_missing_tools_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert jvm.missing_tools() == "not on the PATH: java, javac, mvn (install a JDK >= 17 and Maven)"


def test_what_a_tool_says_is_passed_on(tmp_path: Path) -> None:
    (tmp_path / "Broken.java").write_text("class Broken { int x = ; }", encoding="utf-8")
    with pytest.raises(jvm.ToolError, match=r"(?s)javac failed with status 1:.*illegal start of expression"):
        jvm.compile_java([tmp_path / "Broken.java"], tmp_path)
