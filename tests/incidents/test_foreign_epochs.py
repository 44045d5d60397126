"""What docs/salvage.md says of a log with leader epochs above those of the topic that it is given to.

Strategy: two brokers, one of which gets a log of another topic, whose batches are of a leader epoch as in an
old cluster; no checksum covers that field. The other one has nothing yet, and follows.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from confluent_kafka.cimpl import NewTopic
from tests.house.commands import ROOT
from tests.ingest.consumer import consuming
from tests.ingest.running import SETTINGS, RunningBroker, joining
from tests.made.sound_batches import sound_batches
from tests.recording.kafka43 import Node
from tests.recording.server import Kit, wait_until

pytestmark = [pytest.mark.broker, pytest.mark.long(short=False)]

FOREIGN, LOW, HIGH = "foreign", "low", "high"
EPOCHS = {LOW: 0, HIGH: 7}
EPOCH_POSITION, NUM_RECORDS = 12, 50


@pytest.fixture
def brokers(tmp_path: Path) -> Iterator[tuple[RunningBroker, RunningBroker]]:
    """Two brokers; the first one has a log, too, that is not of these topics."""
    with consuming() as consumer, ExitStack() as lives:
        first = Node(Kit("k4", "k4"), tmp_path / "1", settings=SETTINGS)
        lives.enter_context(first.start())
        found = []
        for number in (2, 3):
            found.append(
                RunningBroker(joining(first, number, tmp_path / str(number), SETTINGS), consumer, lives)
            )
            found[-1].start()
        topics = [NewTopic(topic, 1, replica_assignment=[[2, 3]]) for topic in EPOCHS]
        topics.append(NewTopic(FOREIGN, 1, replica_assignment=[[2]]))
        for made in found[0].admin.create_topics(topics).values():
            made.result(60)
        found[0].send(FOREIGN, [(None, b"%d" % number) for number in range(NUM_RECORDS)])
        yield found[0], found[1]


def give(data: Path, topic: str) -> None:
    """Give the log to a topic, with its leader epochs."""
    directory, epoch = data / f"{topic}-0", EPOCHS[topic]
    metadata = (directory / "partition.metadata").read_bytes()
    shutil.rmtree(directory)
    shutil.copytree(data / f"{FOREIGN}-0", directory)
    (directory / "partition.metadata").write_bytes(metadata)
    (directory / "leader-epoch-checkpoint").write_text(f"0\n1\n{epoch} 0\n")
    (segment,) = directory.glob("*.log")
    log = bytearray(segment.read_bytes())
    for batch in sound_batches(bytes(log)):
        start = batch.position + EPOCH_POSITION
        log[start : start + 4] = epoch.to_bytes(4, "big")
    segment.write_bytes(log)


def test_followers_skip_batches_of_higher_epochs(brokers: tuple[RunningBroker, RunningBroker]) -> None:
    leader, follower = brokers
    assert leader.server is not None
    assert follower.server is not None
    follower.server.stop()
    leader.server.stop()
    for topic in EPOCHS:
        give(leader.data, topic)
    leader.start()
    for topic in EPOCHS:
        wait_until(f"{topic} to be served", lambda topic=topic: leader.ends(topic, [0]) == [NUM_RECORDS])
    follower.start()
    log = follower.server.log
    (shown,) = re.findall(
        r"^Skipping batch \.\.\. (.+)$",
        (ROOT / "docs" / "salvage.md").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    wait_until("a batch to be skipped", lambda: shown in log.read_text(errors="replace"))
    sizes = {
        topic: sum(path.stat().st_size for path in (follower.data / f"{topic}-0").glob("*.log"))
        for topic in EPOCHS
    }
    wait_until(
        "the other log to be replicated",
        lambda: follower.noted("replication-offset-checkpoint").get((LOW, 0)) == NUM_RECORDS,
    )
    assert sizes[HIGH] == 0
