"""confluent-kafka's consumer, which is librdkafka, over librdkafka's mock broker in the same process.

Strategy: the broker keeps five MiB of each partition, and a consumer takes some milliseconds to begin. So
every partition of a topic is given the same slice of a corpus, a pass consumes all of them, and its time and
its sums are divided by their number. What a pass takes includes the broker and the network between both.
"""

from __future__ import annotations

import time
from typing import Any

import confluent_kafka
from tests.bench.corpora import CODECS
from tests.bench.encoding import rows_of
from tests.bench.passes import Pass, Result

TOPIC = "corpus"
NUM_PARTITIONS = 4  # of a topic that the mock broker makes
LARGEST_POLL = 10_000
LONGEST_POLL = 10.0  # seconds
UNBOUNDED = {"queue.buffering.max.messages": 10_000_000, "queue.buffering.max.kbytes": 1 << 20}


def fed_broker(segment: bytes, codec: str) -> tuple[Any, int]:
    """A producer, whose mock broker has a segment's records in every partition, and the number of records."""
    producer = confluent_kafka.Producer(
        {"test.mock.num.brokers": 1, "compression.type": codec, "linger.ms": 100, "log_level": 0, **UNBOUNDED}
    )
    num_rows = 0
    headers: Any
    for _base, rows in rows_of(segment):
        num_rows += len(rows)
        for _offset, timestamp, key, value, headers in rows:
            for partition in range(NUM_PARTITIONS):
                producer.produce(TOPIC, value, key, partition, timestamp=timestamp, headers=headers)
    producer.flush()
    return producer, num_rows


def new_consumer(producer: Any) -> Any:
    """A consumer of a producer's mock broker that checks CRCs, which librdkafka does not by itself."""
    (broker,) = producer.list_topics().brokers.values()
    return confluent_kafka.Consumer(
        {
            "bootstrap.servers": f"{broker.host}:{broker.port}",
            "group.id": "bench",
            "check.crcs": True,
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "log_level": 0,
        }
    )


def consumed(segment: bytes, corpus: str) -> Pass:
    """The pass over a segment of a corpus."""
    from tests.bench.checksum import wrapped

    producer, num_rows = fed_broker(segment, corpus if corpus in CODECS else "none")
    consumer = new_consumer(producer)
    partitions = [confluent_kafka.TopicPartition(TOPIC, number, 0) for number in range(NUM_PARTITIONS)]

    def read() -> Result:
        # The broker lives as long as its producer.
        left, total = NUM_PARTITIONS * num_rows, 0 * len(producer)
        started = time.perf_counter()
        consumer.assign(partitions)
        while left:
            messages = consumer.consume(min(LARGEST_POLL, left), LONGEST_POLL)
            if not messages:
                raise ValueError(f"{left} records did not come")
            left -= len(messages)
            total += sum_of(messages)
        seconds = time.perf_counter() - started
        consumer.unassign()
        return Result(seconds / NUM_PARTITIONS, num_rows, wrapped(total // NUM_PARTITIONS))

    return read


def sum_of(messages: list[Any]) -> int:
    """What is added up of messages.

    Raises:
        ValueError: an error came in the place of a record.
    """
    total = 0
    for message in messages:
        if message.error() is not None:
            raise ValueError(message.error().str())
        key, value = message.key(), message.value()
        total += message.offset() + message.timestamp()[1]
        if key is not None:
            total += len(key)
        if value:
            total += value[len(value) >> 1]
        for header_key, header_value in message.headers() or ():
            total += len(header_key) + (0 if header_value is None else len(header_value))
    return total
