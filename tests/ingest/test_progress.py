"""Progress of jobs: bytes and their rate, as a bar on a terminal, else as a line now and then."""

from __future__ import annotations

import re
from argparse import Namespace
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.ingest.ingested import Run
from tests.made.directories import append, run_of

from kafka_segments.cli import jobs
from kafka_segments.cli.jobs import SECONDS_BEFORE, shown_progress, size_words

MIB = 1 << 20


@pytest.mark.parametrize(
    ("num_bytes", "words"),
    [
        (0, "0 bytes"),
        (1023, "1023 bytes"),
        (1024, "1.0 KiB"),
        (300 * MIB, "300.0 MiB"),
        (3 << 40, "3.0 TiB"),
        (40 << 50, "40960.0 TiB"),
    ],
)
def test_sizes_in_words(num_bytes: int, words: str) -> None:
    assert size_words(num_bytes) == words


def test_lines_come_every_ten_seconds_with_the_rate(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [100.0]
    monkeypatch.setattr(jobs, "time", SimpleNamespace(monotonic=lambda: now[0]))
    with shown_progress(Namespace(progress=False), "tasks") as show:
        for now[0], done in [(105.0, 0), (109.0, 64), (115.0, 128), (116.0, 192), (145.0, 512), (165.0, 512)]:
            show(done * MIB, 1024 * MIB)
    assert capsys.readouterr().err.splitlines() == [
        "kafka-segments: 0 bytes of 1.0 GiB done",
        "kafka-segments: 128.0 MiB of 1.0 GiB done, 12.8 MiB/s",
        "kafka-segments: 512.0 MiB of 1.0 GiB done, 12.8 MiB/s",
    ]


def test_quick_work_shows_nothing_and_the_rate_counts_from_the_first_line_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [100.0]
    monkeypatch.setattr(jobs, "time", SimpleNamespace(monotonic=lambda: now[0]))
    with shown_progress(Namespace(progress=False), "reading", wait=SECONDS_BEFORE) as show:
        for now[0], done in [(100.5, 10), (101.9, 50), (104.0, 128), (105.0, 192), (116.0, 512)]:
            show(done * MIB, 1024 * MIB)
    assert capsys.readouterr().err.splitlines() == [
        "kafka-segments: 128.0 MiB of 1.0 GiB done",
        "kafka-segments: 512.0 MiB of 1.0 GiB done, 32.0 MiB/s",
    ]


def test_a_bar_counts_bytes(ingest: Run, tmp_path: Path) -> None:
    path = append(tmp_path / "logs" / "t-0", *run_of(0, 90))
    size = sum(one.stat().st_size for one in path.rglob("*.log"))
    status, _, err = ingest(tmp_path / "logs", tmp_path / "out", "--progress")
    last = err.replace("\r", "\n").splitlines()[-1]
    assert status == 0
    assert re.search(rf"ingest: 100%.*\| {size / 1024:.2f}k/{size / 1024:.2f}k \[.*B/s\]", last), err


@pytest.mark.parametrize("is_asked", [False, True])
def test_without_tqdm_there_are_lines_on_a_terminal(
    ingest: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_asked: bool
) -> None:
    append(tmp_path / "logs" / "t-0", *run_of(0, 9))
    monkeypatch.setattr(jobs, "find_spec", lambda _name: None)
    monkeypatch.setattr(jobs.console, "is_terminal", lambda _stream: True)
    words = ["--progress"] if is_asked else []
    status, _, err = ingest(tmp_path / "logs", tmp_path / "out", *words)
    assert (status, "0 bytes of" in err, "--progress needs tqdm" in err) == (
        2 * is_asked,
        not is_asked,
        is_asked,
    )
    assert (tmp_path / "out").exists() is not is_asked, "it is said before anything is done"
