"""What an incident is: topics that clients write, an accident to their files, and a page that mends them.

Each module of `accidents/` has one, as `INCIDENT`; `stage.py` plays them all, `page.py` reads the pages.
"""

from __future__ import annotations

import importlib
import pkgutil
import shutil
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from tests.broker import clients
from tests.broker.harness import read_by_librdkafka
from tests.incidents import accidents
from tests.recording.kafka43 import Node
from tests.recording.server import wait_until

from kafka_segments.core.formats.index_entries import read_offset_checkpoint

LOGS = "var/lib/kafka/data"
SECOND_DISK = "mnt/disk2/kafka"
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
RECOVERY_POINTS = "recovery-point-offset-checkpoint"
CHECKPOINTS = (RECOVERY_POINTS, "replication-offset-checkpoint", "log-start-offset-checkpoint")


@dataclass
class Scene:
    """One incident while it is played: a folder that stands for the root directory of its page.

    Attributes:
        root: what `/` is on the page.
        node: the broker's folder.
        disk: where the broker has the topics of this incident, in its present life.
        other_disk: its other log directory then, which is `second_disk` on the page.
        written: value by topic and offset, as clients wrote them; incidents add what they write later.
        log: of the broker in its present life.
        words: what Kafka said of the accident.
        heard: what clients were told of it, or other brokers said, which is added to that.
    """

    root: Path
    node: Node
    disk: Path
    written: dict[str, dict[int, bytes]] = field(default_factory=dict)
    other_disk: Path = Path()
    log: Path = Path()
    words: str = ""
    heard: str = ""

    @property
    def data(self) -> Path:
        """The broker's log directory on the page: `/var/lib/kafka/data`."""
        return self.root / LOGS

    @property
    def second_disk(self) -> Path:
        """Another log directory of the broker on the page, where it has one: `/mnt/disk2/kafka`."""
        return self.root / SECOND_DISK

    def there(self, path: str) -> Path:
        """A directory of the page, such as `/mnt/disk2`, which is made."""
        found = self.root / path.removeprefix("/")
        found.parent.mkdir(parents=True, exist_ok=True)
        return found

    def copy_disk(self, topics: Iterable[str], target: Path) -> None:
        """Copy what the broker has on its disk of topics, and its own files as if there were no others."""
        target.mkdir(parents=True)
        for path in sorted(self.disk.iterdir()):
            if path.is_file() and path.name != ".lock":
                shutil.copyfile(path, target / path.name)
        for topic in topics:
            shutil.copytree(self.disk / f"{topic}-0", target / f"{topic}-0")
        for name in CHECKPOINTS:
            noted = {
                topic: offset for topic, offset in read_checkpoint(target / name).items() if topic in topics
            }
            write_checkpoint(target / name, noted)

    def copy_metadata(self, target: Path) -> None:
        """Copy the metadata log of the broker, which is its own controller."""
        name = "__cluster_metadata-0"
        shutil.copytree(self.node.folder / "data" / name, target / name)

    def give_away(self, disk: Path, node_id: int, directory_id: str) -> None:
        """Let a copy of a disk be that of another broker, whose replicas are the same byte for byte."""
        path = disk / "meta.properties"
        kept = [
            line for line in path.read_text().splitlines() if not line.startswith(("node.id", "directory.id"))
        ]
        path.write_text("\n".join([*kept, f"node.id={node_id}", f"directory.id={directory_id}", ""]))

    def read(self, topic: str, isolation: str = "read_uncommitted") -> list[int]:
        """Offsets that a consumer is given of a topic at the moment."""
        return [row.offset for row in read_by_librdkafka(self.node.bootstrap, [topic], isolation)[topic]]

    def crash(self) -> None:
        """Let the files look as if the broker had been killed before it had flushed anything."""
        (self.data / CLEAN_SHUTDOWN).unlink()
        flushed = self.data / RECOVERY_POINTS
        write_checkpoint(flushed, dict.fromkeys(read_checkpoint(flushed), 0))

    def create(self, topics: Mapping[str, Mapping[str, str]]) -> None:
        """Make topics, by name with their settings."""
        clients.create(self.node.bootstrap, topics)

    def configure(self, topic: str, name: str, value: str) -> None:
        """Change a setting of a topic."""
        clients.configure(self.node.bootstrap, topic, {name: value})

    def wait_for(self, words: str) -> None:
        """Wait until the broker says something."""
        wait_until(words, lambda: words in self.log.read_text(errors="replace"))

    def send(self, topic: str, numbers: Iterable[int], *, each: int = 10, size: int = 60) -> None:
        """Send records with values of their numbers, in batches.

        Args:
            numbers: of the records; without an accident their offsets.
            each: records in a batch.
            size: bytes of a value.
        """
        moment, rest = time.time_ns() // 1_000_000, list(numbers)
        for at in range(0, len(rest), each):
            records = [(b"%d" % number, value_of(topic, number, size)) for number in rest[at : at + each]]
            producer = clients.producer_of(self.node.bootstrap, len(records))
            clients.send(producer, topic, records, timestamp=moment)


def read_checkpoint(path: Path) -> dict[str, int]:
    """Offset by topic, of partition 0."""
    noted = read_offset_checkpoint(path.read_bytes()) if path.exists() else {}
    return {topic: offset for (topic, partition), offset in noted.items() if partition == 0}


def write_checkpoint(path: Path, noted: Mapping[str, int]) -> None:
    """Write a checkpoint of partitions 0."""
    lines = [f"{topic} 0 {offset}" for topic, offset in noted.items()]
    path.write_text("\n".join(["0", str(len(lines)), *lines, ""]))


def value_of(topic: str, number: int, size: int = 60) -> bytes:
    """The value of a record."""
    return f"{topic} {number} ".encode().ljust(size, b".")


def nothing(_scene: Scene) -> None:
    """No part of an accident."""


@dataclass(frozen=True)
class Incident:
    """An accident, and the page that says what to do.

    Attributes:
        name: of the page in docs/operations/incidents, without its suffix.
        topics: with their settings. Each has one partition, and belongs to this incident alone.
        write: writes the topics, while the broker runs.
        damage: does the accident to the files below `Scene.data`, which look like those after a crash.
        suffer: is called while a broker runs on the damaged files.
        is_clean: these files are those of a broker that was shut down cleanly.
        witness: lets Kafka say what it makes of the accident; None where the broker starts on the damaged
            files together with those of other incidents, and its log is what it says. It does both if
            there is something to suffer, too.
    """

    name: str
    topics: Mapping[str, Mapping[str, str]]
    write: Callable[[Scene], None]
    damage: Callable[[Scene], None]
    suffer: Callable[[Scene], None] = nothing
    is_clean: bool = False
    witness: Callable[[Scene], str] | None = None


@cache
def incidents() -> tuple[Incident, ...]:
    """All incidents, by name."""
    names = (found.name for found in pkgutil.iter_modules(accidents.__path__, f"{accidents.__name__}."))
    return tuple(sorted((importlib.import_module(name).INCIDENT for name in names), key=lambda one: one.name))
