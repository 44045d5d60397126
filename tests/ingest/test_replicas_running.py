"""A replica that is cut back by a leader that lacks records: an unclean election, as Kafka does it.

Strategy: one node is controller and asked for topics, two others hold the replicas. The follower is away
while the leader goes on; the leader dies, and the follower leads, in another epoch; the old leader follows,
and truncates what the new one never had.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.ingest.consumed_tables import Commands, Tables
from tests.ingest.ingested import Run
from tests.ingest.running import SMALL_SEGMENTS, RunningBroker, two_replicas
from tests.ingest.test_running import values
from tests.recording.server import wait_until

pytestmark = [pytest.mark.broker, pytest.mark.long(short=False)]

TOPIC = "t"


@pytest.fixture
def brokers(tmp_path: Path) -> Iterator[tuple[RunningBroker, RunningBroker]]:
    """The two that hold replicas, both running: the first one leads."""
    with two_replicas(tmp_path, TOPIC, SMALL_SEGMENTS) as both:
        yield both


def test_cut_back_by_a_leader_that_lacks_records(
    brokers: tuple[RunningBroker, RunningBroker], ingest: Run, audit: Run, tmp_path: Path
) -> None:
    old, new = brokers
    tables = Tables(new, Commands(ingest, audit), tmp_path / "tables", TOPIC, old.data)
    early, both = tables.beside("early"), tables.beside("both", old.data, new.data)
    for first in (0, 5):
        old.send(TOPIC, values(first, first + 5))
    new.wait_for(TOPIC)
    assert early.run_both("records") == both.run_both("records") == ["10", "10"]
    assert new.server is not None
    new.server.stop()
    for first in (10, 20):
        old.send(TOPIC, values(first, first + 10))
    assert tables.run_both("end offset") == ["30", "30"]
    err = tables.beside("tables", new.data).refused()
    assert "it now ends at offset 10" in err
    assert "a replica or copy that lags (then run again later" in err
    old.kill()
    new.start()
    wait_until("an unclean election", lambda: new.ends(TOPIC, [0]) == [10])
    new.send(TOPIC, values(100, 125))
    # The dead broker's directory holds what was lost: the log is the new leader's, and status 1 says so.
    assert both.run_both("records", 1) == ["25", "25"]
    assert tables.run_both("records") == ["0", "0"]
    old.start()
    wait_until(
        "the old leader to follow", lambda: old.noted("replication-offset-checkpoint").get((TOPIC, 0)) == 35
    )
    err = tables.refused()
    assert re.search(r"offset 29 was of leader epoch \d+, and is now of epoch \d+", err), err
    assert early.run_both("records") == ["25", "25"]
    assert both.run_both("records") == ["0", "0"]
    other = tables.beside("other")
    assert other.run_both("records") == ["35", "35"]
    # A replica that has all goes on where another one ended.
    assert tables.beside("early", new.data).run_both("records") == ["0", "0"]
    for good in (early, both, other):
        good.are_consumed()
