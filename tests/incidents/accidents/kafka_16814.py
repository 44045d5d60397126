"""KAFKA-16814: a log directory whose copy stopped in the middle; files beside the segments are missing."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.incidents.incident import Incident, Scene, value_of
from tests.incidents.stage import refused_start
from tests.made.sound_batches import sound_batches
from tests.recording.server import RecordingError

STRAY, SHORT = "sensors", "visits"
CONFIG = {"internal.segment.bytes": "12000"}
SECOND, LAST_WHOLE, END = 150, 230, 500
PROPERTIES = """process.roles=broker
node.id=1
controller.quorum.voters=9@localhost:9093
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://localhost:9092
log.dirs={}
"""


def write(scene: Scene) -> None:
    """Write four segments of each topic."""
    for topic in (STRAY, SHORT):
        scene.send(topic, range(END))


def damage(scene: Scene) -> None:
    """Leave what had been copied: a directory by name up to a `.log`, and one as `cp` came upon the files."""
    for path in scene.data.iterdir():
        if path.is_file():
            path.unlink()
    for topic in (STRAY, SHORT):
        cut_off(scene.data / f"{topic}-0")
    (scene.data / f"{STRAY}-0" / "partition.metadata").unlink()
    scene.copy_metadata(scene.there("/var/lib/kafka/metadata"))
    scene.there("/etc/server.properties").write_text(PROPERTIES.format(scene.data))


def cut_off(directory: Path) -> None:
    """Leave the first segment, the second one's `.index`, and a part of its `.log`."""
    log = directory / f"{SECOND:020d}.log"
    kept = [*directory.glob(f"{0:020d}.*"), log, log.with_suffix(".index"), directory / "partition.metadata"]
    for path in directory.iterdir():
        if path not in kept:
            path.unlink()
    data = log.read_bytes()
    position = next(one.position for one in sound_batches(data) if one.base_offset == LAST_WHOLE)
    log.write_bytes(data[: position + 300])


def suffer(scene: Scene) -> None:
    """Go on writing, as producers do: what they send gets offsets that are in the file already."""
    assert scene.read(STRAY) == []
    assert scene.read(SHORT) == [*range(SECOND)]
    scene.send(SHORT, range(END, END + 10))
    data = (scene.disk / f"{SHORT}-0" / f"{SECOND:020d}.log").read_bytes()
    assert value_of(SHORT, SECOND) in data
    assert value_of(SHORT, END) in data
    with pytest.raises(RecordingError) as raised:
        scene.read(SHORT)
    scene.heard += f"{raised.value}\n"


def witness(scene: Scene) -> str:
    """Start the broker on the copy as it is."""
    copy = scene.there("/copy")
    shutil.copytree(scene.data, copy)
    return refused_start(scene.node, copy)


INCIDENT = Incident(
    "kafka-16814-half-copied-volume",
    dict.fromkeys((STRAY, SHORT), CONFIG),
    write,
    damage,
    suffer,
    is_clean=True,
    witness=witness,
)
