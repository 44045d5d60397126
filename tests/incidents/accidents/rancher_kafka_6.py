"""rancher-kafka#6: volumes come back to other hosts, and one broker gets the disks of two."""

from __future__ import annotations

import shutil

from tests.incidents.incident import Incident, Scene
from tests.incidents.stage import refused_start

BOTH, OTHER = "refunds", "returns"
CONFIG = {"internal.segment.bytes": "12000"}
FOLLOWER_END, END = 180, 400
DIRECTORY_ID = "CCCCCCCCCCCCCCCCCCCCCQ"


def write(scene: Scene) -> None:
    """Write, and copy what a follower has that lags; its broker leads the other topic."""
    scene.send(BOTH, range(FOLLOWER_END))
    scene.send(OTHER, range(END))
    scene.copy_disk([BOTH, OTHER], scene.there("/mnt/disk2"))
    scene.send(BOTH, range(FOLLOWER_END, END))


def damage(scene: Scene) -> None:
    """Mount the disk of broker 1, which has one of the topics, and that of broker 2."""
    scene.copy_disk([BOTH], scene.there("/mnt/disk1"))
    scene.give_away(scene.there("/mnt/disk2"), 2, DIRECTORY_ID)


def witness(scene: Scene) -> str:
    """Start broker 1 on copies of both disks, and again after both were made its own."""
    copies = [scene.there(f"/copies/mnt/disk{number}") for number in (1, 2)]
    for number, copy in enumerate(copies, 1):
        shutil.copytree(scene.there(f"/mnt/disk{number}"), copy)
    metadata = scene.node.folder / "data" / "__cluster_metadata-0"
    shutil.copytree(metadata, copies[0] / metadata.name)
    said = refused_start(scene.node, *copies)
    scene.give_away(copies[1], 1, DIRECTORY_ID)
    return (said + refused_start(scene.node, *copies)).replace(str(scene.there("/copies")), "")


INCIDENT = Incident(
    "rancher-kafka-6-mixed-disks",
    dict.fromkeys((BOTH, OTHER), CONFIG),
    write,
    damage,
    is_clean=True,
    witness=witness,
)
