"""What the Python clients write: `python python_clients.py BOOTSTRAP`. The topics exist already.

librdkafka (confluent-kafka), kafka-python and aiokafka each send the same records with every codec, and what only
they can send: negative timestamps, and header keys that are not UTF-8.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator

import aiokafka
import confluent_kafka
import kafka

T0 = 1_700_000_000_000
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
TEXT = "".join(f"line {i} the quick brown fox\n" for i in range(4000)).encode()[:70_000]
Row = tuple["bytes | None", "bytes | None", int, "list[tuple[str, bytes]]"]


class RawKey(str):
    """A header key that reaches the wire as given: both pure Python encoders call `encode` on it."""

    raw: bytes

    def __new__(cls, raw: bytes) -> RawKey:
        self = super().__new__(cls, raw.decode("utf-8", "replace"))
        self.raw = raw
        return self

    def encode(self, encoding: str = "utf-8", errors: str = "strict") -> bytes:
        return self.raw


# A lone continuation byte, a cut sequence, a surrogate, an overlong slash, a NUL between letters.
BAD_KEYS = (b"\x80", b"caf\xc3", b"\xed\xa0\x80", b"\xc0\xaf", b"a\x00b", b"\xff\xfe")


def batches() -> Iterator[list[Row]]:
    """Key, value, timestamp and headers of the records of each batch."""
    trace = [("trace", b"t"), ("trace", b""), ("n", b"\x00\xff")]
    yield [(b"key-%d" % i, b'{"i":%d,"s":"%s"}' % (i, b"abc" * (i % 7)), T0 + i, trace) for i in range(40)]
    yield [(None, b"null key", T0 + 100, [])]
    yield [(b"", b"", T0 + 101, []), (b"tombstone", None, T0 + 99, [])]
    yield [(b"big", TEXT, T0 + 103, []), (b"small", b"x", T0 + 102, [])]


def librdkafka(bootstrap: str) -> None:
    """All codecs; a null header value; timestamps before 1970."""
    refused: list[str] = []

    def delivered(error: object, message: object) -> None:
        if error is not None:
            refused.append(str(error))

    for codec in CODECS:
        producer = confluent_kafka.Producer(
            {"bootstrap.servers": bootstrap, "compression.type": codec, "linger.ms": 200}
        )
        for batch in batches():
            for key, value, timestamp, headers in batch:
                if headers:
                    headers = [*headers, ("null", None)]  # type: ignore[list-item]
                producer.produce(
                    f"rdkafka-{codec}", value, key, 0, timestamp=timestamp, headers=headers, on_delivery=delivered
                )
            producer.flush(30)
    producer = confluent_kafka.Producer({"bootstrap.servers": bootstrap, "linger.ms": 200})
    for timestamp in (-1, -5, -(2**40)):
        producer.produce(
            "negative-rdkafka", b"%d" % timestamp, None, 0, timestamp=timestamp, on_delivery=delivered
        )
        producer.flush(30)
    if refused:
        raise SystemExit(f"librdkafka: not stored: {refused}")


def kafka_python(bootstrap: str) -> None:
    """All codecs; header keys that are not UTF-8."""
    for codec in CODECS:
        producer = kafka.KafkaProducer(
            bootstrap_servers=bootstrap,
            compression_type=None if codec == "none" else codec,
            linger_ms=300,
            batch_size=1 << 20,
            max_request_size=4 << 20,
            enable_idempotence=False,
        )
        topic_batches = [(f"kpy-{codec}", batch) for batch in batches()]
        if codec in ("none", "gzip"):
            rows: list[Row] = [(b"bad %d" % i, b"v", T0 + i, [(RawKey(k), k)]) for i, k in enumerate(BAD_KEYS)]
            topic_batches.append(("bad-utf8", [*rows, (b"all", b"v", T0, [(RawKey(k), b"") for k in BAD_KEYS])]))
        for topic, batch in topic_batches:
            sent = [producer.send(topic, v, k, h, 0, timestamp) for k, v, timestamp, h in batch]
            producer.flush(30)
            for future in sent:
                future.get(10)
        producer.close()


async def aio_kafka(bootstrap: str) -> None:
    """All codecs; timestamps before 1970 among others in one batch."""
    for codec in CODECS:
        producer = aiokafka.AIOKafkaProducer(
            bootstrap_servers=bootstrap,
            compression_type=None if codec == "none" else codec,
            linger_ms=300,
            max_batch_size=1 << 20,
            max_request_size=4 << 20,
        )
        await producer.start()
        for batch in batches():
            sent = [await producer.send(f"aiokafka-{codec}", v, k, 0, t, h) for k, v, t, h in batch]
            await producer.flush()
            for future in sent:
                await future
        if codec == "none":
            await negative(producer)
        await producer.stop()


async def negative(producer: aiokafka.AIOKafkaProducer) -> None:
    """Batches whose maxTimestamp is not their true maximum: this client begins it at -1 and never lowers it."""
    for timestamps in ([-5], [T0, -1], [-1, T0, -(2**40)], [-1]):
        batch = producer.create_batch()
        for timestamp in timestamps:
            if batch.append(key=None, value=b"%d" % timestamp, timestamp=timestamp) is None:
                raise SystemExit("aiokafka: the batch is full")
        batch.close()
        await (await producer.send_batch(batch, "negative-aiokafka", partition=0))


if __name__ == "__main__":
    librdkafka(sys.argv[1])
    kafka_python(sys.argv[1])
    asyncio.run(aio_kafka(sys.argv[1]))
