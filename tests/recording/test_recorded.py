"""The recorded sets are whole, are what was recorded, and show what the other tests rely on."""

from __future__ import annotations

import hashlib
import json
import tomllib

import pytest
from tests.recording import features, readme
from tests.recording.sets import ORACLE, PROVENANCE, RECORDED, segment_files

SETS = features.set_names()
BATCH_KEYS = """type path position size magic base_offset last_offset partition_leader_epoch crc crc_valid
    compression timestamp_type is_transactional is_control delete_horizon_ms base_timestamp max_timestamp
    producer_id producer_epoch base_sequence last_sequence num_records"""
RECORD_KEYS = "type path position offset timestamp timestamp_type sequence key value headers control"


def test_the_documented_sets_are_the_recorded_ones() -> None:
    assert sorted(recorded.name for recorded in readme.SETS) == SETS


def test_readme_is_fresh() -> None:
    assert readme.README.read_text(encoding="utf-8") == readme.render()


def test_every_required_feature_is_recorded() -> None:
    assert features.missing() == set()


def test_coverage_notices_what_a_set_lacks() -> None:
    lacks = features.missing(["kafka-0.9/clean"])
    assert {"zstd" in fact for fact in lacks} == {True, False}
    assert "magic 0 gzip NoTimestampType" not in lacks
    assert {"control type 0", "header: key not UTF-8", "cleaned: empty batch", "file: txnindex"} <= lacks


@pytest.mark.parametrize("release", features.CLEANED)
def test_the_cleaner_really_ran(release: str) -> None:
    assert features.uncleaned(release) == []


def test_only_the_extreme_set_has_times_beyond_microseconds() -> None:
    extreme = [name for name in SETS if "timestamp: extreme" in set(features.facts([name]))]
    assert extreme == ["kafka-4.3/extreme-timestamps"]


@pytest.mark.parametrize("name", SETS)
def test_files_are_those_of_the_recording(name: str) -> None:
    recorded = tomllib.loads((PROVENANCE / f"{name}.toml").read_text(encoding="utf-8"))
    root = RECORDED / name
    found = {
        path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in root.rglob("*")
        if path.is_file()
    }
    assert found == recorded["sha256"]


@pytest.mark.parametrize("name", SETS)
def test_every_segment_has_its_oracle_lines_and_no_other_file_has(name: str) -> None:
    found = {path.relative_to(ORACLE).as_posix() for path in (ORACLE / name).rglob("*") if path.is_file()}
    assert found == {f"{path}.jsonl" for path in segment_files(name)}


@pytest.mark.parametrize("name", SETS)
def test_oracle_lines_keep_the_contract(name: str) -> None:
    for path in (ORACLE / name).rglob("*.jsonl"):
        position = None
        for text in path.read_text(encoding="utf-8").splitlines():
            line = json.loads(text)
            assert json.dumps(line, separators=(",", ":"), ensure_ascii=False) == text
            assert f"{line['path']}.jsonl" == path.relative_to(ORACLE).as_posix()
            if line["type"] == "batch":
                assert list(line) == BATCH_KEYS.split()
                assert line["crc_valid"] is True
                position = line["position"]
            else:
                assert list(line) == RECORD_KEYS.split()
                assert line["position"] == position
