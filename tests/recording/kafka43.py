"""Recording of Kafka 4.3.1: one broker in three lives, and one with a dynamic quorum."""

from __future__ import annotations

import shutil
import string
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path

from tests.recording import topics43 as topics
from tests.recording.server import HERE, Kit, RecordingError, Server, free_ports, running, wait_until
from tests.recording.sets import RecordedSet, all_cleaned, copy_log_dir, finish, keep_topics, prune_snapshots

CLUSTER_ID = "AAAAAAAAAAAAAAAAAAAAAQ"
METADATA = "__cluster_metadata"


class Node:
    """A KRaft node's folder: its configuration, its log directory, its lives."""

    def __init__(
        self,
        kit: Kit,
        folder: Path,
        *,
        dynamic: bool = False,
        settings: Mapping[str, str] | None = None,
        number: int = 1,
        cluster_id: str | None = CLUSTER_ID,
    ) -> None:
        self.kit = kit
        self.folder = folder
        self.data = folder / "data"
        self._lives = 0
        folder.mkdir(parents=True)
        port, controller_port = free_ports(2)
        self.controller = f"127.0.0.1:{controller_port}"
        self.bootstrap = f"127.0.0.1:{port}"
        static, discovered = f"controller.quorum.voters={number}@", "controller.quorum.bootstrap.servers="
        quorum = f"{discovered if dynamic else static}127.0.0.1"
        template = string.Template((HERE / "brokers" / "k4" / "server.properties").read_text())
        self._properties = folder / "server.properties"
        self._properties.write_text(
            template.substitute(
                number=number,
                quorum=f"{quorum}:{controller_port}",
                port=port,
                controller_port=controller_port,
                log_dir=self.data,
            )
        )
        with self._properties.open("a") as file:
            file.writelines(f"{name}={value}\n" for name, value in (settings or {}).items())
        if cluster_id is not None:  # else the log directory is put there
            standalone = ["--standalone"] if dynamic else []
            command = ("kafka.tools.StorageTool", "format", "-t", cluster_id, "-c", str(self._properties))
            kit.run(*command, *standalone)

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
    kit = Kit("k4", "k4")
    _record_main(Node(kit, work / "main"), work)
    _record_dynamic_quorum(Node(kit, work / "dynamic", dynamic=True), work)


def _record_main(node: Node, work: Path) -> None:
    _first_life(node, work)
    _second_life(node, work)
    clean = work / "clean"
    copy_log_dir(node.data, clean, lambda topic: True)
    prune_snapshots(clean / f"{METADATA}-0")
    finish(topics.CLEAN, clean)
    with node.start() as broker:
        node.step("create", topics.specification(topics.PREALLOCATED_KILLED))
        node.step("few", topics.PREALLOCATED_KILLED.name)
        node.step("again", topics.MULTI.name)
        broker.kill()
    _keep(node, topics.KILLED, work)


def _first_life(node: Node, work: Path) -> None:
    """Everything that clients write, and the cleaner's rounds."""
    with node.start():
        node.step("create", *map(topics.specification, topics.MAIN))
        for step in ("codecs", "shapes", "timestamps", "segments", "transactions", "groups"):
            node.step(step)
        print("  4.3: Python clients", flush=True)
        clients = [sys.executable, str(HERE / "python_clients.py"), node.bootstrap]
        subprocess.run(clients, check=True, timeout=300)
        names = [topic.name for topic in topics.CLEANED]
        *ordinary, emptied = names
        node.step("compaction", *ordinary)
        node.step("emptied", emptied)
        _push(node, names)
        _keep(node, topics.BEFORE, work)
        node.step("configure", "min.compaction.lag.ms", "0", ",".join(names))
        wait_until("the cleaner", lambda: all_cleaned(node.data, names))
        # The first round has set the horizons, a later one removes what they have passed. A segment that was
        # emptied would be merged with the next one.
        for _ in range(2):
            _push(node, ordinary)
            wait_until("the cleaner", lambda: all_cleaned(node.data, ordinary))


def _second_life(node: Node, work: Path) -> None:
    """A new leader epoch; what a restart would tidy away: deleted files and topics, an open transaction."""
    with node.start():
        node.step("create", topics.specification(topics.PREALLOCATED))
        node.step("few", topics.PREALLOCATED.name)
        node.step("again", topics.MULTI.name, "codec-none", "codec-zstd", "shapes")
        node.step("open-transaction")
        node.step("delete-records", topics.DELETED_HEAD.name, "17")
        node.step("delete", topics.DOOMED.name)
        partition = node.data / f"{topics.DELETED_HEAD.name}-0"
        wait_until("deleted segments", lambda: any(partition.glob("*.deleted")))
        wait_until("a deleted topic", lambda: any(node.data.glob(f"{topics.DOOMED.name}-0.*-delete")))
        checkpoint = node.data / "log-start-offset-checkpoint"
        wait_until("log start offset", lambda: f"{topics.DELETED_HEAD.name} 0 17" in checkpoint.read_text())
        _keep(node, topics.RUNNING, work)


def _push(node: Node, topics: list[str]) -> None:
    """Roll the compacted topics' active segments; they must be older than segment.ms."""
    time.sleep(1.5)
    node.step("push", *topics)


def _keep(node: Node, recorded: RecordedSet, work: Path) -> None:
    missing = keep_topics(node.data, recorded, work / recorded.name.replace("/", "-"))
    if missing:
        raise RecordingError(f"{recorded.name}: no directory for {missing}")


def _record_dynamic_quorum(node: Node, work: Path) -> None:
    with node.start():
        node.step("create", topics.specification(topics.EXTREME))
        node.step("extreme-timestamps")
    _keep(node, topics.EXTREME_SET, work)
    _keep(node, topics.DYNAMIC, work)
    shutil.rmtree(node.folder)
