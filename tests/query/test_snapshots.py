"""Snapshots: what is written is read, what changed since is told, and appended records are not read."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.ingest.hostile_tables import guarded
from tests.made import build
from tests.query import logs
from tests.query.logs import PLACES, Entry
from tests.query.test_committed import COMMITTED, offsets
from tests.segment import logs as model
from tests.segment.logs import Log

from kafka_segments.core.formats.entries import Damage
from kafka_segments.errors import (
    KafkaFormatError,
    OptionError,
    OutputError,
    ReadError,
    TransactionInDoubtError,
)
from kafka_segments.log.model import LogEnd, PartitionLog
from kafka_segments.query.committed import Pin
from kafka_segments.query.plan import plan
from kafka_segments.query.query import Query
from kafka_segments.query.snapshot import (
    Snapshot,
    changes,
    pinned_logs,
    read_snapshot,
    take_snapshot,
    write_snapshot,
)


def kept(snapshot: Snapshot, folder: Path) -> Snapshot:
    path = str(folder / "snapshot.json")
    write_snapshot(snapshot, path)
    return read_snapshot(PLACES, path)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    _log, folder = model.indexed(tmp_path)
    found = replace(
        logs.log_of(folder), topic_id="AAAAAAAAAAAAAAAAAAAAAQ", end=LogEnd(True, 12), log_start_offset=1
    )
    snapshot = take_snapshot([found], PLACES, with_transactions=True)
    assert snapshot.logs[0].pieces[-1].end == 13 and snapshot.committed().keys() == {("t", 0)}
    assert kept(snapshot, tmp_path) == snapshot
    assert pickle.loads(pickle.dumps(snapshot)) == snapshot


def test_every_recorded_log_can_be_kept(tmp_path: Path) -> None:
    found = [logs.log_of(path) for path in sorted(logs.RECORDED.glob("kafka-4.3/clean/*-[0-9]"))]
    snapshot = take_snapshot(found, PLACES, with_transactions=True)
    again = kept(snapshot, tmp_path)
    assert again == snapshot
    assert changes(again, PLACES) == []
    before = plan(found, COMMITTED, PLACES)
    after = plan(again.logs, COMMITTED, PLACES, again.committed())
    assert offsets(after) == offsets(before)


def test_a_doubt_is_kept_with_its_words(tmp_path: Path) -> None:
    log = Log()
    log.data(10)
    lost = log.commit(10)
    log.data(10)
    path = log.write(tmp_path) / f"{0:020d}.log"
    data = path.read_bytes()
    at = data.index(lost.data)
    path.write_bytes(data[: at + 30] + b"\xff" * 4 + data[at + 34 :])
    snapshot = take_snapshot([logs.log_of(path.parent)], PLACES, with_transactions=True)
    (doubt, *_), (again, *_) = (
        one.outcomes[0].committed.doubts for one in (snapshot, kept(snapshot, tmp_path))
    )
    assert isinstance(again.error, TransactionInDoubtError) and again.error.producer_id == 10
    assert str(again.error) == str(doubt.error)
    assert again == replace(doubt, error=again.error)


def appended(tmp_path: Path) -> tuple[Path, PartitionLog]:
    path = logs.write(tmp_path, [Entry("create2", (at,)) for at in range(30)], segment_bytes=1000)
    return path, logs.log_of(path)


def test_what_is_appended_later_is_not_read(tmp_path: Path) -> None:
    path, log = appended(tmp_path)
    snapshot = kept(take_snapshot([log], PLACES), tmp_path)
    newest = sorted(path.glob("*.log"))[-1]
    with newest.open("ab") as file:
        file.write(build.batch(30, [build.record(), build.record(1)]))
    assert changes(snapshot, PLACES) == []
    assert offsets(plan(snapshot.logs, Query(), PLACES)) == list(range(30))
    assert offsets(plan([logs.log_of(path)], Query(), PLACES)) == list(range(32))


def put_another_in_its_place(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(path.read_bytes())
    other.replace(path)


SPOILT = {
    "gone": Path.unlink,
    "replaced": put_another_in_its_place,
    "shorter": lambda path: os.truncate(path, 10),
    "longer": lambda path: os.truncate(path, 1 << 20),
}


@pytest.mark.parametrize("spoil", SPOILT.values(), ids=SPOILT)
def test_a_file_that_changed_is_told(tmp_path: Path, spoil: object) -> None:
    path, log = appended(tmp_path)
    snapshot = kept(take_snapshot([log], PLACES), tmp_path)
    first = min(path.glob("*.log"))
    spoil(first)  # type: ignore[operator]
    (changed,) = changes(snapshot, PLACES)
    assert changed.path == str(first)
    with pytest.raises(ReadError, match="since the snapshot was taken") as caught:
        pinned_logs(snapshot, PLACES)
    assert caught.value.path == str(first)
    found, told = pinned_logs(snapshot, PLACES, fail_on_data_loss=False)
    assert found == list(snapshot.logs) and told == [changed]


def test_all_is_gone_where_the_directory_is(tmp_path: Path) -> None:
    path, log = appended(tmp_path)
    snapshot = take_snapshot([log], PLACES)
    path.rename(tmp_path / "elsewhere")
    assert len(changes(snapshot, PLACES)) == len(log.pieces)


def test_nothing_is_written_over(tmp_path: Path) -> None:
    snapshot = Snapshot(())
    assert kept(snapshot, tmp_path) == snapshot
    with pytest.raises(OptionError, match="exists already"):
        write_snapshot(snapshot, str(tmp_path / "snapshot.json"))
    with pytest.raises(OutputError, match="the directory to write it into does not exist"):
        write_snapshot(snapshot, str(tmp_path / "nowhere" / "snapshot.json"))
    assert [path.name for path in tmp_path.iterdir()] == ["snapshot.json"]


def test_another_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_text(json.dumps({"format": "kafka-segments snapshot", "version": 1, "logs": []}))
    with pytest.raises(OptionError, match="version 1, but only 2"):
        read_snapshot(PLACES, str(path))
    with pytest.raises(ReadError):
        read_snapshot(PLACES, str(tmp_path / "none.json"))


texts = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


parts = st.dictionaries(st.sampled_from(["topic", "partition", "pieces"]), texts)
snapshots = st.dictionaries(
    st.sampled_from(["logs", "outcomes", "taken_ms", "other"]), st.one_of(texts, st.lists(parts))
).map(lambda value: json.dumps({"format": "kafka-segments snapshot", "version": 2, **value}).encode())
anything = st.one_of(st.binary(max_size=20), texts.map(lambda value: json.dumps(value).encode()), snapshots)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(anything)
def test_any_bytes_are_a_snapshot_or_our_error(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "any.json"
    path.write_bytes(data)
    try:
        assert isinstance(read_snapshot(PLACES, str(path)), Snapshot)
    except OptionError as error:
        assert error.path == str(path)


def _places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where there are values in JSON, as what leads there."""
    yield at
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, one in inner:
        yield from _places(one, (*at, name))


