"""The topics of the 4.3 sets: names, configuration, and what each is there to show."""

from __future__ import annotations

from tests.recording.sets import RecordedSet, Topic

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
# Small indexes and frequent index entries; replaced and deleted files stay long enough to be copied.
COMMON = {
    "index.interval.bytes": "512",
    "segment.index.bytes": "8192",
    "file.delete.delay.ms": "600000",
    "max.message.bytes": "4194304",
}
# Cleaned as soon as the lag is lowered: until then the state before cleaning can be copied.
COMPACT = {
    "cleanup.policy": "compact",
    "min.cleanable.dirty.ratio": "0.01",
    "segment.ms": "1000",
    "min.compaction.lag.ms": "3153600000000",
}


def _each_codec(prefix: str, client: str, shows: str, big: tuple[str, ...]) -> list[Topic]:
    """One topic a codec; values over 64 KiB only with the codecs `big`."""
    return [
        Topic(f"{prefix}-{codec}", f"{client}, codec {codec}: {shows}{_BIG if codec in big else ''}")
        for codec in CODECS
    ]


_BIG = ", a value over 64 KiB"
_BLOCKS = ("none", "snappy", "lz4")
_PYTHON = "headers, a batch of one, null, empty, a tombstone"

CLEANED = (
    Topic(
        "compact-horizon",
        "cleaned: gaps, retained empty batches, delete horizon on data and on markers",
        config={**COMPACT, "delete.retention.ms": "86400000"},
    ),
    Topic(
        "compact-removed",
        "cleaned with a horizon that passed: tombstones and markers gone, empty control batches retained",
        config={**COMPACT, "delete.retention.ms": "100"},
    ),
    Topic(
        "compact-multi",
        "cleaned over many small segments, merged where they fit",
        config={**COMPACT, "delete.retention.ms": "86400000", "internal.segment.bytes": "1024"},
    ),
    Topic(
        "compact-emptied",
        "cleaned: a segment of 0 bytes is left, since nothing in it was the last of its key",
        config={**COMPACT, "delete.retention.ms": "86400000", "internal.segment.bytes": "1024"},
    ),
)

# A restart trims and never preallocates an old segment again: each life needs a new topic.
PREALLOCATED, PREALLOCATED_KILLED = (
    Topic(
        name,
        f"`preallocate=true`: {shows}",
        config={"preallocate": "true", "internal.segment.bytes": "131072"},
    )
    for name, shows in (
        ("preallocated", "zeros end the active segment in `running`, a clean shutdown trims them"),
        ("preallocated-killed", "zeros end the active segment, as SIGKILL left it"),
    )
)
MULTI = Topic("multi", "several segments, two leader epochs", config={"internal.segment.bytes": "16384"})
TRANSACTIONS = Topic(
    "transactions",
    "two transactional producers interleaved: committed, aborted, fenced; several segments with .txnindex",
    partitions=2,
    config={"internal.segment.bytes": "8192"},
)
DELETED_HEAD = Topic(
    "deleted-head",
    "records deleted up to offset 17: first segments gone or `.deleted`, log start offset inside a segment",
    config={"internal.segment.bytes": "4096"},
)
DOOMED = Topic("doomed", "a deleted topic, still there as `doomed-0.<id>-delete`")
EXTREME = Topic(
    "extreme", "timestamps beyond what microseconds in 64 bits can hold, the largest long among them"
)

