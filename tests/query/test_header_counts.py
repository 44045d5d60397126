"""Rows are counted by headers as they are by reading, and by reading where headers do not say it."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import kafka_segments
from kafka_segments.errors import DataLossError, KafkaFormatError
from kafka_segments.query.read import split_reader
from kafka_segments.query.scan import ScanRequest

RECORDED = Path(__file__).resolve().parents[1] / "vectors" / "recorded"
FOLDERS = sorted(path for kind in ("clean", "before-cleaning") for path in RECORDED.glob(f"*/{kind}"))
CLEAN = RECORDED / "kafka-4.3" / "clean"
ASKED: dict[str, Any] = dict.fromkeys(("topics", "partitions", "offsets", "since", "until"))
ASKED |= {"isolation": "read_uncommitted", "max_timestamp_skew": None}


def counts(path: Path, on_damage: Any = "raise", **asked: Any) -> Counter[tuple[str, int]]:
    request = ScanRequest.of(path, on_damage=on_damage, storage_options=None, **(ASKED | asked))
    found: Counter[tuple[str, int]] = Counter()
    for key, num_rows in request.plan().counts():
        found[key] += num_rows
    return +found


def scanned(path: Path, **asked: Any) -> Counter[tuple[str, int]]:
    table = kafka_segments.scan(path, columns=["topic", "partition"], **asked).read_all()
    return Counter(zip(table["topic"].to_pylist(), table["partition"].to_pylist(), strict=True))


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files whose records are read."""
    found: list[str] = []
    plain = split_reader.read_split

    def noted(split: Any, *arguments: Any) -> Any:
        found.append(split.segment.file.path)
        return plain(split, *arguments)

    monkeypatch.setattr(split_reader, "read_split", noted)
    return found


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: f"{path.parent.name}-{path.name}")
@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"offsets": (3, 9)},
        {"offsets": (7, None)},
        {"since": 1_700_000_000_500},
        {"isolation": "read_committed"},
        {"on_damage": "skip"},
    ],
    ids=str,
)
def test_they_are_the_rows_of_a_scan(folder: Path, asked: dict[str, Any]) -> None:
    assert counts(folder, **asked) == scanned(folder, **asked)


def test_of_a_new_log_only_headers_are_read(reads: list[str]) -> None:
    assert sum(counts(CLEAN).values()) > 1000
    # Control records leave no gap, offsets that the cleaner took do not matter: all is counted by headers.
    assert [path for path in reads if "/kafka-4.3/" in path and "magic" not in path] == []


def test_compressed_old_messages_are_read(reads: list[str]) -> None:
    counts(RECORDED / "kafka-0.9" / "clean")
    assert reads


def test_control_records_are_no_rows() -> None:
    path = CLEAN / "transactions-0"
    assert sum(counts(path).values()) < kafka_segments.list_partitions(path)[0].end_offset


def test_damage_that_headers_show_is_found(tmp_path: Path) -> None:
    shutil.copytree(CLEAN / "multi-0", tmp_path / "multi-0")
    segment = tmp_path / "multi-0" / "00000000000000000000.log"
    data = bytearray(segment.read_bytes())
    data[16] = 99  # the first batch's magic
    segment.write_bytes(data)
    with pytest.raises(KafkaFormatError):
        counts(tmp_path)
    assert counts(tmp_path, "skip") == scanned(tmp_path, on_damage="skip")


def test_damage_inside_a_batch_is_found_where_it_is_skipped(tmp_path: Path) -> None:
    shutil.copytree(CLEAN / "multi-0", tmp_path / "multi-0")
    whole = counts(tmp_path)
    segment = tmp_path / "multi-0" / "00000000000000000000.log"
    data = bytearray(segment.read_bytes())
    data[len(data) // 2] ^= 1
    segment.write_bytes(data)
    assert counts(tmp_path) == whole  # as the docstring says: no checksum is verified
    skipped = counts(tmp_path, "skip")
    assert skipped == scanned(tmp_path, on_damage="skip") != whole


def test_lost_offsets_are_raised(tmp_path: Path) -> None:
    shutil.copytree(CLEAN / "multi-0", tmp_path / "multi-0")
    (tmp_path / "multi-0" / "00000000000000000000.log").unlink()
    with pytest.raises(DataLossError):
        counts(tmp_path, offsets={("multi", 0): (0, None)})