@pytest.fixture(scope="module")
def doubtful(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A snapshot with everything in it that a snapshot may have, errors and damage among it, as JSON."""
    doubt = Damage("x", 1, 2, TransactionInDoubtError("a doubt", position=1, producer_id=10), 3, None)
    _log, folder = model.indexed(tmp_path_factory.mktemp("doubtful"))
    taken = take_snapshot([logs.log_of(folder)], PLACES, with_transactions=True)
    one = taken.outcomes[0]
    pin = Pin(10, 3, None)
    changed = replace(one.committed, void=((1, 2, 3),), pin=pin, doubts=(doubt,))
    path = tmp_path_factory.mktemp("kept") / "s.json"
    write_snapshot(replace(taken, outcomes=(replace(one, committed=changed),)), str(path))
    return json.loads(path.read_text())


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300)
@given(data=st.data())
def test_any_value_in_any_place_is_read_or_refused_by_our_error(
    tmp_path: Path, doubtful: Any, data: st.DataObject
) -> None:
    value = json.loads(json.dumps(doubtful))
    *way, last = data.draw(st.sampled_from([place for place in _places(value) if place]))
    target = value
    for name in way:
        target = target[name]
    if isinstance(target, dict) and data.draw(st.booleans()):
        target[data.draw(st.sampled_from(["args", "__class__", "detail", "path", ""]))] = data.draw(texts)
    else:
        target[last] = data.draw(texts)
    path = tmp_path / "any.json"
    path.write_text(json.dumps(value))
    try:
        found = read_snapshot(PLACES, str(path))
        repr(found)
        pinned_logs(found, PLACES, fail_on_data_loss=False)
    except KafkaFormatError as error:
        assert str(error)


@pytest.mark.parametrize("wrong", [{}, None, 7, ["x"]])
def test_an_error_in_a_snapshot_has_words(tmp_path: Path, doubtful: Any, wrong: Any) -> None:
    value = json.loads(json.dumps(doubtful))
    (doubt,) = value["outcomes"][0]["committed"]["doubts"]
    doubt["error"]["detail"] = wrong
    path = tmp_path / "any.json"
    path.write_text(json.dumps(value))
    with pytest.raises(OptionError, match="Expected `str`"):
        read_snapshot(PLACES, str(path))


HOSTILE = [
    "/etc/passwd",
    "-",
    "../x",
    "",
    "a\0b/00000000000000000000.log",
    "t'; --",
    -1,
    2**31,
    2**63,
    10**400,
]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=100)
@given(data=st.data())
def test_no_other_file_is_read_than_one_with_a_segments_name(
    tmp_path: Path, doubtful: Any, data: st.DataObject
) -> None:
    """Whatever a snapshot says of paths, offsets and sizes: records are read, or it is an error of ours."""
    value, victim = json.loads(json.dumps(doubtful)), tmp_path / "victim"
    if not victim.exists():
        (victim / "inner").mkdir(parents=True)
        (victim / "inner" / "secret").write_bytes(b"\0" * 500)
    hostile = [*HOSTILE, str(victim / "inner" / "secret"), f"file://{victim}/inner/secret", str(victim)]
    for _ in range(data.draw(st.integers(1, 3))):
        *way, last = data.draw(st.sampled_from([place for place in _places(value) if place]))
        target = value
        for name in way:
            target = target[name]
        target[last] = data.draw(st.sampled_from(hostile))
    path = tmp_path / "any.json"
    path.write_text(json.dumps(value))
    with guarded(victim / "inner") as seen, contextlib.suppress(KafkaFormatError):
        found, _ = pinned_logs(read_snapshot(PLACES, str(path)), PLACES, fail_on_data_loss=False)
        offsets(plan(found, Query(fail_on_data_loss=False), PLACES))
    assert seen == []


def test_a_file_of_another_name_is_refused(tmp_path: Path) -> None:
    _path, log = appended(tmp_path)
    kept(take_snapshot([log], PLACES), tmp_path)
    path = tmp_path / "snapshot.json"
    path.write_text(path.read_text().replace(f"{0:020}.log", "secret"))
    with pytest.raises(OptionError, match="regex"):
        read_snapshot(PLACES, str(path))
