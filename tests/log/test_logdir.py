"""Which directories and files count, as a broker would have it, and what is said when none does."""

from __future__ import annotations

import errno
import logging
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_segments.core import formats
from kafka_segments.core.formats.file_names import TopicPartition, parse_directory_name
from kafka_segments.core.io.filesystems import Places
from kafka_segments.errors import DecodeError, OptionError, ReadError
from kafka_segments.log.discovery import discover
from kafka_segments.log.log_dir import log_dir_root
from kafka_segments.log.model import PartitionCopy
from kafka_segments.log.open_partition import open_partition

RECORDED = Path(__file__).resolve().parents[1] / "vectors" / "recorded" / "kafka-4.3" / "clean"


def make(directory: Path, *offsets: int) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    for offset in offsets:
        (directory / f"{offset:020}.log").write_bytes(b"x" * (offset + 1))
    return directory


def listed(*paths: str | Path) -> list[PartitionCopy]:
    return discover(Places(), list(map(str, paths)), prefer_names=True)


def names(partitions: list[PartitionCopy]) -> list[str]:
    return [f"{partition.topic}-{partition.partition}" for partition in partitions]


def offsets(partition: PartitionCopy) -> list[int]:
    return [segment.base_offset for segment in partition.segments]


@pytest.mark.parametrize(
    ("name", "topic", "partition"),
    [
        ("t-0", "t", 0),
        ("a-b-12", "a-b", 12),
        ("007-3", "007", 3),
        ("dots.and-3-0", "dots.and-3", 0),
        ("--0", "-", 0),
        ("x-delete-0", "x-delete", 0),
        ("t-2147483647", "t", 2147483647),
        ("t" * 249 + "-0", "t" * 249, 0),
    ],
)
def test_names_of_partitions(name: str, topic: str, partition: int) -> None:
    assert parse_directory_name(name) == TopicPartition(topic, partition)
    assert str(TopicPartition(topic, partition)) == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        "t",
        "-0",
        "t-",
        "t-x",
        "t-01",
        "t-+1",
        "t-\u0661",
        "t-2147483648",
        ".-0",
        "..-0",
        "t\n-0",
        "caf\u00e9-0",
        "t" * 250 + "-0",
        "t-0.0123456789abcdef0123456789abcdef-delete",
        "t-0.0123456789abcdef0123456789abcdef-future",
        "t-0.0123456789abcdef0123456789abcdef-stray",
        "remote-log-index-cache",
    ],
)
def test_other_names(name: str) -> None:
    assert parse_directory_name(name) is None


@given(st.from_regex(r"[a-zA-Z0-9._-]{1,60}", fullmatch=True), st.integers(0, 2**31 - 1))
def test_names_come_back(topic: str, partition: int) -> None:
    expected = None if topic in (".", "..") else TopicPartition(topic, partition)
    assert parse_directory_name(f"{topic}-{partition}") == expected


def test_log_directory(tmp_path: Path) -> None:
    make(tmp_path / "b-1", 0, 7)
    make(tmp_path / "b-0", 3)
    make(tmp_path / "a-x-10", 0)
    for suffix in ("delete", "future", "stray"):
        make(tmp_path / f"gone-0.0123456789abcdef0123456789abcdef-{suffix}", 0)
    (tmp_path / "meta.properties").touch()
    (tmp_path / "empty-0").mkdir()
    make(tmp_path / "remote-log-index-cache", 0)
    found = listed(tmp_path)
    assert names(found) == ["a-x-10", "b-0", "b-1"]
    assert found[2].path == str(tmp_path / "b-1")
    assert [(s.path, s.base_offset, s.size, s.is_newest) for s in found[2].segments] == [
        (str(tmp_path / "b-1" / "00000000000000000000.log"), 0, 1, False),
        (str(tmp_path / "b-1" / "00000000000000000007.log"), 7, 8, True),
    ]


def test_transient_and_other_files_are_left_out(tmp_path: Path) -> None:
    directory = make(tmp_path / "t-0", 5)
    for base in (0, 9):
        for suffix in (".deleted", ".cleaned", ".swap"):
            (directory / f"{base:020}.log{suffix}").touch()
        for suffix in (".index", ".timeindex", ".txnindex", ".snapshot", "-0000000001.checkpoint"):
            (directory / f"{base:020}{suffix}").touch()
    (directory / "leader-epoch-checkpoint").touch()
    (directory / "partition.metadata").touch()
    (found,) = listed(directory)
    assert offsets(found) == [5]
    assert found.segments[0].is_newest


