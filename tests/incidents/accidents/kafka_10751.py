"""KAFKA-10751: an unclean election, after which the old leader has records that the new one never had."""

from __future__ import annotations

import re
import shutil

from tests.incidents.incident import CLEAN_SHUTDOWN, Incident, Scene, value_of

TOPIC = "trades"
CONFIG = {"internal.segment.bytes": "12000"}
OLD_DIRECTORY = "DDDDDDDDDDDDDDDDDDDDDQ"
BOTH, OLD_END, NEW_END = 100, 130, 150


def write(scene: Scene) -> None:
    """Write what both replicas have, and then what the old leader has alone."""
    scene.send(TOPIC, range(BOTH))
    shutil.copytree(scene.disk / f"{TOPIC}-0", scene.there("/follower"))
    scene.send(TOPIC, range(BOTH, OLD_END))


def damage(scene: Scene) -> None:
    """Give the old leader's disk to the page, and the follower's to the broker that is elected."""
    old = scene.there("/mnt/broker2/kafka")
    shutil.copytree(scene.data, old)
    properties = (old / "meta.properties").read_text().replace("node.id=1", "node.id=2")
    properties = re.sub(r"(?m)^directory.id=.*$", f"directory.id={OLD_DIRECTORY}", properties)
    (old / "meta.properties").write_text(properties)
    shutil.rmtree(scene.data / f"{TOPIC}-0")
    shutil.copytree(scene.there("/follower"), scene.data / f"{TOPIC}-0")


def suffer(scene: Scene) -> None:
    """Write to the new leader, in a new epoch."""
    scene.send(TOPIC, range(1000, 1000 + NEW_END - BOTH))
    for number in range(BOTH, NEW_END):
        scene.written[TOPIC][number] = value_of(TOPIC, 1000 + number - BOTH)
    for number in range(BOTH, OLD_END):
        scene.written[TOPIC][NEW_END + number - BOTH] = value_of(TOPIC, number)
    shutil.rmtree(scene.data / f"{TOPIC}-0")
    shutil.copytree(scene.disk / f"{TOPIC}-0", scene.data / f"{TOPIC}-0")
    (scene.data / CLEAN_SHUTDOWN).unlink(missing_ok=True)


INCIDENT = Incident("kafka-10751-unclean-election", {TOPIC: CONFIG}, write, damage, suffer)
