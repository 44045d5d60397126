"""The page on unclean elections, with three nodes: the old leader cuts off what the new one never had.

Strategy: one node is controller, two others hold the replicas. The follower is away while the leader goes
on; the leader dies, the follower is elected, and the old leader comes back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.incidents.accidents.kafka_10751 import BOTH, INCIDENT, OLD_END, TOPIC
from tests.incidents.incident_pages import page_of
from tests.ingest.running import RunningBroker, two_replicas
from tests.recording.server import wait_until

pytestmark = [pytest.mark.broker, pytest.mark.long(short=False)]


@pytest.fixture
def brokers(tmp_path: Path) -> Iterator[tuple[RunningBroker, RunningBroker]]:
    """The two that hold replicas, both running: the first one leads."""
    with two_replicas(tmp_path, TOPIC, {}) as both:
        yield both


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
