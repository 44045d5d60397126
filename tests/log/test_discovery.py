"""From paths to copies of partitions: which segments count, and what stands beside them."""

from __future__ import annotations

import errno
import json
import logging
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from tests import work
from tests.log.memory import MemoryPlaces
from tests.python import locked

from kafka_segments.core.io.filesystem import FileEntry
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.io.local_files import is_locked
from kafka_segments.core.io.storage import Source
from kafka_segments.core.segment.beside.index_files import LeaderEpoch
from kafka_segments.errors import KafkaFormatError, OptionError, ReadError
from kafka_segments.log.discovery import FileOptions, discover
from kafka_segments.log.model import PartitionCopy

RECORDED = Path(__file__).resolve().parents[1] / "vectors" / "recorded"
CLEAN = RECORDED / "kafka-4.3" / "clean"


def make(directory: Path, *offsets: int) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    for offset in offsets:
        (directory / f"{offset:020}.log").write_bytes(b"x" * (offset + 1))
    return directory


def find(*paths: object, **options: object) -> list[PartitionCopy]:
    return discover(Places(), map(str, paths), FileOptions(**options))  # type: ignore[arg-type]


def names(copies: list[PartitionCopy]) -> list[str]:
    return [f"{copy.topic}-{copy.partition}" for copy in copies]


def offsets(copy: PartitionCopy) -> list[int]:
    return [segment.base_offset for segment in copy.segments]


def test_a_recorded_log_directory() -> None:
    found = {f"{copy.topic}-{copy.partition}": copy for copy in find(CLEAN)}
    # As the broker has them: directories that it left alone are none of its partitions.
    assert set(found) == {path.name for path in CLEAN.iterdir() if path.is_dir() and path.name[-1].isdigit()}
    assert all(
        copy.topic_id and len(copy.topic_id) == 22
        for copy in found.values()
        if copy.topic != "__cluster_metadata"
    )
    head = found["deleted-head-0"]
    assert (head.log_start_offset, offsets(head)) == (17, [11, 21])
    assert head.end.high_watermark is not None
    assert not head.end.is_live
    assert head.leader_epochs[0].epoch == 0
    first = head.segments[0]
    assert (first.is_newest, first.end_offset, first.beside["index"].size) == (False, 21, 32)
    assert (head.segments[1].is_newest, head.segments[1].end_offset) == (True, None)
    assert found["compact-multi-0"].cleaned_up_to == 162
    assert found["multi-0"].cleaned_up_to is None
    assert [copy for copy in found.values() if copy.findings] == []
    sizes = {segment.file.path: segment.file.size for copy in found.values() for segment in copy.segments}
    assert sizes == {path: os.path.getsize(path) for path in sizes}


def test_what_stands_beside_is_of_the_same_offset(tmp_path: Path) -> None:
    directory = make(tmp_path / "t-0", 0, 5)
    for name in (
        "0" * 20 + ".index",
        f"{5:020}.txnindex",
        f"{5:020}.snapshot",
        f"{9:020}.snapshot",
        f"{5:020}.index.deleted",
    ):
        (directory / name).write_bytes(b"12345")
    (copy,) = find(tmp_path)
    assert [set(segment.beside) for segment in copy.segments] == [{"index"}, {"txnindex", "snapshot"}]
    assert copy.segments[0].beside["index"].size == 5
    assert copy.segments[0].beside["index"].path == str(directory / ("0" * 20 + ".index"))


def test_topics_with_names_of_all_kinds(tmp_path: Path) -> None:
    for name in ("123-0", "Foo-0", "foo-0", "foo-0-0", "_x-1"):
        make(tmp_path / name, 0)
    assert [(copy.topic, copy.partition) for copy in find(tmp_path)] == [
        ("123", 0),
        ("Foo", 0),
        ("_x", 1),
        ("foo", 0),
        ("foo-0", 0),
    ]


def test_partitions_that_nobody_wants_are_not_listed() -> None:
    places = MemoryPlaces({f"m:/d/{name}-0/{0:020}.log": b"" for name in ("a", "b", "c")})
    found = discover(places, ["m:/d"], None, lambda topic, partition: topic == "b" and partition in (0, None))
    assert names(found) == ["b-0"]
    assert [path for word, path in places.asked if word == "list"] == ["m:/d", "m:/d/b-0"]
    assert discover(places, ["m:/d"], None, lambda topic, partition: False) == []
    # Given by name, too.
    assert discover(places, ["m:/d/a-0"], None, lambda topic, partition: topic == "b") == []


