"""Salvage of each plant of `verify`: batches with right checksums are kept, and nothing is left to find.

A broker with Kafka's default retention starts on all results together, in the full form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.broker.clients import bounds_of, create, put_in
from tests.broker.harness import HERE, read_by_librdkafka
from tests.broker.partitions import Partition
from tests.forms import pick
from tests.made.sound_batches import sound_batches
from tests.recording.kafka43 import Node
from tests.recording.server import Kit
from tests.salvage.brokers import (
    CHECKPOINTS,
    RETENTION,
    canary,
    merge_checkpoints,
    objections,
    wait_for_retention,
)
from tests.salvage.planted import PLANTS, Planted, planted
from tests.salvage.test_brute_force import judge
from tests.verify.plants import PARTITIONS

SHORT = (
    *("flipped_value", "segment_cut_inside_of_its_last_batch", "wrong_payload_under_a_right_checksum"),
    *("swapped_segments", "segment_in_the_middle_gone", "newest_segment_gone_but_for_its_indexes"),
    *("log_start_offset_beyond_the_end", "index_of_a_broken_size", "lineage_of_another_log"),
    *("marker_damaged", "marker_lost_between_epochs", "copy_that_had_another_leader"),
    "partition_metadata_that_is_gone",
)
NAMES = pick(SHORT, tuple(PLANTS))

Tell = Callable[[str, Mapping[str, int]], None]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Planted]:
    """Each plant, salvaged; every byte of its sources is accounted for."""
    return {name: planted(tmp_path_factory.mktemp(name[:20]), name) for name in NAMES}


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_left_to_find_but_what_is_lost(found: dict[str, Planted], name: str) -> None:
    assert found[name].unexpected() == []


@pytest.mark.long
def test_gaps_between_segments_are_those_of_the_manifest(found: dict[str, Planted]) -> None:
    for name, one in found.items():
        gaps = {
            (f"{partition['topic']}-{partition['partition']}", gap["first_offset"], gap["last_offset"])
            for partition in one.account.partitions
            for gap in partition["missing"]
        }
        for check, path, _position, first, last in one.rows:
            if check == "missing-offsets":
                assert (Path(path).parent.name, first, last) in gaps, name


@pytest.mark.long
@pytest.mark.oracle
def test_every_batch_is_in_the_result_or_has_a_reason(found: dict[str, Planted], tell: Tell) -> None:
    counts = judge([one.account for one in found.values()])
    tell("brute force, plants of verify", counts)
    assert counts["in the result"] > 10 * counts["with a reason"] > 0


UNREADABLE = {"payload", "records", "record-offsets", "last-offset"}
"""Checks of records under right checksums, which consumers stop at."""


def touched(name: str, one: Planted) -> Iterator[tuple[str, dict[str, Any]]]:
    """Partitions of a result that a plant has to do with: topic on the broker, and the manifest's words.

    If it has to do with the log directory alone, that is the first one.
    """
    named = {Path(path).parent.name for _check, path, *_ in one.plant.expected}
    found = {f"{words['topic']}-{words['partition']}": words for words in one.account.partitions}
    chosen = {key for key in found if key in named or key not in PARTITIONS} or {min(found)}
    for directory in sorted(chosen):
        yield f"p{NAMES.index(name)}-{directory}", found[directory]


@pytest.mark.long(short=False)
@pytest.mark.broker
def test_a_broker_starts_on_all_results(found: dict[str, Planted], tmp_path: Path, tell: Tell) -> None:
    promised: dict[str, dict[str, Any]] = {}
    partitions, unreadable = [], set()
    for name, one in found.items():
        for topic, words in touched(name, one):
            promised[topic] = words
            directory = one.account.log(topic.partition("-")[2])
            partitions.append(Partition(topic, directory, (), words["log_end_offset"]))
            if UNREADABLE & {row[0] for row in one.plant.expected}:
                unreadable.add(topic)
    partitions.append(canary(tmp_path))
    node = Node(Kit("k4", str(HERE / "java")), tmp_path / "node", settings=RETENTION)
    with node.start():
        create(node.bootstrap, {one.topic: one.config for one in partitions})
    for partition in partitions:
        put_in(partition.folder, node.data / f"{partition.topic}-0")
    starts = {topic: one["log_start_offset"] for topic, one in promised.items() if one["log_start_offset"]}
    ends = {topic: one["log_end_offset"] for topic, one in promised.items()}
    merge_checkpoints(node.data, dict(zip(CHECKPOINTS, (ends, starts), strict=True)))
    with node.start() as broker:
        wait_for_retention(node.bootstrap)
        bounds = {topic: bounds_of(node.bootstrap, topic) for topic in promised}
        readable = [topic for topic in promised if topic not in unreadable]
        read = read_by_librdkafka(node.bootstrap, readable, "read_uncommitted")
    log = broker.log.read_text(errors="replace")
    assert bounds == {topic: (starts.get(topic, 0), ends[topic]) for topic in promised}
    assert {topic: lines for topic in promised if (lines := objections(log, topic))} == {}
    for partition in partitions[:-1]:
        if partition.topic in read:
            data = b"".join(path.read_bytes() for path in sorted(partition.folder.glob("*.log")))
            rows = [row for batch in sound_batches(data) if not batch.is_control for row in batch.rows]
            offsets = [row.offset for row in rows if row.offset >= starts.get(partition.topic, 0)]
            assert [row.offset for row in read[partition.topic]] == offsets, partition.topic
    tell("broker on plants", {"partitions": len(promised), "records": sum(map(len, read.values()))})
    assert len(promised) >= len(NAMES)
