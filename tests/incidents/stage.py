"""All incidents on the log directories of one broker, in three lives.

In the first, clients write. Then each incident does its accident to a copy of its topics, and the second
life is spent on copies of these: what the broker says is kept. Then the commands of the pages are run, each
page in a folder of its own, and what they leave in its log directory is brought together for the third life,
in which consumers read.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from tests.broker.harness import HERE, read_by_librdkafka
from tests.in_process import run_main
from tests.incidents.incident import (
    CHECKPOINTS,
    CLEAN_SHUTDOWN,
    LOGS,
    SECOND_DISK,
    Incident,
    Scene,
    nothing,
    read_checkpoint,
    write_checkpoint,
)
from tests.incidents.incident_pages import ROOT, Command, commands_of
from tests.oracle.jvm import JVM_OPTIONS, QUIET
from tests.recording.kafka43 import CLUSTER_ID, Node
from tests.recording.server import Kit, RecordingError, Server

SETTINGS = {
    "log.retention.ms": str(7 * 86_400_000),
    "transaction.max.timeout.ms": "3600000",
    # Transactions that are too long end soon, and producers are forgotten soon where an incident wants that.
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "100",
    "producer.id.expiration.check.interval.ms": "100",
}


class Stage:
    """One broker, and incidents that are played with it.

    Attributes:
        incidents: that are played.
        scenes: by the incident's name.
        printed: of each incident, each command with its exit status and what it printed.
        lines: what Kafka's consumer read in the end.
        log: of the broker in its last life.
    """

    def __init__(self, incidents: Sequence[Incident], work: Path) -> None:
        self.incidents = incidents
        self.work = work
        self.kit = Kit("k4", str(HERE / "java"))
        self.node = Node(self.kit, work / "node", settings=SETTINGS)
        self.scenes = {one.name: Scene(work / one.name, self.node, self.node.data) for one in incidents}
        self.printed: dict[str, list[tuple[Command, int, str]]] = {one.name: [] for one in incidents}
        self.lines: list[dict[str, Any]] = []
        self.log = ""
        make_programs(work / "bin", self.kit)

    def play(self) -> None:
        """Play all incidents to their ends."""
        with self.node.start() as broker:
            self._write(broker.log)
        first = self.node.data
        for incident in self.incidents:
            scene = self.scenes[incident.name]
            scene.copy_disk(incident.topics, scene.data)
            scene.there("/srv").mkdir()
            if not incident.is_clean:
                scene.crash()
            incident.damage(scene)
        self._suffer(first)
        self._run(is_online=False)
        move(self.node, *self._gather(first))
        with self.node.start() as broker:
            self._run(is_online=True)
            self.lines = self._read()
        self.log = broker.log.read_text(errors="replace")

    def _write(self, log: Path) -> None:
        for incident in self.incidents:
            scene = self.scenes[incident.name]
            scene.log = log
            scene.create(incident.topics)
            incident.write(scene)
            rows = read_by_librdkafka(self.node.bootstrap, list(incident.topics), "read_uncommitted")
            for topic, found in rows.items():
                scene.written[topic] = {row.offset: row.value or b"" for row in found}

    def _suffer(self, first: Path) -> None:
        """Start the broker on the damaged files."""
        sound, crashed = self._log_directories(first, "damaged")
        seen = [one for one in self.incidents if one.witness is None or one.suffer is not nothing]
        for incident in seen:
            scene = self.scenes[incident.name]
            directories = (sound, crashed) if incident.is_clean else (crashed, sound)
            scene.disk, scene.other_disk = directories
            for topic in incident.topics:
                shutil.copytree(scene.data / f"{topic}-0", scene.disk / f"{topic}-0")
                if (scene.second_disk / f"{topic}-0").exists():
                    shutil.copytree(scene.second_disk / f"{topic}-0", scene.other_disk / f"{topic}-0")
            take_over_checkpoints(scene.data, scene.disk, incident.topics)
        move(self.node, sound, crashed)
        with self.node.start() as broker:
            for incident in seen:
                scene = self.scenes[incident.name]
                scene.log = broker.log
                incident.suffer(scene)
        log = broker.log.read_text(errors="replace")
        for incident in self.incidents:
            scene = self.scenes[incident.name]
            words = "" if incident.witness is None else incident.witness(scene)
            if incident in seen:
                said = log.replace(str(scene.disk), f"/{LOGS}")
                words += said.replace(str(scene.other_disk), f"/{SECOND_DISK}")
            scene.words = (scene.heard + words).replace(str(scene.root), "")

    def _run(self, *, is_online: bool) -> None:
        """Run the commands of the pages that need the broker, or those that do not."""
        for incident in self.incidents:
            scene = self.scenes[incident.name]
            for command in commands_of(incident.name):
                if command.is_online == is_online:
                    status, said = run(command, scene, self.work / "bin")
                    self.printed[incident.name].append((command, status, said))

    def _gather(self, first: Path) -> tuple[Path, Path]:
        """Bring what pages have left in their log directories together with the broker's own files."""
        directories = self._log_directories(first, "mended")
        for incident in self.incidents:
            scene = self.scenes[incident.name]
            target = directories[not (scene.data / CLEAN_SHUTDOWN).exists()]
            for topic in incident.topics:
                disk = next(one for one in (scene.data, scene.second_disk) if (one / f"{topic}-0").exists())
                shutil.copytree(disk / f"{topic}-0", target / f"{topic}-0")
            take_over_checkpoints(scene.data, target, incident.topics)
        return directories

    def _log_directories(self, first: Path, name: str) -> tuple[Path, Path]:
        """Log directories of a clean shutdown, with the broker's own topics, and of a crash."""
        sound, crashed = self.work / name / "stopped", self.work / name / "crashed"
        topics = [topic for incident in self.incidents for topic in incident.topics]
        directories = (f"{topic}-0" for topic in topics)
        shutil.copytree(first, sound, ignore=shutil.ignore_patterns(".lock", *directories))
        for checkpoint in CHECKPOINTS:
            noted = read_checkpoint(sound / checkpoint)
            others = {topic: offset for topic, offset in noted.items() if topic not in topics}
            write_checkpoint(sound / checkpoint, others)
        crashed.mkdir()
        properties = f"version=1\ncluster.id={CLUSTER_ID}\nnode.id=1\ndirectory.id=BBBBBBBBBBBBBBBBBBBBBQ\n"
        (crashed / "meta.properties").write_text(properties)
        return sound, crashed

    def _read(self) -> list[dict[str, Any]]:
        topics = [topic for incident in self.incidents for topic in incident.topics]
        return [json.loads(line) for line in self.kit.run("Read", self.node.bootstrap, *topics).splitlines()]


