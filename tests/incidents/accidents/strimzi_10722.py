"""Volumes of an old cluster under a new one, which has another cluster.id and other topic ids."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from tests.incidents.incident import CHECKPOINTS, Incident, Scene, read_checkpoint, write_checkpoint

TOPIC = "invoices"
OLD_CLUSTER, OLD_TOPIC, OLD_DIRECTORY = (
    "OLDOLDOLDOLDOLDOLDOLDg",
    "OLDTOPICOLDTOPICOLDTOw",
    "OLDDIROLDDIROLDDIROLDQ",
)
NEW_CLUSTER = "AAAAAAAAAAAAAAAAAAAAAQ"


def write(scene: Scene) -> None:
    """Write to the disk that will be the old cluster's."""
    scene.send(TOPIC, range(200))


def damage(scene: Scene) -> None:
    """Part the disk into that of the old cluster, and that of the new one."""
    old = scene.there("/mnt/old/kafka")
    shutil.copytree(scene.data, old)
    replace(scene, "cluster.id", OLD_CLUSTER)
    replace(scene, "directory.id", OLD_DIRECTORY)
    metadata = old / f"{TOPIC}-0" / "partition.metadata"
    metadata.write_text(re.sub(r"topic_id: .+", f"topic_id: {OLD_TOPIC}", metadata.read_text()))
    for name in CHECKPOINTS:
        write_checkpoint(scene.data / name, dict.fromkeys(read_checkpoint(scene.data / name), 0))
    empty(scene.data / f"{TOPIC}-0")


def empty(directory: Path) -> None:
    """Leave what a topic has that was made a moment ago."""
    for path in directory.iterdir():
        if path.name != "partition.metadata":
            path.unlink()
    (directory / f"{0:020d}.log").touch()


def replace(scene: Scene, name: str, value: str) -> None:
    """Change a line of the old disk's `meta.properties`."""
    path = scene.there("/mnt/old/kafka") / "meta.properties"
    path.write_text(re.sub(rf"(?m)^{name}=.*$", f"{name}={value}", path.read_text()))


def witness(scene: Scene) -> str:
    """What Kafka's tool says that is to prepare the disk for the new cluster, as operators run it."""
    old = scene.there("/mnt/old/kafka")
    text = re.sub(r"(?m)^log.dirs=.*$", f"log.dirs={old}", scene.node._properties.read_text())
    properties = scene.there("/old.properties")
    properties.write_text(text)
    words = ["format", "--ignore-formatted", "-t", NEW_CLUSTER, "-c", str(properties)]
    command, environment = scene.node.kit.command("kafka.tools.StorageTool", *words)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode != 0
    return done.stdout + done.stderr


INCIDENT = Incident(
    "strimzi-10722-wrong-cluster-id", {TOPIC: {}}, write, damage, is_clean=True, witness=witness
)
