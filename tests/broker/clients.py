"""What tests ask of a running broker: to make, configure and fill topics; where logs begin and end."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
)
from confluent_kafka.cimpl import NewTopic
from tests.recording.server import wait_until

from kafka_segments_generated.construct.kafka_partition_metadata import KafkaPartitionMetadata

# Clients that outlive a broker say nothing of it.
QUIET = {"log_level": 0}
METADATA = "partition.metadata"


def admin_of(bootstrap: str) -> AdminClient:
    """A client for topics."""
    return AdminClient({"bootstrap.servers": bootstrap, **QUIET})


def create(bootstrap: str, topics: Mapping[str, Mapping[str, str]], num_partitions: int = 1) -> None:
    """Make topics, by name with their settings; a topic gets an id, and directories that have it."""
    new = [NewTopic(topic, num_partitions, 1, config=dict(config)) for topic, config in topics.items()]
    client = admin_of(bootstrap)  # which must live until all is done
    for made in client.create_topics(new).values():
        made.result(60)


def configure(
    bootstrap: str,
    name: str,
    config: Mapping[str, str],
    *,
    kind: Any = ConfigResource.Type.TOPIC,
    operation: Any = AlterConfigOpType.SET,
) -> None:
    """Change settings of a topic, or of a broker."""
    entries = [ConfigEntry(key, value, incremental_operation=operation) for key, value in config.items()]
    resource = ConfigResource(kind, name, incremental_configs=entries)
    client = admin_of(bootstrap)
    client.incremental_alter_configs([resource])[resource].result(60)


def producer_of(bootstrap: str, each: int = 1, **settings: Any) -> Producer:
    """A producer that sends a batch when it has so many records of a partition; `flush` would divide batches.

    A thread of librdkafka that sees the flag of a flush sends what has come so far, also after the flush.
    """
    whole = {"batch.num.messages": each, "linger.ms": 120000}
    return Producer({"bootstrap.servers": bootstrap, **whole, **QUIET, **settings})


def send(
    producer: Producer,
    topic: str,
    records: Iterable[tuple[bytes | None, bytes | None]],
    partition: int = 0,
    timestamp: int = 0,
) -> None:
    """Send keys and values, as many as whole batches have, and wait until the broker has them."""
    answers = answers_to(producer, topic, records, partition, timestamp)
    assert not any(answers), answers


def answers_to(
    producer: Producer,
    topic: str,
    records: Iterable[tuple[bytes | None, bytes | None]],
    partition: int = 0,
    timestamp: int = 0,
) -> list[object]:
    """Send the same, and return an error for each record; None for those that the broker has."""
    answers: list[object] = []
    sent = 0
    for key, value in records:
        producer.produce(
            topic,
            value,
            key,
            partition,
            timestamp=timestamp,
            on_delivery=lambda error, _: answers.append(error),
        )
        sent += 1
    while len(answers) < sent:
        assert producer.poll(60), f"{topic}: {len(answers)} of {sent} records were answered"
    return answers


def bounds_now(bootstrap: str, topic: str, partitions: Iterable[int] = (0,)) -> list[tuple[int, int]]:
    """The start offsets and high watermarks of partitions; nothing while one has no leader."""
    settings = {"bootstrap.servers": bootstrap, "group.id": "bounds", "isolation.level": "read_uncommitted"}
    consumer = Consumer({**settings, **QUIET})
    try:
        return [consumer.get_watermark_offsets(TopicPartition(topic, one), 20) for one in partitions]
    except KafkaException:
        return []
    finally:
        consumer.close()


def bounds_of(bootstrap: str, topic: str) -> tuple[int, int]:
    """Those of partition 0, once it has a leader: a broker becomes that of each partition in its turn."""
    found: list[tuple[int, int]] = []

    def is_there() -> bool:
        found.extend(bounds_now(bootstrap, topic))
        return bool(found)

    wait_until(f"a leader of {topic}-0", is_there)
    return found[0]


def put_in(source: Path, directory: Path, copy: Callable[[str, str], object] = shutil.copyfile) -> None:
    """Replace a partition's directory by a copy with the same topic id, which the cluster knows it by."""
    topic_id = KafkaPartitionMetadata.parse((directory / METADATA).read_bytes()).topic_id
    shutil.rmtree(directory)
    shutil.copytree(source, directory, copy_function=copy)
    words = {"version_label": b"version", "version_text": b" 0", "topic_id_label": b"topic_id"}
    metadata = KafkaPartitionMetadata.build({**words, "topic_id_text": topic_id.encode()})
    (directory / METADATA).write_bytes(metadata)
