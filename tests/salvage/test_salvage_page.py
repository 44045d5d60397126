"""The commands of docs/salvage.md, with directories of this test in place of those that the page names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.house.commands import ROOT, blocks, calls
from tests.salvage.made import copy_of, hurt

from kafka_segments.cli.main import main

PAGE = ROOT / "docs" / "salvage.md"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, with two damaged disks, and a partition `logs/orders-0`."""
    for number, disk in enumerate(("disk1", "disk2")):
        hurt(copy_of("clean/multi-0", tmp_path / f"mnt/{disk}/kafka"), number)
    (tmp_path / "srv").mkdir()
    (tmp_path / "cut").mkdir()
    copy_of("clean/multi-0", tmp_path / "logs").rename(tmp_path / "logs/orders-0")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def lines(start: str) -> list[list[str]]:
    """The calls of a block of the page, with paths below the current directory."""
    (found,) = [code for code in blocks(PAGE) if code.startswith(start)]
    return [[word.removeprefix("/") for word in words] for words in calls(found)]


def test_the_lines_about_salvage_run(here: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    dry, real = lines("kafka-segments salvage")
    assert main(dry) == 1
    assert json.loads(capfdbinary.readouterr().out)["is_dry_run"]
    assert main(real) == 1  # what was damaged in one copy is put aside, and nothing is lost
    names = sorted(path.name for path in (here / "srv/salvaged").iterdir())
    assert names == ["log", "manifest.json", "quarantine"]


def test_the_lines_about_slices_run(here: Path) -> None:
    by_offset, by_time = lines("mkdir cut")
    assert main(by_offset) == 0
    by_time[2] = "cut/orders-1"
    assert main(by_time) == 0
    assert len(list((here / "cut").glob("orders-*/*.log"))) == 2
