"""A real broker starts on what was salvaged of its damaged directory, and serves what the manifest promises.

Strategy: a node makes topics; partitions with records of today are put into its directory, and damaged, one
of them as two replicas. The whole directory is salvaged, and the same node started on the result, with
Kafka's default retention.
"""

from __future__ import annotations

import json
import re
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.broker.clients import create, put_in
from tests.broker.harness import HERE, warnings
from tests.broker.partitions import Partition
from tests.made.sound_batches import sound_batches
from tests.recording.kafka43 import Node
from tests.recording.server import Kit
from tests.salvage.accounts import Account, salvaged
from tests.salvage.brokers import RETENTION, canary, objections, wait_for_retention
from tests.salvage.made import hurt

import kafka_segments as ks

pytestmark = pytest.mark.broker

TOPICS = ("salvaged-plain", "salvaged-zstd", "salvaged-transactions", "salvaged-torn", "salvaged-cut")
SLOW = re.compile(r"Exceptionally slow|queue overloaded")  # on a busy machine


@dataclass
class Started:
    """What was salvaged, and what the broker said and served."""

    account: Account
    log: str
    lines: list[dict[str, Any]]


def written(folder: Path, topic: str) -> Partition:
    """A partition of four segments with records of today."""
    folder.mkdir(exist_ok=True)
    directory = folder / f"{topic}-0"
    now = time.time_ns() // 1_000_000
    codec = "zstd" if topic.endswith("zstd") else "none"
    with ks.open_partition_writer(directory, segment_bytes=4000, compression=codec) as writer:
        for number in range(40):
            rows = [{"timestamp": now - 60_000 + number, "value": b"%d" % number * 90} for _ in range(3)]
            if topic.endswith("transactions"):
                writer.write(rows, producer_id=5, producer_epoch=0, is_transactional=True)
                kind = "ABORT" if number % 5 == 0 else "COMMIT"
                writer.write_marker(kind, producer_id=5, producer_epoch=0, timestamp=now)
            else:
                writer.write(rows)
    (directory / "leader-epoch-checkpoint").write_text("0\n1\n0 0\n")
    return Partition(topic, directory, (), 0)


def damage(directory: Path, topic: str) -> None:
    """Do to a partition's directory what its topic's name says."""
    logs = sorted(directory.glob("*.log"))
    if topic.endswith("torn"):
        logs[-1].write_bytes(logs[-1].read_bytes()[:-50])
    elif topic.endswith("cut"):
        logs[1].unlink()
        for path in directory.glob("*index"):
            path.write_bytes(b"\xff" * 13)
    elif topic.endswith("transactions"):
        hurt(directory, 4)
    else:
        hurt(directory, 1)
        logs[-1].write_bytes(logs[-1].read_bytes() + bytes(300))


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Started:
    """One broker in two lives; between them its directory is damaged and salvaged."""
    work = tmp_path_factory.mktemp("started")
    kit = Kit("k4", str(HERE / "java"))
    node = Node(kit, work / "node", settings=RETENTION)
    partitions = [*(written(work / "written", topic) for topic in TOPICS), canary(work)]
    with node.start():
        create(node.bootstrap, {one.topic: one.config for one in partitions})
    for partition in partitions:
        put_in(partition.folder, node.data / f"{partition.topic}-0")
    replica = work / "replica"
    shutil.copytree(node.data / "salvaged-zstd-0", replica / "salvaged-zstd-0")
    hurt(replica / "salvaged-zstd-0", 3)
    for topic in TOPICS:
        damage(node.data / f"{topic}-0", topic)
    account = salvaged([node.data, replica], work / "dest")
    _move(node, work / "dest" / "log")
    with node.start() as broker:
        wait_for_retention(node.bootstrap)
        output = kit.run("Read", node.bootstrap, *TOPICS)
    lines = [json.loads(line) for line in output.splitlines()]
    return Started(account, broker.log.read_text(errors="replace"), lines)


def _move(node: Node, data: Path) -> None:
    """Start a node on another directory from now on."""
    text = node._properties.read_text()
    node._properties.write_text(text.replace(str(node.data), str(data)))
    node.data = data


@pytest.fixture(params=TOPICS)
def promised(request: pytest.FixtureRequest, started: Started) -> dict[str, Any]:
    """What the manifest says of each topic."""
    return next(one for one in started.account.partitions if one["topic"] == request.param)


def test_the_log_begins_and_ends_as_the_manifest_says(started: Started, promised: dict[str, Any]) -> None:
    bounds = {
        (line["first_offset"], line["end_offset"])
        for line in started.lines
        if (line["type"], line["isolation"], line["topic"])
        == ("bounds", "read_uncommitted", promised["topic"])
    }
    assert bounds == {(promised["log_start_offset"], promised["log_end_offset"])}


def test_the_broker_takes_the_files_as_they_are(started: Started, promised: dict[str, Any]) -> None:
    assert objections(started.log, promised["topic"]) == []


def test_consumers_read_what_is_in_the_result(started: Started, promised: dict[str, Any]) -> None:
    data = started.account.result_bytes(f"{promised['topic']}-0")
    offsets = [row.offset for batch in sound_batches(data) if not batch.is_control for row in batch.rows]
    read = [
        line["offset"]
        for line in started.lines
        if (line["type"], line["isolation"], line["topic"])
        == ("record", "read_uncommitted", promised["topic"])
    ]
    assert read == offsets


def test_the_broker_warns_of_nothing(started: Started) -> None:
    assert [line for line in warnings(started.log) if not SLOW.search(line)] == []
    assert "Skipping recovery of" in started.log


def test_something_was_lost_and_a_replica_helped(started: Started) -> None:
    missing = {one["topic"]: one["num_missing"] for one in started.account.partitions if one["num_missing"]}
    assert set(missing) == {
        *("salvaged-plain", "salvaged-transactions", "salvaged-cut"),
        "salvaged-torn",  # its index names the offsets of the batch that was torn
    }
    assert any("replica" in path for path, *_ in started.account.copied_from())
