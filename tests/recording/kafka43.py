"""Recording of Kafka 4.3.1: one broker in three lives, and one with a dynamic quorum."""

from __future__ import annotations

import shutil
import string
import subprocess
import sys
import time
from contextlib import AbstractContextManager
from pathlib import Path

from server import HERE, Kit, RecordingError, Server, free_ports, running, wait_until
from sets import RecordedSet, copy_log_dir, finish, prune_snapshots, topic_of
from topics43 import CLEANED, DELETED_HEAD, DOOMED, EXTREME, INTERNAL, MAIN, LATER, MULTI, TRANSACTIONS
from topics43 import PREALLOCATED, PREALLOCATED_KILLED, specification

JAVA = ("kafka-clients 4.3.1",)
CLIENTS = (*JAVA, "confluent-kafka", "kafka-python", "aiokafka")
CLUSTER_ID = "AAAAAAAAAAAAAAAAAAAAAQ"
METADATA = "__cluster_metadata"

CLEAN = RecordedSet(
    "kafka-4.3/clean", "A whole log directory after two lives and a clean shutdown.", "4.3.1", CLIENTS, (*MAIN, *LATER, *INTERNAL)
)
BEFORE = RecordedSet(
    "kafka-4.3/before-cleaning", "The compacted topics of `clean`, copied live before the cleaner ran.", "4.3.1", JAVA, CLEANED
)
RUNNING = RecordedSet(
    "kafka-4.3/running",
    "Copied while the broker ran: preallocated segment and indexes end in zeros.",
    "4.3.1",
    JAVA,
    (PREALLOCATED, MULTI),
)
KILLED = RecordedSet(
    "kafka-4.3/killed",
    "After SIGKILL: no clean shutdown file, preallocation left in place.",
    "4.3.1",
    JAVA,
    (PREALLOCATED_KILLED, MULTI, TRANSACTIONS),
)
EXTREME_SET = RecordedSet(
    "kafka-4.3/extreme-timestamps", "The one topic which no Spark timestamp can hold.", "4.3.1", JAVA, (EXTREME,)
)
DYNAMIC = RecordedSet(
    "kafka-4.3/dynamic-quorum",
    "The metadata log of a dynamic quorum (KIP-853): KRAFT_VERSION and KRAFT_VOTERS in log and snapshot.",
    "4.3.1",
    (),
    (INTERNAL[-1],),
)
SETS = (CLEAN, BEFORE, RUNNING, KILLED, EXTREME_SET, DYNAMIC)