def test_the_same_code_reads_other_file_systems() -> None:
    files = {
        f"m:/d/t-0/{0:020}.log": b"abc",
        f"m:/d/t-0/{7:020}.log": b"",
        f"m:/d/t-0/{0:020}.index": b"12345678",
        "m:/d/t-0/leader-epoch-checkpoint": b"0\n2\n0 0\n4 7\n",
        "m:/d/t-0/partition.metadata": b"version: 0\ntopic_id: lZ6vvmajTWKDBUTV6SQAtQ",
        "m:/d/replication-offset-checkpoint": b"0\n1\nt 0 9\n",
        "m:/d/.lock": b"",
    }
    for path in ("m:/d", "m:/d/", "m:/d/t-0", f"m:/d/t-0/{0:020}.log", "m:/d/t-*", "m:/{d,e}/t-0/*"):
        places = MemoryPlaces(files)
        (copy,) = discover(places, [path])
        assert (copy.topic, copy.path) == ("t", "m:/d/t-0")
        assert copy.topic_id == "lZ6vvmajTWKDBUTV6SQAtQ"
        assert copy.leader_epochs == (LeaderEpoch(0, 0), LeaderEpoch(4, 7))
        assert (copy.end.high_watermark, copy.end.is_live) == (9, False)
        assert copy.segments[0].file.size == 3
        assert offsets(copy) == ([0] if path.endswith(".log") else [0, 7])
        twice = sorted(asked for asked in set(places.asked) if places.asked.count(asked) > 1)
        # A pattern of files lists a directory for its names, and the directory is looked at then.
        assert twice == ([("list", "m:/d/t-0")] if path.endswith("/*") else []), path


def test_a_file_given_by_name_leaves_out_the_others(tmp_path: Path) -> None:
    directory = make(tmp_path / "t-0", 0, 5, 9)
    (copy,) = find(directory / f"{5:020}.log")
    assert [(one.base_offset, one.end_offset, one.is_newest) for one in copy.segments] == [(5, 9, False)]
    assert [(one.first_offset, one.last_offset) for one in copy.findings] == [(0, 4), (9, None)]
    assert {one.detail for one in copy.findings} == {"other segments were given by name"}


def test_path_glob_filter(tmp_path: Path) -> None:
    make(tmp_path / "t-0", 0, 5, 10)
    (copy,) = find(tmp_path, path_glob_filter="*{0,5}.log")
    assert offsets(copy) == [0, 5, 10]
    (copy,) = find(tmp_path, path_glob_filter="*[!0].log")
    assert offsets(copy) == [5]
    assert not copy.segments[0].is_newest
    assert copy.segments[0].end_offset == 10
    assert [one.first_offset for one in copy.findings] == [0, 10]
    assert "pathGlobFilter '*[!0].log'" in copy.findings[0].detail
    (copy,) = find(tmp_path, path_glob_filter="nothing")
    assert (copy.segments, len(copy.findings)) == ((), 3)
    with pytest.raises(OptionError, match="is invalid"):
        find(tmp_path, path_glob_filter="[")


def test_modification_times(tmp_path: Path) -> None:
    directory = make(tmp_path / "t-0", 0, 5, 10)
    for seconds, offset in enumerate((0, 5, 10), 100):
        os.utime(directory / f"{offset:020}.log", (seconds, seconds))
    second = 10**9
    assert offsets(find(tmp_path, modified_before=101 * second)[0]) == [0]
    assert offsets(find(tmp_path, modified_after=101 * second)[0]) == [10]
    assert offsets(find(tmp_path, modified_after=100 * second, modified_before=102 * second)[0]) == [5]


