"""What a page says first: whose the logs are, what is lost where, what to type next, which works."""

from __future__ import annotations

import html
import os
import re
import subprocess
from pathlib import Path

import pytest
from tests.log.tiers import copy_of, kafkas
from tests.made.samples import RECORDED
from tests.report import logs

from kafka_segments.cli import console
from kafka_segments.cli.main import main
from kafka_segments.errors.escaping import shown
from kafka_segments.report.next_steps import next_steps, shell_word

IDS = "node.id 3, cluster.id abc, directory.id AAAAAAAAAAAAAAAAAAAAAQ"
META = "version=1\nnode.id=3\ncluster.id=abc\ndirectory.id=AAAAAAAAAAAAAAAAAAAAAQ\n"
HOSTILE = "it's $(touch hurt) `id`\n\x1b[2J\u202e\u2066\\x41 *"


def first_screen(directory: Path, *words: str) -> str:
    """The text above the charts, without tags."""
    page = directory.parent / "page.html"
    main(["report", str(directory), "-o", str(page), *words])
    text = page.read_text(encoding="utf-8")
    page.unlink()
    return html.unescape(
        re.sub(r"\s+", " ", re.sub("<[^>]*>", " ", text[text.index("<h1>") : text.index('id="time"')]))
    )


def lines_of(directory: Path) -> list[str]:
    """The commands of the page of a directory."""
    page = directory.parent / "page.html"
    main(["report", str(directory), "-o", str(page)])
    lines = re.findall(r'<p class="step"><code>(.*?)</code>', page.read_text(encoding="utf-8"))
    return [html.unescape(line) for line in lines]


def arguments_of(line: str) -> list[str]:
    """What a shell hands to the command of a line."""
    shell = f'kafka-segments() {{ printf "%s\\0" "$@"; }}; {line}'
    done = subprocess.run(["bash", "-c", shell], capture_output=True, check=True)
    return [os.fsdecode(word) for word in done.stdout.split(b"\0")[:-1]]


@pytest.fixture
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, in which lines are typed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(console, "silence_stdout", lambda: None)  # it is pytest's here
    return tmp_path


def test_partitions_that_are_gone_are_missing(in_folder: Path) -> None:
    directory = in_folder / "logs"
    logs.plain_and_gzip(directory / "orders-0")
    for name in ("replication-offset-checkpoint", "recovery-point-offset-checkpoint"):
        (directory / name).write_text("0\n2\norders 0 4\norders 1 4\n")
    assert "Nothing is damaged or missing." in first_screen(directory), "the checkpoints may be old"
    (directory / ".kafka_cleanshutdown").touch()
    said = first_screen(directory)
    assert "Something is wrong: 1 partition missing." in said
    assert f"missing {directory}/orders-1" in said
    assert f"kafka-segments salvage {directory} salvaged" in said
    assert "Nothing is damaged or missing in what was read." in first_screen(
        directory, "--subscribe", "orders"
    )
    assert main(["report", "logs", "-o", "page.html"]) == 1


def test_a_torn_tail_has_lost_what_the_checkpoints_name(tmp_path: Path) -> None:
    path = logs.plain_and_gzip(tmp_path / "logs" / "orders-0")
    path.write_bytes(path.read_bytes()[:-5])
    assert "orders-0 : records lost, offsets 2 and above" in first_screen(tmp_path / "logs")
    (tmp_path / "logs" / "replication-offset-checkpoint").write_text("0\n1\norders 0 4\n")
    assert "orders-0 : 2 records lost, offsets 2 to 3" in first_screen(tmp_path / "logs")


def test_it_says_whose_it_is_and_what_is_lost_where(tmp_path: Path) -> None:
    directory = tmp_path / "logs"
    logs.damaged(directory / "orders-1")
    logs.plain_and_gzip(directory / "orders-0")
    (directory / "meta.properties").write_text(META)
    for number, path in enumerate(sorted(directory.rglob("*.log"))):
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
    said = first_screen(directory)
    for words in (
        "6 records lost in 1 of 2 partitions.",
        f"{directory} {IDS}",
        "2 partitions, ",
        "last written from 2023-11-14 22:13:20 to 2023-11-14 22:13:22 UTC",
        "orders-1 : 6 records lost, offsets 2 to 3, 6 to 9; the rest is readable",
        "the checksum of the batch is wrong, 2 records, offsets 2 to 3",
        "missing, 4 records, offsets 6 to 9",
        "1 sound partition",
    ):
        assert words in said, words
    assert said.index("1 sound partition") > said.index("the checksum of the batch")
    assert said.count(f"{directory}/orders-1 0") == 0, "the findings name the file alone"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "no meta.properties: the broker is not known"),
        ("broker.id=7\n", "broker.id 7, cluster.id not set, directory.id not set"),
        ("version=1\n", "meta.properties cannot be read: node.id is missing"),
    ],
)
def test_it_says_what_is_known_of_the_broker(tmp_path: Path, content: str | None, said: str) -> None:
    logs.plain_and_gzip(tmp_path / "logs" / "orders-0")
    if content is not None:
        (tmp_path / "logs" / "meta.properties").write_text(content)
    assert said in first_screen(tmp_path / "logs")


def test_each_line_runs_whatever_the_names(in_folder: Path) -> None:
    directory = in_folder / HOSTILE
    logs.damaged(directory / "orders-1")
    lines = lines_of(directory)
    assert all(line.isprintable() for line in lines)
    words = [arguments_of(line) for line in lines]
    assert [verb for verb, *_rest in words] == ["verify", "salvage", "dump", "dump"]
    assert [main(one) for one in words] == [1, 1, 1, 1]
    assert sorted(os.listdir(in_folder)) == sorted(["page.html", "salvaged", HOSTILE])


def test_a_sound_log_has_nothing_to_salvage(tmp_path: Path) -> None:
    logs.plain_and_gzip(tmp_path / "logs" / "orders-0")
    assert lines_of(tmp_path / "logs") == [f"kafka-segments verify {tmp_path / 'logs'}"]


def test_a_running_broker_and_a_secret_are_respected() -> None:
    steps = next_steps(["s3a://key:secret@bucket/a b"], is_damaged=False, is_live=True)
    assert steps[0][0] == "kafka-segments verify --live 's3a://key:secret@bucket/a b'"
    assert shown(steps[0][0]).endswith(" 's3a://***@bucket/a b'"), "as the page shows all text"


def test_the_lines_of_a_tier_run(in_folder: Path) -> None:
    kafkas(copy_of(RECORDED / "kafka-4.3/clean/transactions-0"), in_folder / "tier")
    (path, *_others) = sorted((in_folder / "tier").rglob("*.log"))
    data = bytearray(path.read_bytes())
    data[100] ^= 1
    path.write_bytes(data)
    words = [arguments_of(line) for line in lines_of(in_folder / "tier")]
    assert [verb for verb, *_rest in words] == ["verify", "salvage", "dump"]
    assert [main(one) for one in words] == [1, 1, 1]


@pytest.mark.parametrize(
    "text", ["", "a b", "it's", "$(x)`y`", HOSTILE, os.fsdecode(b"\xff'\\\x01\xe2\x80\xae9"), "é—"]
)
def test_a_shell_reads_a_word_as_it_was(text: str) -> None:
    done = subprocess.run(["bash", "-c", f"printf %s. {shell_word(text)}"], capture_output=True, check=True)
    assert done.stdout == os.fsencode(text) + b"."
    assert shell_word(text).isprintable()
