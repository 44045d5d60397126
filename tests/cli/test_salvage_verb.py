"""`salvage` on the command line: what it prints, exit statuses, what each misuse is answered."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.salvage.made import copy_of, hurt

from kafka_segments.cli.main import main


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A log directory `source` with a sound partition."""
    monkeypatch.chdir(tmp_path)
    return copy_of("clean/multi-0", tmp_path / "source")


def test_a_sound_directory_is_clean(source: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["salvage", "source", "made"]) == 0
    out, err = capfd.readouterr()
    assert out.endswith("\nmulti-0: offsets 0 to 205, 2 segments; 25.2 KiB copied\n")
    assert out.splitlines()[:-1] == [
        "WARNING: a broker would at once delete segments of 1 of 1 partition, for records older than 7 days "
        "(cleanup.policy=delete): before it starts, set retention.ms=-1 for multi, or log.retention.ms=-1 in "
        "server.properties"
    ]
    assert err.endswith("a sound meta.properties: copy that of the broker that will start on the result\n")


def test_what_was_lost_is_said(source: Path, capfd: pytest.CaptureFixture[str]) -> None:
    batch = hurt(source, 3)
    assert main(["salvage", "source", "made", "--retention-ms", "-1"]) == 1
    out = capfd.readouterr().out
    num = batch.last_offset - batch.base_offset + 1
    where = f"offsets {batch.base_offset} to {batch.last_offset}"
    assert out.startswith(
        f"multi-0: {num} records lost, {where}; the rest is readable\n    offsets 0 to 205, "
    )
    assert "quarantined" in out and "WARNING" not in out
    assert "lost in" not in out, "there is one partition"


def test_partitions_with_losses_are_named_at_the_end(
    source: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    copy_of("clean/empty-0", tmp_path / "source")
    shutil.copytree(source, tmp_path / "source" / "a-0")
    hurt(source, 3)
    assert main(["salvage", "source", "made", "--retention-ms", "-1"]) == 1
    assert capfd.readouterr().out.splitlines()[-1] == "records lost in 1 of 3 partitions: multi-0"


def test_what_a_broker_would_delete_is_said_once(
    source: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for number in range(12):
        shutil.copytree(source, tmp_path / "source" / f"t{number:02}-0")
    copy_of("clean/empty-0", tmp_path / "source")
    assert main(["salvage", "source", "made"]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert len(lines) == 15
    assert lines[1] == "empty-0: no offsets, the next one is 0, 1 segment; no bytes"
    assert "segments of 13 of 14 partitions, " in lines[0]
    assert "for multi, t00, t01, t02, t03, t04, t05, t06, t07, t08 and 3 more, or" in lines[0]


def test_json_lines_have_all_but_the_ranges(source: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["salvage", "source", "made", "--format", "jsonl"]) == 0
    (line,) = capfd.readouterr().out.splitlines()
    values = json.loads(line)
    assert (values["type"], values["topic"], values["partition"]) == ("partition", "multi", 0)
    assert (values["log_start_offset"], values["log_end_offset"], values["error"]) == (0, 206, None)
    manifest = json.loads(Path("made/manifest.json").read_text())
    (partition,) = manifest["partitions"]
    assert {name: values[name] for name in partition if name != "files"} == {
        name: value for name, value in partition.items() if name != "files"
    }


def test_a_dry_run_prints_the_manifest(source: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["salvage", "source", "--dry-run"]) == 0
    assert json.loads(capfd.readouterr().out)["partitions"][0]["files"][0]["ranges"]
    assert sorted(path.name for path in Path().iterdir()) == ["source"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["source"], "DEST is missing: give it after the sources"),
        (["none", "made"], "check the path"),
        (["source", "made", "--jobs", "0"], "argument --jobs: '0': give a number from 1 on"),
        (["source", "made", "-o", "pathGlobFilter=x"], "give NAME=VALUE"),
        (["source", "source/inside"], "and nothing is written to sources"),
        (["source/none-*", "made"], "nothing matches"),
    ],
)
def test_what_each_misuse_is_answered(
    source: Path, arguments: list[str], message: str, capfd: pytest.CaptureFixture[str]
) -> None:
    (source.parent / "meta.properties").write_text("")
    assert main(["salvage", *arguments]) == 2
    assert message in capfd.readouterr().err
    assert sorted(path.name for path in Path().iterdir()) == ["source"]
