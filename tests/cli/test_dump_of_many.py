"""`dump` reads many records by the compiled decoders, few one by one; what it prints is the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.made.adversaries import EMPTY_RECORD, ZSTD, batch, squeezed

from kafka_segments.cli import opened_files
from kafka_segments.cli.main import main
from kafka_segments.core.segment.records import batch_records

pytest.importorskip("numba")
pytest.importorskip("pyarrow")


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows whenever the compiled decoders are loaded."""
    calls: list[int] = []
    original = opened_files.fast_rows

    def counting():
        calls.append(1)
        return original()

    monkeypatch.setattr(opened_files, "fast_rows", counting)
    return calls


def _dump(path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["dump", "--format", "jsonl", str(path)]) == 0
    return capsys.readouterr().out


def test_a_small_file_of_many_records_is_read_by_the_compiled_decoders(tmp_path, capsys, loaded, monkeypatch):
    count = batch_records._MANY // 2
    one = squeezed(ZSTD, EMPTY_RECORD * count)
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(b"".join(batch(one, count, ZSTD, offset=number * count) for number in range(4)))
    assert path.stat().st_size < 4096
    fast = _dump(path, capsys)
    assert loaded == [1]
    monkeypatch.setattr(batch_records, "_MANY", 4 * count)
    assert _dump(path, capsys) == fast
    assert loaded == [1]


@pytest.mark.parametrize("most", [[], ["--max-bytes", "100"]])
def test_a_large_file_is_printed_by_the_compiled_decoders_from_its_first_record(
    tmp_path, capsys, loaded, monkeypatch, most
):
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(batch(EMPTY_RECORD * 5, 5, 0) * 20)
    words = ["dump", "--like-kafka", "--files", str(path), "--print-data-log", *most]
    assert main(words) == 0
    expected = capsys.readouterr().out
    assert loaded == []
    monkeypatch.setattr(batch_records, "_LONG", path.stat().st_size)
    assert main(words) == 0
    assert capsys.readouterr().out == expected
    assert loaded == ([] if most else [1])
