"""Losses that no damaged batch shows: the end of a log, zeros, and what is no file in a segment's place."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from tests.made.directories import append, run_of
from tests.salvage.accounts import Account, salvaged
from tests.salvage.made import copy_of, segment

from kafka_segments.cli.main import main

CLEANER, RECOVERY, WATERMARK = (
    f"{name}-offset-checkpoint" for name in ("cleaner", "recovery-point", "replication")
)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A partition with segments from offsets 0, 6 and 12, of six records each."""
    directory = tmp_path / "source" / "t-0"
    for base in (0, 6, 12):
        append(directory, *run_of(base, base + 6), base_offset=base)
    return directory


def note(source: Path, name: str, offset: int) -> None:
    (source.parent / name).write_text(f"0\n1\nt 0 {offset}\n")


def missing(account: Account) -> list[tuple[int, int]]:
    """The offsets that the manifest says are in no copy."""
    return [(one["first_offset"], one["last_offset"]) for one in account.only()["missing"]]


@pytest.mark.parametrize("name", [WATERMARK, RECOVERY])
def test_an_end_that_all_copies_have_lost_is_a_loss(source: Path, tmp_path: Path, name: str) -> None:
    segment(source, 12).write_bytes(b"")
    shutil.copytree(source, tmp_path / "other" / "t-0")
    note(source, name, 18)
    account = salvaged([source.parent, tmp_path / "other"], tmp_path / "dest")
    assert missing(account) == [(12, 17)]


@pytest.mark.parametrize("name", [WATERMARK, RECOVERY])
@pytest.mark.parametrize("is_compacted", [True, False])
def test_an_end_below_a_checkpoint_is_a_loss(source: Path, name: str, is_compacted: bool) -> None:
    """The cleaner goes up to the last segment, which it leaves alone."""
    note(source, name, 18)
    if is_compacted:
        note(source, CLEANER, 12)
    segment(source, 12).unlink()
    account = salvaged([source], source.parents[1] / "dest")
    assert missing(account) == [(12, 17)]
    assert main(["slice", str(source), str(source.parents[1] / "cut"), "--offsets", "0:"]) == 1


def test_a_log_without_any_batch_is_a_loss(source: Path) -> None:
    note(source, RECOVERY, 18)
    for base in (0, 6):
        segment(source, base).unlink()
    os.truncate(segment(source, 12), 0)
    assert missing(salvaged([source], source.parents[1] / "dest")) == [(12, 17)]


@pytest.mark.parametrize("hurt", ["noise", "zeros and noise", "a pipe"])
def test_the_name_of_a_segment_without_sound_batches_shows_a_loss_before_it(source: Path, hurt: str) -> None:
    segment(source, 6).unlink()
    last = segment(source, 12)
    if hurt == "a pipe":
        last.unlink()
        os.mkfifo(last)
    else:
        noise = b"\xa5" * last.stat().st_size
        last.write_bytes(noise if hurt == "noise" else bytes(1000) + noise)
    assert (6, 11) in missing(salvaged([source], source.parents[1] / "dest"))
    note(source, RECOVERY, 18)
    assert missing(salvaged([source], source.parents[1] / "again")) == [(6, 17)]


@pytest.mark.parametrize("is_compacted", [True, False])
def test_zeros_between_batches_are_no_padding(source: Path, is_compacted: bool) -> None:
    if is_compacted:
        note(source, CLEANER, 12)
    size = segment(source, 6).stat().st_size
    segment(source, 6).write_bytes(bytes(size))
    account = salvaged([source], source.parents[1] / "dest")
    assert missing(account) == ([] if is_compacted else [(6, 11)])
    (one,) = (file["ranges"] for _, file in account.files() if file["path"] == str(segment(source, 6)))
    (found,) = one
    assert (found["status"], found["first_offset"], found["last_offset"]) == ("quarantined", 6, 11)
    assert found["reason"].startswith("zeros instead of batches")


def test_zeros_that_hide_no_offset_are_padding(source: Path) -> None:
    for base in (6, 12):
        append_zeros(segment(source, base))
    account = salvaged([source], source.parents[1] / "dest")
    assert (missing(account), account.reasons()) == ([], [])


def append_zeros(path: Path) -> None:
    with path.open("ab") as file:
        file.truncate(path.stat().st_size + 500)


@pytest.mark.parametrize("verb", ["salvage", "slice"])
def test_a_pipe_in_a_segments_place_is_said(source: Path, verb: str, capsys: pytest.CaptureFixture) -> None:
    segment(source, 0).unlink()
    os.mkfifo(segment(source, 0))
    options = ["--offsets", "0:"] if verb == "slice" else []
    assert main([verb, str(source), str(source.parents[1] / "dest"), *options]) == 1
    said = "".join(capsys.readouterr())
    assert f"{segment(source, 0)}: it cannot be opened: " in said
    assert "offsets 0 to 5" in said


@pytest.mark.parametrize("verb", ["salvage", "slice"])
def test_a_segment_that_a_broker_deletes_is_no_loss(
    verb: str, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    source = copy_of("clean/deleted-head-0", tmp_path / "source")
    options = ["--offsets", "0:"] if verb == "slice" else []
    assert main([verb, str(source), str(tmp_path / "dest"), *options]) == 0
    assert f"{0:020}.log.deleted" in capsys.readouterr().err


def test_traces_of_the_cleaner_below_its_checkpoint_explain_nothing_above(source: Path) -> None:
    """Of two swapped segments, the one with the higher name has offsets that the cleaner had been through."""
    first, last = segment(source, 0), segment(source, 12)
    newest = last.read_bytes()
    for path in source.glob("*"):
        path.unlink()
    append(source, *run_of(0, 2), *run_of(3, 6), base_offset=0)
    first.rename(last)
    first.write_bytes(newest)
    note(source, CLEANER, 6)
    assert missing(salvaged([source], source.parents[1] / "dest")) == [(6, 11)]