MAIN = (
    *_each_codec("codec", "Java", "small records with headers, a batch of one", CODECS),
    *_each_codec("rdkafka", "librdkafka", _PYTHON, _BLOCKS),
    *_each_codec("kpy", "kafka-python", _PYTHON, _BLOCKS),
    *_each_codec("aiokafka", "aiokafka", _PYTHON, _BLOCKS),
    Topic(
        "recompressed",
        "`compression.type=gzip` on the topic, all codecs from the client",
        config={"compression.type": "gzip"},
    ),
    Topic(
        "uncompressed",
        "`compression.type=uncompressed` on the topic",
        config={"compression.type": "uncompressed"},
    ),
    Topic("shapes", "null, empty, binary keys and values; header shapes; lengths at varint edges"),
    Topic("shapes-gzip", "the same, gzip"),
    Topic("shapes-zstd", "the same, zstd"),
    Topic("bad-utf8", "header keys that are not UTF-8 (kafka-python)"),
    Topic("007", "a topic whose name is a number"),
    Topic("null", "a topic named null"),
    Topic("dots.and-3", "a topic whose name ends like a partition"),
    Topic("empty", "nothing was ever sent: a segment of 0 bytes"),
    Topic("timestamps", "out of order, 0, far future, the last that fits as microseconds in 64 bits"),
    Topic("negative-rdkafka", "timestamps -1, -5, -2^40 (librdkafka)"),
    Topic(
        "negative-aiokafka", "negative timestamps among others; maxTimestamp is not the maximum (aiokafka)"
    ),
    Topic("append-time", "LogAppendTime, every codec", config={"message.timestamp.type": "LogAppendTime"}),
    Topic(
        "idempotent",
        "idempotent producers, three partitions, a second producer after a restart",
        partitions=3,
    ),
    MULTI,
    DELETED_HEAD,
    DOOMED,
    TRANSACTIONS,
    Topic("open-transaction", "a transaction never ended, a plain record after it"),
    *CLEANED,
)
# Topics of later lives of the broker.
LATER = (PREALLOCATED,)

INTERNAL = (
    Topic(
        "__consumer_offsets",
        "classic and consumer groups, a deleted group, offsets in transactions",
        partitions=2,
    ),
    Topic("__transaction_state", "transactional ids through all their states", partitions=2),
    Topic("__share_group_state", "a share group"),
    Topic("__cluster_metadata", "KRaft's log: LEADER_CHANGE, data, and `.checkpoint` snapshots"),
)


JAVA = ("kafka-clients 4.3.1",)
CLIENTS = (*JAVA, "confluent-kafka", "kafka-python", "aiokafka")
CLEAN = RecordedSet(
    "kafka-4.3/clean",
    "A whole log directory after two lives and a clean shutdown.",
    "4.3.1",
    CLIENTS,
    (*MAIN, *LATER, *INTERNAL),
)
BEFORE = RecordedSet(
    "kafka-4.3/before-cleaning",
    "The compacted topics of `clean`, copied live before the cleaner ran.",
    "4.3.1",
    JAVA,
    CLEANED,
)
RUNNING = RecordedSet(
    "kafka-4.3/running",
    "Copied while the broker ran: preallocated segment and indexes end in zeros.",
    "4.3.1",
    JAVA,
    (PREALLOCATED, MULTI),
)
KILLED = RecordedSet(
    "kafka-4.3/killed",
    "After SIGKILL: no clean shutdown file, preallocation left in place.",
    "4.3.1",
    JAVA,
    (PREALLOCATED_KILLED, MULTI),
)
EXTREME_SET = RecordedSet(
    "kafka-4.3/extreme-timestamps",
    "The one topic which no Spark timestamp can hold.",
    "4.3.1",
    JAVA,
    (EXTREME,),
)
DYNAMIC = RecordedSet(
    "kafka-4.3/dynamic-quorum",
    "The metadata log of a dynamic quorum (KIP-853): KRAFT_VERSION and KRAFT_VOTERS in log and snapshot.",
    "4.3.1",
    (),
    (INTERNAL[-1],),
)
SETS = (CLEAN, BEFORE, RUNNING, KILLED, EXTREME_SET, DYNAMIC)


def specification(topic: Topic) -> str:
    """The topic as an argument of the Java step `create`."""
    config = ";".join(f"{key}={value}" for key, value in {**COMMON, **topic.config}.items())
    return f"{topic.name}:{topic.partitions}:{config}"
