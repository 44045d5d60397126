"""What a running broker changes between the listing of its directory and the reading is no finding."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.verify.plants import RECORDED

from kafka_segments.core.io.filesystem import PlacedSource
from kafka_segments.core.io.filesystems import Places
from kafka_segments.log.discovery import discover
from kafka_segments.verify.catalogue import CHECKS
from kafka_segments.verify.segment_checks import SegmentReading
from kafka_segments.verify.verification import VerifyOptions, VerifySubject, VerifySummary, iter_findings

NAME = "transactions-0"
SOURCE = RECORDED / "kafka-4.3" / "clean" / NAME
NEWEST, LEN_PREALLOCATED = 7, 12 << 16
INDEXES = [f"{NEWEST:020}.{suffix}" for suffix in ("index", "timeindex")]
CHECKPOINT = "replication-offset-checkpoint"


def roll(directory: Path) -> None:
    """Begin another segment: the indexes are trimmed."""
    for name in INDEXES:
        shutil.copyfile(SOURCE / name, directory / name)


def delete_indexes(directory: Path) -> None:
    """Delete a segment whose file this process has opened before."""
    for path in directory.glob(f"{0:020}.*index"):
        path.unlink()


def delete_segment(directory: Path) -> None:
    """Let retention delete the oldest one."""
    for path in directory.glob(f"{0:020}.*"):
        path.rename(path.with_name(f"{path.name}.deleted"))


def delete_snapshots(directory: Path) -> None:
    """Keep the newest ones, which are others by now."""
    for path in directory.glob("*.snapshot"):
        path.unlink()


def delete_topic(directory: Path) -> None:
    """Put the directory aside."""
    directory.rename(directory.with_name(f"{NAME}.{0:032}-delete"))


def found_in(places: Places, logs: Path, act: Callable[[], object]) -> list[tuple[str | None, str]]:
    """List a log directory, let something happen, and verify what was listed."""
    copies = discover(places, [str(logs)])
    act()
    summary, options = VerifySummary(), VerifyOptions(frozenset(CHECKS), is_live=True)
    found = iter_findings(VerifySubject(copies, []), options, SegmentReading(places), summary)
    rows = [(one.check, one.detail) for one in found]
    assert summary.errors == []
    return rows


@pytest.mark.parametrize("act", [roll, delete_indexes, delete_segment, delete_snapshots, delete_topic])
def test_files_that_change_after_the_listing(tmp_path: Path, act: Callable[[Path], None]) -> None:
    directory = tmp_path / NAME
    shutil.copytree(SOURCE, directory)
    for name in INDEXES:  # as the broker has them while it appends
        (directory / name).write_bytes((SOURCE / name).read_bytes().ljust(LEN_PREALLOCATED, b"\0"))
    assert found_in(Places(), tmp_path, lambda: act(directory)) == []


@pytest.mark.parametrize("lines", [1, 3])
def test_a_checkpoint_that_is_replaced_after_the_listing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: int
) -> None:
    shutil.copytree(SOURCE, tmp_path / NAME)
    shutil.copyfile(SOURCE.parent / "meta.properties", tmp_path / "meta.properties")
    others = "".join(f"other 1{number} 0\n" for number in range(lines))
    checkpoint, real, is_listed = tmp_path / CHECKPOINT, Places.open, list[bool]()
    checkpoint.write_text(f"0\n2\n{NAME[:-2]} 0 7\nother 0 0\n")

    def opened(self: Places, path: str, end: int | None = None) -> PlacedSource:
        if is_listed and Path(path) == checkpoint:
            checkpoint.write_text(f"0\n{lines}\n{others}")
        return real(self, path, end)

    monkeypatch.setattr(Places, "open", opened)
    found = found_in(Places(), tmp_path, lambda: is_listed.append(True))
    assert [row for row in found if row[0] == "checkpoint-file"] == []
