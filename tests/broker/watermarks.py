"""Where the log of a topic begins and ends, as a broker says."""

from __future__ import annotations

import confluent_kafka
from confluent_kafka import KafkaError
from tests.recording.server import wait_until

__all__ = ["bounds_of"]

UNSETTLED = (KafkaError.LEADER_NOT_AVAILABLE, KafkaError.NOT_LEADER_FOR_PARTITION)
"""What a broker answers that has just been started: it becomes the leader of each partition in its turn."""


def bounds_of(bootstrap: str, topic: str) -> tuple[int, int]:
    """Return the start offset and the high watermark of a topic's partition 0, once it has a leader."""
    settings = {
        "bootstrap.servers": bootstrap,
        "group.id": "bounds",
        "isolation.level": "read_uncommitted",
        "log_level": 0,
    }
    consumer = confluent_kafka.Consumer(settings)
    found: list[tuple[int, int]] = []

    def is_there() -> bool:
        try:
            found.append(consumer.get_watermark_offsets(confluent_kafka.TopicPartition(topic, 0), timeout=60))
        except confluent_kafka.KafkaException as error:
            if error.args[0].code() not in UNSETTLED:
                raise
        return bool(found)

    try:
        wait_until(f"a leader of {topic}-0", is_there)
        return found[0]
    finally:
        consumer.close()
