"""Kafka's classes read from the segments that `find --to-segment` wrote the records that `find` found."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from tests.invariant.recovery import recover
from tests.oracle.run import oracle

from kafka_segments.cli.main import main
from kafka_segments.core.formats.file_names import parse_directory_name

pytestmark = pytest.mark.oracle

RECORDED = Path(__file__).resolve().parents[1] / "vectors" / "recorded"
SOURCES = {"kafka-4.3/clean": 5, "kafka-2.8/clean": 2, "kafka-0.10.2/clean": 2}
"""Recorded log directories, and how many of the conditions are looked for in each."""
CONDITIONS = (
    ("--text", "value"),
    ("--regex", r"[0-4]\d", "--in", "value"),
    ("--offsets", "7:40"),
    ("--header", "h"),
    ("--producer-id", "-1", "--key", "key-3"),
)
Found = dict[tuple[str, int], dict[str, Any]]


def record_of(line: dict[str, Any]) -> dict[str, Any]:
    """A record without its place, which differs between the segments."""
    return {name: value for name, value in line.items() if name not in ("path", "position")}


def found_by(words: list[str], capsys: pytest.CaptureFixture[str]) -> Found:
    """The records of `find --format jsonl`, by partition and offset."""
    assert main(["find", "--format", "jsonl", *words]) == 0
    lines = map(json.loads, capsys.readouterr().out.splitlines())
    records = [line for line in lines if line["type"] == "record"]
    found = {(Path(line["path"]).parent.name, line["offset"]): record_of(line) for line in records}
    assert len(found) == len(records)
    return found


@pytest.mark.parametrize("source", SOURCES)
def test_records_are_those_that_were_found(
    source: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sets: dict[str, Found] = {}
    for number, condition in enumerate(CONDITIONS[: SOURCES[source]]):
        words = [*condition, str(RECORDED / source)]
        sets[str(number)] = found_by(words, capsys)
        assert main(["find", "--to-segment", str(tmp_path / str(number)), *words]) == 0
        capsys.readouterr()
    files = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.log"))
    result = oracle(files, cwd=tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    read: dict[str, Found] = defaultdict(dict)
    wanted, whole = set[tuple[str, int]](), set[tuple[str, int]]()
    for line in map(json.loads, result.stdout.splitlines()):
        number, partition, _name = line["path"].split("/")
        place = line["path"], line["position"]
        if line["type"] == "batch":
            assert line["crc_valid"]
            whole.add(place)
        elif (partition, line["offset"]) in sets[number]:
            read[number][partition, line["offset"]] = record_of(line)
            wanted.add(place)
    assert read == {number: found for number, found in sets.items() if found}
    assert whole == wanted  # no batch without a record that was found
    assert sum(map(len, read.values())) > 200


def test_a_broker_would_load_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """UnifiedLog.create recovers them whole: nothing is truncated, indexes pass its check."""
    assert (
        main(
            [
                "find",
                "--text",
                "value",
                "--to-segment",
                str(tmp_path / "made"),
                str(RECORDED / "kafka-4.3" / "clean"),
            ]
        )
        == 0
    )
    capsys.readouterr()
    made = sorted(path for path in (tmp_path / "made").iterdir() if parse_directory_name(path.name))
    before = {path: path.read_bytes() for path in (tmp_path / "made").rglob("*.log")}
    found = recover([(directory, False, 0, 0) for directory in made])
    assert [one.error + one.stops for one in found] == [""] * len(made)
    assert {path: path.read_bytes() for path in before} == before
    assert len(before) > 5
