"""Replicas that led, followed and were cut back: nothing is found but where two had different leaders."""

from __future__ import annotations

from random import Random

import pytest
from tests import forms
from tests.log.cluster import Cluster
from tests.log.memory import MemoryPlaces

from kafka_segments.log.discovery import discover
from kafka_segments.verify.catalogue import CHECKS
from kafka_segments.verify.partition_checks import VerifyOptions
from kafka_segments.verify.segment_checks import SegmentReading
from kafka_segments.verify.verification import VerifySubject, VerifySummary, iter_findings

NUM_CLUSTERS = forms.pick(12, 2000)
NUM_REPLICAS = 3
TOPIC_ID = b"version: 0\ntopic_id: zzzzzzzzzzzzzzzzzzzzzg\n"


def played(random: Random) -> Cluster:
    """A cluster in which anybody may lead."""
    cluster = Cluster(NUM_REPLICAS)
    for _ in range(random.randrange(20, 80)):
        who = random.randrange(NUM_REPLICAS)
        replica = cluster.replicas[who]
        action = random.choice(
            ("append", "append", "fetch", "fetch", "roll", "note", "elect", "delete", "crash")
        )
        if action == "append":
            cluster.append(random.randrange(1, 4))
        elif action == "fetch":
            cluster.fetch(who, random.randrange(5))
        elif action == "roll":
            replica.roll()
        elif action == "note":
            cluster.note()
        elif action == "elect":
            cluster.elect(who)
        elif action == "crash" and random.random() < 0.3:
            cluster.crash(who)
        elif replica.is_alive and len(replica.bases) > 1 and replica.bases[1] <= cluster.committed:
            replica.delete_head()
    return cluster


def checks_of(cluster: Cluster, replicas: range) -> list[str | None]:
    """The checks that find something in the log directories of some replicas."""
    files = cluster.files()
    files |= {
        f"{folder}/partition.metadata": TOPIC_ID for folder in {path.rpartition("/")[0] for path in files}
    }
    for number in replicas:
        files[f"m:/{number}/meta.properties"] = f"version=1\nnode.id={number}\ncluster.id=c\n".encode()
    places = MemoryPlaces(files)
    copies = discover(places, [f"m:/{number}" for number in replicas])
    subject = VerifySubject(copies)
    options, reading = VerifyOptions(frozenset(CHECKS)), SegmentReading(places)
    return [one.check for one in iter_findings(subject, options, reading, VerifySummary())]


def batches_of(cluster: Cluster, replica: int) -> dict[int, tuple[int, int]]:
    """Number and leader epoch of the batch at each offset."""
    return {
        offset: (batch.number, batch.epoch)
        for batch in cluster.replicas[replica].log
        for offset in range(batch.first, batch.last + 1)
    }


@pytest.mark.long
def test_replicas_of_a_cluster() -> None:
    num_diverged = 0
    for seed in range(NUM_CLUSTERS):
        cluster = played(Random(seed))
        for number in range(NUM_REPLICAS):
            assert checks_of(cluster, range(number, number + 1)) == [], (seed, number)
        logs = [batches_of(cluster, number) for number in range(NUM_REPLICAS)]
        expected = [
            "copies-diverged"
            for other in logs[1:]
            if any(logs[0][offset] != other[offset] for offset in logs[0].keys() & other.keys())
        ]
        assert checks_of(cluster, range(NUM_REPLICAS)) == expected, seed
        num_diverged += len(expected)
    assert num_diverged > NUM_CLUSTERS // 10
