"""Segments that the cleaner of a running broker replaces between planning and reading."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from tests.query.range_logs import losses, offsets, partition, planned, run, write

from kafka_segments.core.io.filesystem import FileEntry
from kafka_segments.core.io.filesystems import Places
from kafka_segments.log.findings import Kind


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return partition(tmp_path)


def put_aside(path: Path) -> Path:
    """Rename a segment as the cleaner does; returns the path of the one that is to have its place."""
    path.rename(f"{path}.deleted")
    swap = Path(f"{path}.swap")
    swap.write_bytes(run(110, 4) + run(140, 10))
    return swap


def test_the_new_one_has_not_its_name_yet(log: Path) -> None:
    split = planned(log, 100, 120, 180, following=200, cleaned_up_to=200)
    put_aside(Path(split.segment.file.path))
    got, told = offsets(split)
    assert got == [*range(120, 130), *range(140, 180)]
    assert losses(told) == []
    assert "deleted after planning" in str(told.of(Kind.NOTE)[0])


def test_it_gets_its_name_behind_the_listing(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    split = planned(log, 100, 120, 180, following=200, cleaned_up_to=200)
    path, real = Path(split.segment.file.path), Places.entries
    swap = put_aside(path)

    def renaming(self: Places, directory: str) -> list[FileEntry]:
        found = real(self, directory)
        if swap.exists():
            swap.rename(path)
        return found

    monkeypatch.setattr(Places, "entries", renaming)
    got, told = offsets(split)
    assert path.exists()
    assert (got, losses(told)) == ([*range(120, 130), *range(140, 180)], [])


def test_it_gets_its_name_behind_the_opening(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    split = planned(log, 100, 120, 180, following=200, cleaned_up_to=200)
    path, real = Path(split.segment.file.path), Places.open
    swap = put_aside(path)

    def renaming(self: Places, name: str, *arguments: Any, **more: Any) -> Any:
        try:
            return real(self, name, *arguments, **more)
        finally:
            if swap.exists():
                swap.rename(path)

    monkeypatch.setattr(Places, "open", renaming)
    got, told = offsets(split)
    assert path.exists()
    assert (got, losses(told)) == ([*range(120, 130), *range(140, 180)], [])


def test_a_swap_beside_a_segment_that_is_there_is_not_read(log: Path) -> None:
    split = planned(log, 0, 0, 100, following=100)
    put_aside(log / f"{100:020}.log")
    os.truncate(split.segment.file.path, len(run(0, 18)))
    got, told = offsets(split)
    assert (got, losses(told)) == (list(range(90)), [(90, 99)])


@pytest.mark.parametrize(("noted", "lost"), [(None, [(120, 179)]), (110, [(120, 179)]), (200, [])])
def test_the_checkpoint_of_the_cleaner_counts_as_it_is_now(
    log: Path, noted: int | None, lost: list[tuple[int, int]]
) -> None:
    split = planned(log, 100, 120, 180, following=200, cleaned_up_to=100)
    write(log, 100, b"")
    if noted is not None:
        (log.parent / "cleaner-offset-checkpoint").write_text(f"0\n1\ntopic 3 {noted}\n")
    got, told = offsets(split)
    assert (got, losses(told)) == ([], lost)
