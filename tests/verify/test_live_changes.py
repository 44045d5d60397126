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
CHECKPOINT = "replication-offset-checkpoint"


def found_in(places: Places, logs: Path, act: Callable[[], object]) -> list[tuple[str | None, str]]:
    """List a log directory, let something happen, and verify what was listed."""
    copies = discover(places, [str(logs)])
    act()
    summary, options = VerifySummary(), VerifyOptions(frozenset(CHECKS), is_live=True)
    found = iter_findings(VerifySubject(copies, []), options, SegmentReading(places), summary)
    rows = [(one.check, one.detail) for one in found]
    assert summary.errors == []
    return rows


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