def test_odd_log_file_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    directory = make(tmp_path / "t-0", 5)
    (directory / "00000000000000000005 (1).log").touch()
    with caplog.at_level(logging.WARNING):
        (found,) = listed(directory)
    assert offsets(found) == [5]
    assert "(1).log" in caplog.text


def test_partition_directory_and_files(tmp_path: Path) -> None:
    directory = make(tmp_path / "t-0", 0, 4, 9)
    assert offsets(listed(directory)[0]) == [0, 4, 9]
    (found,) = listed(directory / f"{9:020}.log", directory / f"{4:020}.log")
    assert [(segment.base_offset, segment.is_newest) for segment in found.segments] == [(4, False), (9, True)]
    (found,) = listed(directory / f"{4:020}.log")
    assert [(segment.base_offset, segment.is_newest) for segment in found.segments] == [(4, False)]


def test_the_same_given_twice_counts_once(tmp_path: Path) -> None:
    directory = make(tmp_path / "logs" / "t-0", 0, 4)
    (tmp_path / "link").symlink_to(tmp_path / "logs")
    paths = [tmp_path / "logs", directory, directory / f"{4:020}.log", tmp_path / "link", f"{tmp_path}/logs/"]
    (found,) = listed(*paths)
    assert offsets(found) == [0, 4]


def test_link_to_a_partition_goes_by_the_name_that_says_it(tmp_path: Path) -> None:
    directory = make(tmp_path / "logs" / "t-0", 0)
    (tmp_path / "current").symlink_to(directory)
    assert names(listed(tmp_path / "current")) == ["t-0"]


def test_log_directory_whose_name_looks_like_a_partition(tmp_path: Path) -> None:
    make(tmp_path / "kafka-1" / "t-0", 0)
    assert names(listed(tmp_path / "kafka-1")) == ["t-0"]


def test_relative_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(make(tmp_path / "t-0", 0, 2))
    assert names(listed(".")) == ["t-0"]
    (found,) = listed("00000000000000000002.log")
    assert (found.topic, offsets(found)) == ("t", [2])


def test_log_start_offset(tmp_path: Path) -> None:
    directory = make(tmp_path / "t-0", 0, 4, 9)
    make(tmp_path / "u-0", 0)
    (tmp_path / "log-start-offset-checkpoint").write_text("0\n2\nt 0 6\nother 0 5\n")
    for path in (tmp_path, directory, directory / f"{4:020}.log"):
        found = listed(path)[0]
        assert found.log_start_offset == 6
        assert 0 not in offsets(found)
        assert 4 in offsets(found)
    assert listed(tmp_path)[1].log_start_offset is None
    assert offsets(listed(directory / f"{0:020}.log")[0]) == []


@pytest.mark.parametrize(("start", "kept"), [(3, [0, 4, 9]), (4, [4, 9]), (9, [9]), (100, [9])])
def test_segments_wholly_below_the_log_start_are_left_out(
    tmp_path: Path, start: int, kept: list[int]
) -> None:
    make(tmp_path / "t-0", 0, 4, 9)
    (tmp_path / "log-start-offset-checkpoint").write_text(f"0\n1\nt 0 {start}\n")
    assert offsets(listed(tmp_path)[0]) == kept


