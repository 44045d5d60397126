"""The page on unclean elections, with three nodes: the old leader cuts off what the new one never had.

Strategy: one node is controller, two others hold the replicas. The follower is away while the leader goes
on; the leader dies, the follower is elected, and the old leader comes back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from confluent_kafka.cimpl import NewTopic
from tests.incidents.accidents.kafka_10751 import BOTH, INCIDENT, OLD_END, TOPIC
from tests.incidents.incident_pages import page_of
from tests.ingest.consumer import consuming
from tests.ingest.running import SETTINGS, RunningBroker, joining
from tests.recording.kafka43 import Node
from tests.recording.server import Kit, wait_until

pytestmark = [pytest.mark.broker, pytest.mark.long(short=False)]

UNCLEAN = {"unclean.leader.election.enable": "true", "min.insync.replicas": "1"}


@pytest.fixture
def brokers(tmp_path: Path) -> Iterator[tuple[RunningBroker, RunningBroker]]:
    """The two that hold replicas, both running: the first one leads."""
    settings = {**SETTINGS, "unclean.leader.election.interval.ms": "1000"}
    with consuming() as consumer, ExitStack() as lives:
        first = Node(Kit("k4", "k4"), tmp_path / "1", settings=settings)
        lives.enter_context(first.start())
        found = []
        for number in (2, 3):
            node = joining(first, number, tmp_path / str(number), settings)
            found.append(RunningBroker(node, consumer, lives))
            found[-1].start()
        topic = NewTopic(TOPIC, 1, replica_assignment=[[2, 3]], config=UNCLEAN)
        found[0].admin.create_topics([topic])[TOPIC].result(60)
        wait_until("a leader", lambda: found[0].ends(TOPIC, [0]) == [0])
        yield found[0], found[1]


def test_the_old_leader_is_cut_where_the_page_says(brokers: tuple[RunningBroker, RunningBroker]) -> None:
    old, new = brokers
    old.send(TOPIC, [(None, b"%d" % number) for number in range(BOTH)])
    new.wait_for(TOPIC)
    assert new.server is not None
    new.server.stop()
    old.send(TOPIC, [(None, b"%d" % number) for number in range(BOTH, OLD_END)])
    old.kill()
    new.start()
    wait_until("an unclean election", lambda: new.ends(TOPIC, [0]) == [BOTH])
    new.send(TOPIC, [(None, b"x")] * 10)
    old.start()
    assert old.server is not None
    log = old.server.log
    (shown,) = re.findall(r"`(Truncating to offset \d+)`", page_of(INCIDENT.name).read_text(encoding="utf-8"))
    wait_until("the old leader to be cut", lambda: shown in log.read_text(errors="replace"))
    assert any(f"partition={TOPIC}-0" in line for line in log.read_text().splitlines() if shown in line)