def take_over_checkpoints(source: Path, target: Path, topics: Collection[str]) -> None:
    """Note in a log directory what is noted of topics in another."""
    for name in CHECKPOINTS:
        found = read_checkpoint(source / name).items()
        noted = {topic: offset for topic, offset in found if topic in topics}
        write_checkpoint(target / name, read_checkpoint(target / name) | noted)


def move(node: Node, *directories: Path) -> None:
    """Let a node have other log directories from its next start on."""
    lines = node._properties.read_text().splitlines()
    lines = [line for line in lines if not line.startswith("log.dirs=")]
    lines.append(f"log.dirs={','.join(map(str, directories))}")
    node._properties.write_text("\n".join([*lines, ""]))
    node.data = directories[0]


def refused_start(node: Node, *directories: Path) -> str:
    """What a broker says that ends at once when it starts on these directories.

    Raises:
        AssertionError: it runs.
    """
    before, properties = node.data, node._properties.read_text()
    move(node, *directories)
    command, environment = node.kit.command("kafka.Kafka", str(node._properties))
    log = node.folder / "refused.log"
    try:
        server = Server("Kafka 4.3.1", command, environment, log, "Kafka Server started")
    except RecordingError:
        return log.read_text(errors="replace")
    finally:
        node._properties.write_text(properties)
        node.data = before
    server.kill()
    raise AssertionError("the broker has started")


BOOTSTRAP = "localhost:9092"
PROGRAMS = {
    "kafka-configs.sh": "kafka.admin.ConfigCommand",
    "kafka-console-consumer.sh": "org.apache.kafka.tools.consumer.ConsoleConsumer",
    "kafka-console-producer.sh": "org.apache.kafka.tools.ConsoleProducer",
    "kafka-dump-log.sh": "org.apache.kafka.tools.DumpLogSegments",
    "kafka-get-offsets.sh": "org.apache.kafka.tools.GetOffsetShell",
    "kafka-storage.sh": "kafka.tools.StorageTool",
    "kafka-topics.sh": "org.apache.kafka.tools.TopicCommand",
    "kafka-transactions.sh": "org.apache.kafka.tools.TransactionsCommand",
}
# Where a page has its files.
_PLACES = re.compile(r"(?<![\w.])/(?=(?:var|srv|mnt|backup|etc)\b)")
_NEEDS_SHELL = re.compile(r"[|><;&*?$`]")


def make_programs(folder: Path, kit: Kit) -> None:
    """Make the programs that pages call."""
    folder.mkdir()
    _, environment = kit.command()
    classpath = shlex.quote(environment["CLASSPATH"])
    options = " ".join([*JVM_OPTIONS, *QUIET])
    lines = {name: f"CLASSPATH={classpath} exec java {options} {main}" for name, main in PROGRAMS.items()}
    lines["kafka-segments"] = f"exec {shlex.quote(sys.executable)} -m kafka_segments"
    for name, line in lines.items():
        path = folder / name
        path.write_text(f'#!/bin/sh\n{line} "$@"\n')
        path.chmod(0o755)


def run(command: Command, scene: Scene, programs: Path) -> tuple[int, str]:
    """Run a command of a page: its exit status, and what it printed, with the page's paths.

    Args:
        programs: the folder of `make_programs`.
    """
    line = _PLACES.sub(f"{scene.root}/", command.line).replace(BOOTSTRAP, scene.node.bootstrap)
    words = shlex.split(line, comments=True)
    if words[0] == "kafka-segments" and not _NEEDS_SHELL.search(line):
        status, out, error = run_main(words[1:])
    else:
        roots = os.pathsep.join([str(ROOT / "runtime"), str(ROOT / "generated")])
        path = os.pathsep.join([str(programs), os.environ["PATH"]])
        done = subprocess.run(
            ["sh", "-c", line],
            env={**os.environ, "PYTHONPATH": roots, "PATH": path},
            cwd=scene.root,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
        )
        status, out, error = done.returncode, done.stdout, done.stderr
    said = (out + error).replace(str(scene.root), "")
    return status, said.replace(scene.node.bootstrap, BOOTSTRAP)
