"""A running broker whose log directory is ingested while it writes there.

Strategy: one broker serves all tests of a module; each has a topic of its own, so that the order plays no
part. A run ends at the high watermark that the broker has noted in its checkpoint: tests wait for that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from tests.broker import clients
from tests.ingest.consumer import Consumed, JavaConsumer, consuming
from tests.recording.kafka43 import Node
from tests.recording.server import Kit, Server, free_ports, wait_until

HIGH_WATERMARK, LOG_START = "replication-offset-checkpoint", "log-start-offset-checkpoint"
SETTINGS = {
    "replica.high.watermark.checkpoint.interval.ms": "200",
    "log.flush.start.offset.checkpoint.interval.ms": "200",
    "log.retention.check.interval.ms": "500",
    "transaction.max.timeout.ms": "3600000",
    # A killed broker is let in again after this.
    "broker.session.timeout.ms": "4000",
    "broker.heartbeat.interval.ms": "500",
}
# No transaction of a test ends by itself, however slow the machine is.
UNDER_WAY = {"transaction.timeout.ms": 3600000}
SMALL_SEGMENTS = {"internal.segment.bytes": "1024"}

Value = tuple[bytes | None, bytes | None]
"""Key and value of a record."""


@dataclass
class RunningBroker:
    """One node in as many lives as it takes.

    Attributes:
        node: its folder.
        consumer: Kafka's own.
        lives: what ends with the test module.
    """

    node: Node
    consumer: JavaConsumer
    lives: ExitStack = field(default_factory=ExitStack)
    server: Server | None = None

    @property
    def data(self) -> Path:
        """The log directory."""
        return self.node.data

    @cached_property
    def admin(self) -> AdminClient:
        """A client for topics."""
        return clients.admin_of(self.node.bootstrap)

    def start(self) -> None:
        """Begin the next life."""
        self.server = self.lives.enter_context(self.node.start())

    def kill(self) -> None:
        """End this life as a crash would."""
        assert self.server is not None
        self.server.kill()

    def create(self, topic: str, config: Mapping[str, str] | None = None, num_partitions: int = 1) -> None:
        """Make a topic, and wait until its partitions have a leader."""
        clients.create(self.node.bootstrap, {topic: config or {}}, num_partitions)
        numbers = range(num_partitions)
        wait_until(f"{topic} to have leaders", lambda: len(self.ends(topic, numbers)) == num_partitions)

    def configure(self, topic: str, config: Mapping[str, str]) -> None:
        """Change settings of a topic."""
        clients.configure(self.node.bootstrap, topic, config)

    def delete(self, topic: str) -> None:
        """Delete a topic, and wait until its directory is put aside."""
        self.admin.delete_topics([topic])[topic].result(60)
        wait_until(f"{topic} to be put aside", lambda: not (self.data / f"{topic}-0").exists())

    def delete_records(self, topic: str, offset: int) -> None:
        """Move the start of partition 0, and wait until that is noted and whole segments are gone."""
        where = TopicPartition(topic, 0, offset)
        self.admin.delete_records([where])[where].result(60)
        names = (self.data / f"{topic}-0").glob
        wait_until(
            f"{topic} to begin at {offset}",
            lambda: (
                self.noted(LOG_START).get((topic, 0)) == offset
                and sum(int(path.stem) <= offset for path in names("*.log")) == 1
            ),
        )

    def send(self, topic: str, records: Iterable[Value], partition: int = 0, **settings: Any) -> None:
        """Send records as one batch, and wait until a run takes them."""
        rows = list(records)
        clients.send(self.producer(len(rows), **settings), topic, rows, partition)
        self.wait_for(topic, [partition])

    def producer(self, each: int = 1, **settings: Any) -> Producer:
        """A producer of batches of so many records."""
        return clients.producer_of(self.node.bootstrap, each, **settings)

    def transactional(self, name: str, each: int = 1) -> Producer:
        """The same with a transaction that has begun."""
        producer = self.producer(each, **{"transactional.id": name, **UNDER_WAY})
        producer.init_transactions(60)
        producer.begin_transaction()
        return producer

    def wait_for(self, topic: str, partitions: Iterable[int] = (0,)) -> None:
        """Wait until the broker has noted the high watermarks that it has now: then a run takes all."""
        numbers = list(partitions)
        wanted = dict(zip(numbers, self.ends(topic, numbers), strict=True))

        def is_noted() -> bool:
            noted = self.noted(HIGH_WATERMARK)
            return all(noted.get((topic, number), -1) >= end for number, end in wanted.items())

        wait_until(f"{topic} up to {wanted} in {HIGH_WATERMARK}", is_noted)

    def ends(self, topic: str, partitions: Iterable[int]) -> list[int]:
        """High watermarks; nothing while a partition has no leader."""
        return [end for _start, end in clients.bounds_now(self.node.bootstrap, topic, partitions)]

    def noted(self, checkpoint: str) -> Mapping[tuple[str, int], int]:
        """A checkpoint of the log directory, of its broker's own form."""
        lines = (line.split() for line in (self.data / checkpoint).read_text().splitlines()[2:])
        return {(topic, int(number)): int(offset) for topic, number, offset in lines}

    def consumed(self, topic: str, isolation: str, partitions: Iterable[int] = (0,)) -> Consumed:
        """What Kafka's consumer reads now."""
        names = [(topic, number) for number in partitions]
        return self.consumer.read(self.node.bootstrap, isolation, names)


@contextmanager
def running_broker(folder: Path) -> Iterator[RunningBroker]:
    """Start a node of its own, and a consumer."""
    with consuming() as consumer, ExitStack() as lives:
        broker = RunningBroker(Node(Kit("k4", "k4"), folder, settings=SETTINGS), consumer, lives)
        broker.start()
        yield broker


def joining(first: Node, number: int, folder: Path, settings: Mapping[str, str]) -> Node:
    """A node that is a broker alone, in the cluster of another one."""
    (port,) = free_ports(1)
    listener = f"PLAINTEXT://127.0.0.1:{port}"
    own = {
        "process.roles": "broker",
        "node.id": str(number),
        "controller.quorum.voters": f"1@{first.controller}",
        "listeners": listener,
        "advertised.listeners": listener,
    }
    node = Node(first.kit, folder, settings={**settings, **own})
    node.bootstrap = f"127.0.0.1:{port}"
    return node


UNCLEAN = {"unclean.leader.election.enable": "true", "min.insync.replicas": "1"}


@contextmanager
def two_replicas(
    folder: Path, topic: str, config: Mapping[str, str]
) -> Iterator[tuple[RunningBroker, RunningBroker]]:
    """Two running brokers with a replica of a topic each; the first one leads, a third node controls."""
    settings = {**SETTINGS, "unclean.leader.election.interval.ms": "1000"}
    with consuming() as consumer, ExitStack() as lives:
        first = Node(Kit("k4", "k4"), folder / "1", settings=settings)
        lives.enter_context(first.start())
        found = []
        for number in (2, 3):
            node = joining(first, number, folder / str(number), settings)
            found.append(RunningBroker(node, consumer, lives))
            found[-1].start()
        new = NewTopic(topic, 1, replica_assignment=[[2, 3]], config={**UNCLEAN, **config})
        found[0].admin.create_topics([new])[topic].result(60)
        wait_until("a leader", lambda: found[0].ends(topic, [0]) == [0])
        yield found[0], found[1]
