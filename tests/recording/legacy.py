"""Recording of the brokers before 4.0, which store message formats v0 and v1: 2.8.2, 0.10.2.2, 0.9.0.1.

Each broker has two lives: in the first clients write and the cleaner is off, in the second it only cleans.
Between them the state before cleaning is copied.
"""

from __future__ import annotations

import string
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from tests.recording import topics_legacy as topics
from tests.recording.server import HERE, Kit, RecordingError, Server, free_ports, running, wait_until
from tests.recording.sets import RecordedSet, Topic, all_cleaned, keep_topics

LOG4J = f"-Dlog4j.configuration=file:{HERE / 'brokers' / 'log4j.properties'}"


class Broker:
    """A broker of one release with its folder and its clients of other releases."""

    def __init__(self, kit: Kit, folder: Path, zookeeper: str) -> None:
        self.kit = kit
        self.folder = folder
        self.data = folder / "data"
        folder.mkdir(parents=True)
        self.zookeeper = zookeeper
        self._port = free_ports(1)[0]
        self.bootstrap = f"127.0.0.1:{self._port}"

    def start(self, *, clean: bool) -> AbstractContextManager[Server]:
        """Start it with or without the log cleaner."""
        template = string.Template((HERE / "brokers" / "legacy.properties").read_text())
        properties = self.folder / f"clean-{clean}.properties"
        properties.write_text(
            template.substitute(
                port=self._port, zookeeper=self.zookeeper, log_dir=self.data, clean=str(clean).lower()
            )
        )
        command, environment = self.kit.command(LOG4J, "-Dlevel=INFO", "kafka.Kafka", str(properties))
        log = properties.with_suffix(".log")
        return running(
            Server(self.kit.release, command, environment, log, "started (kafka.server.KafkaServer)")
        )

    def step(self, program: str, name: str, *arguments: str, client: Kit | None = None) -> None:
        """Run one step of a Java program against the broker, by default with its own release's client."""
        kit = client or self.kit
        print(f"  {self.kit.release}: {name} {arguments[0]} by {kit.release}", flush=True)
        kit.run(LOG4J, "-Dlevel=WARN", program, self.bootstrap, name, *arguments)


@contextmanager
def zookeeper(folder: Path) -> Iterator[str]:
    """ZooKeeper out of the 2.8 release's jars; yields its address."""
    folder.mkdir(parents=True)
    port = free_ports(1)[0]
    properties = folder / "zookeeper.properties"
    template = string.Template((HERE / "brokers" / "zookeeper.properties").read_text())
    properties.write_text(template.substitute(data=folder / "data", port=port))
    main = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
    command, environment = Kit("k28", "k28", "old").command(LOG4J, "-Dlevel=INFO", main, str(properties))
    with running(Server("ZooKeeper", command, environment, folder / "zookeeper.log", "binding to port")):
        yield f"127.0.0.1:{port}"


def record_09(work: Path) -> None:
    """Magic 0, by broker and client 0.9.0.1."""

    def produce(broker: Broker) -> None:
        _create_through_zookeeper(broker, topics.TOPICS_09)
        broker.step("Old", "shapes-and-big", "codec")
        broker.step("Old", "compact", "compact")
        broker.step("Old", "multi", "multi")
        broker.step("Old", "group", "multi")

    _record(Kit("k09", "old", "zookeeper"), produce, topics.SETS_09, work)


def record_0102(work: Path) -> None:
    """Magic 1, by broker and client 0.10.2.2."""

    def produce(broker: Broker) -> None:
        _create_through_zookeeper(broker, topics.TOPICS_0102)
        broker.step("Old", "shapes-and-big", "codec")
        broker.step("Old", "shapes", "append-time")
        print("  k0102: Python clients", flush=True)
        clients = [sys.executable, str(HERE / "python_clients.py"), broker.bootstrap, "legacy"]
        subprocess.run(clients, check=True, timeout=120)
        broker.step("Old", "compact", "compact")
        broker.step("Old", "multi", "multi")
        broker.step("Old", "group", "multi")

    _record(Kit("k0102", "old", "zookeeper"), produce, topics.SETS_0102, work)


def record_28(work: Path) -> None:
    """All three formats by broker 2.8.2, clients 2.8.2, 0.10.2.2 and 0.9.0.1."""
    k09, k0102 = Kit("k09", "old", "zookeeper"), Kit("k0102", "old", "zookeeper")

    def produce(broker: Broker) -> None:
        broker.step("Admin28", "create", *map(topics.specification, topics.TOPICS_28))
        for prefix in ("v0", "v1", "v1-append"):
            broker.step("Old", "shapes", prefix)
        for prefix in ("v0-compact", "v1-compact"):
            broker.step("Old", "compact", prefix)
        broker.step("Old", "shapes", "old-v0", client=k09)
        broker.step("Old", "shapes", "old-v1", client=k0102)
        broker.step("Old", "shapes", "up", client=k09)
        mixed = [topic.name for topic in topics.MIXED]
        for number, version in enumerate(("0.9.0", "0.10.0", "2.8", "0.10.2", "0.9.0", "2.8")):
            broker.step("Admin28", "format", version, *mixed)
            broker.step("Old", "one-batch-each", f"{number}", *mixed)
        broker.step("Admin28", "transactions", topics.TRANSACTIONS.name)
        broker.step("Old", "group", "v0-none")

    _record(Kit("k28", "k28", "old"), produce, topics.SETS_28, work)


def _create_through_zookeeper(broker: Broker, wanted: tuple[Topic, ...]) -> None:
    specifications = map(topics.specification, wanted)
    broker.kit.run(LOG4J, "-Dlevel=WARN", "ZooKeeperTopics", broker.zookeeper, *specifications)
    partitions = [broker.data / f"{topic.name}-0" for topic in wanted]
    wait_until("the topics", lambda: all(partition.is_dir() for partition in partitions))


def _record(
    kit: Kit, produce: Callable[[Broker], None], sets: tuple[RecordedSet, RecordedSet], work: Path
) -> None:
    clean, before = sets
    compacted = [topic.name for topic in before.topics]
    with zookeeper(work / "zookeeper") as address:
        broker = Broker(kit, work / "broker", address)
        with broker.start(clean=False):
            produce(broker)
        _keep(broker, before, work)
        with broker.start(clean=True):
            wait_until("the cleaner", lambda: all_cleaned(broker.data, compacted))
        _keep(broker, clean, work)


def _keep(broker: Broker, recorded: RecordedSet, work: Path) -> None:
    missing = keep_topics(broker.data, recorded, work / recorded.name.replace("/", "-"))
    if missing:
        raise RecordingError(f"{recorded.name}: no directory for {missing}")
