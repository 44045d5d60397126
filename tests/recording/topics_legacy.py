"""The topics of the 0.9, 0.10.2 and 2.8 sets: names, configuration, and what each is there to show."""

from __future__ import annotations

from tests.recording.sets import RecordedSet, Topic

CODECS = ("none", "gzip", "snappy", "lz4")
COMPACT = {
    "cleanup.policy": "compact",
    "min.cleanable.dirty.ratio": "0.01",
    "segment.bytes": "1500",
    "delete.retention.ms": "86400000",
}
MULTI = {"segment.bytes": "4096"}
APPEND = {"message.timestamp.type": "LogAppendTime"}


def family(name: str, shows: str, config: dict[str, str] | None = None) -> tuple[Topic, ...]:
    """One topic a codec."""
    return tuple(Topic(f"{name}-{codec}", f"{shows}, codec {codec}", config=config or {}) for codec in CODECS)


OFFSETS = Topic("__consumer_offsets", "a consumer group")

# 0.9: magic 0.
CLEANED_09 = family("compact", "magic 0, cleaned", COMPACT)
TOPICS_09 = (
    *family("codec", "magic 0 as 0.9 writes it: null, empty, tombstone (over 64 KiB: all but gzip)"),
    *CLEANED_09,
    Topic("multi", "magic 0, several segments", config=MULTI),
)

# 0.10.2: magic 1.
CLEANED_0102 = family("compact", "magic 1, cleaned: inner offsets renumbered", COMPACT)
TOPICS_0102 = (
    *family("codec", "magic 1 as 0.10.2 writes it: null, empty, tombstone (over 64 KiB: all but gzip)"),
    *family("append-time", "magic 1, LogAppendTime", APPEND),
    *CLEANED_0102,
    *family("rdkafka", "magic 1 as librdkafka sends it"),
    *family("kpy", "magic 1 as kafka-python sends it"),
    Topic("multi", "magic 1, several segments", config=MULTI),
)

# 2.8: old formats by a newer broker.
_V0, _V1 = {"message.format.version": "0.9.0"}, {"message.format.version": "0.10.0"}
MIXED = (
    Topic(
        "mixed", "magics 0, 1, 2, 1, 0, 2 in one segment: the format was changed on a live topic", config=_V0
    ),
    Topic("mixed-compact", "the same, cleaned", config={**_V0, **COMPACT, "segment.bytes": "4000"}),
)
TRANSACTIONS = Topic(
    "transactions", "magic 2: a committed and an aborted transaction; a marker has its data's epoch"
)
CLEANED_28 = (
    *family("v0-compact", "magic 0, cleaned by 2.8", {**_V0, **COMPACT}),
    *family("v1-compact", "magic 1, cleaned by 2.8", {**_V1, **COMPACT}),
    MIXED[1],
)
TOPICS_28 = (
    *family("v0", "magic 0, converted down by the 2.8 broker", _V0),
    *family("v1", "magic 1, converted down by the 2.8 broker", _V1),
    *family("v1-append", "magic 1 and LogAppendTime, converted down by the 2.8 broker", {**_V1, **APPEND}),
    *family("old-v0", "magic 0, sent by a 0.9 client", _V0),
    *family("old-v1", "magic 1, sent by a 0.10.2 client", _V1),
    *family("up", "magic 2, converted up from a 0.9 client's magic 0"),
    MIXED[0],
    TRANSACTIONS,
    *CLEANED_28,
)
INTERNAL_28 = (OFFSETS, Topic("__transaction_state", "one transactional id"))

CLIENTS = {"k09": "kafka-clients 0.9.0.1", "k0102": "kafka-clients 0.10.2.2", "k28": "kafka-clients 2.8.2"}
_BEFORE = "The compacted topics of `clean` before the cleaner ran."


def _sets(
    release: str,
    broker: str,
    shows: str,
    clients: tuple[str, ...],
    topics: tuple[Topic, ...],
    cleaned: tuple[Topic, ...],
) -> tuple[RecordedSet, RecordedSet]:
    """The set after the clean shutdown and the one before cleaning."""
    clean = RecordedSet(f"{release}/clean", shows, broker, clients, topics)
    return clean, RecordedSet(f"{release}/before-cleaning", _BEFORE, broker, clients, cleaned)


SETS_09 = _sets(
    "kafka-0.9", "0.9.0.1", "Message format v0 on disk.", (CLIENTS["k09"],), (*TOPICS_09, OFFSETS), CLEANED_09
)
SETS_0102 = _sets(
    "kafka-0.10.2",
    "0.10.2.2",
    "Message format v1 on disk.",
    (CLIENTS["k0102"], "confluent-kafka", "kafka-python"),
    (*TOPICS_0102, OFFSETS),
    CLEANED_0102,
)
SETS_28 = _sets(
    "kafka-2.8",
    "2.8.2",
    "Message formats v0, v1 and v2 by one broker.",
    (CLIENTS["k28"], CLIENTS["k0102"], CLIENTS["k09"]),
    (*TOPICS_28, *INTERNAL_28),
    CLEANED_28,
)
SETS = (*SETS_28, *SETS_0102, *SETS_09)


def specification(topic: Topic) -> str:
    """The topic as an argument of the Java programs that make topics."""
    config = {"index.interval.bytes": "512", "segment.index.bytes": "8192", **topic.config}
    return f"{topic.name}:{topic.partitions}:{';'.join(f'{key}={value}' for key, value in config.items())}"
