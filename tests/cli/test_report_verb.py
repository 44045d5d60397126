"""`kafka-segments report`: exit statuses, what is refused, where the page may be written."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.report import logs

from kafka_segments.cli import console
from kafka_segments.cli.main import main

ROOT = Path(__file__).parents[2]
CLEAN = ROOT / "tests/vectors/recorded/kafka-4.3/clean"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A log directory `logs` with a small sound partition, as the current directory's neighbour."""
    logs.plain_and_gzip(tmp_path / "logs" / "t-0")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(console, "silence_stdout", lambda: None)  # it is pytest's here
    return tmp_path


@pytest.mark.parametrize("source", ["logs", "logs/t-0", f"logs/t-0/{0:020}.log", "logs/t-*"])
def test_a_clean_log(folder: Path, source: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["report", source, "-o", "page.html"]) == 0
    text = Path("page.html").read_text(encoding="utf-8")
    assert "Nothing is damaged or missing." in text
    assert ">t-0<" in text
    assert capfd.readouterr() == ("", "kafka-segments: page.html: Nothing is damaged or missing.\n")
    assert sorted(os.listdir(folder)) == ["logs", "page.html"]


def test_the_command_of_the_page(folder: Path) -> None:
    page = (ROOT / "docs" / "report.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"^```sh\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    program, *words = shlex.split(command)
    assert program == "kafka-segments"
    assert main(words) == 0
    assert Path("report.html").stat().st_size > 10_000


def test_a_file_of_no_partition(folder: Path) -> None:
    shutil.copy(f"logs/t-0/{0:020}.log", "saved.log")
    assert main(["report", "saved.log", "-o", "page.html"]) == 0
    assert "saved.log</h3>" in Path("page.html").read_text(encoding="utf-8")


def test_a_name_that_is_no_text(folder: Path) -> None:
    name = os.fsdecode(b"<b>\xff\x01\xe2\x80\xae.log")
    shutil.copy(f"logs/t-0/{0:020}.log", name)
    assert main(["report", name, "-o", "page.html"]) == 0
    text = Path("page.html").read_text(encoding="utf-8")
    assert "&lt;b&gt;\\xff\\x01\\u202e.log</h3>" in text
    assert "<b>\\xff" not in text


def test_damage_is_a_finding_and_the_page_is_written(folder: Path) -> None:
    logs.damaged(folder / "logs" / "u-0")
    assert main(["report", "logs", "-o", "page.html"]) == 1
    assert "Something is wrong" in Path("page.html").read_text(encoding="utf-8")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_segment_without_rights_is_named(folder: Path) -> None:
    path = logs.write(folder / "logs" / "u-0", 0, logs.batch(0))
    path.chmod(0)
    assert main(["report", "logs", "-o", "page.html"]) == 2
    assert "cannot be opened" in Path("page.html").read_text(encoding="utf-8")


def test_a_pipe_in_a_segments_place_is_named(folder: Path) -> None:
    (folder / "logs" / "u-0").mkdir()
    os.mkfifo(folder / "logs" / "u-0" / f"{0:020}.log")
    assert main(["report", "logs", "-o", "page.html"]) == 2
    assert "t-0</a>" in Path("page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nowhere", "-o", "page.html"], "nowhere"),
        (["logs", "-o", "page.html", "--subscribe", "x"], "there is no topic x"),
        (["logs", "-o", "page.html", "--max-partitions", "-1"], "--max-partitions is -1; give 0 to 200"),
        (["logs", "-o", "page.html", "--option", "nonsense=1"], "--option 'nonsense'"),
        (["logs", "-o", "logs/page.html"], "it lies in the source"),
        (["logs/t-0", "-o", "logs/t-0/page.html"], "it lies in the source"),
        (["logs", "-o", "s3://bucket/page.html"], "takes a file on this machine"),
        (["logs", "-o", "-"], "takes a file on this machine"),
        (["logs"], "required: -o/--output"),
        (["meta.properties", "-o", "page.html"], "not a log"),
    ],
)
def test_what_is_refused(
    folder: Path, words: list[str], said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    Path("meta.properties").write_text("broker.id=1\n")
    assert main(["report", *words]) == 2
    assert said in capfd.readouterr().err
    assert list(folder.rglob("*.html")) == []


def test_the_log_directory_around_a_partition_is_refused(folder: Path) -> None:
    (folder / "logs" / "meta.properties").touch()
    assert main(["report", "logs/t-0", "-o", "logs/page.html"]) == 2
    os.symlink("logs", "link")
    assert main(["report", "logs/t-0", "-o", "link/page.html"]) == 2


def test_nothing_is_written_over(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    Path("page.html").write_text("mine")
    assert main(["report", "logs", "-o", "page.html"]) == 2
    assert "it exists already, and files are never overwritten" in capfd.readouterr().err
    assert Path("page.html").read_text() == "mine"


def test_a_page_that_cannot_be_written(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "logs", "-o", "nowhere/page.html"]) == 3
    assert "the directory to write it into does not exist" in capfd.readouterr().err


def test_a_full_disk_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fsync(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fsync)
    assert main(["report", "logs", "-o", "page.html"]) == 3
    monkeypatch.undo()
    assert os.listdir(folder) == ["logs"]


def test_too_few_addresses_are_said_before_anything_is_read(folder: Path) -> None:
    """The renderer would end the process with a message of its own."""
    command = [sys.executable, "-m", "kafka_segments", "report", "logs", "-o", "page.html"]
    limited = ["sh", "-c", 'ulimit -v 16000000; exec "$@"', "sh", *command]
    done = subprocess.run(limited, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert "15625 MiB of addresses (ulimit -v)" in done.stderr
    assert not Path("page.html").exists()


def test_few_partitions_in_detail(folder: Path) -> None:
    logs.damaged(folder / "logs" / "a-0")
    assert main(["report", "logs", "-o", "one.html", "--max-partitions", "1"]) == 1
    text = Path("one.html").read_text(encoding="utf-8")
    assert text.count("<article") == 1
    assert "a-0</h3>" in text, "what is damaged comes first"
    assert "1 of 2 partitions" in text
    assert main(["report", "logs", "-o", "none.html", "--max-partitions", "0"]) == 1
    assert "<article" not in Path("none.html").read_text(encoding="utf-8")


def test_all_recorded_partitions(tmp_path: Path) -> None:
    output = tmp_path / "page.html"
    assert main(["report", str(CLEAN), "-o", str(output), "--max-partitions", "0"]) in (0, 1)
    text = output.read_text(encoding="utf-8")
    assert "open-transaction-0" in text
    assert "__consumer_offsets-0" in text
