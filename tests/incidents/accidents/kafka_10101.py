"""KAFKA-10101: a backup of some directories beside checkpoints and segments that are newer."""

from __future__ import annotations

import shutil

from confluent_kafka import TopicPartition
from tests.broker.clients import admin_of
from tests.incidents.incident import Incident, Scene, value_of
from tests.recording.server import wait_until

OVER, INSTEAD = "stock", "audit"
CONFIG = {"internal.segment.bytes": "12000"}
BACKUP, SECOND, START, END = 80, 150, 200, 400


def write(scene: Scene) -> None:
    """Back up the files while the broker runs, and go on; delete records of one topic."""
    for topic in (OVER, INSTEAD):
        scene.send(topic, range(BACKUP))
    scene.copy_disk([OVER, INSTEAD], scene.there("/backup"))
    for topic in (OVER, INSTEAD):
        scene.send(topic, range(BACKUP, END))
    client = admin_of(scene.node.bootstrap)
    for done in client.delete_records([TopicPartition(INSTEAD, 0, START)]).values():
        done.result(60)


def damage(scene: Scene) -> None:
    """Copy the backup over one directory, and put it in the place of the other, with deleted records."""
    scene.copy_metadata(scene.data)
    scene.written[INSTEAD] |= {number: value_of(INSTEAD, number) for number in range(BACKUP)}
    for topic in (OVER, INSTEAD):
        directory = scene.data / f"{topic}-0"
        if topic == INSTEAD:
            shutil.rmtree(directory)
        shutil.copytree(scene.there("/backup") / f"{topic}-0", directory, dirs_exist_ok=True)


def suffer(scene: Scene) -> None:
    """Read as a consumer, after the broker has looked at the retention of its logs."""
    assert scene.read(INSTEAD) == []
    wait_until("retention", lambda: scene.read(OVER)[:1] == [SECOND])
    assert scene.read(OVER) == [*range(SECOND, END)]


INCIDENT = Incident(
    "kafka-10101-older-backup", dict.fromkeys((OVER, INSTEAD), CONFIG), write, damage, suffer, is_clean=True
)