@pytest.mark.parametrize(
    "text", ["1\n0\n", "0\n2\nt 0 6\n", "0\n1\nt 0\n", "0\n1\nt 0 x\n", "rubbish", "\xff"]
)
def test_bad_checkpoint_is_told_and_passed_over(
    tmp_path: Path, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    make(tmp_path / "t-0", 0)
    (tmp_path / "log-start-offset-checkpoint").write_text(text, "latin-1")
    with caplog.at_level(logging.WARNING):
        (found,) = listed(tmp_path)
    assert found.log_start_offset is None
    assert "log-start-offset-checkpoint" in caplog.text


def test_checkpoint_texts() -> None:
    assert formats.read_offset_checkpoint(b"") == {}
    assert formats.read_offset_checkpoint(b"0\n0\n") == {}
    assert formats.read_offset_checkpoint(b"0\n2\na-b 1 2\nc 0 17") == {("a-b", 1): 2, ("c", 0): 17}
    with pytest.raises(DecodeError):
        formats.read_offset_checkpoint(b"0\n")


def test_missing_path(tmp_path: Path) -> None:
    for path in (tmp_path / "no" / "such", tmp_path / "t-0" / "00000000000000000000.log"):
        with pytest.raises(ReadError, match="check the path") as caught:
            listed(path)
        assert caught.value.errno == errno.ENOENT
        assert caught.value.path == str(path)


def test_a_segment_that_cannot_be_asked_does_not_hide_the_others(tmp_path: Path) -> None:
    directory = make(tmp_path / "t-0", 0, 4)
    (directory / f"{2:020}.log").symlink_to("nowhere")
    (found,) = listed(tmp_path)
    assert offsets(found) == [0, 2, 4]
    assert [segment.size for segment in found.segments] == [1, 0, 5]


def test_unreadable_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = make(tmp_path / "t-0", 0)
    scandir = os.scandir

    def refuse(path: str) -> object:  # root, who runs many a container, may read everything
        if path == str(directory):
            raise PermissionError(errno.EACCES, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(ReadError, match="readable for this user") as caught:
        listed(tmp_path)
    assert (caught.value.errno, caught.value.path) == (errno.EACCES, str(directory))


def test_directory_without_segments(tmp_path: Path) -> None:
    def says(words: str, path: Path = tmp_path) -> None:
        with pytest.raises(OptionError, match=words) as caught:
            listed(path)
        assert caught.value.path == str(path)

    says("no segments here")
    (tmp_path / "server.log").touch()
    says("broker's own messages")
    (tmp_path / "server.log").unlink()
    gone = make(tmp_path / "t-0.0123456789abcdef0123456789abcdef-delete", 0)
    says("put aside")
    says("copy it to a directory named TOPIC-PARTITION", gone)
    make(tmp_path / "disk1" / "t-0", 0)
    says("for example .*disk1", tmp_path)
    (tmp_path / "u-0").mkdir()
    says("no segments here", tmp_path / "u-0")
    says("name it TOPIC-PARTITION", make(tmp_path / "backup", 0))


@pytest.mark.parametrize(
    "name", ["server.log", "00000000000000000000.log.deleted", "00000000000000000000.index"]
)
def test_file_that_is_no_segment(tmp_path: Path, name: str) -> None:
    directory = make(tmp_path / "t-0", 0)
    (directory / name).touch()
    with pytest.raises(OptionError, match="not a segment of a log"):
        listed(directory / name)


def test_two_directories_of_one_partition(tmp_path: Path) -> None:
    make(tmp_path / "disk1" / "t-0", 0)
    make(tmp_path / "disk2" / "t-0", 0)
    (tmp_path / "disk[1]").mkdir()
    make(tmp_path / "disk[1]" / "t-0", 0)
    with pytest.raises(OptionError, match=r"2 copies .*disk1/t-0.*disk2/t-0.*kafka_segments\.scan"):
        open_partition(tmp_path / "disk?" / "t-0")
    with open_partition(tmp_path / "disk[1]") as partition:  # it exists, and so is no pattern
        assert partition.path == str(tmp_path / "disk[1]" / "t-0")


def test_root_of_a_path(tmp_path: Path) -> None:
    directory = make(tmp_path / "t-0", 0)
    assert log_dir_root(directory / f"{0:020}.log") == str(directory)
    assert log_dir_root(tmp_path) == str(tmp_path)
    (tmp_path / "meta.properties").touch()
    assert log_dir_root(directory / f"{0:020}.log") == str(tmp_path)
    assert log_dir_root(directory) == str(tmp_path)
    assert log_dir_root(tmp_path) == str(tmp_path)


def test_recorded_log_directory() -> None:
    found = {f"{entry.topic}-{entry.partition}": entry for entry in listed(RECORDED)}
    expected = {
        path.name
        for path in RECORDED.iterdir()
        if path.is_dir() and not path.name.endswith(("-delete", "-future", "-stray"))
    }
    assert set(found) == expected
    assert found["deleted-head-0"].log_start_offset == 17
    assert offsets(found["deleted-head-0"]) == [11, 21]
