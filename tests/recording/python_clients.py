"""What the Python clients write: `python python_clients.py BOOTSTRAP [legacy]`. The topics exist already.

librdkafka (confluent-kafka), kafka-python and aiokafka each send the same records with every codec, and what
only they can send: negative timestamps, and header keys that are not UTF-8. With `legacy` librdkafka and
kafka-python send what a broker of 0.10 takes: message format v1, whose wrappers are stored as they come.
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
LEGACY_CODECS = CODECS[:-1]
TEXT = "".join(f"line {i} the quick brown fox\n" for i in range(4000)).encode()[:66_000]
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


def batches(codec: str) -> Iterator[list[Row]]:
    """Key, value, timestamp and headers of the records of each batch.

    The big value passes the block size (32 or 64 KiB) of those codecs that have blocks.
    """
    big = TEXT if codec in ("none", "snappy", "lz4") else TEXT[:5000]
    trace = [("trace", b"t"), ("trace", b""), ("n", b"\x00\xff")]
    yield [(b"key-%d" % i, b'{"i":%d,"s":"%s"}' % (i, b"abc" * (i % 7)), T0 + i, trace) for i in range(40)]
    yield [(None, b"null key", T0 + 100, [])]
    yield [(b"", b"", T0 + 101, []), (b"tombstone", None, T0 + 99, [])]
    yield [(b"big", big, T0 + 103, []), (b"small", b"x", T0 + 102, [])]


def bad_utf8() -> list[Row]:
    """A record for each bad header key, and one with them all."""
    rows: list[Row] = [(b"bad %d" % i, b"v", T0 + i, [(RawKey(k), k)]) for i, k in enumerate(BAD_KEYS)]
    return [*rows, (b"all", b"v", T0, [(RawKey(k), b"") for k in BAD_KEYS])]


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
        for batch in batches(codec):
            for key, value, timestamp, headers in batch:
                null = [("null", None)] if headers else []
                producer.produce(
                    f"rdkafka-{codec}",
                    value,
                    key,
                    0,
                    timestamp=timestamp,
                    headers=[*headers, *null],
                    on_delivery=delivered,
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
        topic_batches = [(f"kpy-{codec}", batch) for batch in batches(codec)]
        if codec in ("none", "gzip"):
            topic_batches.append(("bad-utf8", bad_utf8()))
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
        for batch in batches(codec):
            sent = [await producer.send(f"aiokafka-{codec}", v, k, 0, t, h) for k, v, t, h in batch]
            await producer.flush()
            for future in sent:
                await future
        if codec == "none":
            await negative(producer)
        await producer.stop()


async def negative(producer: aiokafka.AIOKafkaProducer) -> None:
    """Batches whose maxTimestamp is not their true maximum: this client never lowers it below -1."""
    for timestamps in ([-5], [T0, -1], [-1, T0, -(2**40)], [-1]):
        batch = producer.create_batch()
        for timestamp in timestamps:
            if batch.append(key=None, value=b"%d" % timestamp, timestamp=timestamp) is None:
                raise SystemExit("aiokafka: the batch is full")
        batch.close()
        await (await producer.send_batch(batch, "negative-aiokafka", partition=0))


def legacy(bootstrap: str) -> None:
    """Message format v1 by librdkafka and kafka-python: bare snappy blocks, other LZ4 frames than Java's."""
    for codec in LEGACY_CODECS:
        rows = [(b"key-%d" % i, b"value %d" % i, T0 + i) for i in range(12)]
        producer = confluent_kafka.Producer(
            {"bootstrap.servers": bootstrap, "compression.type": codec, "linger.ms": 200}
        )
        for key, value, timestamp in [*rows, (None, b"null key", T0 + 20), (b"tombstone", None, T0 + 19)]:
            producer.produce(f"rdkafka-{codec}", value, key, 0, timestamp=timestamp)
        if producer.flush(30):
            raise SystemExit("librdkafka: not stored")
        other = kafka.KafkaProducer(
            bootstrap_servers=bootstrap,
            api_version=(0, 10, 2),
            compression_type=None if codec == "none" else codec,
            linger_ms=300,
            enable_idempotence=False,
        )
        sent = [other.send(f"kpy-{codec}", v, k, None, 0, t) for k, v, t in rows]
        other.flush(30)
        for future in sent:
            future.get(10)
        other.close()


if __name__ == "__main__":
    if sys.argv[2:] == ["legacy"]:
        legacy(sys.argv[1])
    else:
        librdkafka(sys.argv[1])
        kafka_python(sys.argv[1])
        asyncio.run(aio_kafka(sys.argv[1]))
