"""A disk that is full while a broker appends to a segment: the last batch is there in part."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from tests.broker.clients import answers_to, producer_of
from tests.incidents.incident import Incident, Scene, value_of
from tests.incidents.stage import move
from tests.recording.server import Server

TOPIC = "payments"
# The third batch does not fit, wherever the other files of the directory have left some pages.
NUM_RECORDS, EACH, SIZE, LEN_DISK = 30, 10, 4000, 124 << 10
DIRECTORY_ID = "CCCCCCCCCCCCCCCCCCCCCQ"
MOUNT = 'mount -t tmpfs -o size=$1 tmpfs "$2" && cp -a "$3/." "$2" && shift 3 && exec "$@"'


def write(_scene: Scene) -> None:
    """Nothing yet: the topic is empty."""


def damage(scene: Scene) -> None:
    """Move the partition to a small disk of the broker, and send until it is full."""
    first, small = scene.node.data, scene.there("/small")
    prepare(scene, small)
    words = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", MOUNT, "sh"]
    words += [str(LEN_DISK), str(small), str(scene.there("/before"))]
    command, environment = scene.node.kit.command("kafka.Kafka", str(scene.node._properties))
    scene.log = scene.there("/small.log")
    server = Server("Kafka 4.3.1", [*words, *command], environment, scene.log, "Kafka Server started")
    try:
        send(scene)
        scene.wait_for("Stopping serving logs in dir")
        disk = Path(f"/proc/{server.pid}/root{small}")  # seen by the broker alone
        shutil.rmtree(scene.data / f"{TOPIC}-0")
        shutil.copytree(disk / f"{TOPIC}-0", scene.data / f"{TOPIC}-0")
    finally:
        server.kill()
    move(scene.node, first)
    scene.second_disk.mkdir(parents=True)
    scene.heard = scene.log.read_text(errors="replace").replace(str(small), "/var/lib/kafka/data")


def prepare(scene: Scene, small: Path) -> None:
    """Give the broker two log directories: copies of its own without the partition, and of the small disk."""
    before, others = scene.there("/before"), scene.there("/others")
    shutil.copytree(scene.node.data, others, ignore=shutil.ignore_patterns(".lock", f"{TOPIC}-0"))
    shutil.copytree(scene.node.data / f"{TOPIC}-0", before / f"{TOPIC}-0")
    properties = (others / "meta.properties").read_text()
    properties = re.sub(r"(?m)^directory.id=.*$", f"directory.id={DIRECTORY_ID}", properties)
    (before / "meta.properties").write_text(properties)
    small.mkdir()
    move(scene.node, others, small)


def send(scene: Scene) -> None:
    """Send batches; the last one is refused."""
    producer, accepted = producer_of(scene.node.bootstrap, EACH, retries=0), 0
    for start in range(0, NUM_RECORDS, EACH):
        numbers = range(start, start + EACH)
        records = [(b"%d" % number, value_of(TOPIC, number, SIZE)) for number in numbers]
        accepted += sum(error is None for error in answers_to(producer, TOPIC, records))
    assert 0 < accepted < NUM_RECORDS
    scene.written[TOPIC] = {number: value_of(TOPIC, number, SIZE) for number in range(accepted)}


INCIDENT = Incident("cp-helm-charts-400-disk-full", {TOPIC: {}}, write, damage)
