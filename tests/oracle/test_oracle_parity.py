"""The dump of every recorded file equals Kafka's own reading of it, line for line.

Batches and records of all magics, byte for byte. Error and padding lines have no counterpart in Kafka:
`tests/damage` judges those.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.made.samples import sampled

from kafka_segments.cli.main import main

VECTORS = Path(__file__).resolve().parents[1] / "vectors"
RECORDED, ORACLE = VECTORS / "recorded", VECTORS / "oracle"


FILES = sorted(
    path.relative_to(RECORDED).as_posix()
    for path in RECORDED.rglob("*")
    if path.is_file() and path.suffix in (".log", ".checkpoint")
)


def dump(
    path: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *options: str
) -> tuple[int, list[str], str]:
    monkeypatch.chdir(RECORDED)
    status = main(["dump", path, "--format", "jsonl", *options])
    captured = capsys.readouterr()
    return status, captured.out.splitlines(), captured.err


def has(line: str, *types: str) -> bool:
    return line.startswith(tuple(f'{{"type":"{name}"' for name in types))


def of_old_format(line: str) -> bool:
    return has(line, "batch") and json.loads(line)["magic"] < 2


def test_no_recorded_file_is_left_out() -> None:
    read_by_kafka = sorted(
        path.relative_to(ORACLE).as_posix().removesuffix(".jsonl") for path in ORACLE.rglob("*.jsonl")
    )
    assert read_by_kafka == FILES
    assert len(FILES) >= 100
    sets = {path.split("/")[0] for path in FILES}
    assert sets == {"kafka-4.3", "kafka-2.8", "kafka-0.10.2", "kafka-0.9"}


@pytest.mark.parametrize("path", FILES)
def test_batches_and_records_equal_kafkas(
    path: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    status, lines, messages = dump(path, monkeypatch, capsys)
    assert [line for line in lines if not has(line, "padding")] == oracle(path)
    assert (status, messages) == (0, "")


def oracle(path: str) -> list[str]:
    return (ORACLE / f"{path}.jsonl").read_text(encoding="utf-8").splitlines()


def test_old_entries_are_among_the_recorded() -> None:
    seen = {(entry["magic"], entry["compression"]) for entry in map(json.loads, all_old_lines())}
    assert {
        (0, "none"),
        (0, "gzip"),
        (0, "snappy"),
        (1, "none"),
        (1, "gzip"),
        (1, "snappy"),
        (1, "lz4"),
    } <= seen


def all_old_lines() -> list[str]:
    return [line for path in FILES for line in oracle(path) if of_old_format(line)]


@pytest.mark.parametrize("path", sampled(FILES))
def test_headers_only_gives_the_batches(
    path: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _, lines, _ = dump(path, monkeypatch, capsys, "--headers-only")
    ours = [json.loads(line) for line in lines if not has(line, "padding")]
    theirs = [json.loads(line) for line in oracle(path) if has(line, "batch")]
    for entry in theirs:
        entry["crc_valid"] = None
        if entry["magic"] < 2:
            entry["base_offset"] = entry["num_records"] = None
    assert ours == theirs


@pytest.mark.parametrize("path", sampled(FILES))
def test_ranges_of_offsets_give_a_part(
    path: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    theirs = [(line, json.loads(line)) for line in oracle(path)]
    offsets = [fields["offset"] for _, fields in theirs if fields["type"] == "record"]
    middle = offsets[len(offsets) // 2] if offsets else 5
    for start, end in [(middle, middle + 3), (None, middle), (middle, None)]:
        words = f"--offsets={'' if start is None else start}:{'' if end is None else end}"
        _, ours, _ = dump(path, monkeypatch, capsys, words)
        chosen = range(start or 0, 1 << 62 if end is None else end)
        places = {fields["position"] for _, fields in theirs if fields.get("offset", -1) in chosen}
        assert ours == [
            line
            for line, fields in theirs
            if (fields["position"] in places if fields["type"] == "batch" else fields["offset"] in chosen)
        ]
