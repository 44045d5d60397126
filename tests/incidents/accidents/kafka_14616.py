"""KAFKA-14616: a topic is deleted and made anew while a disk with its old partition is away."""

from __future__ import annotations

import shutil

from tests.broker.clients import admin_of
from tests.incidents.incident import Incident, Scene, value_of
from tests.recording.server import wait_until

TOPIC, BEFORE = "events", "events-before"


def write(scene: Scene) -> None:
    """Write a topic, take the disk away, delete the topic, and write one of the same name."""
    scene.send(TOPIC, range(100))
    shutil.copytree(scene.disk / f"{TOPIC}-0", scene.second_disk / f"{TOPIC}-0")
    client = admin_of(scene.node.bootstrap)
    client.delete_topics([TOPIC])[TOPIC].result(60)
    wait_until("the topic to be put aside", lambda: not (scene.disk / f"{TOPIC}-0").exists())
    scene.create({TOPIC: {}})
    scene.send(TOPIC, range(1000, 1020))


def damage(scene: Scene) -> None:
    """Put the disk back."""
    scene.copy_metadata(scene.data)
    scene.written[BEFORE] = {number: value_of(TOPIC, number) for number in range(100)}
    shutil.copyfile(scene.data / "meta.properties", scene.second_disk / "meta.properties")


def suffer(scene: Scene) -> None:
    """Look at the disk that the broker has put aside the old directory on."""
    (aside,) = scene.other_disk.glob(f"{TOPIC}-0.*-stray")
    shutil.rmtree(scene.second_disk / f"{TOPIC}-0")
    shutil.copytree(aside, scene.second_disk / aside.name)


INCIDENT = Incident(
    "kafka-14616-recreated-topic", {TOPIC: {}, BEFORE: {}}, write, damage, suffer, is_clean=True
)
