"""What the invariant's random directories have found in `verify` and was mended then, made by hand."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.made.directories import append, data, leader_epochs, segment_path
from tests.verify.plants import RECORDED
from tests.verify.test_plants import verified

LOG = f"t-0/{0:020}.log"


@pytest.mark.usefixtures("way")
def test_a_changed_base_offset_is_no_work_of_the_cleaner(tmp_path: Path) -> None:
    """Without a note of the cleaner, a trace of it would excuse all that is missing."""
    directory = append(tmp_path / "logs" / "t-0", base_offset=0)
    batches = (data(6, b"a", b"b"), data(20, b"c"), data(9, b"d"), data(10, b"e"))
    append(directory, *batches, base_offset=6)
    rows, _summary = verified(tmp_path)
    assert ("missing-offsets", LOG, 0, 0, 5) in rows
    assert [row[3:] for row in rows if row[0] == "offset-order"] == [(9, 9)]


@pytest.mark.usefixtures("way")
def test_leader_epochs_that_were_cut_at_an_unknown_log_start(tmp_path: Path) -> None:
    """DeleteRecords cuts them there; the checkpoint of the log start is not in a partition's directory."""
    name = "deleted-head-0"
    shutil.copytree(RECORDED / "kafka-4.3" / "clean" / name, tmp_path / "logs" / name)
    rows, _summary = verified(tmp_path)
    assert [row for row in rows if row[0] == "leader-epoch"] == []


@pytest.mark.usefixtures("way")
def test_a_later_epoch_is_still_compared(tmp_path: Path) -> None:
    directory = append(
        tmp_path / "logs" / "t-0",
        data(0, b"a", leader_epoch=0),
        data(1, b"b", leader_epoch=0),
        data(2, b"c", leader_epoch=1),
    )
    leader_epochs(directory, (0, 0), (1, 1))
    rows, _summary = verified(tmp_path)
    assert [row[3:] for row in rows if row[0] == "leader-epoch"] == [(1, 1)]


@pytest.mark.usefixtures("way")
def test_a_link_to_nowhere_in_a_live_directory(tmp_path: Path) -> None:
    directory = append(tmp_path / "logs" / "t-0", data(0, b"a"))
    append(directory, data(1, b"b"), base_offset=1)
    segment_path(directory, 0).unlink()
    segment_path(directory, 0).symlink_to("nowhere")
    rows, summary = verified(tmp_path, is_live=True)
    assert [(check, path) for check, path, *_rest in rows if check == "unreadable"] == [("unreadable", LOG)]
    assert not any("gone" in note for note in summary.notes)
