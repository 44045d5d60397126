"""Record the nodes of tests/vectors/nodes: `python -m tests.nodes.recording` (a JDK, Maven, two minutes).

One node of Kafka 4.3.1, broker and controller, after a clean shutdown (`clean`) and after a kill (`killed`),
and another one, of another cluster (`other`).
"""

from __future__ import annotations

import tarfile
import tempfile
from pathlib import Path

from confluent_kafka import Consumer, TopicPartition
from tests.broker import clients
from tests.ingest.running import RunningBroker, consuming
from tests.recording.kafka43 import Node
from tests.recording.server import Kit, wait_until

NODES = Path(__file__).resolve().parents[1] / "vectors" / "nodes"
TEN_YEARS = str(10 * 365 * 86_400_000)
SETTINGS = {
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "metadata.log.max.snapshot.interval.ms": "6000",
    "replica.high.watermark.checkpoint.interval.ms": "200",
    "transaction.max.timeout.ms": "3600000",
    "broker.session.timeout.ms": "4000",
    "broker.heartbeat.interval.ms": "500",
    "log.flush.start.offset.checkpoint.interval.ms": "200",
    # Retention is on, and keeps what was recorded: what it deletes, it takes for older than that.
    "log.retention.ms": TEN_YEARS,
    "log.retention.check.interval.ms": "500",
    "log.initial.task.delay.ms": "500",
}
EVENTS, PAYMENTS, STATES = "events", "payments", "states"
GROUP = "readers"


def _write(broker: RunningBroker, first: int, rounds: int) -> None:
    """Records of every topic, and offsets of a group."""
    for number in range(first, first + rounds):
        values = [(b"k%d" % (number * 10 + at), b"value %d " % at * 6) for at in range(10)]
        broker.send(EVENTS, values)
        producer = broker.transactional("till", 4)
        clients.send(producer, PAYMENTS, values[:4])
        (producer.abort_transaction if number % 3 == 1 else producer.commit_transaction)()
        clients.send(
            broker.producer(12), STATES, [(b"key %d" % (at % 4), b"%d" % number * 60) for at in range(12)]
        )
    consumer = Consumer({"bootstrap.servers": broker.node.bootstrap, "group.id": GROUP})
    consumer.commit(offsets=[TopicPartition(EVENTS, 0, first + 7)], asynchronous=False)
    consumer.close()


def _create(broker: RunningBroker) -> None:
    broker.create(EVENTS, {"internal.segment.bytes": "3000"})
    broker.create(PAYMENTS, {"internal.segment.bytes": "1500"})
    cleaned = {
        "cleanup.policy": "compact",
        "min.cleanable.dirty.ratio": "0.01",
        "internal.segment.bytes": "2000",
    }
    broker.create(STATES, cleaned)


def record(work: Path) -> None:
    """Record all three; `work` is a folder for what need not be kept."""
    kit = Kit("k4", "k4")
    with consuming() as consumer:
        broker = RunningBroker(Node(kit, work / "one", settings=SETTINGS), consumer)
        data = broker.data
        with broker.node.start():
            _create(broker)
            _write(broker, 0, 7)
            broker.delete_records(EVENTS, 5)
            wait_until("the cleaner", (data / "cleaner-offset-checkpoint").exists)
            wait_until("snapshots", lambda: len(list(data.glob("*/*-*.checkpoint"))) > 1, 120)
        with broker.node.start():
            _write(broker, 7, 2)
        _keep(data, "clean")
        with broker.node.start() as server:
            _write(broker, 9, 6)
            server.kill()
        _keep(data, "killed")
        node = Node(kit, work / "two", settings=SETTINGS, number=2, cluster_id="BBBBBBBBBBBBBBBBBBBBBQ")
        other = RunningBroker(node, consumer)
        with node.start():
            other.create("more")
            _create(other)
            _write(other, 0, 4)
            other.delete_records(EVENTS, 3)
            wait_until("the cleaner", (node.data / "cleaner-offset-checkpoint").exists)
            wait_until("snapshots", lambda: len(list(node.data.glob("*/*-*.checkpoint"))) > 1, 120)
        _keep(node.data, "other")


def _keep(data: Path, name: str) -> None:
    def kept(info: tarfile.TarInfo) -> tarfile.TarInfo | None:
        return None if info.name.endswith((".deleted", "/.lock")) else info

    NODES.mkdir(exist_ok=True)
    with tarfile.open(NODES / f"{name}.tar.xz", "w:xz") as archive:
        archive.add(data, name, filter=kept)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        record(Path(scratch))
