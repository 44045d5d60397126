"""What lies beside live segments is named by all who take directories; what it alone holds is lost."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.ingest.ingested import request_of

from kafka_segments.cli.main import main
from kafka_segments.ingest.run_plan import plan_ingest
from kafka_segments.log.open_partition import open_partition
from kafka_segments.query.query import Query

CLEAN = Path(__file__).resolve().parents[1] / "vectors/recorded/kafka-4.3/clean"
FIRST, SECOND = (f"{offset:020}.log" for offset in (0, 125))
ID = "b0f6ae2e4ab04a4ab6b4f1b0a3c4d5e6"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A log directory with a partition of two segments."""
    path = tmp_path / "logs"
    shutil.copytree(CLEAN / "multi-0", path / "multi-0")
    return path


def noted(root: Path, **offsets: int) -> None:
    for name, offset in offsets.items():
        (root / f"{name.replace('_', '-')}-checkpoint").write_text(f"0\n1\nmulti 0 {offset}\n")


def planned(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, list[dict[str, Any]]]:
    status = main(["plan", "--format", "jsonl", *map(str, arguments)])
    return status, [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def passed(lines: list[dict[str, Any]]) -> dict[str, str]:
    found = [one for one in lines if one["type"] == "passed_over"]
    return {os.path.basename(path): one["why"] for one in found for path in one["paths"]}


def test_directories(
    root: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    aside = [f"multi-1.{ID}{suffix}" for suffix in ("-delete", "-future", "-stray")]
    for name in (*aside, "lost+found", "notes", "no number"):
        shutil.copytree(root / "multi-0", root / name)
    status, lines = planned(capsys, root)
    whys = passed(lines)
    assert status == 0
    assert whys.keys() == {*aside, "lost+found", "notes", "no number"}
    assert all(f"(-{name.rpartition('-')[2]})" in whys[name] for name in aside)
    assert "TOPIC-PARTITION" in whys["notes"]
    request = request_of((str(root),), str(root.parent / "rows"), Query(), ("offset",))
    for look in (lambda: main(["aborted", str(root)]), lambda: plan_ingest(request)):
        caplog.clear()
        look()
        assert all(any(name in message for message in caplog.messages) for name in whys)


def test_files_in_a_partition(
    root: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    names = [f"{FIRST}.deleted", f"{300:020}.index.cleaned", f"{FIRST}.swap", "other.log", f"{FIRST}.gz"]
    for name in names:
        shutil.copy(root / "multi-0" / FIRST, root / "multi-0" / name)
    status, lines = planned(capsys, root)
    assert (status, passed(lines).keys()) == (0, set(names)), "the segment of the same name is still there"
    assert main(["plan", str(root)]) == 0
    assert sum("left out" in line for line in capsys.readouterr().out.splitlines()) == len(names)
    assert main(["aborted", str(root / "multi-0")]) == 0
    assert all(any(name in message for message in caplog.messages) for name in names)
    caplog.clear()
    open_partition(root / "multi-0").close()
    assert not any(".deleted" in message for message in caplog.messages), "a running broker always has some"


def test_many_of_a_kind_share_a_line(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(300):
        (root / "multi-0" / f"{number:020}.snapshot.deleted").touch()
    assert main(["plan", str(root)]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if ".deleted" in line]
    assert "and 297 more" in line


def test_what_a_sound_directory_has_is_not_named(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "lost+found").mkdir()
    shutil.copytree(root / "multi-0", root / "remote-log-index-cache")
    assert passed(planned(capsys, root)[1]) == {}


def test_names_are_escaped(
    root: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    (root / "\x1b[2Jnasty").mkdir()
    (root / "multi-0" / "\x1b]0;title\x07.log").touch()
    assert main(["plan", str(root)]) == 0
    assert main(["aborted", str(root)]) == 0
    said = capsys.readouterr()
    assert "nasty" in said.out and "nasty" in caplog.text
    assert not any("\x1b" in text for text in (said.out, said.err, caplog.text))


@pytest.mark.parametrize("name", [FIRST, SECOND])
@pytest.mark.parametrize("is_cleaned", [True, False])
def test_a_segment_that_only_a_swap_file_holds(
    name: str, is_cleaned: bool, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """LogLoader takes it in; we name its offsets, also where the cleaner may have removed any."""
    (root / "multi-0" / name).rename(root / "multi-0" / f"{name}.swap")
    noted(root, replication_offset=206, **({"cleaner_offset": 206} if is_cleaned else {}))
    status, lines = planned(capsys, root)
    first, last = (0, 124) if name == FIRST else (125, 205)
    (loss,) = [one for one in lines if one["type"] == "loss"]
    assert (status, loss["first_offset"], loss["last_offset"]) == (1, first, last)
    assert main(["aborted", str(root)]) == 1
    with open_partition(root / "multi-0") as opened:
        (gap,) = [one for one in opened.gaps if one.first_lost_offset is not None]
    assert (gap.first_lost_offset, gap.last_lost_offset) == (first, last)
    assert f"{name}.swap" in str(gap.error)


def test_swap_files_that_a_broker_deletes(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A split that was not finished: KAFKA-6264. So do empty ones hold nothing."""
    (root / "multi-0" / f"{300:020}.log.swap").write_bytes(b"x")
    (root / "multi-0" / f"{300:020}.log.cleaned").write_bytes(b"x")
    (root / "multi-0" / f"{250:020}.log.swap").touch()
    status, lines = planned(capsys, root)
    assert (status, len(passed(lines))) == (0, 3)
    assert main(["aborted", str(root)]) == 0


def test_a_swap_file_below_the_log_start_offset(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "multi-0" / FIRST).rename(root / "multi-0" / f"{FIRST}.swap")
    noted(root, log_start_offset=125)
    assert planned(capsys, root)[0] == 0
    assert main(["aborted", str(root)]) == 0
