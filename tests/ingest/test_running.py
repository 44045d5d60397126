"""Runs on the log directory of a broker that is running, and Kafka's own consumer of the same."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
from tests.broker import clients
from tests.broker.harness import ISOLATIONS
from tests.ingest.consumed_tables import Commands, Tables
from tests.ingest.ingested import Run
from tests.ingest.running import SMALL_SEGMENTS, RunningBroker, Value, running_broker
from tests.recording.server import wait_until
from tests.recording.sets import all_cleaned

pytestmark = pytest.mark.broker

PREALLOCATED = {"preallocate": "true", "internal.segment.bytes": "1048576"}
# Not before the test lets it.
COMPACTED = {
    **SMALL_SEGMENTS,
    "cleanup.policy": "compact",
    "min.compaction.lag.ms": "3600000",
    "min.cleanable.dirty.ratio": "0.01",
    "delete.retention.ms": "0",
}


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBroker]:
    """The broker of all tests here."""
    with running_broker(tmp_path_factory.mktemp("running") / "node") as found:
        yield found


def values(first: int, end: int) -> list[Value]:
    """Records with keys of their own."""
    return [(b"k%d" % number, b"value %d" % number) for number in range(first, end)]


@pytest.fixture
def tables(
    broker: RunningBroker, ingest: Run, audit: Run, tmp_path: Path, request: pytest.FixtureRequest
) -> Tables:
    """Tables of a topic that has the test's name, and that the test makes."""
    topic = request.node.name.removeprefix("test_").replace("[", ".").rstrip("]")
    return Tables(broker, Commands(ingest, audit), tmp_path / "tables", topic)


@pytest.mark.parametrize("kind", ["rolled", "preallocated"])
def test_appends_between_runs(broker: RunningBroker, tables: Tables, kind: str) -> None:
    topic = tables.topic
    broker.create(topic, SMALL_SEGMENTS if kind == "rolled" else PREALLOCATED, 2)
    for turn in range(3):
        for batch in range(6):
            first = (turn * 6 + batch) * 10
            clients.send(broker.producer(10), topic, values(first, first + 10), batch % 2)
        broker.wait_for(topic, (0, 1))
        for isolation in ISOLATIONS:
            line, err = tables.run(isolation)
            assert (line["first offset"], line["records"]) == (str(turn * 30), "30"), err
    assert (len(list((broker.data / f"{topic}-0").glob("*.log"))) > 2) == (kind == "rolled")
    assert tables.are_consumed(2)[topic, 0]["runs"] == "3"


def test_runs_while_producers_go_on(broker: RunningBroker, tables: Tables) -> None:
    topic = tables.topic
    broker.create(topic, SMALL_SEGMENTS)
    is_over = threading.Event()

    def produce() -> None:
        plain, number = broker.producer(5), 0
        while not is_over.is_set():
            producer = broker.transactional(topic, 5) if number % 20 == 10 else plain
            clients.send(producer, topic, values(number, number + 5))
            if producer is not plain:
                (producer.abort_transaction if number % 40 == 10 else producer.commit_transaction)(60)
            number += 5

    with ThreadPoolExecutor(1) as beside:
        going_on = beside.submit(produce)
        try:
            for isolation in ISOLATIONS * 3:
                wait_until("a run that takes some", partial(takes_some, tables, isolation))
        finally:
            is_over.set()
        going_on.result()
    broker.wait_for(topic)
    for isolation in ISOLATIONS:
        tables.run(isolation)
    assert int(tables.are_consumed()[topic, 0]["runs"]) >= 3


def takes_some(tables: Tables, isolation: str) -> bool:
    """Whether a run takes any records."""
    return tables.run(isolation)[0]["records"] != "0"


@pytest.mark.parametrize("fate", ["commit", "abort"])
def test_a_transaction_open_over_three_runs(broker: RunningBroker, tables: Tables, fate: str) -> None:
    topic = tables.topic
    broker.create(topic)
    broker.send(topic, values(0, 3))
    long, short = broker.transactional(f"{topic}.long"), broker.transactional(f"{topic}.short")
    clients.send(long, topic, values(3, 5))
    broker.send(topic, values(5, 7))
    whole, part = tables.run("read_uncommitted"), tables.run("read_committed")
    assert (whole[0]["records"], part[0]["records"], part[0]["end offset"]) == ("7", "3", "3")
    assert "4 of the records written are not committed" in whole[1]
    clients.send(short, topic, values(7, 8))
    short.commit_transaction(60)
    broker.wait_for(topic)
    whole, part = tables.run("read_uncommitted"), tables.run("read_committed")
    assert (whole[0]["records"], part[0]["records"], part[0]["end offset"]) == ("1", "0", "3")
    assert "1 of the records written are not committed" in whole[1]
    clients.send(long, topic, values(8, 9))
    (long.commit_transaction if fate == "commit" else long.abort_transaction)(60)
    broker.send(topic, values(9, 10))
    whole, part = tables.run("read_uncommitted"), tables.run("read_committed")
    assert (whole[0]["records"], part[0]["end offset"]) == ("2", whole[0]["end offset"])
    assert (part[0]["records"], part[0]["aborted"]) == (("7", "0") if fate == "commit" else ("4", "3"))
    assert ("are not committed" in whole[1]) == (fate == "abort")
    tables.are_consumed()