class Node:
    """A KRaft node's folder: its configuration, its log directory, its lives."""

    def __init__(self, kit: Kit, folder: Path, *, dynamic: bool = False) -> None:
        self.kit = kit
        self.folder = folder
        self.data = folder / "data"
        self._lives = 0
        folder.mkdir(parents=True)
        port, controller_port = free_ports(2)
        self.bootstrap = f"127.0.0.1:{port}"
        quorum = "controller.quorum.voters=1@127.0.0.1" if not dynamic else "controller.quorum.bootstrap.servers=127.0.0.1"
        template = string.Template((HERE / "brokers" / "k4" / "server.properties").read_text())
        self._properties = folder / "server.properties"
        self._properties.write_text(
            template.substitute(
                quorum=f"{quorum}:{controller_port}", port=port, controller_port=controller_port, log_dir=self.data
            )
        )
        standalone = ["--standalone"] if dynamic else []
        kit.run("kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(self._properties), *standalone)

    def start(self) -> AbstractContextManager[Server]:
        """Start the node for another life."""
        self._lives += 1
        command, environment = self.kit.command("kafka.Kafka", str(self._properties))
        log = self.folder / f"broker-{self._lives}.log"
        return running(Server("Kafka 4.3.1", command, environment, log, "Kafka Server started"))

    def step(self, name: str, *arguments: str) -> None:
        """Run one step of the Java programs against the node."""
        print(f"  4.3: {name}", flush=True)
        self.kit.run("Step", self.bootstrap, name, *arguments)


def record(work: Path) -> None:
    """Record all sets of 4.3.1; `work` is a folder for what need not be kept."""
    kit = Kit("k4")
    _record_main(Node(kit, work / "main"), work)
    _record_dynamic_quorum(Node(kit, work / "dynamic", dynamic=True), work)


def _record_main(node: Node, work: Path) -> None:
    _first_life(node, work)
    _second_life(node, work)
    clean = work / "clean"
    copy_log_dir(node.data, clean, lambda topic: True)
    prune_snapshots(clean / f"{METADATA}-0")
    finish(CLEAN, clean)
    with node.start() as broker:
        node.step("create", specification(PREALLOCATED_KILLED))
        node.step("few", PREALLOCATED_KILLED.name)
        node.step("again", MULTI.name, TRANSACTIONS.name)
        broker.kill()
    _keep(node, KILLED, work)


def _first_life(node: Node, work: Path) -> None:
    """Everything that clients write, and the cleaner's rounds."""
    with node.start():
        node.step("create", *map(specification, MAIN))
        for step in ("codecs", "shapes", "timestamps", "segments", "transactions", "groups"):
            node.step(step)
        print("  4.3: Python clients", flush=True)
        subprocess.run([sys.executable, str(HERE / "python_clients.py"), node.bootstrap], check=True, timeout=300)
        names = [topic.name for topic in CLEANED]
        *ordinary, emptied = names
        node.step("compaction", *ordinary)
        node.step("emptied", emptied)
        _push(node, names)
        _keep(node, BEFORE, work)
        node.step("configure", "min.compaction.lag.ms", "0", ",".join(names))
        wait_until("the cleaner", lambda: _all_cleaned(node, names))
        # The first round has set the horizons, a later one removes what they have passed. A segment that was
        # emptied would be merged with the next one.
        for _ in range(2):
            _push(node, ordinary)
            wait_until("the cleaner", lambda: _all_cleaned(node, ordinary))


def _second_life(node: Node, work: Path) -> None:
    """A new leader epoch; what a restart would tidy away: deleted files and topics, an open transaction."""
    with node.start():
        node.step("create", specification(PREALLOCATED))
        node.step("few", PREALLOCATED.name)
        node.step("again", MULTI.name, "codec-none", "codec-zstd", "shapes")
        node.step("open-transaction")
        node.step("delete-records", DELETED_HEAD.name, "17")
        node.step("delete", DOOMED.name)
        partition = node.data / f"{DELETED_HEAD.name}-0"
        wait_until("deleted segments", lambda: any(partition.glob("*.deleted")))
        wait_until("a deleted topic", lambda: any(node.data.glob(f"{DOOMED.name}-0.*-delete")))
        checkpoint = node.data / "log-start-offset-checkpoint"
        wait_until("log start offset", lambda: f"{DELETED_HEAD.name} 0 17" in checkpoint.read_text())
        _keep(node, RUNNING, work)


def _push(node: Node, topics: list[str]) -> None:
    """Roll the compacted topics' active segments; they must be older than segment.ms."""
    time.sleep(1.5)
    node.step("push", *topics)


def _all_cleaned(node: Node, topics: list[str]) -> bool:
    """Whether the cleaner has cleaned all that it may: up to the active segment."""
    checkpoint = node.data / "cleaner-offset-checkpoint"
    rows = checkpoint.read_text().splitlines()[2:] if checkpoint.exists() else []
    cleaned = {row.split(" ")[0]: int(row.split(" ")[2]) for row in rows}
    active = {topic: max(int(path.stem) for path in (node.data / f"{topic}-0").glob("*.log")) for topic in topics}
    return all(cleaned.get(topic) == active[topic] for topic in topics)


def _keep(node: Node, recorded: RecordedSet, work: Path) -> None:
    """Copy the set's topics out of the node's log directory, and commit them to the vectors."""
    wanted = {topic.name for topic in recorded.topics}
    target = work / recorded.name.replace("/", "-")
    copy_log_dir(node.data, target, lambda topic: topic in wanted)
    found = {topic_of(entry.name) for entry in target.iterdir() if entry.is_dir()}
    if found != wanted:
        raise RecordingError(f"{recorded.name}: no directory for {wanted - found}")
    finish(recorded, target)


def _record_dynamic_quorum(node: Node, work: Path) -> None:
    with node.start():
        node.step("create", specification(EXTREME))
        node.step("extreme-timestamps")
    _keep(node, EXTREME_SET, work)
    _keep(node, DYNAMIC, work)
    shutil.rmtree(node.folder)
