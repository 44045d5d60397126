"""Where a write goes: modes, what is refused, two at once, kills; nothing is ever seen in part."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.forms import pick
from tests.python import locked, run_python
from tests.spark import killed_write
from tests.spark.test_reader import read
from tests.spark.written_frames import batch, write, writer

from kafka_segments.core.io import outputs
from kafka_segments.errors import OptionError, OutputError

ROOT = Path(__file__).resolve().parents[2]


def frame(*topics: str, value: bytes = b"old") -> Any:
    return batch([{"topic": topic, "value": value} for topic in topics for _ in range(3)])


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def values(folder: Path) -> dict[str, list[bytes]]:
    """What is read of a directory, by topic."""
    found: dict[str, list[bytes]] = {}
    for row in read(folder):
        found.setdefault(row["topic"], []).append(row["value"])
    return found


def test_append_adds_partitions(tmp_path: Path) -> None:
    write(tmp_path / "to", [frame("a")])
    write(tmp_path / "to", [frame("b", value=b"new")])
    assert values(tmp_path / "to") == {"a": [b"old"] * 3, "b": [b"new"] * 3}
    with pytest.raises(OptionError, match=r"partition b-0 exists already\. Mode append adds partitions"):
        write(tmp_path / "to", [frame("c", "b")])
    assert names(tmp_path / "to") == ["a-0", "b-0"]
    assert names(tmp_path) == ["to"]


def test_overwrite_replaces_all(tmp_path: Path) -> None:
    for topics in (("a", "b"), ("b", "c")):
        write(tmp_path / "to", [frame(*topics)], overwrite=True)
        assert list(values(tmp_path / "to")) == list(topics)
    assert names(tmp_path) == ["to"]


def test_a_frame_without_rows(tmp_path: Path) -> None:
    write(tmp_path / "to", [frame("a").slice(0, 0)])
    assert names(tmp_path / "to") == []
    write(tmp_path / "to", [frame("a")])
    assert names(tmp_path / "to") == ["a-0"]


def test_a_task_that_goes_on_after_an_abort(tmp_path: Path) -> None:
    """Spark does not wait for it: nothing that it makes meanwhile stays."""
    for number in range(20):
        job = writer(tmp_path / "to", frame("a").schema)
        staging = next(tmp_path.iterdir())
        made = threading.Event()

        def go_on(staging: Path = staging, made: threading.Event = made) -> None:
            with suppress(FileNotFoundError):
                for piece in range(100_000):
                    (staging / str(piece)).mkdir()
                    (staging / str(piece) / "0.log").touch()
                    if piece == 100:
                        made.set()

        task = threading.Thread(target=go_on)
        task.start()
        assert made.wait(60)
        job.abort([])
        task.join()
        assert names(tmp_path) == [], number


def test_links_are_followed(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "to").symlink_to(tmp_path / "disk" / "logs")
    write(tmp_path / "to", [frame("a")])
    write(tmp_path / "to", [frame("b")], overwrite=True)
    assert names(tmp_path / "disk") == ["logs"]
    assert names(tmp_path / "disk" / "logs") == ["b-0"]


def test_what_overwrite_does_not_remove(tmp_path: Path) -> None:
    write(tmp_path / "to", [frame("a")])
    (tmp_path / "to" / "meta.properties").touch()
    with pytest.raises(
        OptionError, match=r"overwrite removes only partitions, but there is 'meta\.properties'"
    ):
        write(tmp_path / "to", [frame("b")], overwrite=True)
    (tmp_path / "to" / "meta.properties").unlink()
    job = writer(tmp_path / "to", frame("b").schema, overwrite=True)
    messages: list[Any] = [job.write(iter([frame("b")]))]
    (tmp_path / "to" / "notes").touch()  # while the tasks run
    with pytest.raises(OptionError, match="there is 'notes'"):
        job.commit(messages)
    job.abort(messages)
    assert names(tmp_path / "to") == ["a-0", "notes"]
    (tmp_path / "file").touch()
    with pytest.raises(OptionError, match="this is not a directory"):
        write(tmp_path / "file", [frame("b")], overwrite=True)


def test_a_directory_that_a_broker_has_open(tmp_path: Path) -> None:
    (tmp_path / "to").mkdir()
    open_there = pytest.raises(OptionError, match="a broker has this log directory open")
    with locked(tmp_path / "to" / ".lock"), open_there:
        write(tmp_path / "to", [frame("a")])


def test_paths_of_no_directory_here() -> None:
    for path, said in (("s3a://bucket/logs", "a file system of this machine"), ("", "is not a path")):
        with pytest.raises(OptionError, match=said):
            writer(Path("/a"), frame("a").schema, PATH=path)


def test_two_at_once(tmp_path: Path) -> None:
    """The one that commits first wins, and the other changes nothing."""
    jobs = [writer(tmp_path / "to", frame("a").schema) for _ in range(2)]
    messages: list[Any] = [job.write(iter([frame("a", value=b"%d" % n)])) for n, job in enumerate(jobs)]
    jobs[1].commit([messages[1]])
    with pytest.raises(OutputError):
        jobs[0].commit([messages[0]])
    jobs[0].abort([messages[0]])
    assert values(tmp_path / "to") == {"a": [b"1"] * 3}
    late = [writer(tmp_path / "to", frame("b").schema) for _ in range(2)]
    messages = [job.write(iter([frame("b", "c", value=b"%d" % n)])) for n, job in enumerate(late)]
    late[0].commit([messages[0]])
    with pytest.raises(OutputError, match="another program created it meanwhile"):
        late[1].commit([messages[1]])
    late[1].abort([])
    assert values(tmp_path / "to") == {"a": [b"1"] * 3, "b": [b"0"] * 3, "c": [b"0"] * 3}
    assert names(tmp_path) == ["to"]


def test_attempts_that_spark_did_not_take_leave_nothing(tmp_path: Path) -> None:
    job = writer(tmp_path / "to", frame("a").schema)
    lost, taken = (job.write(iter([frame("a")])) for _ in range(2))
    assert lost != taken
    job.commit([taken])
    assert values(tmp_path / "to") == {"a": [b"old"] * 3}
    assert names(tmp_path) == ["to"]


@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_a_disk_that_fails_in_the_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str) -> None:
    """All is as before."""
    write(tmp_path / "to", [frame("a")])
    job = writer(tmp_path / "to", frame("b", "c").schema, overwrite=mode == "overwrite")
    messages: list[Any] = [job.write(iter([frame("b", "c")]))]
    rename = os.rename

    def failing(source: str, target: str) -> None:
        if target == str(tmp_path / "to" / "c-0") or (target == str(tmp_path / "to") and "made" in source):
            raise OSError(28, "No space left on device")
        rename(source, target)

    monkeypatch.setattr(outputs.os, "rename", failing)
    with pytest.raises(OutputError, match="No space left on device"):
        job.commit(messages)
    job.abort(messages)
    assert values(tmp_path / "to") == {"a": [b"old"] * 3}
    assert names(tmp_path) == ["to"]


def run(mode: str, call: str, folders: Mapping[int, Path]) -> list[str]:
    """Lines of `killed_write` about writes that end at the given calls, each into a folder of its own."""
    pairs = [word for last, folder in folders.items() for word in (str(last), str(made(folder, mode)))]
    words = ["-m", "tests.spark.killed_write", mode, call, *pairs]
    return run_python(*words, cwd=ROOT, timeout=900).stdout.splitlines()  # on a busy machine


CASES = [(mode, call) for mode in ("new", "append", "overwrite") for call in killed_write.CALLS]
NEW = {"b": [b"new"] * 3, "c": [b"new"] * 3}
OLD = {"a": [b"old"] * 3}


@pytest.mark.long
@pytest.mark.parametrize(("mode", "call"), pick(CASES[::4], CASES))
def test_kills(tmp_path: Path, mode: str, call: str, caplog: pytest.LogCaptureFixture) -> None:
    """What is read afterwards is what was there or what was written, partition by partition if appended."""
    before = {} if mode == "new" else OLD
    calls, ended = run(mode, call, {0: tmp_path / "all"})
    assert ended == "ended 0"
    total = int(calls.removeprefix("calls "))
    assert total > 2
    folders = {last: tmp_path / str(last) for last in pick([total], range(1, total + 1))}
    assert run(mode, call, folders) == [f"ended {-signal.SIGKILL}"] * len(folders)
    for folder in folders.values():
        left = names(folder)
        if "to" in left:
            found = values(folder / "to")
            added = {topic: NEW[topic] for topic in found if topic in NEW}
            assert found in ([{**OLD, **added}] if mode == "append" else [before, NEW])
        elif mode == "overwrite":  # between the two renames
            (old,) = (name for name in left if name.startswith(".to.replaced-"))
            assert values(folder / old) == OLD
        caplog.clear()
        write(folder / "to", [frame("z")])
        is_left = any(name.startswith(".to.writing-") for name in left)
        assert ("belongs to a write that is running or was killed" in caplog.text) == is_left


def made(folder: Path, mode: str) -> Path:
    """A folder in which there is something to add to, or to replace."""
    folder.mkdir()
    if mode != "new":
        write(folder / "to", [frame("a")])
    return folder / "to"