def test_depth(tmp_path: Path) -> None:
    make(tmp_path / "a" / "b" / "t-0", 0)
    make(tmp_path / "a" / "u-0", 0)
    make(tmp_path / "a" / ".hidden" / "v-0", 0)
    make(tmp_path / "a" / "w-0.04fd564ec61e45bd95313965ac4f697e-delete" / "w-0", 0)
    (tmp_path / "a" / "b" / "up").symlink_to(tmp_path / "a")
    assert names(find(tmp_path, recursive=True)) == ["t-0", "u-0"]
    assert names(find(tmp_path / "a")) == ["u-0"]
    with pytest.raises(OptionError, match=r"give the log directories themselves, for example .*/a"):
        find(tmp_path)


def test_segments_nobody_can_name_are_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    make(tmp_path / "t-0", 0)
    make(tmp_path / "backup", 0)
    with caplog.at_level(logging.WARNING):
        assert names(find(tmp_path, recursive=True)) == ["t-0"]
    assert "backup" in caplog.text
    assert "name it TOPIC-PARTITION" in caplog.text


def test_patterns_that_match_nothing_of_use(tmp_path: Path) -> None:
    make(tmp_path / "t-0", 0)
    (tmp_path / "meta.properties").touch()
    assert names(find(tmp_path / "*")) == ["t-0"]
    with pytest.raises(ReadError, match="nothing matches this pattern") as missing:
        find(tmp_path / "x*")
    assert missing.value.errno == errno.ENOENT
    with pytest.raises(OptionError, match="nothing that this pattern matches has segments"):
        find(tmp_path / "meta*")
    with pytest.raises(ReadError, match="check the path"):
        find(tmp_path / "no", ignore_missing=True)


class Vanishing(MemoryPlaces):
    """A directory that was seen is gone when it is listed."""

    def entries(self, directory: str):  # type: ignore[no-untyped-def]
        found = super().entries(directory)
        if directory == "m:/d/t-0":
            raise ReadError("there is none", errno=errno.ENOENT, path=directory)
        return found


def test_what_vanishes_meanwhile() -> None:
    files = {f"m:/d/{name}-0/{0:020}.log": b"" for name in ("t", "u")}
    assert names(discover(Vanishing(files), ["m:/d"])) == ["u-0"], "as a topic that is deleted"
    with pytest.raises(ReadError):
        discover(Vanishing(files), ["m:/d/?-0"])
    options = FileOptions(ignore_missing=True)
    assert names(discover(Vanishing(files), ["m:/d/?-0"], options)) == ["u-0"]


@pytest.mark.parametrize("file", ["leader-epoch-checkpoint", "partition.metadata"])
def test_notes_that_cannot_be_read_are_findings(
    tmp_path: Path, file: str, caplog: pytest.LogCaptureFixture
) -> None:
    directory = make(tmp_path / "t-0", 0)
    (directory / file).write_bytes(b"rubbish\n")
    (copy,) = find(tmp_path)
    assert (copy.topic_id, copy.leader_epochs) == (None, ())
    assert [finding.path for finding in copy.findings] == [str(directory / file)]
    assert file in caplog.text


def test_a_checkpoint_that_cannot_be_read_is_a_finding(tmp_path: Path) -> None:
    make(tmp_path / "t-0", 0)
    make(tmp_path / "u-0", 0)
    (tmp_path / "replication-offset-checkpoint").write_text("0\n2\nt 0 6\n")
    found = find(tmp_path)
    assert [copy.end.high_watermark for copy in found] == [None, None]
    assert [[finding.path for finding in copy.findings] for copy in found] == [
        [str(tmp_path / "replication-offset-checkpoint")]
    ] * 2


def test_a_broker_that_holds_the_directory(tmp_path: Path) -> None:
    make(tmp_path / "t-0", 0)
    lock = tmp_path / ".lock"
    lock.touch()
    assert not find(tmp_path)[0].end.is_live
    with locked(lock):
        assert find(tmp_path)[0].end.is_live
        assert find(tmp_path / "t-0")[0].end.is_live
        for path in (f"file:{tmp_path}", f"file:{tmp_path}/t-0", f"file://{tmp_path}/t-*"):
            (copy,) = find(path)
            assert copy.end.is_live
            assert copy.path == str(tmp_path / "t-0")
    assert not find(tmp_path)[0].end.is_live


