"""KAFKA-6834: the size of a batch is nonsense, larger than the log cleaner's buffer and than the segment."""

from __future__ import annotations

import json

from tests.incidents.incident import Incident, Scene
from tests.invariant.recovery import spans
from tests.made.sound_batches import sound_batches

TOPIC = "accounts"
CONFIG = {
    "cleanup.policy": "compact",
    "internal.segment.bytes": "12000",
    "min.compaction.lag.ms": "9223372036854775807",
    "min.cleanable.dirty.ratio": "0.01",
}
DAMAGED = 30


def write(scene: Scene) -> None:
    """Write two segments."""
    scene.send(TOPIC, range(250))


def damage(scene: Scene) -> None:
    """Set a high bit in the size of a batch."""
    segment = min((scene.data / f"{TOPIC}-0").glob("*.log"))
    data = bytearray(segment.read_bytes())
    (batch,) = [one for one in sound_batches(bytes(data)) if one.base_offset == DAMAGED]
    data[batch.position + 8] |= 0x40
    segment.write_bytes(data)


def suffer(scene: Scene) -> None:
    """Let consumers read, and the log cleaner come."""
    printed = scene.node.kit.run("Read", scene.node.bootstrap, TOPIC)
    lines = [line for line in map(json.loads, printed.splitlines()) if line["type"] == "record"]
    offsets = [line["offset"] for line in lines if line["isolation"] == "read_uncommitted"]
    scene.heard = f"a consumer of {TOPIC}-0 is given offsets {spans(offsets)}\n"
    scene.configure(TOPIC, "min.compaction.lag.ms", "0")
    scene.wait_for("Log segment may be corrupt")


INCIDENT = Incident("kafka-6834-size-of-a-batch", {TOPIC: CONFIG}, write, damage, suffer, is_clean=True)