def test_compacted_between_runs(broker: RunningBroker, tables: Tables) -> None:
    topic = tables.topic
    broker.create(topic, COMPACTED)
    for turn in range(6):
        clients.send(broker.producer(5), topic, [(b"k%d" % key, b"%d" % turn * 60) for key in range(5)])
    broker.send(topic, [(b"k0", None), (b"only here", b"v")])
    tables.run_both()
    before = {isolation: broker.consumed(topic, isolation) for isolation in ISOLATIONS}
    aborted = broker.transactional(topic, 5)
    clients.send(aborted, topic, values(100, 105))
    aborted.abort_transaction(60)
    for turn in range(6, 12):
        clients.send(broker.producer(5), topic, [(b"k%d" % key, b"%d" % turn * 60) for key in range(5)])
    broker.wait_for(topic)
    broker.configure(topic, {"min.compaction.lag.ms": "0"})
    wait_until("the cleaner", lambda: all_cleaned(broker.data, [topic]))
    for isolation in ISOLATIONS:
        line, _ = tables.run(isolation)
        first, end = before[isolation].bounds[topic, 0][1], int(line["end offset"])
        assert int(line["first offset"]) == first
        now = broker.consumed(topic, isolation)
        new = [row for row in now.rows if row.offset >= first]
        assert tables.rows(isolation) == [*before[isolation].rows, *new]
        assert len(now.rows) < len(before[isolation].rows) + len(new)
        counted = {name: int(line[name]) for name in ("records", "aborted", "control", "absent", "lost")}
        assert (counted["records"], counted["lost"]) == (len(new), 0)
        assert counted["absent"] > 0
        assert sum(counted.values()) == end - first
        tables.audited(isolation)


@pytest.mark.long(short=False)
def test_truncated_and_written_again(broker: RunningBroker, tables: Tables) -> None:
    """A crash of a machine takes what was not flushed: the last batches are cut off while it is down."""
    topic = tables.topic
    early = tables.beside("early")
    broker.create(topic)
    broker.send(topic, values(0, 10))
    assert early.run_both("records") == ["10", "10"]
    broker.send(topic, values(10, 20))
    segment = broker.data / f"{topic}-0" / f"{0:020}.log"
    size = segment.stat().st_size
    broker.send(topic, values(20, 30))
    assert tables.run_both("records") == ["30", "30"]
    broker.kill()
    segment.write_bytes(segment.read_bytes()[: size - 5])
    assert "it now ends at offset 10" in tables.refused()
    broker.start()
    wait_until(f"{topic} to be recovered", lambda: broker.ends(topic, [0]) == [10])
    broker.send(topic, values(1000, 1030))
    err = tables.refused()
    assert re.search(r"offset 29 was of leader epoch \d+, and is now of epoch \d+", err), err
    assert "rewind DEST" in err
    # Who had nothing of what was cut off goes on.
    assert early.run_both("records") == ["30", "30"]
    early.are_consumed()
    other = tables.beside("other")
    assert other.run_both("records") == ["40", "40"]
    other.are_consumed()


def test_recreated(broker: RunningBroker, tables: Tables) -> None:
    topic = tables.topic
    broker.create(topic)
    broker.send(topic, values(0, 5))
    tables.run_both()
    broker.delete(topic)
    broker.create(topic)
    assert "the topic was deleted and created again" in tables.refused()
    broker.send(topic, values(50, 60))
    assert "Write the new topic to another destination" in tables.refused()
    other = tables.beside("other")
    assert other.run_both("records") == ["10", "10"]
    other.are_consumed()


def test_deleted_past_the_last_run(broker: RunningBroker, tables: Tables, ingest: Run, audit: Run) -> None:
    topic = tables.topic
    broker.create(topic, SMALL_SEGMENTS)
    broker.send(topic, values(0, 10))
    tables.run_both()
    for first in range(10, 90, 10):
        clients.send(broker.producer(10), topic, values(first, first + 10))
    broker.wait_for(topic)
    before = tables.rows("read_uncommitted")
    broker.delete_records(topic, 47)
    assert "it now begins at offset 47: offsets 10 to 46 were deleted" in tables.refused()
    for isolation in ISOLATIONS:
        out = tables.path(isolation)
        words = "--subscribe", topic, "--isolation", isolation, "-o", "failOnDataLoss=false"
        status, table, err = ingest(broker.data, out, *words)
        line = table[topic, 0]
        assert (status, line["first offset"], line["end offset"]) == (1, "10", "90"), err
        assert (line["records"], line["lost"], line["absent"]) == ("43", "37", "0")
        assert tables.rows(isolation) == [*before, *broker.consumed(topic, isolation).rows]
        status, _, err = audit(out, broker.data)
        assert (status, f"{topic}-0: 37 offsets were lost" in err) == (1, True), err
    # What was taken may go.
    broker.send(topic, values(90, 95))
    broker.delete_records(topic, 90)
    assert tables.run_both("records") == ["5", "5"]
