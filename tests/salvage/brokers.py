"""What a broker with Kafka's default retention says of partitions that were put into its log directory."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from pathlib import Path

from tests.broker.clients import bounds_of
from tests.broker.harness import distrust
from tests.broker.partitions import Partition
from tests.recording.server import wait_until

import kafka_segments as ks

RETENTION = {
    "log.retention.ms": str(7 * 86_400_000),
    "log.retention.check.interval.ms": "500",
    "log.initial.task.delay.ms": "500",
}
CANARY = "canary"
"""A topic of old records: that they are deleted shows that the broker has looked at all logs."""
UNWANTED = re.compile(r"Truncat|Recovering|Corruption|stray|Deleting|Incremented log start offset")
FUTURE = "contains future timestamp"  # of a plant, for which its segment is kept
CHECKPOINTS = ("recovery-point-offset-checkpoint", "log-start-offset-checkpoint")


def canary(folder: Path) -> Partition:
    """A partition with records of a month ago."""
    directory = folder / f"{CANARY}-0"
    with ks.open_partition_writer(directory) as writer:
        then = time.time_ns() // 1_000_000 - 30 * 86_400_000
        writer.write([{"timestamp": then, "value": b"old"}] * 3)
    return Partition(CANARY, directory, (), 3)


def wait_for_retention(bootstrap: str) -> None:
    """Wait until the broker has deleted what is too old."""
    wait_until("retention", lambda: bounds_of(bootstrap, CANARY)[0] == 3)


def objections(log: str, topic: str) -> list[str]:
    """Lines of a broker's log that say it has not taken the files of a topic as they are, or changes them."""
    own = re.compile(rf"\b{re.escape(topic)}-0\b")
    changed = [line for line in log.splitlines() if own.search(line) and UNWANTED.search(line)]
    return [line for line in [*distrust(log, topic), *changed] if FUTURE not in line]


def merge_checkpoints(data: Path, lines: Mapping[str, Mapping[str, int]]) -> None:
    """Add offsets by topic to the checkpoints of a log directory."""
    for name in CHECKPOINTS:
        path = data / name
        kept = path.read_text().splitlines()[2:] if path.exists() else []
        more = lines.get(name, {})
        kept = [line for line in kept if line.split()[0] not in more]
        kept += [f"{topic} 0 {offset}" for topic, offset in more.items()]
        path.write_text("\n".join(["0", str(len(kept)), *kept]) + "\n")