def as_nobody(task: Callable[[], object]) -> object:
    """What a task returns as a user who is not root, in a process of its own."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.getuid() == 0:
                os.setgroups([])
                os.setgid(65534)
                os.setuid(65534)
            try:
                result = task()
            except KafkaFormatError as error:
                result = [type(error).__name__, str(error)]
            os.write(writer, json.dumps(result).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        data = pipe.read()
    os.waitpid(child, 0)
    return json.loads(data)


@pytest.fixture
def open_path() -> Iterator[Path]:
    """A directory that everybody may go to.

    pytest's own directories are closed to other users, and shared: whoever opens one takes
    part in what another worker, or another run of pytest, closes again.
    """
    with TemporaryDirectory() as name:
        path = Path(name)
        path.chmod(0o755)
        if not as_nobody(lambda: os.access(path, os.R_OK | os.X_OK)):
            pytest.skip(f"{path.parent} is closed to other users")
        yield path


def test_directories_that_may_not_be_read(open_path: Path) -> None:
    make(open_path / "t-0", 0)
    secret = make(open_path / "u-0", 0)
    assert as_nobody(lambda: names(find(open_path))) == ["t-0", "u-0"]
    secret.chmod(0)
    try:
        assert as_nobody(lambda: names(find(open_path))) == ["t-0"]
        kind, text = as_nobody(lambda: names(find(secret)))  # type: ignore[misc]
        assert kind == "ReadError"
        assert str(secret) in text and "readable for this user" in text
        assert as_nobody(
            lambda: names(discover(Places(), [str(open_path)], None, lambda topic, _: topic == "t"))
        ) == ["t-0"]
    finally:
        secret.chmod(0o755)


def test_a_lock_that_may_not_be_read_counts_as_held(open_path: Path) -> None:
    lock = open_path / ".lock"
    lock.touch()
    lock.chmod(0)
    assert as_nobody(lambda: is_locked(str(lock))) is True
    lock.chmod(0o644)
    assert as_nobody(lambda: is_locked(str(lock))) is False
    assert not is_locked(str(open_path / "no" / ".lock"))


class Slow(MemoryPlaces):
    """Each request takes a while; `most` is how many there were at a time."""

    def __init__(self, files: dict[str, bytes]) -> None:
        super().__init__(files)
        self.now = self.most = 0

    def wait(self) -> None:
        self.now += 1
        self.most = max(self.most, self.now)
        time.sleep(0.05)
        self.now -= 1

    def entries(self, directory: str) -> list[FileEntry]:
        self.wait()
        return super().entries(directory)

    def open(self, path: str) -> Source:
        self.wait()
        return super().open(path)


def test_requests_go_out_at_once() -> None:
    files = {}
    for partition in range(60):
        directory = f"m:/d/t-{partition}"
        files[f"{directory}/{0:020}.log"] = b""
        files[f"{directory}/leader-epoch-checkpoint"] = b"0\n1\n0 0\n"
        files[f"{directory}/partition.metadata"] = b"version: 0\ntopic_id: lZ6vvmajTWKDBUTV6SQAtQ"
    files["m:/d/replication-offset-checkpoint"] = b"0\n1\nt 3 9\n"
    places = Slow(files)
    found = discover(places, ["m:/d"])
    assert len(found) == 60
    assert {copy.partition: copy.end.high_watermark for copy in found if copy.end.high_watermark} == {3: 9}
    assert sorted(places.asked) == sorted(set(places.asked))
    assert len(places.asked) == 2 + 3 * 60 + 2, "a listing and two notes for each, the top, and a checkpoint"
    assert places.most > 5


def test_ten_thousand_segments(tmp_path: Path) -> None:
    (tmp_path / "file").touch()  # linked, for to make 30,000 files takes much longer
    for partition in range(100):
        directory = tmp_path / f"t-{partition}"
        directory.mkdir()
        for at in range(100):
            for suffix in ("log", "index", "timeindex"):
                os.link(tmp_path / "file", directory / f"{at * 1000:020}.{suffix}")
        (directory / "leader-epoch-checkpoint").write_text("0\n2\n0 0\n3 500\n")
        (directory / "partition.metadata").write_text("version: 0\ntopic_id: lZ6vvmajTWKDBUTV6SQAtQ")
    with work.at_most(50 * 30_000):
        found = find(tmp_path)
    assert sum(len(copy.segments) for copy in found) == 10_000
