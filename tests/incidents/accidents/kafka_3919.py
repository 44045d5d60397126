"""KAFKA-3919: after an outage, offsets in a segment go back, and the broker's recovery fails there."""

from __future__ import annotations

import shutil

from tests.incidents.incident import Incident, Scene, value_of
from tests.made.sound_batches import sound_batches

TOPIC, LEADER = "orders", "orders-of-the-leader"
CONFIG = {"internal.segment.bytes": "12000"}
# The leader has lost the follower's offsets from here on, and gives them to other records.
LOST, END, LAST_END = 170, 200, 320


def write(scene: Scene) -> None:
    """Write what the follower has, and to another topic what the leader has."""
    scene.create({LEADER: {}})
    scene.send(TOPIC, range(END))
    scene.send(LEADER, range(LAST_END))
    shutil.copytree(scene.disk / f"{LEADER}-0", scene.there("/leader"))


def damage(scene: Scene) -> None:
    """Append what the leader sent to what the follower had not cut off."""
    data = next(scene.there("/leader").glob("*.log")).read_bytes()
    sent = b"".join(data[one.position : one.end] for one in sound_batches(data) if one.base_offset >= LOST)
    for number in range(END, LAST_END):
        scene.written[TOPIC][number] = value_of(LEADER, number)
    with max((scene.data / f"{TOPIC}-0").glob("*.log")).open("ab") as segment:
        segment.write(sent)


INCIDENT = Incident("kafka-3919-offsets-go-back", {TOPIC: CONFIG}, write, damage)
