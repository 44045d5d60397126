"""KAFKA-8722: a consumer is stopped by a batch whose checksum is wrong; a replica has it whole."""

from __future__ import annotations

import subprocess

from tests.incidents.incident import Incident, Scene
from tests.made.sound_batches import sound_batches
from tests.oracle.jvm import QUIET

TOPIC, END = "metrics", 400
CONFIG = {"internal.segment.bytes": "6000", "compression.type": "lz4"}


def write(scene: Scene) -> None:
    """Write two segments of batches that the broker compresses."""
    scene.send(TOPIC, range(END))


def damage(scene: Scene) -> None:
    """Copy what the follower has; let a bit rot in the middle of a compressed payload of the leader."""
    follower = scene.there("/mnt/broker2")
    scene.copy_disk([TOPIC], follower)
    scene.give_away(follower, 2, "DDDDDDDDDDDDDDDDDDDDDQ")
    log = min((scene.data / f"{TOPIC}-0").glob("*.log"))
    data = bytearray(log.read_bytes())
    batch = sound_batches(bytes(data))[3]
    data[(batch.position + batch.end) // 2] ^= 1
    log.write_bytes(data)


def suffer(scene: Scene) -> None:
    """Let Kafka's consumer say what it meets."""
    where = ("--bootstrap-server", scene.node.bootstrap, "--topic", TOPIC, "--from-beginning")
    program = "org.apache.kafka.tools.consumer.ConsoleConsumer"
    command, environment = scene.node.kit.command(*QUIET, program, *where)
    done = subprocess.run(
        command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120
    )
    scene.heard += done.stderr


INCIDENT = Incident("kafka-8722-lz4-bit-rot", {TOPIC: CONFIG}, write, damage, suffer, is_clean=True)
