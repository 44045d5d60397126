"""A writer from its opening to its end: where it may write, what stops it, and that nothing is left of it."""

from __future__ import annotations

import gc
import os
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.python import run_python

import kafka_segments
from kafka_segments.errors import EncodeError, OptionError, OutputError

NAME = "00000000000000000000.log"
ROW = {"value": b"v"}
OPENERS = [kafka_segments.open_writer, kafka_segments.open_partition_writer]

Step = Callable[[kafka_segments.SegmentWriter], object]

# What is asked for wrongly, and is found before anything is written.
MISTAKES: dict[str, Step] = {
    "data": lambda writer: writer.write(5),  # type: ignore[arg-type]
    "option": lambda writer: writer.write([ROW], magic=7),
    "name": lambda writer: writer.write([ROW], foo=7),  # type: ignore[call-arg]
    "columns": lambda writer: writer.write([{"foo": 7}]),
    "control": lambda writer: writer.write_control(["COMMIT"], timestamp=1),  # type: ignore[list-item]
    "control option": lambda writer: writer.write_control([], timestamp=1, foo=7),
    "control offset": lambda writer: writer.write_control([], timestamp=1, base_offset=7),
    "marker": lambda writer: writer.write_marker("NO", producer_id=1, producer_epoch=1, timestamp=1),
    "empty": lambda writer: writer.write_empty_batch(base_offset=9, last_offset="9"),  # type: ignore[arg-type]
    "empty option": lambda writer: writer.write_empty_batch(base_offset=9, last_offset=9, foo=7),
    "appended": lambda writer: writer.append("abc"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("mistake", MISTAKES)
@pytest.mark.parametrize("opened", OPENERS)
def test_a_mistake_changes_nothing(mistake: str, opened: Any, tmp_path: Path) -> None:
    with opened(tmp_path / NAME) as writer:
        writer.write([ROW])
        with pytest.raises(OptionError):
            MISTAKES[mistake](writer)
        writer.write([ROW])
    assert writer.close().last_offset == 1


def rows_and_more() -> Iterator[Any]:
    for _ in range(100_000):
        yield {"value": bytes(100)}
    yield "no row"


@pytest.mark.parametrize(
    ("step", "told"),
    [
        (lambda writer: writer.write([ROW], base_offset=0), "EncodeError: offset 0, row 0: "),
        (lambda writer: writer.write(rows_and_more()), "OptionError: row 100000 is of type str"),
        (lambda writer: writer.append(b"abc"), "TruncatedError"),
    ],
)
def test_who_goes_on_is_told_what_stopped_it(step: Step, told: str, tmp_path: Path) -> None:
    """And where: leaving the block as if nothing had been would else be a riddle."""
    path = tmp_path / NAME
    with pytest.raises(OptionError) as caught, kafka_segments.open_writer(path) as writer:
        writer.write([ROW])
        with pytest.raises(kafka_segments.errors.KafkaFormatError):
            step(writer)
    assert told in str(caught.value)
    assert "nothing was written" in str(caught.value)
    assert caught.value.path == str(path)
    assert list(tmp_path.iterdir()) == []


def test_a_closed_writer_says_so(tmp_path: Path) -> None:
    path = tmp_path / NAME
    with kafka_segments.open_writer(path) as writer:
        writer.write([ROW])
    with pytest.raises(OptionError, match=r"closed$") as caught:
        writer.write([ROW])
    assert caught.value.path == str(path)
    assert writer.close() == writer.close()
    other = kafka_segments.open_writer(tmp_path / "other.log")
    other.abort()
    with pytest.raises(OptionError, match="it was aborted, and nothing was written"):
        other.close()


@pytest.mark.parametrize("opened", OPENERS)
def test_a_forgotten_writer_leaves_nothing(opened: Any, tmp_path: Path) -> None:
    writer = opened(tmp_path / NAME)
    writer.write([ROW])
    assert len(list(tmp_path.iterdir())) == 1
    with pytest.warns(ResourceWarning, match="neither closed nor aborted"):
        del writer
        gc.collect()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("opened", OPENERS)
def test_a_writer_that_has_ended_is_not_warned_about(opened: Any, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        closed, aborted = opened(tmp_path / NAME), opened(tmp_path / "other.log")
        closed.close()
        aborted.abort()
        del closed, aborted
        gc.collect()
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


AT_THE_END = """
import os, sys, kafka_segments
writer = kafka_segments.open_partition_writer(sys.argv[1])
writer.write([{"value": b"v"}])
child = os.fork()
if child:
    os.waitpid(child, 0)
    print(len(os.listdir(os.path.dirname(sys.argv[1]))), flush=True)
"""


def test_a_process_that_ends_leaves_nothing(tmp_path: Path) -> None:
    """And a copy of it that ends before, does not take its files away."""
    done = run_python("-c", AT_THE_END, tmp_path / "t-0")
    assert done.stdout == "1\n"
    assert list(tmp_path.iterdir()) == []


def test_a_link_to_an_empty_directory(tmp_path: Path) -> None:
    """What it leads to is replaced; what is reported goes by the caller's name."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    with kafka_segments.open_partition_writer(tmp_path / "link") as writer:
        writer.write([ROW])
    assert writer.close().paths == (str(tmp_path / "link" / NAME),)
    assert (tmp_path / "real" / NAME).exists()
    assert (tmp_path / "link").is_symlink()


def test_what_cannot_be_replaced_is_refused_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    link = tmp_path.parent / f"{tmp_path.name}-link"
    link.symlink_to(tmp_path)
    for path in (".", "./", tmp_path, link):
        with pytest.raises(OptionError, match="current directory"):
            kafka_segments.open_partition_writer(path)
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(os.path, "ismount", lambda path: path == str(tmp_path / "disk"))
    (tmp_path / "disk").mkdir()
    with pytest.raises(OptionError, match="mount point"):
        kafka_segments.open_partition_writer("disk")
    (tmp_path / "dangling").symlink_to("nowhere")
    with pytest.raises(OptionError, match="exists"):
        kafka_segments.open_partition_writer("dangling")


@pytest.mark.parametrize("opened", OPENERS)
def test_names_that_no_file_can_have(opened: Any, tmp_path: Path) -> None:
    for wrong in (None, 5, "", b"", "a\0b", "\ud800", str(tmp_path / "a\0b"), ["a"]):
        with pytest.raises(OptionError):
            opened(wrong)
    for name in ("n" * 300, "n" * 300 + "/" + NAME, "file/" + NAME):
        (tmp_path / "file").write_bytes(b"")
        with pytest.raises(OutputError):
            opened(tmp_path / name)
    # The hidden name is longer than the name, and file systems count bytes.
    with opened(tmp_path / ("\U0001f600" * 60)) as writer:
        writer.write([ROW], partition_leader_epoch=1)
    if opened is kafka_segments.open_writer:
        with pytest.raises(OptionError, match="above 2"):
            opened(tmp_path / ("9" * 20 + ".log"))
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"index": "no"},
        {"index_interval_bytes": "x"},
        {"index_interval_bytes": 10.5},
        {"segment_bytes": "x"},
        {"segment_bytes": 1000.5},
        {"segment_bytes": True},
        {"segment_bytes": -1},
        {"segment_bytes": 2**31},
        {"magic": True},
        {"magic": 2.0},
        {"foo": 1},
    ],
)
@pytest.mark.parametrize("opened", OPENERS)
def test_options_are_looked_at_first(opened: Any, wrong: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(OptionError):
        opened(tmp_path / NAME, **wrong)
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_cannot_be_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_path: object) -> list[str]:
        raise PermissionError(13, "Permission denied")

    (tmp_path / "t-0").mkdir()
    monkeypatch.setattr(os, "listdir", refuse)
    with pytest.raises(OutputError) as caught:
        kafka_segments.open_partition_writer(tmp_path / "t-0")
    assert caught.value.errno == 13


def test_an_error_of_the_callers_own_stays_what_it_is(tmp_path: Path) -> None:
    def rows() -> Iterator[dict[str, bytes]]:
        yield ROW
        raise KeyError("mine")

    writer = kafka_segments.open_writer(tmp_path / NAME)
    with pytest.raises(KeyError, match="mine"):
        writer.write(rows())
    with pytest.raises(OptionError, match="KeyError: 'mine'"):
        writer.close()
    with pytest.raises(EncodeError):
        kafka_segments.write_segment(tmp_path / NAME, [{"value": 5}])
    assert list(tmp_path.iterdir()) == []
